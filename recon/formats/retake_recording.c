#include "recon/formats/retake_recording.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recon/formats/points_file.h"
#include "recon/formats/trajectory.h"
#include "render/io/json_parse.h"
#include "render/io/sensor_json.h"

enum { MAX_EXPOSURE_US = 10000000, MAX_LIDAR_MEMBERS = 5 };

/* One camera while its frames are read. */
struct context {
    struct reader *reader;
    const struct trajectories *trajectories;
    const char *where;
    int32_t i_camera;
    struct camera lens;
    struct pose T_rig_camera;
    int64_t shutter_us, time_offset_us;
    int64_t stamp_shift_us; /* from the file's stamp to the first row */
    double beyond_s;        /* largest extrapolation */
};

static enum rt_status read_times(const struct context *context, const struct json_at *at,
                                 struct reader_frame *frame, struct rt_error *err) {
    int64_t t_us = INT64_MIN;
    int64_t t_end_us = INT64_MIN;
    RT_TRY(json_int64(at, "t_us", &t_us, err));
    RT_TRY(json_int64(at, "t_end_us", &t_end_us, err));
    if (t_us == INT64_MIN) {
        if (!context->reader->has_times) return RT_OK;
        return rt_fail_file(err, "bad-value", -1, "%s: t_us is missing", at->where);
    }
    int64_t shutter_us = context->shutter_us > 0 ? context->shutter_us : 1;
    frame->t_us = t_us + context->time_offset_us - context->stamp_shift_us;
    frame->t_end_us = frame->t_us + shutter_us;
    if (t_end_us != INT64_MIN) frame->t_end_us = t_end_us + context->time_offset_us;
    if (frame->t_end_us == frame->t_us) frame->t_end_us++;
    if (frame->t_end_us > frame->t_us && frame->t_end_us - frame->t_us <= MAX_EXPOSURE_US) {
        return RT_OK;
    }
    return rt_fail_file(err, "bad-value", -1,
                        "%s: exposure from %lld to %lld us must have a length of 1 us to 10 s",
                        at->where, (long long)frame->t_us, (long long)frame->t_end_us);
}

/* {"t", "q_wxyz"} or {"start": …, "end": …}. */
static enum rt_status read_pose_pair(const json_t *node, const char *where,
                                     struct reader_frame *frame, struct rt_error *err) {
    const struct json_at at = {node, where};
    struct pose start = pose_identity();
    struct pose end;
    if (!json_is_object(node)) {
        return rt_fail_file(err, "bad-value", -1, "%s: T_world_sensor must be a pose", where);
    }
    if (!json_member(&at, "start")) {
        RT_TRY(pose_from_json(node, where, &start, err));
        end = start;
    } else {
        RT_TRY(json_pose_member(&at, "start", &start, err));
        end = start;
        RT_TRY(json_pose_member(&at, "end", &end, err));
    }
    frame->start = reader_pose_from(start);
    frame->end = reader_pose_from(end);
    return RT_OK;
}

static enum rt_status read_pose(struct context *context, const struct json_at *at,
                                struct reader_frame *frame, struct rt_error *err) {
    const json_t *node = json_member(at, "T_world_sensor");
    struct pose rig[2];
    if (node) return read_pose_pair(node, at->where, frame, err);
    const int64_t t_us[2] = {frame->t_us, frame->t_end_us};
    for (int i = 0; i < 2; i++) {
        double beyond_s = 0.0;
        if (!trajectories_at(context->trajectories, t_us[i], &rig[i], &beyond_s)) {
            return rt_fail_file(err, "bad-value", -1,
                                "%s: no pose: T_world_sensor is missing and no trajectory covers "
                                "%lld us (0.2 s beyond its ends are allowed)",
                                at->where, (long long)t_us[i]);
        }
        if (beyond_s > context->beyond_s) context->beyond_s = beyond_s;
        rig[i] = pose_mul(rig[i], context->T_rig_camera);
    }
    frame->start = reader_pose_from(rig[0]);
    frame->end = reader_pose_from(rig[1]);
    return RT_OK;
}

