/* The stages of training that are not rendering: one args struct each, filled with designated
 * initialisers by the trainer, and the table of functions a backend gives.
 *
 *     const struct recon_ops *ops = recon_backend(render_backend_name(renderer), err);
 *     ops->loss(&(struct loss_args){.prediction = rgb, .target = u8, ...}, &values);
 *
 * All arrays are caller-owned and borrowed for the call. Results do not depend on the number of
 * threads: sums are taken per row or block and then in order. Methods: loss.h, adam.h, densify.h.
 */
#ifndef RETAKE_RECON_STAGES_H
#define RETAKE_RECON_STAGES_H

#include <stddef.h>
#include <stdint.h>

#include "render/core/gaussians.h"
#include "render/render.h"

struct loss_args {
    const float *prediction; /* [h][w][3] */
    const uint8_t *target;   /* [h][w][3], 0...255 = 0...1 */
    const uint8_t *mask;     /* [h][w], 0 = ignored; NULL = every pixel counts */
    int32_t width_px, height_px;
    float ssim_weight;   /* 0 = L1 alone: SSIM is not evaluated */
    float *v_prediction; /* [h][w][3], written; NULL = no gradient wanted */
    float *scratch;      /* [loss_scratch_floats(width_px, height_px)] */
};

struct loss_values {
    double loss;
    double l1;   /* mean |c - c^| over all pixels and channels, masked ones count 0 */
    double ssim; /* mean; 1 when it was not evaluated */
    double mse;  /* over valid pixels; 0 when there are none */
    int64_t n_valid_px;
};

/* One group of parameters; columns [first, last) of each row take part. */
struct adam_args {
    float *parameter;       /* [n][width] */
    float *moment1;         /* [n][width] */
    float *moment2;         /* [n][width] */
    float *gradient;        /* [n][width]; set to 0 where it was used */
    const uint8_t *visible; /* [n], rows with 0 are left alone; NULL = all */
    int32_t n;
    int32_t width, first, last;
    float rate, beta1, beta2, eps;
    float correction1, correction2; /* 1 - beta^t */
};

struct regularise_args {
    const struct gaussians *gaussians;
    const uint8_t *visible; /* [n]; NULL = all */
    float opacity_weight, scale_weight;
    float *v_logit_opacity; /* [n], added to */
    float *v_log_scale;     /* [n][3], added to */
};

/* Langevin noise on positions (densify.h). */
struct perturb_args {
    struct gaussians *gaussians; /* mean changes */
    float strength;              /* noise_lr x lr_mean, extent corrected */
    float dead_opacity;
    uint64_t seed;
    int32_t step;
};

struct recon_ops {
    void (*loss)(const struct loss_args *args, struct loss_values *values);
    void (*regularise)(const struct regularise_args *args);
    /* Returns the rows whose new values are not finite. */
    int32_t (*adam)(const struct adam_args *args);
    void (*perturb)(const struct perturb_args *args);
};

#endif
