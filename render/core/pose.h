/* Rigid motions. `T_target_source` maps source coordinates to target: p_t = R p_s + t.
 *
 *     struct pose T_world_camera = pose_mul(T_world_rig, T_rig_camera);
 *     vec3 p_camera = pose_apply(pose_inverse(T_world_camera), p_world);
 *
 * Source: sensors.md sections 1 and 2. */
#ifndef RETAKE_RENDER_CORE_POSE_H
#define RETAKE_RENDER_CORE_POSE_H

#include "render/core/vec.h"

struct pose {
    quat q; /* normalised */
    vec3 t; /* m */
};

HD struct pose pose_make(quat q, vec3 t) {
    struct pose r;
    r.q = q;
    r.t = t;
    return r;
}

HD struct pose pose_identity(void) {
    return pose_make(quat_identity(), vec3_make(0.0f, 0.0f, 0.0f));
}

HD vec3 quat_rotate(quat q, vec3 v) { return mat3_mul_vec(quat_to_mat3(q), v); }

HD vec3 pose_apply(struct pose a, vec3 p) { return vec3_add(quat_rotate(a.q, p), a.t); }

/* a o b: first b, then a. */
HD struct pose pose_mul(struct pose a, struct pose b) {
    return pose_make(quat_normalised(quat_mul(a.q, b.q)), pose_apply(a, b.t));
}

HD struct pose pose_inverse(struct pose a) {
    quat q = quat_conjugate(a.q);
    return pose_make(q, vec3_scale(quat_rotate(q, a.t), -1.0f));
}

HD int pose_equal(struct pose a, struct pose b) {
    return a.q.w == b.q.w && a.q.x == b.q.x && a.q.y == b.q.y && a.q.z == b.q.z && a.t.x == b.t.x &&
           a.t.y == b.t.y && a.t.z == b.t.z;
}

/* a at u = 0, b at u = 1: positions linear, rotations along the short way; a little outside 0...1
 * it continues with the same velocity. sensors.md section 2. */
HD struct pose pose_interpolate(struct pose a, struct pose b, float u) {
    float c = a.q.w * b.q.w + a.q.x * b.q.x + a.q.y * b.q.y + a.q.z * b.q.z;
    float sign = c < 0.0f ? -1.0f : 1.0f;
    float theta = acosf(fminf(c * sign, 1.0f));
    float v = 1.0f - u;
    float weight_a;
    float weight_b;
    if (theta < 0.03f) { /* the series is exact to 1.4e-8 there; sin(x)/sin(x) is not */
        weight_a = v * (1.0f + theta * theta * (1.0f - v * v) / 6.0f);
        weight_b = u * (1.0f + theta * theta * (1.0f - u * u) / 6.0f);
    } else {
        weight_a = sinf(v * theta) / sinf(theta);
        weight_b = sinf(u * theta) / sinf(theta);
    }
    weight_b *= sign;
    quat q = quat_make(weight_a * a.q.w + weight_b * b.q.w, weight_a * a.q.x + weight_b * b.q.x,
                       weight_a * a.q.y + weight_b * b.q.y, weight_a * a.q.z + weight_b * b.q.z);
    return pose_make(quat_normalised(q), vec3_add(vec3_scale(a.t, v), vec3_scale(b.t, u)));
}

#endif
