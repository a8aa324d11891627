#include "recon/formats/reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/core/scene.h"
#include "render/io/image_file.h"

/* float32 steps are 1 mm at this distance; readers subtract an origin beyond it. */
static const double FAR_M = 10000.0;

void reader_begin(struct reader *reader, struct recording *recording,
                  const struct recording_folder *folder) {
    memset(reader, 0, sizeof *reader);
    reader->recording = recording;
    reader->folder = folder;
    for (int i = 0; i < 3; i++) reader->R_world_source[i][i] = 1.0;
    recording->T_source_world = pose_identity();
    recording->is_static = true;
    recording->up[2] = 1.0f;
}

/* Room for one more element of an array that doubles at powers of two. */
static void *grown(void *array, int32_t n, size_t element_bytes) {
    if (n != 0 && (n & (n - 1)) != 0) return array;
    return realloc(array, (n == 0 ? 1 : 2 * (size_t)n) * element_bytes);
}

enum rt_status reader_add_camera(struct reader *reader, const char *id, int32_t *i_camera,
                                 struct rt_error *err) {
    struct recording *recording = reader->recording;
    if (!id_is_valid(id, true)) {
        return rt_fail_file(err, "bad-value", -1,
                            "camera id \"%.70s\": must be 1...64 of A-Z a-z 0-9 _ - :", id);
    }
    for (int32_t i = 0; i < recording->n_cameras; i++) {
        if (strcmp(recording->cameras[i].id, id) == 0) {
            return rt_fail_file(err, "bad-value", -1, "camera id \"%s\" occurs twice", id);
        }
    }
    if (recording->n_cameras >= RT_MAX_SENSORS) {
        return rt_fail_file(err, "limit", -1, "more than %d cameras", RT_MAX_SENSORS);
    }
    struct recording_camera *cameras =
        grown(recording->cameras, recording->n_cameras, sizeof *cameras);
    if (!cameras) return rt_fail(err, RT_NO_MEMORY, "cameras: out of memory");
    recording->cameras = cameras;
    struct recording_camera *camera = &cameras[recording->n_cameras];
    memset(camera, 0, sizeof *camera);
    snprintf(camera->id, sizeof camera->id, "%s", id);
    camera->T_rig_camera = pose_identity();
    *i_camera = recording->n_cameras++;
    return RT_OK;
}

/* Looks at one exact name; *found stays false when it is not there. */
static enum rt_status look_at(struct reader *reader, const char *name,
                              struct reader_picture *picture, struct rt_error *err) {
    struct recording_file file;
    enum rt_status status = recording_file_open(reader->folder, name, &file, err);
    if (status == RT_NOT_FOUND) return RT_OK;
    if (status != RT_OK) return status;
    struct image shape = {0};
    status = image_probe(file.path, &shape, err);
    if (status != RT_OK) recording_file_failed(&file, name, status, err);
    recording_file_close(&file);
    if (status != RT_OK) return status;
    snprintf(picture->file, sizeof picture->file, "%s", name);
    picture->found = true;
    picture->width_px = shape.width_px;
    picture->height_px = shape.height_px;
    picture->n_channels = shape.n_channels;
    if (shape.n_channels == 2 || shape.n_channels == 4) reader->has_alpha = true;
    return RT_OK;
}

static enum rt_status count_missing(struct reader *reader, const char *file, struct rt_error *err) {
    struct recording *recording = reader->recording;
    if (++recording->n_frames_missing > READER_MISSING_NAMED) return RT_OK;
    struct recording_finding what = {.severity = FINDING_WARNING, .file = (char *)file};
    snprintf(what.code, sizeof what.code, "missing-file");
    return recording_add_finding(recording, &what, err,
                                 "the picture is listed, but there is no such file: skipped");
}

enum rt_status reader_find_picture(struct reader *reader, const char *file,
                                   struct reader_picture *picture, struct rt_error *err) {
    static const char *const endings[] = {".png", ".jpg", ".jpeg", ".PNG", ".JPG", ".JPEG"};
    memset(picture, 0, sizeof *picture);
    while (strncmp(file, "./", 2) == 0) file += 2;
    if (reader->n_listed >= RT_MAX_FRAMES) {
        return rt_fail_file(err, "limit", -1, "more than %d frames", RT_MAX_FRAMES);
    }
    reader->n_listed++;
    RT_TRY(recording_path_check(file, err));
    if (reader->folder->fd < 0) {
        snprintf(picture->file, sizeof picture->file, "%s", file);
        picture->found = true;
        return RT_OK;
    }
    RT_TRY(look_at(reader, file, picture, err));
    const char *slash = strrchr(file, '/');
    bool has_ending = strchr(slash ? slash : file, '.') != NULL;
    for (size_t i = 0; !picture->found && !has_ending && i < sizeof endings / sizeof endings[0];
         i++) {
        char name[RT_MAX_PATH_BYTES + 8];
        snprintf(name, sizeof name, "%s%s", file, endings[i]);
        if (strlen(name) <= RT_MAX_PATH_BYTES) RT_TRY(look_at(reader, name, picture, err));
    }
    return picture->found ? RT_OK : count_missing(reader, file, err);
}

