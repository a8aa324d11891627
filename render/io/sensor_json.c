#include "render/io/sensor_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const shutters[] = {"global", "rolling_top_to_bottom", "rolling_left_to_right",
                                       "rolling_bottom_to_top", "rolling_right_to_left"};

enum { N_SHUTTERS = sizeof shutters / sizeof shutters[0] };

enum rt_status pose_from_json(const json_t *node, const char *where, struct pose *pose,
                              struct rt_error *err) {
    double t[3] = {0.0, 0.0, 0.0};
    double q[4] = {1.0, 0.0, 0.0, 0.0};
    const struct json_at at = {node, where};
    if (!json_is_object(node)) {
        return rt_fail_file(err, "bad-value", -1, "%s must be a pose {\"t\", \"q_wxyz\"}", where);
    }
    RT_TRY(json_numbers(&at, "t", 3, t, NULL, err));
    RT_TRY(json_numbers(&at, "q_wxyz", 4, q, NULL, err));
    double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(length > 1e-6)) {
        return rt_fail_file(err, "bad-value", -1, "%s: q_wxyz has length %g", where, length);
    }
    /* A unit quaternion of float accuracy stays as it is, so that a scene re-writes its bytes. */
    if (fabs(length - 1.0) < 1e-6) length = 1.0;
    pose->q = quat_make((float)(q[0] / length), (float)(q[1] / length), (float)(q[2] / length),
                        (float)(q[3] / length));
    pose->t = vec3_make((float)t[0], (float)t[1], (float)t[2]);
    return RT_OK;
}

enum rt_status json_pose_member(const struct json_at *at, const char *key, struct pose *pose,
                                struct rt_error *err) {
    const json_t *node = json_member(at, key);
    char where[160];
    if (!node) return RT_OK;
    snprintf(where, sizeof where, "%.100s: %s", at->where, key);
    return pose_from_json(node, where, pose, err);
}

/* float to the shortest decimal that reads back as the same float: 0.1f is written as 0.1. */
static json_t *real_from_float(float value) {
    char text[32];
    double shortest = (double)value;
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (sscanf(text, "%lf", &shortest) == 1 && (float)shortest == value) break;
    }
    return json_real(shortest);
}

