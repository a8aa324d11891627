/* The `pinhole` camera with OpenCV's rational radial, tangential and thin prism distortion.
 *
 *     vec2 at_px = pinhole_project(&camera, p);          // p.z > 0, camera frame
 *     vec3 v_p = pinhole_project_vjp(&camera, p, v_px);
 *     float r_max = pinhole_r_max(&camera);              // once per lens
 *     if (pinhole_ray(&camera, at_px, r_max, &ray)) ...  // ray = (a, b, 1); 0 = no ray there
 *
 * Camera frame: x right, y down, z forward. Pixels: corner origin, pixel i covers [i, i+1).
 * "Normalised" points are (a, b) = (x/z, y/z). Source: sensors.md section 3; OpenCV calib3d
 * documentation for the lens model. */
#ifndef RETAKE_RENDER_CORE_CAMERA_PINHOLE_H
#define RETAKE_RENDER_CORE_CAMERA_PINHOLE_H

#include "render/core/hd.h"
#include "render/core/sensor.h"
#include "render/core/vec.h"

/* Rows of d(a',b')/d(a,b). */
typedef struct mat2 {
    float m[2][2];
} mat2;

/* The radial factor g = n/d and dg/dr2. */
HD void pinhole_radial(const struct camera *camera, float r2, float *factor, float *slope) {
    const float *k = camera->radial_k;
    float n = 1.0f + r2 * (k[0] + r2 * (k[1] + r2 * k[2]));
    float d = 1.0f + r2 * (k[3] + r2 * (k[4] + r2 * k[5]));
    float n_slope = k[0] + r2 * (2.0f * k[1] + r2 * 3.0f * k[2]);
    float d_slope = k[3] + r2 * (2.0f * k[4] + r2 * 3.0f * k[5]);
    *factor = n / d;
    *slope = (n_slope - *factor * d_slope) / d;
}

/* Where the lens moves a normalised point to. */
HD vec2 pinhole_distort(const struct camera *camera, vec2 ab) {
    const float *p = camera->tangential_p;
    const float *s = camera->thin_prism_s;
    float a2 = ab.x * ab.x;
    float b2 = ab.y * ab.y;
    float r2 = a2 + b2;
    float twice_ab = 2.0f * ab.x * ab.y;
    float factor;
    float slope;
    pinhole_radial(camera, r2, &factor, &slope);
    return vec2_make(
        ab.x * factor + p[0] * twice_ab + p[1] * (r2 + 2.0f * a2) + r2 * (s[0] + r2 * s[1]),
        ab.y * factor + p[0] * (r2 + 2.0f * b2) + p[1] * twice_ab + r2 * (s[2] + r2 * s[3]));
}

HD mat2 pinhole_distort_jacobian(const struct camera *camera, vec2 ab) {
    const float *p = camera->tangential_p;
    const float *s = camera->thin_prism_s;
    float a = ab.x;
    float b = ab.y;
    float r2 = a * a + b * b;
    float factor;
    float slope;
    pinhole_radial(camera, r2, &factor, &slope);
    float prism_a = 2.0f * (s[0] + 2.0f * s[1] * r2);
    float prism_b = 2.0f * (s[2] + 2.0f * s[3] * r2);
    float mixed = 2.0f * a * b * slope + 2.0f * p[0] * a + 2.0f * p[1] * b;
    mat2 j;
    j.m[0][0] = factor + 2.0f * a * a * slope + 2.0f * p[0] * b + 6.0f * p[1] * a + prism_a * a;
    j.m[0][1] = mixed + prism_a * b;
    j.m[1][0] = mixed + prism_b * a;
    j.m[1][1] = factor + 2.0f * b * b * slope + 6.0f * p[0] * b + 2.0f * p[1] * a + prism_b * b;
    return j;
}

HD vec2 pinhole_distort_vjp(const struct camera *camera, vec2 ab, vec2 v_out) {
    mat2 j = pinhole_distort_jacobian(camera, ab);
    return vec2_make(j.m[0][0] * v_out.x + j.m[1][0] * v_out.y,
                     j.m[0][1] * v_out.x + j.m[1][1] * v_out.y);
}

