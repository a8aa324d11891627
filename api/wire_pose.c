#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/wire_json.h"

static const double max_metres = 1e7;

static void join(char pointer[WIRE_POINTER_BYTES], const char *at, const char *name) {
    snprintf(pointer, WIRE_POINTER_BYTES, "%s/%s", at, name);
}

static bool read_pose(struct wire_faults *faults, const json_t *value, const char *at,
                      struct pose *out) {
    static const char *const known[] = {"t", "q_wxyz", NULL};
    if (!wire_members(faults, value, at, known)) return false;
    int32_t before = faults->n_faults;
    double t[3] = {0}, q[4] = {1, 0, 0, 0};
    if (json_object_get(value, "t") == NULL) wire_fault(faults, at, "t", "is missing");
    wire_numbers(faults, value, at, "t", (struct wire_range){-max_metres, max_metres, 3}, t);
    wire_numbers(faults, value, at, "q_wxyz", (struct wire_range){-2.0, 2.0, 4}, q);
    double norm = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (faults->n_faults == before && fabs(norm - 1.0) > 1e-3) {
        wire_fault(faults, at, "q_wxyz", "has norm %g, must be 1 within 0.001", norm);
    }
    if (faults->n_faults != before) return false;
    quat rotation = quat_make((float)(q[0] / norm), (float)(q[1] / norm), (float)(q[2] / norm),
                              (float)(q[3] / norm));
    *out = pose_make(rotation, vec3_make((float)t[0], (float)t[1], (float)t[2]));
    return true;
}

bool wire_pose(struct wire_faults *faults, const json_t *object, const char *at, const char *name,
               struct pose *out) {
    const json_t *value = json_object_get(object, name);
    if (value == NULL || json_is_null(value)) return false;
    char pointer[WIRE_POINTER_BYTES];
    join(pointer, at, name);
    return read_pose(faults, value, pointer, out);
}

bool wire_pose_pair(struct wire_faults *faults, const json_t *object, const char *at,
                    const char *name, struct pose *start, struct pose *end) {
    const json_t *value = json_object_get(object, name);
    if (value == NULL || json_is_null(value)) return false;
    char pointer[WIRE_POINTER_BYTES];
    join(pointer, at, name);
    if (json_object_get(value, "start") == NULL && json_object_get(value, "end") == NULL) {
        if (!read_pose(faults, value, pointer, start)) return false;
        *end = *start;
        return true;
    }
    static const char *const known[] = {"start", "end", NULL};
    if (!wire_members(faults, value, pointer, known)) return false;
    int32_t before = faults->n_faults;
    if (json_object_get(value, "start") == NULL) wire_fault(faults, pointer, "start", "is missing");
    if (json_object_get(value, "end") == NULL) wire_fault(faults, pointer, "end", "is missing");
    bool is_right = wire_pose(faults, value, pointer, "start", start);
    is_right &= wire_pose(faults, value, pointer, "end", end);
    return is_right && faults->n_faults == before;
}

json_t *wire_real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

json_t *wire_reals(const float *values, int32_t n) {
    json_t *array = json_array();
    for (int32_t i = 0; i < n; i++) json_array_append_new(array, wire_real((double)values[i]));
    return array;
}

json_t *wire_pose_json(const struct pose *pose) {
    const float t[3] = {pose->t.x, pose->t.y, pose->t.z};
    const float q[4] = {pose->q.w, pose->q.x, pose->q.y, pose->q.z};
    return json_pack("{s:o, s:o}", "t", wire_reals(t, 3), "q_wxyz", wire_reals(q, 4));
}