json_t *json_from_floats(const float *values, int n) {
    json_t *array = json_array();
    for (int i = 0; array && i < n; i++) {
        if (json_array_append_new(array, real_from_float(values[i])) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

json_t *pose_to_json(struct pose pose) {
    const float t[3] = {pose.t.x, pose.t.y, pose.t.z};
    const float q[4] = {pose.q.w, pose.q.x, pose.q.y, pose.q.z};
    return json_pack("{s:o, s:o}", "t", json_from_floats(t, 3), "q_wxyz", json_from_floats(q, 4));
}

/* Up to n numbers; missing ones stay 0. */
static enum rt_status read_coefficients(const struct json_at *at, const char *key, int32_t n,
                                        float *out, struct rt_error *err) {
    const json_t *array = NULL;
    double values[6];
    RT_TRY(json_array_member(at, key, &array, err));
    int32_t n_given = (int32_t)json_array_size(array);
    if (n_given > n) {
        return rt_fail_file(err, "bad-value", -1, "%s: %s has %d entries, at most %d", at->where,
                            key, n_given, n);
    }
    RT_TRY(json_numbers(at, key, n_given, values, NULL, err));
    for (int32_t i = 0; i < n_given; i++) out[i] = (float)values[i];
    return RT_OK;
}

static enum rt_status read_size(const struct json_at *at, struct camera *camera,
                                struct rt_error *err) {
    int64_t width = 0;
    int64_t height = 0;
    RT_TRY(json_int64(at, "width_px", &width, err));
    RT_TRY(json_int64(at, "height_px", &height, err));
    if (width < 1 || height < 1 || width > INT32_MAX || height > INT32_MAX) {
        return rt_fail_file(err, "bad-value", -1,
                            "%s: width_px and height_px must be given and > 0", at->where);
    }
    camera->width_px = (int32_t)width;
    camera->height_px = (int32_t)height;
    return RT_OK;
}

static enum rt_status read_shutter(const struct json_at *at, struct camera *camera,
                                   struct rt_error *err) {
    const char *name = shutters[0];
    RT_TRY(json_text(at, "shutter", &name, err));
    for (int i = 0; i < N_SHUTTERS; i++) {
        if (strcmp(name, shutters[i]) != 0) continue;
        camera->shutter = (enum shutter)i;
        return RT_OK;
    }
    return rt_fail_file(err, "bad-value", -1, "%s: shutter \"%.40s\" is unknown", at->where, name);
}

static enum rt_status read_model(const struct json_at *at, struct rt_error *err) {
    const char *model = "pinhole";
    RT_TRY(json_text(at, "model", &model, err));
    if (strcmp(model, "pinhole") != 0) {
        return rt_fail_file(err, "unsupported-camera", -1,
                            "%s: camera model \"%.40s\" is not supported in this version (pinhole "
                            "with OpenCV distortion is)",
                            at->where, model);
    }
    if (json_member(at, "windshield")) {
        return rt_fail_file(err, "unsupported-camera", -1,
                            "%s: a windshield is not supported in this version", at->where);
    }
    return RT_OK;
}

enum rt_status camera_from_json(const json_t *node, const char *where, struct camera *camera,
                                struct rt_error *err) {
    const struct json_at at = {node, where};
    double focal[2];
    bool has_focal = false;
    if (!json_is_object(node)) {
        return rt_fail_file(err, "bad-value", -1, "%s must be a camera object", where);
    }
    memset(camera, 0, sizeof *camera);
    RT_TRY(read_model(&at, err));
    RT_TRY(read_size(&at, camera, err));
    RT_TRY(read_shutter(&at, camera, err));
    RT_TRY(json_numbers(&at, "focal_px", 2, focal, &has_focal, err));
    if (!has_focal) {
        return rt_fail_file(err, "bad-value", -1, "%s: focal_px [fx, fy] is missing", where);
    }
    double principal[2] = {0.5 * camera->width_px, 0.5 * camera->height_px};
    RT_TRY(json_numbers(&at, "principal_px", 2, principal, NULL, err));
    for (int i = 0; i < 2; i++) {
        camera->focal_px[i] = (float)focal[i];
        camera->principal_px[i] = (float)principal[i];
    }
    RT_TRY(read_coefficients(&at, "radial_k", 6, camera->radial_k, err));
    RT_TRY(read_coefficients(&at, "tangential_p", 2, camera->tangential_p, err));
    RT_TRY(read_coefficients(&at, "thin_prism_s", 4, camera->thin_prism_s, err));
    struct rt_error fault;
    rt_error_clear(&fault);
    if (camera_validate(camera, &fault) == RT_OK) return RT_OK;
    return rt_fail_file(err, "bad-value", -1, "%s: %s", where, fault.message);
}

static bool any(const float *values, int n) {
    for (int i = 0; i < n; i++) {
        if (values[i] != 0.0f) return true;
    }
    return false;
}

json_t *camera_to_json(const struct camera *camera) {
    json_t *node = json_pack(
        "{s:s, s:i, s:i, s:o, s:o, s:s}", "model", "pinhole", "width_px", camera->width_px,
        "height_px", camera->height_px, "principal_px", json_from_floats(camera->principal_px, 2),
        "focal_px", json_from_floats(camera->focal_px, 2), "shutter", shutters[camera->shutter]);
    const struct {
        const char *key;
        const float *values;
        int n;
    } members[] = {{"radial_k", camera->radial_k, 6},
                   {"tangential_p", camera->tangential_p, 2},
                   {"thin_prism_s", camera->thin_prism_s, 4}};
    for (size_t i = 0; node && i < sizeof members / sizeof members[0]; i++) {
        if (!any(members[i].values, members[i].n)) continue;
        json_t *array = json_from_floats(members[i].values, members[i].n);
        if (json_object_set_new(node, members[i].key, array) != 0) {
            json_decref(node);
            node = NULL;
        }
    }
    return node;
}
