/* Small vectors, quaternions and matrices. Maths values are the only typedefs of the project.
 * Conventions: sensors.md section 1; quaternions are w,x,y,z; matrices are row-major m[row][col].
 * Compiles under gcc and nvcc. */
#ifndef RETAKE_RENDER_CORE_VEC_H
#define RETAKE_RENDER_CORE_VEC_H

#include <math.h>

#include "render/core/hd.h"

typedef struct vec2 {
    float x, y;
} vec2;

typedef struct vec3 {
    float x, y, z;
} vec3;

typedef struct quat {
    float w, x, y, z;
} quat;

typedef struct mat3 {
    float m[3][3];
} mat3;

/* Symmetric matrices: only the upper triangle is stored. A gradient of a sym stores dL/d(entry) of
 * the *stored* entry, so an off-diagonal one holds both triangles. */
typedef struct sym3 {
    float xx, xy, xz, yy, yz, zz;
} sym3;

typedef struct sym2 {
    float xx, xy, yy;
} sym2;

/* Plain comparisons: fminf and fmaxf treat NaN specially and stay function calls under strict IEEE
 * rules. With a NaN the second argument comes back. */
HD float min_of(float a, float b) { return a < b ? a : b; }
HD float max_of(float a, float b) { return a > b ? a : b; }

HD vec2 vec2_make(float x, float y) {
    vec2 r;
    r.x = x;
    r.y = y;
    return r;
}

HD vec3 vec3_make(float x, float y, float z) {
    vec3 r;
    r.x = x;
    r.y = y;
    r.z = z;
    return r;
}

HD quat quat_make(float w, float x, float y, float z) {
    quat r;
    r.w = w;
    r.x = x;
    r.y = y;
    r.z = z;
    return r;
}

HD quat quat_identity(void) { return quat_make(1.0f, 0.0f, 0.0f, 0.0f); }

HD vec3 vec3_load(const float *p) { return vec3_make(p[0], p[1], p[2]); }
HD void vec3_store(float *p, vec3 v) {
    p[0] = v.x;
    p[1] = v.y;
    p[2] = v.z;
}
HD quat quat_load(const float *p) { return quat_make(p[0], p[1], p[2], p[3]); }
HD void quat_store(float *p, quat q) {
    p[0] = q.w;
    p[1] = q.x;
    p[2] = q.y;
    p[3] = q.z;
}

HD vec3 vec3_add(vec3 a, vec3 b) { return vec3_make(a.x + b.x, a.y + b.y, a.z + b.z); }
HD vec3 vec3_sub(vec3 a, vec3 b) { return vec3_make(a.x - b.x, a.y - b.y, a.z - b.z); }
HD vec3 vec3_scale(vec3 a, float s) { return vec3_make(a.x * s, a.y * s, a.z * s); }
HD float vec3_dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
HD vec3 vec3_cross(vec3 a, vec3 b) {
    return vec3_make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
HD float vec3_length(vec3 a) { return sqrtf(vec3_dot(a, a)); }

HD vec3 mat3_mul_vec(mat3 a, vec3 v) {
    return vec3_make(a.m[0][0] * v.x + a.m[0][1] * v.y + a.m[0][2] * v.z,
                     a.m[1][0] * v.x + a.m[1][1] * v.y + a.m[1][2] * v.z,
                     a.m[2][0] * v.x + a.m[2][1] * v.y + a.m[2][2] * v.z);
}

HD vec3 mat3_mul_vec_transposed(mat3 a, vec3 v) {
    return vec3_make(a.m[0][0] * v.x + a.m[1][0] * v.y + a.m[2][0] * v.z,
                     a.m[0][1] * v.x + a.m[1][1] * v.y + a.m[2][1] * v.z,
                     a.m[0][2] * v.x + a.m[1][2] * v.y + a.m[2][2] * v.z);
}

HD mat3 mat3_mul(mat3 a, mat3 b) {
    mat3 r;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            r.m[i][j] = a.m[i][0] * b.m[0][j] + a.m[i][1] * b.m[1][j] + a.m[i][2] * b.m[2][j];
        }
    }
    return r;
}

HD mat3 mat3_transpose(mat3 a) {
    mat3 r;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) r.m[i][j] = a.m[j][i];
    }
    return r;
}

