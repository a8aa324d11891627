/* Densification under a hard budget: dead gaussians move to where live ones are, the set grows, and
 * positions are shaken. [Kheradmand et al. 2024, "3D Gaussian Splatting as Markov Chain Monte
 * Carlo"; sensors.md section 16]
 *
 *     struct densify_set set = {.gaussians = g, .moment1 = {...}, .moment2 = {...}};
 *     RT_TRY(densify_relocate(&set, &rules, &report, err));
 *
 * N copies of a gaussian of opacity o that together look like the one:
 *     o' = 1 - (1-o)^(1/N),
 *     s' = s o / sum_{k=0}^{N-1} C(N,k+1) (-1)^k o'^(k+1) / sqrt(k+1),
 * the single sum being equal to the published double one (sum_i C(i-1,k) = C(N,k+1)): the integral
 * of 1-(1-o'G')^N along a ray stays that of oG. Draws come from the counter generator, so they are
 * the same for any number of threads. Threading: one thread per set. */
#ifndef RETAKE_RECON_DENSIFY_H
#define RETAKE_RECON_DENSIFY_H

#include <math.h>
#include <stdint.h>

#include "render/core/gaussians.h"

RT_C_BEGIN

enum { RELOCATION_MAX_COPIES = 51 };

/* o' of N copies. */
static inline double relocation_opacity(double opacity, int32_t n_copies) {
    return -expm1(log1p(-opacity) / (double)n_copies);
}

/* s'/s of N copies, N <= RELOCATION_MAX_COPIES; o' as above. */
static inline double relocation_scale(double opacity, double opacity_new, int32_t n_copies) {
    double sum = 0.0, choose = 1.0, power = 1.0;
    for (int32_t k = 0; k < n_copies; k++) {
        choose *= (double)(n_copies - k) / (double)(k + 1); /* C(N, k+1) */
        power *= k == 0 ? opacity_new : -opacity_new;       /* (-1)^k o'^(k+1) */
        sum += choose * power / sqrt((double)(k + 1));
    }
    return opacity / sum;
}

/* Part of the noise that a gaussian of this opacity gets: 0.5 at `dead_opacity`, then falling fast,
 * so that what is visible stands still. */
static inline float noise_gate(float opacity, float dead_opacity) {
    return 1.0f / (1.0f + expf(100.0f * (opacity - dead_opacity)));
}

/* Groups of parameters, in the order of the moments. */
enum parameter_group {
    GROUP_MEAN,
    GROUP_LOG_SCALE,
    GROUP_QUAT,
    GROUP_LOGIT_OPACITY,
    GROUP_SH,
    N_PARAMETER_GROUPS
};

/* Floats per gaussian of a group. */
int32_t group_width(enum parameter_group group, int32_t sh_degree);
/* The parameter array of a group. */
float *group_parameters(struct gaussians *gaussians, enum parameter_group group);

struct densify_set {
    struct gaussians *gaussians;        /* grown within its capacity */
    float *moment1[N_PARAMETER_GROUPS]; /* [capacity][width] */
    float *moment2[N_PARAMETER_GROUPS]; /* [capacity][width] */
};

struct densify_rules {
    float dead_opacity;
    float growth;       /* >= 1 */
    int32_t splats_max; /* hard: n never exceeds it nor the capacity */
    uint64_t seed;
    int32_t step; /* names the draws */
};

struct densify_report {
    int32_t n_dead;
    int32_t n_added;
};

/* Relocates the dead and grows. Moments of every gaussian that changed, sources and copies, become
 * 0. Errors: RT_NO_MEMORY (the set is untouched then). */
enum rt_status densify_relocate(struct densify_set *set, const struct densify_rules *rules,
                                struct densify_report *report, struct rt_error *err);

RT_C_END

#endif
