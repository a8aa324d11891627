/* Elliptical weighted average: a gaussian of space to a gaussian of the picture, linearised at its
 * centre. For undistorted pinhole cameras at one instant.
 *
 *     struct ewa_camera camera = ewa_camera_make(&sensor.camera, low_pass_px2);
 *     if (!project_ewa(&camera, rotation, p, sigma, &out)) ...culled
 *     struct ewa_input_gradient v = project_ewa_vjp(&camera, rotation, p, sigma, &out, &v_out);
 *
 * `p` is the centre in the camera frame (p.z > near), `sigma` the covariance in the node frame and
 * `rotation` R_camera_node. Source: sensors.md section 8; Zwicker et al. 2001, "EWA volume
 * splatting"; Kerbl et al. 2023; Yu et al. 2024 (Mip-Splatting) for chi. */
#ifndef RETAKE_RENDER_CORE_PROJECT_EWA_H
#define RETAKE_RENDER_CORE_PROJECT_EWA_H

#include "render/core/sensor.h"
#include "render/core/vec.h"

struct ewa_camera {
    float focal_px[2];
    float principal_px[2];
    float slope_min[2]; /* bounds of x/z and y/z inside the Jacobian */
    float slope_max[2];
    float low_pass_px2;
};

struct ewa_splat {
    vec2 mean_px;
    sym2 cov_px2; /* with the low-pass */
    sym2 conic;   /* its inverse */
    float chi;    /* sqrt(det before / det after the low-pass), the antialias factor */
};

struct ewa_splat_gradient {
    vec2 v_mean_px;
    sym2 v_conic;
    float v_depth; /* of p.z as the sort key and output depth */
    float v_chi;
};

HD struct ewa_camera ewa_camera_make(const struct camera *camera, float low_pass_px2) {
    struct ewa_camera r;
    float size_px[2];
    size_px[0] = (float)camera->width_px;
    size_px[1] = (float)camera->height_px;
    for (int i = 0; i < 2; i++) {
        float focal = camera->focal_px[i];
        float margin = 0.15f * size_px[i] / focal;
        r.focal_px[i] = focal;
        r.principal_px[i] = camera->principal_px[i];
        r.slope_min[i] = -(camera->principal_px[i] / focal + margin);
        r.slope_max[i] = (size_px[i] - camera->principal_px[i]) / focal + margin;
    }
    r.low_pass_px2 = low_pass_px2;
    return r;
}

/* The linearisation T = J R (rows of the 2x3 matrix) and what its derivative needs. */
struct ewa_linear {
    vec3 row[2];
    float slope[2];
    int clamped[2];
    float per_z;
};

HD struct ewa_linear ewa_linearise(const struct ewa_camera *camera, mat3 rotation, vec3 p) {
    struct ewa_linear r;
    r.per_z = 1.0f / p.z;
    float xy[2];
    xy[0] = p.x;
    xy[1] = p.y;
    for (int i = 0; i < 2; i++) {
        float slope = xy[i] * r.per_z;
        float bounded = min_of(max_of(slope, camera->slope_min[i]), camera->slope_max[i]);
        r.clamped[i] = bounded != slope;
        r.slope[i] = bounded;
        float f = camera->focal_px[i] * r.per_z;
        r.row[i] = vec3_make(f * (rotation.m[i][0] - bounded * rotation.m[2][0]),
                             f * (rotation.m[i][1] - bounded * rotation.m[2][1]),
                             f * (rotation.m[i][2] - bounded * rotation.m[2][2]));
    }
    return r;
}

HD vec3 sym3_mul_vec(sym3 a, vec3 v) {
    return vec3_make(a.xx * v.x + a.xy * v.y + a.xz * v.z, a.xy * v.x + a.yy * v.y + a.yz * v.z,
                     a.xz * v.x + a.yz * v.y + a.zz * v.z);
}

HD sym2 sym2_inverse(sym2 a, float det) {
    sym2 r;
    r.xx = a.yy / det;
    r.xy = -a.xy / det;
    r.yy = a.xx / det;
    return r;
}

HD float sym2_det(sym2 a) { return a.xx * a.yy - a.xy * a.xy; }

/* Covariance in the picture before the low-pass: T Sigma T^T. */
HD sym2 ewa_covariance(const struct ewa_linear *linear, sym3 sigma) {
    vec3 s0 = sym3_mul_vec(sigma, linear->row[0]);
    vec3 s1 = sym3_mul_vec(sigma, linear->row[1]);
    sym2 r;
    r.xx = vec3_dot(linear->row[0], s0);
    r.xy = vec3_dot(linear->row[1], s0);
    r.yy = vec3_dot(linear->row[1], s1);
    return r;
}

/* Returns 0 when the covariance is not positive definite or anything is not finite: cull. */
HD int project_ewa(const struct ewa_camera *camera, mat3 rotation, vec3 p, sym3 sigma,
                   struct ewa_splat *out) {
    struct ewa_linear linear = ewa_linearise(camera, rotation, p);
    sym2 flat = ewa_covariance(&linear, sigma);
    out->mean_px = vec2_make(camera->focal_px[0] * p.x * linear.per_z + camera->principal_px[0],
                             camera->focal_px[1] * p.y * linear.per_z + camera->principal_px[1]);
    out->cov_px2 = flat;
    out->cov_px2.xx += camera->low_pass_px2;
    out->cov_px2.yy += camera->low_pass_px2;
    float det = sym2_det(out->cov_px2);
    if (!(det > 0.0f) || !(det <= 3.4e38f)) return 0;
    out->conic = sym2_inverse(out->cov_px2, det);
    out->chi = sqrtf(max_of(0.0f, sym2_det(flat) / det));
    float all =
        out->mean_px.x + out->mean_px.y + out->conic.xx + out->conic.xy + out->conic.yy + out->chi;
    return out->conic.xx > 0.0f && out->conic.yy > 0.0f && fabsf(all) <= 3.4e38f;
}