/* q/|q|; below 1e-12 the identity (callers count it). sensors.md section 1. */
HD quat quat_normalised(quat q) {
    float n = sqrtf(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    if (!(n >= 1e-12f)) return quat_identity();
    float s = 1.0f / n;
    return quat_make(q.w * s, q.x * s, q.y * s, q.z * s);
}

/* dL/dq of quat_normalised. sensors.md section 1. */
HD quat quat_normalised_vjp(quat q, quat v_unit) {
    float n = sqrtf(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    if (!(n >= 1e-12f)) return quat_make(0.0f, 0.0f, 0.0f, 0.0f);
    float s = 1.0f / n;
    quat u = quat_make(q.w * s, q.x * s, q.y * s, q.z * s);
    float along = u.w * v_unit.w + u.x * v_unit.x + u.y * v_unit.y + u.z * v_unit.z;
    return quat_make((v_unit.w - u.w * along) * s, (v_unit.x - u.x * along) * s,
                     (v_unit.y - u.y * along) * s, (v_unit.z - u.z * along) * s);
}

HD quat quat_conjugate(quat q) { return quat_make(q.w, -q.x, -q.y, -q.z); }

HD quat quat_mul(quat a, quat b) {
    return quat_make(a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
                     a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                     a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                     a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w);
}

/* dL/da and dL/db of quat_mul(a, b). */
HD quat quat_mul_vjp_left(quat b, quat v_out) { return quat_mul(v_out, quat_conjugate(b)); }
HD quat quat_mul_vjp_right(quat a, quat v_out) { return quat_mul(quat_conjugate(a), v_out); }

/* Rotation matrix of a *normalised* quaternion. sensors.md section 1. */
HD mat3 quat_to_mat3(quat q) {
    mat3 r;
    r.m[0][0] = 1.0f - 2.0f * (q.y * q.y + q.z * q.z);
    r.m[0][1] = 2.0f * (q.x * q.y - q.w * q.z);
    r.m[0][2] = 2.0f * (q.x * q.z + q.w * q.y);
    r.m[1][0] = 2.0f * (q.x * q.y + q.w * q.z);
    r.m[1][1] = 1.0f - 2.0f * (q.x * q.x + q.z * q.z);
    r.m[1][2] = 2.0f * (q.y * q.z - q.w * q.x);
    r.m[2][0] = 2.0f * (q.x * q.z - q.w * q.y);
    r.m[2][1] = 2.0f * (q.y * q.z + q.w * q.x);
    r.m[2][2] = 1.0f - 2.0f * (q.x * q.x + q.y * q.y);
    return r;
}

/* dL/dq of quat_to_mat3, q treated as four free numbers (quat_normalised_vjp follows). */
HD quat quat_to_mat3_vjp(quat q, mat3 v_r) {
    float a = v_r.m[2][1] - v_r.m[1][2];
    float b = v_r.m[0][2] - v_r.m[2][0];
    float c = v_r.m[1][0] - v_r.m[0][1];
    float xy = v_r.m[0][1] + v_r.m[1][0];
    float xz = v_r.m[0][2] + v_r.m[2][0];
    float yz = v_r.m[1][2] + v_r.m[2][1];
    return quat_make(
        2.0f * (q.x * a + q.y * b + q.z * c),
        2.0f * (-2.0f * q.x * (v_r.m[1][1] + v_r.m[2][2]) + q.y * xy + q.z * xz + q.w * a),
        2.0f * (q.x * xy - 2.0f * q.y * (v_r.m[0][0] + v_r.m[2][2]) + q.z * yz + q.w * b),
        2.0f * (q.x * xz + q.y * yz - 2.0f * q.z * (v_r.m[0][0] + v_r.m[1][1]) + q.w * c));
}

/* Quaternion (w >= 0) of a rotation matrix, by the largest of the four squared components
 * [Shepperd 1978]. */
HD quat quat_from_mat3(mat3 a) {
    float t = a.m[0][0] + a.m[1][1] + a.m[2][2];
    quat q;
    if (t >= a.m[0][0] && t >= a.m[1][1] && t >= a.m[2][2]) {
        q = quat_make(1.0f + t, a.m[2][1] - a.m[1][2], a.m[0][2] - a.m[2][0],
                      a.m[1][0] - a.m[0][1]);
    } else if (a.m[0][0] >= a.m[1][1] && a.m[0][0] >= a.m[2][2]) {
        q = quat_make(a.m[2][1] - a.m[1][2], 1.0f + 2.0f * a.m[0][0] - t, a.m[0][1] + a.m[1][0],
                      a.m[0][2] + a.m[2][0]);
    } else if (a.m[1][1] >= a.m[2][2]) {
        q = quat_make(a.m[0][2] - a.m[2][0], a.m[0][1] + a.m[1][0], 1.0f + 2.0f * a.m[1][1] - t,
                      a.m[1][2] + a.m[2][1]);
    } else {
        q = quat_make(a.m[1][0] - a.m[0][1], a.m[0][2] + a.m[2][0], a.m[1][2] + a.m[2][1],
                      1.0f + 2.0f * a.m[2][2] - t);
    }
    q = quat_normalised(q);
    if (q.w < 0.0f) q = quat_make(-q.w, -q.x, -q.y, -q.z);
    return q;
}

#endif
