#include "recon/formats/nerfstudio.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "recon/formats/points_file.h"
#include "render/io/json_member.h"
#include "render/io/json_parse.h"

/* Numbers as they stand in the file; NaN = not given. A frame starts from the shared ones. */
struct lens_numbers {
    double fl_x, fl_y, cx, cy, w, h, angle_x, angle_y;
    double k1, k2, k3, k4, p1, p2;
    const char *model; /* borrowed or NULL */
    bool is_fisheye;
    enum shutter shutter;
};

static struct lens_numbers lens_unknown(void) {
    return (struct lens_numbers){.fl_x = NAN,
                                 .fl_y = NAN,
                                 .cx = NAN,
                                 .cy = NAN,
                                 .w = NAN,
                                 .h = NAN,
                                 .angle_x = NAN,
                                 .angle_y = NAN};
}

static enum rt_status read_shutter(const struct json_at *at, struct lens_numbers *lens,
                                   struct rt_error *err) {
    double time[4] = {0}; /* of a row or column: a + b u + c v + d */
    bool present = false;
    RT_TRY(json_numbers(at, "rolling_shutter", 4, time, &present, err));
    if (!present) return RT_OK;
    if (time[1] != 0.0) {
        lens->shutter = SHUTTER_ROLLING_LEFT_TO_RIGHT;
    } else if (time[2] != 0.0) {
        lens->shutter = SHUTTER_ROLLING_TOP_TO_BOTTOM;
    }
    return RT_OK;
}

static enum rt_status refuse_other_lenses(const struct json_at *at, const struct lens_numbers *lens,
                                          struct rt_error *err) {
    static const char *const known[] = {"PINHOLE", "SIMPLE_PINHOLE", "SIMPLE_RADIAL", "RADIAL",
                                        "OPENCV"};
    static const char *const others[] = {"ftheta_p0", "ftheta_p1", "ortho"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const json_t *node = json_member(at, others[i]);
        if (node && !json_is_false(node)) {
            return rt_fail_file(err, "unsupported-camera", -1,
                                "%s: lens with %s is not supported; undistort the pictures to a "
                                "pinhole first",
                                at->where, others[i]);
        }
    }
    bool is_known = !lens->model && !lens->is_fisheye;
    for (size_t i = 0; lens->model && !lens->is_fisheye && i < sizeof known / sizeof known[0];
         i++) {
        if (strcmp(lens->model, known[i]) == 0) is_known = true;
    }
    if (is_known) return RT_OK;
    return rt_fail_file(err, "unsupported-camera", -1,
                        "%s: camera model %.40s is not supported in this version (pinhole, radial "
                        "and OPENCV are)",
                        at->where, lens->model ? lens->model : "OPENCV_FISHEYE");
}

static enum rt_status read_numbers(const struct json_at *at, struct lens_numbers *lens,
                                   struct rt_error *err) {
    const struct {
        const char *key;
        double *value;
    } members[] = {{"fl_x", &lens->fl_x},
                   {"fl_y", &lens->fl_y},
                   {"cx", &lens->cx},
                   {"cy", &lens->cy},
                   {"w", &lens->w},
                   {"h", &lens->h},
                   {"camera_angle_x", &lens->angle_x},
                   {"camera_angle_y", &lens->angle_y},
                   {"k1", &lens->k1},
                   {"k2", &lens->k2},
                   {"k3", &lens->k3},
                   {"k4", &lens->k4},
                   {"p1", &lens->p1},
                   {"p2", &lens->p2}};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        RT_TRY(json_number(at, members[i].key, members[i].value, err));
    }
    RT_TRY(json_text(at, "camera_model", &lens->model, err));
    RT_TRY(json_flag(at, "is_fisheye", &lens->is_fisheye, err));
    RT_TRY(read_shutter(at, lens, err));
    RT_TRY(refuse_other_lenses(at, lens, err));
    if (lens->k4 == 0.0) return RT_OK;
    return rt_fail_file(err, "unsupported-camera", -1,
                        "%s: k4 = %g multiplies r^8 in this format, which no lens model here has",
                        at->where, lens->k4);
}

static double focal_of_angle(double side_px, double angle_rad) {
    return angle_rad > 0.0 && angle_rad < 3.14159 ? side_px / (2.0 * tan(0.5 * angle_rad)) : NAN;
}

static enum rt_status lens_size(const struct lens_numbers *lens,
                                const struct reader_picture *picture, const char *where,
                                struct camera *out, struct rt_error *err) {
    double w = isnan(lens->w) ? (double)picture->width_px : lens->w;
    double h = isnan(lens->h) ? (double)picture->height_px : lens->h;
    if (!(w >= 1.0 && w <= RT_MAX_SIDE_PX && h >= 1.0 && h <= RT_MAX_SIDE_PX)) {
        return rt_fail_file(err, "bad-value", -1, "%s: size w x h = %g x %g: sides must be 1...%d",
                            where, w, h, RT_MAX_SIDE_PX);
    }
    out->width_px = (int32_t)(w + 0.5);
    out->height_px = (int32_t)(h + 0.5);
    return RT_OK;
}