/* Full (not per stored entry) gradient of the picture covariance. */
HD sym2 ewa_covariance_gradient(const struct ewa_camera *camera, const struct ewa_splat *splat,
                                const struct ewa_splat_gradient *v) {
    sym2 a = splat->conic;
    float half = 0.5f * v->v_conic.xy;
    /* -A v_A A */
    float m00 = a.xx * v->v_conic.xx + a.xy * half;
    float m01 = a.xx * half + a.xy * v->v_conic.yy;
    float m10 = a.xy * v->v_conic.xx + a.yy * half;
    float m11 = a.xy * half + a.yy * v->v_conic.yy;
    sym2 r;
    r.xx = -(m00 * a.xx + m01 * a.xy);
    r.xy = -(m00 * a.xy + m01 * a.yy);
    r.yy = -(m10 * a.xy + m11 * a.yy);
    sym2 flat = splat->cov_px2;
    flat.xx -= camera->low_pass_px2;
    flat.yy -= camera->low_pass_px2;
    float det = sym2_det(flat);
    if (v->v_chi != 0.0f && det > 1e-12f) {
        sym2 inverse = sym2_inverse(flat, det);
        float s = 0.5f * v->v_chi * splat->chi;
        r.xx += s * (inverse.xx - a.xx);
        r.xy += s * (inverse.xy - a.xy);
        r.yy += s * (inverse.yy - a.yy);
    }
    return r;
}

HD sym3 ewa_sigma_gradient(const struct ewa_linear *linear, sym2 v_cov) {
    vec3 a = linear->row[0];
    vec3 b = linear->row[1];
    vec3 va = vec3_add(vec3_scale(a, v_cov.xx), vec3_scale(b, v_cov.xy));
    vec3 vb = vec3_add(vec3_scale(a, v_cov.xy), vec3_scale(b, v_cov.yy));
    sym3 r;
    r.xx = a.x * va.x + b.x * vb.x;
    r.yy = a.y * va.y + b.y * vb.y;
    r.zz = a.z * va.z + b.z * vb.z;
    r.xy = 2.0f * (a.x * va.y + b.x * vb.y);
    r.xz = 2.0f * (a.x * va.z + b.x * vb.z);
    r.yz = 2.0f * (a.y * va.z + b.y * vb.z);
    return r;
}

struct ewa_input_gradient {
    vec3 v_p;
    sym3 v_sigma;
};

HD struct ewa_input_gradient project_ewa_vjp(const struct ewa_camera *camera, mat3 rotation, vec3 p,
                                             sym3 sigma, const struct ewa_splat *splat,
                                             const struct ewa_splat_gradient *v) {
    struct ewa_input_gradient r;
    struct ewa_linear linear = ewa_linearise(camera, rotation, p);
    sym2 v_cov = ewa_covariance_gradient(camera, splat, v);
    r.v_sigma = ewa_sigma_gradient(&linear, v_cov);
    vec3 s[2];
    s[0] = sym3_mul_vec(sigma, linear.row[0]);
    s[1] = sym3_mul_vec(sigma, linear.row[1]);
    float mixed[2][2];
    mixed[0][0] = 2.0f * v_cov.xx;
    mixed[0][1] = mixed[1][0] = 2.0f * v_cov.xy;
    mixed[1][1] = 2.0f * v_cov.yy;
    float v_mean[2];
    v_mean[0] = v->v_mean_px.x;
    v_mean[1] = v->v_mean_px.y;
    float xy[2];
    xy[0] = p.x;
    xy[1] = p.y;
    float v_xy[2];
    float v_z = v->v_depth;
    for (int i = 0; i < 2; i++) {
        vec3 v_row = vec3_add(vec3_scale(s[0], mixed[i][0]), vec3_scale(s[1], mixed[i][1]));
        vec3 axis = vec3_make(rotation.m[i][0], rotation.m[i][1], rotation.m[i][2]);
        vec3 depth_axis = vec3_make(rotation.m[2][0], rotation.m[2][1], rotation.m[2][2]);
        float v_diagonal = vec3_dot(v_row, axis);      /* of J11 or J22 */
        float v_oblique = vec3_dot(v_row, depth_axis); /* of J13 or J23 */
        float f = camera->focal_px[i] * linear.per_z;
        float f2 = f * linear.per_z;
        v_xy[i] = f * v_mean[i];
        v_z -= f2 * (v_diagonal + xy[i] * v_mean[i]);
        if (linear.clamped[i]) {
            v_z += f2 * linear.slope[i] * v_oblique;
        } else {
            v_xy[i] -= f2 * v_oblique;
            v_z += 2.0f * f2 * linear.slope[i] * v_oblique;
        }
    }
    r.v_p = vec3_make(v_xy[0], v_xy[1], v_z);
    return r;
}

#endif
