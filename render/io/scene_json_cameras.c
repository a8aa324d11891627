/* Cameras of scene.json with the columns of frames.json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/io/scene_json.h"
#include "render/io/scene_source.h"
#include "render/io/sensor_json.h"

enum { WHERE_BYTES = 160 };

/* One column of frames.json: an array of n entries, or absent. */
static enum rt_status find_column(const struct json_at *at, const char *key, size_t n,
                                  const json_t **column, struct rt_error *err) {
    RT_TRY(json_array_member(at, key, column, err));
    if (!*column || json_array_size(*column) == n) return RT_OK;
    return rt_fail_file(err, "bad-value", -1, "%s: %s has %zu entries, t_us has %zu", at->where,
                        key, json_array_size(*column), n);
}

static enum rt_status read_times(const struct json_at *at, size_t n, struct scene_frames *frames,
                                 struct rt_error *err) {
    const json_t *begin = NULL;
    const json_t *end = NULL;
    RT_TRY(find_column(at, "t_us", n, &begin, err));
    RT_TRY(find_column(at, "t_end_us", n, &end, err));
    for (size_t i = 0; i < n; i++) {
        const json_t *t = json_array_get(begin, i);
        const json_t *t_end = end ? json_array_get(end, i) : t;
        if (!json_is_integer(t) || !json_is_integer(t_end)) {
            return rt_fail_file(err, "bad-value", -1, "%s: frame %zu: times must be integers",
                                at->where, i);
        }
        frames->t_us[i] = json_integer_value(t);
        frames->t_end_us[i] = end ? json_integer_value(t_end) : frames->t_us[i] + 1;
        bool rises = i == 0 || frames->t_us[i] > frames->t_us[i - 1];
        if (!rises || frames->t_end_us[i] < frames->t_us[i]) {
            return rt_fail_file(err, "bad-value", -1, "%s: frame %zu: times must rise", at->where,
                                i);
        }
    }
    return RT_OK;
}

/* {"t":[[x,y,z]…],"q_wxyz":[[w,x,y,z]…]} */
static enum rt_status read_pose_columns(const json_t *columns, const char *where, size_t n,
                                        struct pose *poses, struct rt_error *err) {
    const struct json_at at = {columns, where};
    const json_t *t = NULL;
    const json_t *q = NULL;
    RT_TRY(find_column(&at, "t", n, &t, err));
    RT_TRY(find_column(&at, "q_wxyz", n, &q, err));
    if (!t || !q) return rt_fail_file(err, "bad-value", -1, "%s needs t and q_wxyz", where);
    for (size_t i = 0; i < n; i++) {
        char at_frame[WHERE_BYTES];
        snprintf(at_frame, sizeof at_frame, "%.120s, frame %zu", where, i);
        json_t *pose =
            json_pack("{s:O, s:O}", "t", json_array_get(t, i), "q_wxyz", json_array_get(q, i));
        enum rt_status status = pose ? pose_from_json(pose, at_frame, &poses[i], err)
                                     : rt_fail(err, RT_NO_MEMORY, "%s: out of memory", where);
        json_decref(pose);
        RT_TRY(status);
    }
    return RT_OK;
}

static enum rt_status read_poses(const struct json_at *at, size_t n, struct scene_frames *frames,
                                 struct rt_error *err) {
    const json_t *pair = NULL;
    const json_t *start = NULL;
    const json_t *end = NULL;
    char where[WHERE_BYTES];
    RT_TRY(json_object_member(at, "T_world_sensor", &pair, err));
    snprintf(where, sizeof where, "%.100s: T_world_sensor", at->where);
    if (!pair) {
        return rt_fail_file(err, "bad-value", -1,
                            "%s is missing (this version needs a pose per frame)", where);
    }
    const struct json_at inside = {pair, where};
    RT_TRY(json_object_member(&inside, "start", &start, err));
    RT_TRY(json_object_member(&inside, "end", &end, err));
    RT_TRY(read_pose_columns(start, where, n, frames->T_world_sensor_start, err));
    if (end) return read_pose_columns(end, where, n, frames->T_world_sensor_end, err);
    memcpy(frames->T_world_sensor_end, frames->T_world_sensor_start,
           n * sizeof *frames->T_world_sensor_end);
    return RT_OK;
}

