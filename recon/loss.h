/* The image loss: (1-w) mean|c - c^| + w (1 - SSIM), sensors.md section 15.
 *
 * SSIM [Wang, Bovik, Sheikh, Simoncelli 2004]: 11 taps of a Gaussian with sigma 1.5, zero padding,
 * per channel, mean over everything. With the blurred moments of prediction x and target y
 *     A = 2 mx my + C1,  B = 2 sxy + C2,  C = mx^2 + my^2 + C1,  D = sx^2 + sy^2 + C2,
 *     S = A B / (C D).
 * Its gradient needs three maps that are blurred with the same (symmetric) kernel G:
 *     dS/dx = G(P1) + 2 x G(P2) + y G(P3)
 *     P1 = 2 my (B - A) / (C D) + 2 mx S (1/D - 1/C),  P2 = -S / D,  P3 = 2 A / (C D).
 * Masked pixels: c^ takes the value of c there, and their gradient is 0. */
#ifndef RETAKE_RECON_LOSS_H
#define RETAKE_RECON_LOSS_H

#include <stddef.h>
#include <stdint.h>

#include "render/core/hd.h"

RT_C_BEGIN

#define SSIM_C1 1e-4f
#define SSIM_C2 9e-4f

/* S and the three maps of its gradient. */
struct ssim_point {
    float s, p1, p2, p3;
};

/* From the blurred x, y, x^2, y^2 and xy at one pixel. */
HD struct ssim_point ssim_at(float mx, float my, float xx, float yy, float xy) {
    float a = 2.0f * mx * my + SSIM_C1;
    float b = 2.0f * (xy - mx * my) + SSIM_C2;
    float c = mx * mx + my * my + SSIM_C1;
    float d = xx - mx * mx + yy - my * my + SSIM_C2;
    float inverse_c = 1.0f / c;
    float inverse_d = 1.0f / d;
    float inverse_cd = inverse_c * inverse_d;
    struct ssim_point r;
    r.s = a * b * inverse_cd;
    r.p1 = 2.0f * my * (b - a) * inverse_cd + 2.0f * mx * r.s * (inverse_d - inverse_c);
    r.p2 = -r.s * inverse_d;
    r.p3 = 2.0f * a * inverse_cd;
    return r;
}

/* Floats of scratch that the loss of one picture needs. */
size_t loss_scratch_floats(int32_t width_px, int32_t height_px);

/* 10 log10(1/mse); 100 dB for equal pictures. */
double loss_psnr_db(double mse);

RT_C_END

#endif
