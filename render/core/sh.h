/* Real spherical harmonics of degree 0-3 with Condon-Shortley signs, order m = -l...l: the colour
 * of a gaussian by viewing direction is max(0, 1/2 + sum_k f_k Y_k(d)).
 *
 *     float basis[16];
 *     sh_basis(degree, d, basis);                              // d of length 1
 *     vec3 raw = sh_colour(n, basis, f);                       // before the max(0, .)
 *     sh_colour_vjp(n, basis, f, v_colour, v_f, v_basis);      // v_f is added to
 *     vec3 v_d = sh_basis_vjp(degree, d, v_basis);
 *
 * Source: sensors.md section 6; Sloan 2008, "Stupid spherical harmonics tricks". */
#ifndef RETAKE_RENDER_CORE_SH_H
#define RETAKE_RENDER_CORE_SH_H

#include "render/core/vec.h"

#define RT_SH_MAX 16
#define RT_SH_C0 0.28209479177387814f
#define RT_SH_C1 0.4886025119029199f
#define RT_SH_C2_XY 1.0925484305920792f
#define RT_SH_C2_Z 0.31539156525252005f
#define RT_SH_C2_X2 0.5462742152960396f
#define RT_SH_C3_3 0.5900435899266435f
#define RT_SH_C3_XYZ 2.890611442640554f
#define RT_SH_C3_1 0.4570457994644658f
#define RT_SH_C3_0 0.3731763325901154f
#define RT_SH_C3_2 1.445305721320277f

/* Fills the first (degree+1)^2 values. */
HD void sh_basis(int degree, vec3 d, float basis[RT_SH_MAX]) {
    basis[0] = RT_SH_C0;
    if (degree < 1) return;
    basis[1] = -RT_SH_C1 * d.y;
    basis[2] = RT_SH_C1 * d.z;
    basis[3] = -RT_SH_C1 * d.x;
    if (degree < 2) return;
    float xx = d.x * d.x;
    float yy = d.y * d.y;
    float zz = d.z * d.z;
    basis[4] = RT_SH_C2_XY * d.x * d.y;
    basis[5] = -RT_SH_C2_XY * d.y * d.z;
    basis[6] = RT_SH_C2_Z * (2.0f * zz - xx - yy);
    basis[7] = -RT_SH_C2_XY * d.x * d.z;
    basis[8] = RT_SH_C2_X2 * (xx - yy);
    if (degree < 3) return;
    basis[9] = -RT_SH_C3_3 * d.y * (3.0f * xx - yy);
    basis[10] = RT_SH_C3_XYZ * d.x * d.y * d.z;
    basis[11] = -RT_SH_C3_1 * d.y * (4.0f * zz - xx - yy);
    basis[12] = RT_SH_C3_0 * d.z * (2.0f * zz - 3.0f * xx - 3.0f * yy);
    basis[13] = -RT_SH_C3_1 * d.x * (4.0f * zz - xx - yy);
    basis[14] = RT_SH_C3_2 * d.z * (xx - yy);
    basis[15] = -RT_SH_C3_3 * d.x * (xx - 3.0f * yy);
}