static enum rt_status read_file(const json_t *name, const struct json_at *at, size_t i, char **out,
                                struct rt_error *err) {
    if (json_is_null(name)) return RT_OK;
    if (!json_is_string(name) || !scene_path_is_safe(json_string_value(name))) {
        return rt_fail_file(err, "bad-value", -1, "%s: frame %zu: file name is not allowed",
                            at->where, i);
    }
    return scene_set_text(out, json_string_value(name), err);
}

static enum rt_status read_optional(const struct json_at *at, size_t n, struct scene_frames *frames,
                                    struct rt_error *err) {
    const json_t *holdout = NULL;
    const json_t *file = NULL;
    const json_t *camera = NULL;
    RT_TRY(find_column(at, "holdout", n, &holdout, err));
    RT_TRY(find_column(at, "file", n, &file, err));
    RT_TRY(find_column(at, "camera", n, &camera, err));
    if (camera && n > 0) {
        frames->camera = calloc(n, sizeof *frames->camera);
        if (!frames->camera) return rt_fail(err, RT_NO_MEMORY, "%zu lenses: out of memory", n);
    }
    for (size_t i = 0; i < n; i++) {
        char where[WHERE_BYTES];
        snprintf(where, sizeof where, "%.100s: camera[%zu]", at->where, i);
        frames->holdout[i] = holdout && json_is_true(json_array_get(holdout, i));
        if (file) RT_TRY(read_file(json_array_get(file, i), at, i, &frames->file[i], err));
        if (camera) {
            RT_TRY(camera_from_json(json_array_get(camera, i), where, &frames->camera[i], err));
        }
    }
    return RT_OK;
}

static enum rt_status read_camera(const json_t *object, const json_t *frames, const char *where,
                                  struct scene *scene, struct rt_error *err) {
    const struct json_at at = {object, where};
    const char *id = "";
    const json_t *lens = NULL;
    const json_t *columns = NULL;
    const json_t *times = NULL;
    char at_frames[WHERE_BYTES];
    if (!json_is_object(object)) {
        return rt_fail_file(err, "bad-value", -1, "%s must be an object", where);
    }
    RT_TRY(json_text(&at, "id", &id, err));
    snprintf(at_frames, sizeof at_frames, "%s: %.70s", FRAMES_JSON, id);
    const struct json_at in_frames = {frames, FRAMES_JSON};
    if (frames) RT_TRY(json_object_member(&in_frames, id, &columns, err));
    const struct json_at in_columns = {columns, at_frames};
    if (columns) RT_TRY(json_array_member(&in_columns, "t_us", &times, err));
    size_t n = json_array_size(times);
    if (n > RT_MAX_FRAMES) {
        return rt_fail_file(err, "limit", -1, "%s: %zu frames, at most %d", at_frames, n,
                            RT_MAX_FRAMES);
    }
    struct scene_camera *camera = NULL;
    struct rt_error fault = {0};
    if (scene_add_camera(scene, id, (int32_t)n, &camera, &fault) != RT_OK) {
        return rt_fail_file(err, "bad-value", -1, "%s: %s", where, fault.message);
    }
    RT_TRY(json_object_member(&at, "camera", &lens, err));
    RT_TRY(camera_from_json(lens, where, &camera->camera, err));
    RT_TRY(json_pose_member(&at, "T_rig_camera", &camera->T_rig_camera, err));
    RT_TRY(json_int64(&at, "shutter_us", &camera->shutter_us, err));
    RT_TRY(json_int64(&at, "time_offset_us", &camera->time_offset_us, err));
    if (n == 0) return RT_OK;
    RT_TRY(read_times(&in_columns, n, &camera->frames, err));
    RT_TRY(read_poses(&in_columns, n, &camera->frames, err));
    return read_optional(&in_columns, n, &camera->frames, err);
}

enum rt_status scene_json_cameras(const json_t *root, const json_t *frames, struct scene *scene,
                                  struct rt_error *err) {
    const struct json_at at = {root, SCENE_JSON};
    const json_t *array = NULL;
    RT_TRY(json_array_member(&at, "cameras", &array, err));
    if (frames && !json_is_object(frames)) {
        return rt_fail_file(err, "bad-value", -1, "%s must be an object", FRAMES_JSON);
    }
    for (size_t i = 0; i < json_array_size(array); i++) {
        char where[32];
        snprintf(where, sizeof where, "cameras[%zu]", i);
        RT_TRY(read_camera(json_array_get(array, i), frames, where, scene, err));
    }
    return RT_OK;
}