static enum rt_status read_frame(struct context *context, const struct json_at *at,
                                 struct rt_error *err) {
    const char *file = NULL;
    struct reader_frame frame = {.lens = context->lens};
    struct reader_picture picture;
    if (!json_is_object(at->object)) {
        return rt_fail_file(err, "bad-value", -1, "%s must be an object", at->where);
    }
    RT_TRY(json_text(at, "file", &file, err));
    if (!file) return rt_fail_file(err, "bad-value", -1, "%s: file is missing", at->where);
    RT_TRY(read_times(context, at, &frame, err));
    RT_TRY(read_pose(context, at, &frame, err));
    RT_TRY(json_text(at, "mask", &frame.mask_file, err));
    RT_TRY(json_text(at, "depth", &frame.depth_file, err));
    RT_TRY(json_flag(at, "holdout", &frame.holdout, err));
    if (json_member(at, "camera")) {
        RT_TRY(camera_from_json(json_member(at, "camera"), at->where, &frame.lens, err));
    }
    enum rt_status status = reader_find_picture(context->reader, file, &picture, err);
    if (status != RT_OK) return rt_prefix(err, status, "%s", at->where);
    if (!picture.found) return RT_OK;
    return reader_add_frame(context->reader, context->i_camera, &frame, &picture, err);
}

static enum rt_status read_stamp(const struct json_at *at, struct context *context,
                                 struct rt_error *err) {
    const char *stamp = "start";
    RT_TRY(json_text(at, "stamp", &stamp, err));
    if (strcmp(stamp, "start") == 0) return RT_OK;
    if (strcmp(stamp, "middle") == 0) {
        context->stamp_shift_us = context->shutter_us / 2;
    } else if (strcmp(stamp, "end") == 0) {
        context->stamp_shift_us = context->shutter_us;
    } else {
        return rt_fail_file(err, "bad-value", -1,
                            "%s: stamp \"%.40s\" must be start, middle or end", at->where, stamp);
    }
    return RT_OK;
}

static enum rt_status read_camera_head(struct context *context, const struct json_at *at,
                                       struct rt_error *err) {
    const char *id = NULL;
    const char *ego_mask = NULL;
    RT_TRY(json_text(at, "id", &id, err));
    if (!id) return rt_fail_file(err, "bad-value", -1, "%s: id is missing", at->where);
    RT_TRY(reader_add_camera(context->reader, id, &context->i_camera, err));
    RT_TRY(camera_from_json(json_member(at, "camera"), context->where, &context->lens, err));
    RT_TRY(json_pose_member(at, "T_rig_camera", &context->T_rig_camera, err));
    RT_TRY(json_int64(at, "shutter_us", &context->shutter_us, err));
    RT_TRY(json_int64(at, "time_offset_us", &context->time_offset_us, err));
    RT_TRY(json_text(at, "ego_mask", &ego_mask, err));
    if (context->shutter_us < 0 || context->shutter_us > MAX_EXPOSURE_US) {
        return rt_fail_file(err, "bad-value", -1, "%s: shutter_us = %lld must be 0...10000000",
                            at->where, (long long)context->shutter_us);
    }
    RT_TRY(read_stamp(at, context, err));
    struct recording_camera *camera = &context->reader->recording->cameras[context->i_camera];
    camera->T_rig_camera = context->T_rig_camera;
    camera->shutter_us = context->shutter_us;
    return reader_side_file(context->reader, ego_mask, "ego mask", &camera->ego_mask_file, err);
}

static enum rt_status read_camera(struct reader *reader, const struct trajectories *trajectories,
                                  const json_t *node, int32_t i_node, struct rt_error *err) {
    char where[60];
    const json_t *frames = NULL;
    snprintf(where, sizeof where, "cameras[%d]", i_node);
    const struct json_at at = {node, where};
    struct context context = {.reader = reader,
                              .trajectories = trajectories,
                              .where = where,
                              .T_rig_camera = pose_identity()};
    if (!json_is_object(node)) {
        return rt_fail_file(err, "bad-value", -1, "%s must be an object", where);
    }
    RT_TRY(read_camera_head(&context, &at, err));
    RT_TRY(json_array_member(&at, "frames", &frames, err));
    for (size_t i = 0; i < json_array_size(frames); i++) {
        char frame_where[100];
        snprintf(frame_where, sizeof frame_where, "cameras[%d].frames[%zu]", i_node, i);
        const struct json_at frame_at = {json_array_get(frames, i), frame_where};
        RT_TRY(read_frame(&context, &frame_at, err));
    }
    if (!(context.beyond_s > 0.0)) return RT_OK;
    const struct recording_finding what = {.severity = FINDING_WARNING};
    return recording_add_finding(reader->recording, &what, err,
                                 "camera \"%s\": poses extrapolated by up to %.3f s beyond the "
                                 "trajectory",
                                 reader->recording->cameras[context.i_camera].id, context.beyond_s);
}