/* dL/dd, the three components of d taken as free numbers. */
HD vec3 sh_basis_vjp(int degree, vec3 d, const float v_basis[RT_SH_MAX]) {
    const float *v = v_basis;
    vec3 r = vec3_make(0.0f, 0.0f, 0.0f);
    if (degree < 1) return r;
    r = vec3_make(-RT_SH_C1 * v[3], -RT_SH_C1 * v[1], RT_SH_C1 * v[2]);
    if (degree < 2) return r;
    float x = d.x;
    float y = d.y;
    float z = d.z;
    r.x +=
        RT_SH_C2_XY * (y * v[4] - z * v[7]) - 2.0f * x * (RT_SH_C2_Z * v[6] - RT_SH_C2_X2 * v[8]);
    r.y +=
        RT_SH_C2_XY * (x * v[4] - z * v[5]) - 2.0f * y * (RT_SH_C2_Z * v[6] + RT_SH_C2_X2 * v[8]);
    r.z += RT_SH_C2_XY * (-y * v[5] - x * v[7]) + 4.0f * RT_SH_C2_Z * z * v[6];
    if (degree < 3) return r;
    float xx = x * x;
    float yy = y * y;
    float zz = z * z;
    float u = RT_SH_C3_3 * v[9];
    r.x -= u * 6.0f * x * y;
    r.y -= u * 3.0f * (xx - yy);
    u = RT_SH_C3_XYZ * v[10];
    r = vec3_add(r, vec3_make(u * y * z, u * x * z, u * x * y));
    u = RT_SH_C3_1 * v[11];
    r = vec3_add(r,
                 vec3_make(u * 2.0f * x * y, -u * (4.0f * zz - xx - 3.0f * yy), -u * 8.0f * y * z));
    u = RT_SH_C3_0 * v[12];
    r = vec3_add(r, vec3_make(-u * 6.0f * x * z, -u * 6.0f * y * z,
                              u * (6.0f * zz - 3.0f * xx - 3.0f * yy)));
    u = RT_SH_C3_1 * v[13];
    r = vec3_add(r,
                 vec3_make(-u * (4.0f * zz - 3.0f * xx - yy), u * 2.0f * x * y, -u * 8.0f * x * z));
    u = RT_SH_C3_2 * v[14];
    r = vec3_add(r, vec3_make(u * 2.0f * x * z, -u * 2.0f * y * z, u * (xx - yy)));
    u = RT_SH_C3_3 * v[15];
    r.x -= u * 3.0f * (xx - yy);
    r.y += u * 6.0f * x * y;
    return r;
}

/* 1/2 + sum f Y over n coefficients, f is [n][3]. */
HD vec3 sh_colour(int n, const float *basis, const float *f) {
    vec3 r = vec3_make(0.5f, 0.5f, 0.5f);
    for (int k = 0; k < n; k++) {
        r.x += basis[k] * f[3 * k];
        r.y += basis[k] * f[3 * k + 1];
        r.z += basis[k] * f[3 * k + 2];
    }
    return r;
}

/* Adds to v_f [n][3] and writes v_basis [n]. */
HD void sh_colour_vjp(int n, const float *basis, const float *f, vec3 v_colour, float *v_f,
                      float *v_basis) {
    for (int k = 0; k < n; k++) {
        v_f[3 * k] += basis[k] * v_colour.x;
        v_f[3 * k + 1] += basis[k] * v_colour.y;
        v_f[3 * k + 2] += basis[k] * v_colour.z;
        v_basis[k] = f[3 * k] * v_colour.x + f[3 * k + 1] * v_colour.y + f[3 * k + 2] * v_colour.z;
    }
}

/* d = v/|v| and its derivative; v must not be zero. */
HD vec3 direction(vec3 v) { return vec3_scale(v, 1.0f / vec3_length(v)); }
HD vec3 direction_vjp(vec3 v, vec3 v_d) {
    float per_length = 1.0f / vec3_length(v);
    vec3 d = vec3_scale(v, per_length);
    return vec3_scale(vec3_sub(v_d, vec3_scale(d, vec3_dot(d, v_d))), per_length);
}

/* Sign of coefficient k (0...15) when the axes are multiplied by the signs x, y, z (each +-1). */
HD float sh_flip(int k, float x, float y, float z) {
    switch (k) {
        case 1:
        case 9:
        case 11:
            return y;
        case 2:
        case 12:
        case 14:
            return z;
        case 3:
        case 13:
        case 15:
            return x;
        case 4:
            return x * y;
        case 5:
            return y * z;
        case 7:
            return x * z;
        case 10:
            return x * y * z;
        default:
            return 1.0f;
    }
}

#endif
