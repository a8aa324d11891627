/* Covariance of a gaussian from its rotation and scale: M = R diag(s), Sigma = M M^T.
 *
 *     sym3 sigma = covariance(quat_to_mat3(q_unit), scale);
 *     covariance_vjp(rotation, scale, v_sigma, &v_rotation, &v_log_scale);
 *
 * Source: sensors.md section 7. Gradients of symmetric matrices are per stored entry (vec.h). */
#ifndef RETAKE_RENDER_CORE_COVARIANCE_H
#define RETAKE_RENDER_CORE_COVARIANCE_H

#include "render/core/vec.h"

HD sym3 covariance(mat3 rotation, vec3 scale) {
    mat3 m;
    for (int i = 0; i < 3; i++) {
        m.m[i][0] = rotation.m[i][0] * scale.x;
        m.m[i][1] = rotation.m[i][1] * scale.y;
        m.m[i][2] = rotation.m[i][2] * scale.z;
    }
    sym3 r;
    r.xx = m.m[0][0] * m.m[0][0] + m.m[0][1] * m.m[0][1] + m.m[0][2] * m.m[0][2];
    r.xy = m.m[0][0] * m.m[1][0] + m.m[0][1] * m.m[1][1] + m.m[0][2] * m.m[1][2];
    r.xz = m.m[0][0] * m.m[2][0] + m.m[0][1] * m.m[2][1] + m.m[0][2] * m.m[2][2];
    r.yy = m.m[1][0] * m.m[1][0] + m.m[1][1] * m.m[1][1] + m.m[1][2] * m.m[1][2];
    r.yz = m.m[1][0] * m.m[2][0] + m.m[1][1] * m.m[2][1] + m.m[1][2] * m.m[2][2];
    r.zz = m.m[2][0] * m.m[2][0] + m.m[2][1] * m.m[2][1] + m.m[2][2] * m.m[2][2];
    return r;
}

/* v_rotation goes on to quat_to_mat3_vjp and quat_normalised_vjp. */
HD void covariance_vjp(mat3 rotation, vec3 scale, sym3 v_sigma, mat3 *v_rotation,
                       vec3 *v_log_scale) {
    /* v_M = 2 v_Sigma M with the full matrix, whose off-diagonal is half the stored entry. */
    mat3 twice;
    twice.m[0][0] = 2.0f * v_sigma.xx;
    twice.m[1][1] = 2.0f * v_sigma.yy;
    twice.m[2][2] = 2.0f * v_sigma.zz;
    twice.m[0][1] = twice.m[1][0] = v_sigma.xy;
    twice.m[0][2] = twice.m[2][0] = v_sigma.xz;
    twice.m[1][2] = twice.m[2][1] = v_sigma.yz;
    mat3 v_axes = mat3_mul(twice, rotation); /* = v_M diag(1/s) */
    float s[3];
    vec3_store(s, scale);
    float v_log[3];
    for (int k = 0; k < 3; k++) {
        float along = 0.0f;
        for (int i = 0; i < 3; i++) {
            along += rotation.m[i][k] * v_axes.m[i][k];
            v_rotation->m[i][k] = v_axes.m[i][k] * s[k] * s[k];
        }
        v_log[k] = s[k] * s[k] * along;
    }
    *v_log_scale = vec3_load(v_log);
}

#endif