static enum rt_status read_world(struct reader *reader, const struct json_at *root,
                                 struct rt_error *err) {
    struct recording *recording = reader->recording;
    const json_t *world = NULL;
    const json_t *time = NULL;
    double up[3] = {0.0, 0.0, 1.0};
    double background[3];
    bool is_static = false;
    RT_TRY(json_object_member(root, "world", &world, err));
    RT_TRY(json_object_member(root, "time", &time, err));
    const struct json_at world_at = {world, "world"};
    const struct json_at time_at = {time, "time"};
    RT_TRY(json_numbers(&world_at, "up", 3, up, NULL, err));
    RT_TRY(json_flag(&world_at, "metric", &recording->metric, err));
    RT_TRY(json_flag(&time_at, "static", &is_static, err));
    RT_TRY(json_numbers(root, "background", 3, background, &recording->has_background, err));
    double length = sqrt(up[0] * up[0] + up[1] * up[1] + up[2] * up[2]);
    if (!(length > 1e-6)) {
        return rt_fail_file(err, "bad-value", -1, "world: up has length %g", length);
    }
    for (int i = 0; i < 3; i++) {
        recording->up[i] = (float)(up[i] / length);
        if (!recording->has_background) continue;
        if (!(background[i] >= 0.0 && background[i] <= 1.0)) {
            return rt_fail_file(err, "bad-value", -1, "background[%d] = %g must be 0...1", i,
                                background[i]);
        }
        recording->background[i] = (float)background[i];
    }
    reader->has_times = !is_static;
    reader->has_origin = true; /* carried tracks are in the file's world: it is never shifted */
    return RT_OK;
}

/* Lidars without their lists of sweeps; everything else as it is. */
static json_t *carried_lidar(const json_t *lidar) {
    static const char *const kept[MAX_LIDAR_MEMBERS] = {"id", "lidar", "T_rig_lidar", "sweep_us",
                                                        "time_offset_us"};
    json_t *copy = json_object();
    for (int i = 0; copy && i < MAX_LIDAR_MEMBERS; i++) {
        json_t *value = json_object_get(lidar, kept[i]);
        if (value && json_object_set(copy, kept[i], value) != 0) {
            json_decref(copy);
            copy = NULL;
        }
    }
    return copy;
}