/* formats.md section 5: one ratio on both axes, one pixel of rounding allowed. */
static enum rt_status fit_lens(struct camera *lens, const struct reader_picture *picture,
                               struct rt_error *err) {
    int32_t width = picture->width_px;
    int32_t height = picture->height_px;
    if (lens->model != CAMERA_PINHOLE) {
        return rt_fail_file(err, "unsupported-camera", -1,
                            "%s: only pinhole lenses are read in this version", picture->file);
    }
    if (width == 0) width = lens->width_px;
    if (height == 0) height = lens->height_px;
    struct rt_error fault;
    rt_error_clear(&fault);
    if (camera_validate(lens, &fault) != RT_OK) {
        return rt_fail_file(err, "bad-value", -1, "%s: camera: %s", picture->file, fault.message);
    }
    if (width == lens->width_px && height == lens->height_px) return RT_OK;
    double ratio_x = (double)width / lens->width_px;
    double ratio_y = (double)height / lens->height_px;
    if (fabs(ratio_x * lens->height_px - height) > 1.0 &&
        fabs(ratio_y * lens->width_px - width) > 1.0) {
        return rt_fail_file(err, "bad-value", -1,
                            "%s is %d x %d px, its camera %d x %d px: neither equal nor scaled by "
                            "one ratio%s",
                            picture->file, width, height, lens->width_px, lens->height_px,
                            width == lens->height_px && height == lens->width_px
                                ? " (turned by 90 degrees? EXIF orientation is ignored)"
                                : "");
    }
    *lens = camera_scaled(lens, width, height);
    return RT_OK;
}

enum rt_status reader_pose_check(const struct reader_pose *pose, const char *where,
                                 struct rt_error *err) {
    for (int i = 0; i < 3; i++) {
        if (!(fabs(pose->t[i]) < 1e9)) {
            return rt_fail_file(err, "bad-value", -1, "%s: position %g must be finite and < 1e9",
                                where, pose->t[i]);
        }
        for (int j = 0; j <= i; j++) {
            double dot = 0.0;
            for (int k = 0; k < 3; k++) dot += pose->r[k][i] * pose->r[k][j];
            if (!(fabs(dot - (i == j ? 1.0 : 0.0)) < 0.01)) {
                return rt_fail_file(err, "bad-value", -1,
                                    "%s: the pose is no rotation (columns %d and %d: dot %g)",
                                    where, j, i, dot);
            }
        }
    }
    const double(*r)[3] = pose->r;
    double det = r[0][0] * (r[1][1] * r[2][2] - r[1][2] * r[2][1]) -
                 r[0][1] * (r[1][0] * r[2][2] - r[1][2] * r[2][0]) +
                 r[0][2] * (r[1][0] * r[2][1] - r[1][1] * r[2][0]);
    if (det > 0.0) return RT_OK;
    return rt_fail_file(err, "bad-value", -1, "%s: the pose mirrors (determinant %g)", where, det);
}

vec3 reader_point(const struct reader *reader, const double source[3]) {
    double p[3];
    for (int i = 0; i < 3; i++) {
        p[i] = 0.0;
        for (int k = 0; k < 3; k++) {
            p[i] += reader->R_world_source[i][k] * (source[k] - reader->origin[k]);
        }
    }
    return vec3_make((float)p[0], (float)p[1], (float)p[2]);
}

struct reader_pose reader_pose_from(struct pose pose) {
    struct reader_pose out;
    mat3 r = quat_to_mat3(pose.q);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) out.r[i][j] = (double)r.m[i][j];
    }
    out.t[0] = (double)pose.t.x;
    out.t[1] = (double)pose.t.y;
    out.t[2] = (double)pose.t.z;
    return out;
}

static struct pose world_pose(const struct reader *reader, const struct reader_pose *source) {
    mat3 r;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            double sum = 0.0;
            for (int k = 0; k < 3; k++) sum += reader->R_world_source[i][k] * source->r[k][j];
            r.m[i][j] = (float)sum;
        }
    }
    return pose_make(quat_from_mat3(r), reader_point(reader, source->t));
}

