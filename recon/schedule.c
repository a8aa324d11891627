#include "recon/schedule.h"

#include <math.h>
#include <string.h>

#include "render/core/rng.h"

enum { STREAM_ORDER = 0x4f524452 };

/* start^(1-f/full) in steps of sqrt(1/2), so that few sizes occur. */
static float resolution_at(const struct recon_config *config, double fraction) {
    double full_at = (double)config->resolution_full_at;
    double start = (double)config->resolution_start;
    if (full_at <= 0.0 || fraction >= full_at || start >= 1.0) return 1.0f;
    double halves = log2(1.0 / start) * (1.0 - fraction / full_at);
    double level = ceil(2.0 * halves - 1e-9) * 0.5;
    double resolution = exp2(-level);
    return (float)(resolution > start ? resolution : start);
}

/* The noise is not invariant to the unit of length (sensors.md section 16): it is meant for an
 * extent near 1...5 and falls with its square above 3. */
static float noise_strength(const struct recon_config *config, float lr_mean, float extent) {
    float ratio = extent / 3.0f;
    return config->noise_lr * lr_mean / (ratio > 1.0f ? ratio * ratio : 1.0f);
}

struct step_plan schedule_step(const struct recon_config *config,
                               const struct training_point *point) {
    float scale = point->rate_scale;
    double f = point->fraction;
    int32_t degree = point->step / config->sh_degree_every;
    int32_t done = point->step + 1;
    bool mcmc = strcmp(config->strategy, "mcmc") == 0;
    struct step_plan plan = {
        .resolution = resolution_at(config, f),
        .sh_degree = degree < config->sh_degree ? degree : config->sh_degree,
        .ssim_weight = point->step % config->ssim_every == 0 ? config->ssim_weight : 0.0f,
        .lr_sh0 = config->lr_sh0 * scale,
        .lr_sh_rest = config->lr_sh_rest * scale,
        .lr_opacity = config->lr_opacity * scale,
        .lr_scale = config->lr_scale * scale,
        .lr_rotation = config->lr_rotation * scale,
    };
    if (config->lr_mean > 0.0f && config->lr_mean_final > 0.0f) {
        double decayed = (double)config->lr_mean *
                         pow((double)config->lr_mean_final / (double)config->lr_mean, f);
        if (point->travel > 1.0f) decayed *= pow((double)point->travel, 1.0 - f);
        plan.lr_mean = (float)decayed * scale * point->extent;
    }
    plan.refine = mcmc && done >= config->refine_from && done % config->refine_every == 0 &&
                  f < (double)config->refine_until;
    if (mcmc) plan.noise = noise_strength(config, plan.lr_mean, point->extent);
    return plan;
}

int32_t schedule_picture(int32_t *order, int32_t n, int32_t *epoch, uint64_t seed, int32_t step) {
    if (step / n != *epoch) {
        *epoch = step / n;
        for (int32_t i = 0; i < n; i++) order[i] = i;
        for (int32_t i = n - 1; i > 0; i--) { /* Fisher and Yates */
            struct rng_bits bits = rng_draw(seed, STREAM_ORDER, (uint32_t)*epoch, (uint64_t)i);
            int32_t j = (int32_t)(rng_uniform_double(bits) * (double)(i + 1));
            int32_t kept = order[i];
            order[i] = order[j];
            order[j] = kept;
        }
    }
    return order[step % n];
}

int32_t schedule_capacity(const struct recon_config *config, int32_t n_first) {
    if (strcmp(config->strategy, "mcmc") != 0) return n_first;
    if (n_first >= config->splats_max) return config->splats_max;
    double n_refinements = 1.0 + (double)config->steps / (double)config->refine_every;
    double reached = ((double)n_first + 1.0) * pow((double)config->growth, n_refinements);
    return reached < (double)config->splats_max ? (int32_t)reached + 1 : config->splats_max;
}