/* Pixel of a point of the camera frame; p.z must be > 0. */
HD vec2 pinhole_project(const struct camera *camera, vec3 p) {
    vec2 ab = pinhole_distort(camera, vec2_make(p.x / p.z, p.y / p.z));
    return vec2_make(camera->focal_px[0] * ab.x + camera->principal_px[0],
                     camera->focal_px[1] * ab.y + camera->principal_px[1]);
}

HD vec3 pinhole_project_vjp(const struct camera *camera, vec3 p, vec2 v_px) {
    vec2 ab = vec2_make(p.x / p.z, p.y / p.z);
    vec2 v_ab = pinhole_distort_vjp(
        camera, ab, vec2_make(camera->focal_px[0] * v_px.x, camera->focal_px[1] * v_px.y));
    return vec3_make(v_ab.x / p.z, v_ab.y / p.z, -(v_ab.x * ab.x + v_ab.y * ab.y) / p.z);
}

/* Sum of |residual| of pinhole_distort(ab) against `wanted`. */
HD float pinhole_residual(const struct camera *camera, vec2 ab, vec2 wanted, vec2 *residual) {
    vec2 at = pinhole_distort(camera, ab);
    *residual = vec2_make(at.x - wanted.x, at.y - wanted.y);
    return fabsf(residual->x) + fabsf(residual->y);
}

/* Inverse of pinhole_distort: Newton from the distorted point, at most 10 steps, a step that raises
 * the residual is halved. Returns 0 when it does not reach 2e-6 (float rounding leaves about 3e-7
 * at r = 1); *ab holds the last point then. */
HD int pinhole_undistort(const struct camera *camera, vec2 distorted, vec2 *ab) {
    vec2 at = distorted;
    vec2 residual;
    float size = pinhole_residual(camera, at, distorted, &residual);
    for (int step = 0; step < 10 && size > 1e-7f; step++) {
        mat2 j = pinhole_distort_jacobian(camera, at);
        float det = j.m[0][0] * j.m[1][1] - j.m[0][1] * j.m[1][0];
        if (!(fabsf(det) > 1e-12f)) break;
        vec2 move = vec2_make((j.m[1][1] * residual.x - j.m[0][1] * residual.y) / det,
                              (j.m[0][0] * residual.y - j.m[1][0] * residual.x) / det);
        vec2 next = at;
        vec2 next_residual = residual;
        float next_size = size;
        for (int halving = 0; halving < 8; halving++) {
            next = vec2_make(at.x - move.x, at.y - move.y);
            next_size = pinhole_residual(camera, next, distorted, &next_residual);
            if (next_size < size) break;
            move = vec2_make(0.5f * move.x, 0.5f * move.y);
        }
        if (!(next_size < size)) break;
        at = next;
        residual = next_residual;
        size = next_size;
    }
    *ab = at;
    return size < 2e-6f * (1.0f + fabsf(distorted.x) + fabsf(distorted.y));
}

/* Ray (a, b, 1) of a pixel position. Returns 0 where the lens has no ray: the inverse does not
 * converge or lies outside r_max of pinhole_r_max(). */
HD int pinhole_ray(const struct camera *camera, vec2 at_px, float r_max, vec3 *ray) {
    vec2 distorted = vec2_make((at_px.x - camera->principal_px[0]) / camera->focal_px[0],
                               (at_px.y - camera->principal_px[1]) / camera->focal_px[1]);
    vec2 ab;
    int found = pinhole_undistort(camera, distorted, &ab);
    *ray = vec3_make(ab.x, ab.y, 1.0f);
    return found && ab.x * ab.x + ab.y * ab.y <= r_max * r_max;
}

RT_C_BEGIN

/* Radius of the normalised picture plane up to which the radial part is invertible: square root of
 * the smallest root of (n+2tn')d - 2tnd' or of d; INFINITY when there is none below r = 100
 * (89.4 degrees off axis). */
float pinhole_r_max(const struct camera *camera);

/* RT_CALIBRATION with the radius when a corner of the picture lies outside r_max or has no inverse:
 * then the lens is not invertible over its picture and its coefficients are wrong or belong to
 * another size. */
enum rt_status pinhole_check(const struct camera *camera, struct rt_error *err);

RT_C_END

#endif