static enum rt_status lens_build(const struct lens_numbers *lens,
                                 const struct reader_picture *picture, const char *where,
                                 struct camera *out, struct rt_error *err) {
    *out = (struct camera){.model = CAMERA_PINHOLE, .shutter = lens->shutter};
    RT_TRY(lens_size(lens, picture, where, out, err));
    double w = out->width_px;
    double h = out->height_px;
    double fl_x = isnan(lens->fl_x) ? focal_of_angle(w, lens->angle_x) : lens->fl_x;
    double fl_y = lens->fl_y;
    if (isnan(fl_y) && isnan(lens->fl_x)) fl_y = focal_of_angle(h, lens->angle_y);
    if (isnan(fl_x)) fl_x = fl_y;
    if (isnan(fl_y)) fl_y = fl_x;
    if (!(fl_x > 0.0 && fl_y > 0.0)) {
        return rt_fail_file(err, "bad-value", -1,
                            "%s: no focal length: fl_x (and fl_y) in pixels or camera_angle_x in "
                            "radians must be given and > 0",
                            where);
    }
    out->focal_px[0] = (float)fl_x;
    out->focal_px[1] = (float)fl_y;
    out->principal_px[0] = (float)(isnan(lens->cx) ? 0.5 * w : lens->cx);
    out->principal_px[1] = (float)(isnan(lens->cy) ? 0.5 * h : lens->cy);
    out->radial_k[0] = (float)lens->k1;
    out->radial_k[1] = (float)lens->k2;
    out->radial_k[2] = (float)lens->k3;
    out->tangential_p[0] = (float)lens->p1;
    out->tangential_p[1] = (float)lens->p2;
    return RT_OK;
}

/* 3x4 or 4x4, camera axes right, up, back: columns y and z change sign. */
static enum rt_status read_pose(const struct json_at *at, struct reader_pose *pose,
                                struct rt_error *err) {
    const json_t *matrix = NULL;
    RT_TRY(json_array_member(at, "transform_matrix", &matrix, err));
    size_t n_rows = json_array_size(matrix);
    if (n_rows != 3 && n_rows != 4) {
        return rt_fail_file(err, "bad-value", -1, "%s: transform_matrix must be 4 x 4 or 3 x 4",
                            at->where);
    }
    for (size_t i = 0; i < 3; i++) {
        double row[4];
        char where[160];
        snprintf(where, sizeof where, "%s: transform_matrix[%zu]", at->where, i);
        RT_TRY(json_array_numbers(json_array_get(matrix, i), where, 4, row, err));
        pose->r[i][0] = row[0];
        pose->r[i][1] = -row[1];
        pose->r[i][2] = -row[2];
        pose->t[i] = row[3];
    }
    return reader_pose_check(pose, at->where, err);
}

/* What one file says about all of its frames. */
struct file_context {
    struct lens_numbers lens;
    json_t *holdouts; /* owned set of names, or NULL */
    bool all_holdout;
    int32_t i_camera;
};

static enum rt_status read_time(struct reader *reader, const struct json_at *at,
                                struct reader_frame *frame, struct rt_error *err) {
    double time = NAN;
    RT_TRY(json_number(at, "time", &time, err));
    if (isnan(time)) return RT_OK;
    if (!(time >= 0.0 && time <= 1e6)) {
        return rt_fail_file(err, "bad-value", -1, "%s: time = %g must be 0...1e6", at->where, time);
    }
    reader->has_times = true;
    frame->t_us = (int64_t)llround(time * 1e6);
    frame->t_end_us = frame->t_us + 1;
    return RT_OK;
}

static enum rt_status read_frame(struct reader *reader, const struct file_context *context,
                                 const struct json_at *at, struct rt_error *err) {
    const char *file = NULL;
    struct reader_frame frame = {0};
    struct reader_picture picture;
    struct lens_numbers lens = context->lens;
    RT_TRY(json_text(at, "file_path", &file, err));
    if (!file) {
        return rt_fail_file(err, "bad-value", -1, "%s: file_path is missing", at->where);
    }
    RT_TRY(read_pose(at, &frame.start, err));
    RT_TRY(read_numbers(at, &lens, err));
    RT_TRY(json_text(at, "mask_path", &frame.mask_file, err));
    RT_TRY(json_text(at, "depth_file_path", &frame.depth_file, err));
    RT_TRY(read_time(reader, at, &frame, err));
    enum rt_status status = reader_find_picture(reader, file, &picture, err);
    if (status != RT_OK) return rt_prefix(err, status, "%s", at->where);
    if (!picture.found) return RT_OK;
    RT_TRY(lens_build(&lens, &picture, at->where, &frame.lens, err));
    frame.end = frame.start;
    frame.holdout =
        context->all_holdout || (context->holdouts && json_object_get(context->holdouts, file));
    return reader_add_frame(reader, context->i_camera, &frame, &picture, err);
}

