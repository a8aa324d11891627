/* Blending front to back: opacity of a splat at a pixel, its weight, and the derivative.
 *
 *     float sigma = blend_sigma(&conic, dx, dy);                     // d = pixel centre - mean
 *     float raw = opacity * blend_exp(-sigma);
 *     float alpha = min_of(raw, limits.alpha_max);
 *     int hit = blend_hit(sigma, alpha, limits.alpha_min);
 *     transmittance = blend_advance(transmittance, alpha, hit, limits.t_min, &weight);
 *
 * The sign of the transmittance says whether the pixel still takes splats: it starts at 1, is
 * negated when the pixel is full, and |transmittance| is what the background gets. A negative start
 * switches a pixel off. One float holds both, so rows of pixels stay free of branches.
 * Backward walks front to back again and meets the same roundings. Source: sensors.md section 11.
 */
#ifndef RETAKE_RENDER_CORE_BLEND_H
#define RETAKE_RENDER_CORE_BLEND_H

#include <stdint.h>

#include "render/core/vec.h"

/* e^x for x <= 0; below -87 it stays at e^-87. Relative error 1.6e-7 above -6, where blending
 * happens, and below 5e-6 everywhere. Splits off
 * the power of two by adding 1.5 * 2^23, then a degree-5 minimax polynomial on +-ln(2)/2 with
 * e^0 = 1 exactly (fitted by Lawson's algorithm). */
HD float blend_exp(float x) {
    const float magic = 12582912.0f;
    union {
        float f;
        uint32_t u;
    } power, scaled;
    x = max_of(x, -87.0f);
    power.f = RT_FMA(x, 1.44269504f, magic);
    float n = power.f - magic;
    float r = RT_FMA(n, -0.693147182f, x);
    float p = 0.00829027221f;
    p = RT_FMA(p, r, 0.0418981612f);
    p = RT_FMA(p, r, 0.166676387f);
    p = RT_FMA(p, r, 0.499991477f);
    p = RT_FMA(p, r, 0.999999702f);
    scaled.f = RT_FMA(p, r, 1.0f);
    scaled.u += power.u << 23;
    return scaled.f;
}

/* Half the squared Mahalanobis distance. b_dy and c_dy2 are the parts that a row of pixels shares:
 * conic.xy * dy and conic.yy * dy * dy / 2. */
HD float blend_sigma(float half_a, float b_dy, float half_c_dy2, float dx) {
    return RT_FMA(RT_FMA(half_a, dx, b_dy), dx, half_c_dy2);
}

HD int blend_hit(float sigma, float alpha, float alpha_min) {
    return (sigma >= 0.0f) & (alpha >= alpha_min);
}

/* New transmittance; *weight = alpha T, or 0 when nothing is blended. A splat that would leave
 * T <= t_min is not blended and fills the pixel. */
HD float blend_advance(float transmittance, float alpha, int hit, float t_min, float *weight) {
    float next = transmittance * (1.0f - alpha);
    int live = hit & (transmittance > 0.0f);
    int full = live & (next <= t_min);
    *weight = (live & !full) ? alpha * transmittance : 0.0f;
    float after = live ? next : transmittance;
    return full ? -transmittance : after;
}

/* dL/dalpha of a blended splat. `value` is the upstream gradient of one unit of its weight,
 * q = <c, v_C> + d v_D + v_acc, `behind` the sum of w_j q_j of everything behind it with the
 * background. */
HD float blend_alpha_vjp(float transmittance, float alpha, float value, float behind) {
    return transmittance * value - behind / (1.0f - alpha);
}

#endif
