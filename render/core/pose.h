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

/* dL/dp of pose_apply; dL/dt is v_out itself and dL/dR is v_out p^T. */
HD vec3 pose_apply_vjp(struct pose a, vec3 v_out) {
    return mat3_mul_vec_transposed(quat_to_mat3(a.q), v_out);
}

/* Exp of so(3) as a quaternion (cos |w|/2, sinc(|w|/2) w/2). */
HD quat quat_exp(vec3 w) {
    float angle = vec3_length(w);
    float half = 0.5f * angle;
    float s = angle < 1e-4f ? 0.5f - angle * angle * (1.0f / 48.0f) : sinf(half) / angle;
    return quat_make(cosf(half), s * w.x, s * w.y, s * w.z);
}

/* Log of a normalised quaternion, |w| <= pi: the inverse of quat_exp. */
HD vec3 quat_log(quat q) {
    float sign = q.w < 0.0f ? -1.0f : 1.0f;
    vec3 v = vec3_make(sign * q.x, sign * q.y, sign * q.z);
    float n = vec3_length(v);
    float s = n < 1e-6f ? 2.0f : 2.0f * atan2f(n, sign * q.w) / n;
    return vec3_scale(v, s);
}

/* Sensor pose correction on the right, uncoupled: T * (R(Exp w), rho). */
HD struct pose pose_correct(struct pose a, vec3 rho, vec3 w) {
    return pose_mul(a, pose_make(quat_exp(w), rho));
}

/* Gradient of the correction at zero from the gradient of a point in the sensor frame. The
 * covariance and the view direction add their own terms (sensors.md section 1). */
HD void pose_correct_vjp(vec3 p, vec3 v_p, vec3 *v_rho, vec3 *v_w) {
    *v_rho = vec3_scale(v_p, -1.0f);
    *v_w = vec3_cross(v_p, p);
}

/* Weights of slerp for cosine c >= 0 of the angle, and their derivatives by the angle over its
 * sine (what the chain through c needs). Series below 0.03 rad. */
struct slerp_weights {
    float a, b;
    float a_slope, b_slope; /* (dA/dtheta)/sin(theta) */
};

HD struct slerp_weights slerp_weights_make(float c, float u) {
    struct slerp_weights r;
    float w = 1.0f - u;
    float theta = acosf(fminf(c, 1.0f));
    if (theta < 0.03f) {
        float t2 = theta * theta;
        r.a = w * (1.0f + t2 * (1.0f - w * w) * (1.0f / 6.0f));
        r.b = u * (1.0f + t2 * (1.0f - u * u) * (1.0f / 6.0f));
        r.a_slope = w * (1.0f - w * w) * (1.0f / 3.0f);
        r.b_slope = u * (1.0f - u * u) * (1.0f / 3.0f);
        return r;
    }
    float s = sinf(theta);
    r.a = sinf(w * theta) / s;
    r.b = sinf(u * theta) / s;
    r.a_slope = (w * cosf(w * theta) - r.a * cosf(theta)) / (s * s);
    r.b_slope = (u * cosf(u * theta) - r.b * cosf(theta)) / (s * s);
    return r;
}

HD float quat_dot(quat a, quat b) { return a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z; }
HD quat quat_scale(quat a, float s) { return quat_make(a.w * s, a.x * s, a.y * s, a.z * s); }
HD quat quat_add(quat a, quat b) { return quat_make(a.w + b.w, a.x + b.x, a.y + b.y, a.z + b.z); }

/* The short way from a to b, both normalised. */
HD quat quat_slerp(quat a, quat b, float u) {
    float c = quat_dot(a, b);
    float sign = c < 0.0f ? -1.0f : 1.0f;
    struct slerp_weights w = slerp_weights_make(sign * c, u);
    return quat_add(quat_scale(a, w.a), quat_scale(b, sign * w.b));
}

HD void quat_slerp_vjp(quat a, quat b, float u, quat v_out, quat *v_a, quat *v_b) {
    float c = quat_dot(a, b);
    float sign = c < 0.0f ? -1.0f : 1.0f;
    quat near_b = quat_scale(b, sign);
    struct slerp_weights w = slerp_weights_make(sign * c, u);
    float v_c = -(w.a_slope * quat_dot(a, v_out) + w.b_slope * quat_dot(near_b, v_out));
    *v_a = quat_add(quat_scale(v_out, w.a), quat_scale(near_b, v_c));
    *v_b = quat_scale(quat_add(quat_scale(v_out, w.b), quat_scale(a, v_c)), sign);
}

/* a at u = 0, b at u = 1, exactly: positions linear, rotations along the short way; a little
 * outside 0...1 it continues with the same velocity. sensors.md section 2. */
HD struct pose pose_interpolate(struct pose a, struct pose b, float u) {
    vec3 t = vec3_add(vec3_scale(a.t, 1.0f - u), vec3_scale(b.t, u));
    if (u == 0.0f || u == 1.0f) return pose_make(u == 0.0f ? a.q : b.q, t);
    return pose_make(quat_normalised(quat_slerp(a.q, b.q, u)), t);
}

HD int pose_equal(struct pose a, struct pose b) {
    return a.q.w == b.q.w && a.q.x == b.q.x && a.q.y == b.q.y && a.q.z == b.q.z && a.t.x == b.t.x &&
           a.t.y == b.t.y && a.t.z == b.t.z;
}

#endif