/* train_filenames are what is left; val and test are the hold-outs. */
static enum rt_status collect_holdouts(const struct json_at *at, json_t **set,
                                       struct rt_error *err) {
    static const char *const lists[] = {"val_filenames", "test_filenames"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const json_t *list = NULL;
        RT_TRY(json_array_member(at, lists[i], &list, err));
        if (list && !*set) *set = json_object();
        for (size_t k = 0; k < json_array_size(list); k++) {
            const char *name = json_string_value(json_array_get(list, k));
            if (!name) {
                return rt_fail_file(err, "bad-value", -1, "%s[%zu] must be a string", lists[i], k);
            }
            if (json_object_set_new(*set, name, json_true()) != 0) {
                return rt_fail(err, RT_NO_MEMORY, "%s: out of memory", lists[i]);
            }
        }
    }
    return RT_OK;
}

static enum rt_status read_frames(struct reader *reader, const struct file_context *context,
                                  const json_t *frames, struct rt_error *err) {
    for (size_t i = 0; i < json_array_size(frames); i++) {
        char where[40];
        snprintf(where, sizeof where, "frames[%zu]", i);
        struct json_at at = {json_array_get(frames, i), where};
        if (!json_is_object(at.object)) {
            return rt_fail_file(err, "bad-value", -1, "%s must be an object", where);
        }
        RT_TRY(read_frame(reader, context, &at, err));
    }
    return RT_OK;
}

enum rt_status nerfstudio_parse(struct reader *reader, const json_t *root, bool holdout,
                                struct rt_error *err) {
    struct json_at at = {root, "transforms"};
    struct file_context context = {.lens = lens_unknown(), .all_holdout = holdout};
    const json_t *frames = NULL;
    if (!json_is_object(root)) {
        return rt_fail_file(err, "bad-header", 0, "the file must hold a JSON object");
    }
    RT_TRY(json_array_member(&at, "frames", &frames, err));
    if (!frames) return rt_fail_file(err, "bad-header", 0, "member \"frames\" is missing");
    RT_TRY(read_numbers(&at, &context.lens, err));
    if (reader->recording->n_cameras == 0) {
        RT_TRY(reader_add_camera(reader, "camera", &context.i_camera, err));
    }
    enum rt_status status = collect_holdouts(&at, &context.holdouts, err);
    if (status == RT_OK) status = read_frames(reader, &context, frames, err);
    json_decref(context.holdouts);
    return status;
}

static enum rt_status read_points(struct reader *reader, const json_t *root, struct rt_error *err) {
    const char *file = NULL;
    struct json_at at = {root, "transforms"};
    RT_TRY(json_text(&at, "ply_file_path", &file, err));
    return file ? points_file_read(reader, file, err) : RT_OK;
}

static enum rt_status read_file(struct reader *reader, const char *name, bool holdout,
                                struct rt_error *err) {
    struct json_limits limits = json_limits_recording();
    struct rt_bytes text = {0};
    json_t *root = NULL;
    RT_TRY(recording_file_read(reader->folder, name, limits.max_bytes, &text, err));
    enum rt_status status = json_parse(text.bytes, text.n_bytes, &limits, &root, err);
    rt_bytes_free(&text);
    if (status == RT_OK) status = nerfstudio_parse(reader, root, holdout, err);
    if (status == RT_OK) status = read_points(reader, root, err);
    json_decref(root);
    return status == RT_OK ? RT_OK : rt_prefix(err, status, "%s", name);
}

enum rt_status nerfstudio_read(struct reader *reader, struct rt_error *err) {
    struct recording *recording = reader->recording;
    snprintf(recording->format, sizeof recording->format, "nerfstudio");
    if (recording_has_file(reader->folder, "transforms.json")) {
        RT_TRY(read_file(reader, "transforms.json", false, err));
    } else {
        RT_TRY(read_file(reader, "transforms_train.json", false, err));
        static const char *const others[] = {"transforms_val.json", "transforms_test.json"};
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
            if (!recording_has_file(reader->folder, others[i])) continue;
            RT_TRY(read_file(reader, others[i], true, err));
        }
    }
    if (reader->has_alpha) {
        struct recording_finding what = {.severity = FINDING_INFO};
        recording->has_background = true;
        for (int i = 0; i < 3; i++) recording->background[i] = 1.0f;
        RT_TRY(recording_add_finding(recording, &what, err,
                                     "pictures have an alpha channel: they are placed on white"));
    }
    return reader_finish(reader, err);
}
