/* What a training step does, as a pure function of the configuration and of how far training is.
 * Rates: performance.md section 9; resolution: DashGaussian [Chen et al. 2025] in geometric steps.
 */
#ifndef RETAKE_RECON_SCHEDULE_H
#define RETAKE_RECON_SCHEDULE_H

#include <stdbool.h>

#include "recon/config.h"

struct training_point {
    int32_t step;     /* 0... */
    double fraction;  /* 0...1 of training: step/steps, or time used when there is a time budget */
    float extent;     /* scene extent, m */
    float rate_scale; /* 1, halved after each divergence */
    float travel;     /* lr_mean begins x travel and ends x 1; below 1 counts as 1 */
};

struct step_plan {
    float resolution;  /* in (0, 1] of the training size */
    int32_t sh_degree; /* bands in use */
    float ssim_weight; /* 0 where SSIM is skipped */
    float lr_mean;     /* x extent already; all with rate_scale */
    float lr_sh0, lr_sh_rest, lr_opacity, lr_scale, lr_rotation;
    float noise; /* strength of perturb_args, 0 = none */
    bool refine; /* relocate and grow after this step */
};

struct step_plan schedule_step(const struct recon_config *config,
                               const struct training_point *point);

/* The picture (index into n) of a step: every epoch is a permutation drawn from the seed. `order`
 * [n] holds the permutation of epoch *epoch and is refilled when the step begins another one; start
 * with *epoch = -1. */
int32_t schedule_picture(int32_t *order, int32_t n, int32_t *epoch, uint64_t seed, int32_t step);

/* Most gaussians that training can reach from n_first. */
int32_t schedule_capacity(const struct recon_config *config, int32_t n_first);

#endif