void reader_store_world(struct reader *reader) {
    mat3 r;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) r.m[i][j] = (float)reader->R_world_source[j][i];
    }
    const double *o = reader->origin;
    reader->recording->T_source_world =
        pose_make(quat_from_mat3(r), vec3_make((float)o[0], (float)o[1], (float)o[2]));
}

/* The first far position becomes the origin, in whole kilometres so that float32 holds it. */
static void choose_origin(struct reader *reader, const double t[3]) {
    if (reader->has_origin) return;
    reader->has_origin = true;
    if (fabs(t[0]) < FAR_M && fabs(t[1]) < FAR_M && fabs(t[2]) < FAR_M) return;
    for (int i = 0; i < 3; i++) reader->origin[i] = 1024.0 * round(t[i] / 1024.0);
}

static enum rt_status copy_text(const char *text, char **out, struct rt_error *err) {
    *out = text ? strdup(text) : NULL;
    if (text && !*out) return rt_fail(err, RT_NO_MEMORY, "file name: out of memory");
    return RT_OK;
}

static void frame_free(struct recording_frame *frame) {
    free(frame->file);
    free(frame->mask_file);
    free(frame->depth_file);
    free(frame->camera);
}

/* Mask and depth files are optional: a missing one is said and left out. */
enum rt_status reader_side_file(struct reader *reader, const char *file, const char *what,
                                char **out, struct rt_error *err) {
    *out = NULL;
    if (!file) return RT_OK;
    while (strncmp(file, "./", 2) == 0) file += 2;
    RT_TRY(recording_path_check(file, err));
    if (reader->folder->fd >= 0 && !recording_has_file(reader->folder, file)) {
        struct recording_finding finding = {.severity = FINDING_WARNING, .file = (char *)file};
        snprintf(finding.code, sizeof finding.code, "missing-file");
        return recording_add_finding(reader->recording, &finding, err,
                                     "there is no such %s file: the frame is used without", what);
    }
    return copy_text(file, out, err);
}

enum rt_status reader_add_frame(struct reader *reader, int32_t i_camera,
                                const struct reader_frame *frame,
                                const struct reader_picture *picture, struct rt_error *err) {
    struct recording_camera *camera = &reader->recording->cameras[i_camera];
    struct camera lens = frame->lens;
    RT_TRY(fit_lens(&lens, picture, err));
    RT_TRY(reader_pose_check(&frame->start, picture->file, err));
    RT_TRY(reader_pose_check(&frame->end, picture->file, err));
    choose_origin(reader, frame->start.t);
    struct recording_frame *frames = grown(camera->frames, camera->n_frames, sizeof *frames);
    if (!frames) return rt_fail(err, RT_NO_MEMORY, "frames: out of memory");
    camera->frames = frames;
    struct recording_frame fresh = {.t_us = frame->t_us,
                                    .t_end_us = frame->t_end_us,
                                    .T_world_sensor_start = world_pose(reader, &frame->start),
                                    .T_world_sensor_end = world_pose(reader, &frame->end),
                                    .holdout = frame->holdout};
    enum rt_status status = copy_text(picture->file, &fresh.file, err);
    if (status == RT_OK) {
        status = reader_side_file(reader, frame->mask_file, "mask", &fresh.mask_file, err);
    }
    if (status == RT_OK) {
        status = reader_side_file(reader, frame->depth_file, "depth", &fresh.depth_file, err);
    }
    if (status == RT_OK) {
        fresh.camera = malloc(sizeof lens);
        if (!fresh.camera) status = rt_fail(err, RT_NO_MEMORY, "lens: out of memory");
    }
    if (status != RT_OK) {
        frame_free(&fresh);
        return status;
    }
    *fresh.camera = lens;
    mat3 r = quat_to_mat3(fresh.T_world_sensor_start.q);
    for (int i = 0; i < 3; i++) reader->sum_down[i] += (double)r.m[i][1];
    if (frame->holdout) reader->recording->has_declared_holdout = true;
    camera->frames[camera->n_frames++] = fresh;
    return RT_OK;
}

void reader_up_from_cameras(struct reader *reader) {
    const double *d = reader->sum_down;
    double length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    if (!(length > 1e-6)) return; /* cameras looking everywhere: keep 0, 0, 1 */
    for (int i = 0; i < 3; i++) reader->recording->up[i] = (float)(-d[i] / length);
}