static json_t *carried_lidars(const json_t *lidars) {
    json_t *array = json_array();
    for (size_t i = 0; array && i < json_array_size(lidars); i++) {
        if (json_array_append_new(array, carried_lidar(json_array_get(lidars, i))) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

static enum rt_status carry(struct recording *recording, const struct json_at *root,
                            struct rt_error *err) {
    const json_t *lidars = NULL;
    const json_t *tracks = NULL;
    const json_t *trajectories = NULL;
    RT_TRY(json_array_member(root, "lidars", &lidars, err));
    RT_TRY(json_array_member(root, "tracks", &tracks, err));
    RT_TRY(json_array_member(root, "trajectories", &trajectories, err));
    if (json_array_size(lidars) > RT_MAX_SENSORS || json_array_size(tracks) > RT_MAX_TRACKS) {
        return rt_fail_file(err, "limit", -1, "%zu lidars and %zu tracks, at most %d and %d",
                            json_array_size(lidars), json_array_size(tracks), RT_MAX_SENSORS,
                            RT_MAX_TRACKS);
    }
    recording->n_lidars = (int32_t)json_array_size(lidars);
    recording->n_tracks = (int32_t)json_array_size(tracks);
    if (!lidars && !tracks && !trajectories) return RT_OK;
    json_t *object = json_object();
    bool good = object != NULL;
    if (good && lidars) good = json_object_set_new(object, "lidars", carried_lidars(lidars)) == 0;
    if (good && tracks) good = json_object_set(object, "tracks", (json_t *)tracks) == 0;
    if (good && trajectories) {
        good = json_object_set(object, "trajectories", (json_t *)trajectories) == 0;
    }
    if (good) recording->carried_json = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    if (recording->carried_json) return RT_OK;
    return rt_fail(err, RT_NO_MEMORY, "lidars and tracks: out of memory");
}

static enum rt_status check_header(const struct json_at *root, struct rt_error *err) {
    const char *format = NULL;
    double version[2] = {1.0, 0.0};
    if (!json_is_object(root->object)) {
        return rt_fail_file(err, "bad-header", 0, "the file must hold a JSON object");
    }
    RT_TRY(json_text(root, "format", &format, err));
    if (!format || strcmp(format, "retake-recording") != 0) {
        return rt_fail_file(err, "bad-header", 0, "format must be \"retake-recording\"");
    }
    RT_TRY(json_numbers(root, "version", 2, version, NULL, err));
    if (version[0] <= 1.0) return RT_OK;
    return rt_fail_file(err, "unsupported-version", 0,
                        "version %g.%g is newer than 1.x, which this program reads", version[0],
                        version[1]);
}

enum rt_status retake_recording_parse(struct reader *reader, const json_t *root,
                                      struct rt_error *err) {
    struct recording *recording = reader->recording;
    const struct json_at at = {root, "recording"};
    const json_t *cameras = NULL;
    const char *name = NULL;
    struct trajectories trajectories;
    RT_TRY(check_header(&at, err));
    RT_TRY(read_world(reader, &at, err));
    RT_TRY(json_text(&at, "name", &name, err));
    if (name) {
        char *copy = strdup(name);
        if (!copy) return rt_fail(err, RT_NO_MEMORY, "name: out of memory");
        free(recording->name);
        recording->name = copy;
    }
    RT_TRY(json_array_member(&at, "cameras", &cameras, err));
    RT_TRY(carry(recording, &at, err));
    RT_TRY(trajectories_from_json(json_member(&at, "trajectories"), &trajectories, err));
    enum rt_status status = RT_OK;
    for (size_t i = 0; i < json_array_size(cameras) && status == RT_OK; i++) {
        status = read_camera(reader, &trajectories, json_array_get(cameras, i), (int32_t)i, err);
    }
    trajectories_free(&trajectories);
    return status;
}

static enum rt_status read_points(struct reader *reader, const json_t *root, struct rt_error *err) {
    const struct json_at at = {root, "recording"};
    const json_t *points = NULL;
    RT_TRY(json_array_member(&at, "points", &points, err));
    for (size_t i = 0; i < json_array_size(points); i++) {
        char where[40];
        const char *file = NULL;
        snprintf(where, sizeof where, "points[%zu]", i);
        const struct json_at item = {json_array_get(points, i), where};
        RT_TRY(json_text(&item, "file", &file, err));
        if (!file) return rt_fail_file(err, "bad-value", -1, "%s: file is missing", where);
        RT_TRY(points_file_read(reader, file, err));
    }
    return RT_OK;
}

enum rt_status retake_recording_read(struct reader *reader, struct rt_error *err) {
    struct json_limits limits = json_limits_recording();
    struct rt_bytes text = {0};
    json_t *root = NULL;
    snprintf(reader->recording->format, sizeof reader->recording->format, "retake-recording");
    RT_TRY(recording_file_read(reader->folder, "recording.json", limits.max_bytes, &text, err));
    enum rt_status status = json_parse(text.bytes, text.n_bytes, &limits, &root, err);
    rt_bytes_free(&text);
    if (status == RT_OK) status = retake_recording_parse(reader, root, err);
    if (status == RT_OK) status = read_points(reader, root, err);
    json_decref(root);
    if (status != RT_OK) return rt_prefix(err, status, "recording.json");
    return reader_finish(reader, err);
}
