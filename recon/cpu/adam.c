#include "recon/adam.h"

#include <stdbool.h>

#include "recon/cpu/ops_cpu.h"

/* Columns [0, n) of one row; returns whether every new value is finite (x - x is 0 then). */
static inline bool step_row(const struct adam_args *a, int64_t at, int32_t n, float rate,
                            float root_correction2) {
    float *parameter = a->parameter + at, *m = a->moment1 + at, *v = a->moment2 + at;
    float *gradient = a->gradient + at;
    float beta1 = a->beta1, beta2 = a->beta2, eps = a->eps;
    float check = 0.0f;
#pragma omp simd reduction(+ : check)
    for (int32_t i = 0; i < n; i++) {
        float value = parameter[i] + adam_step(gradient[i], beta1, beta2, eps, rate,
                                               root_correction2, &m[i], &v[i]);
        parameter[i] = value;
        gradient[i] = 0.0f;
        check += value - value;
    }
    return check == 0.0f;
}

int32_t cpu_adam(const struct adam_args *a) {
    float rate = a->rate / a->correction1;
    float root_correction2 = sqrtf(a->correction2);
    int32_t n_broken = 0;
#pragma omp parallel for schedule(static) reduction(+ : n_broken)
    for (int32_t row = 0; row < a->n; row++) {
        if (a->visible && !a->visible[row]) continue;
        int64_t at = (int64_t)row * a->width + a->first;
        n_broken += !step_row(a, at, a->last - a->first, rate, root_correction2);
    }
    return n_broken;
}

void cpu_regularise(const struct regularise_args *a) {
    const struct gaussians *g = a->gaussians;
    float opacity = a->opacity_weight / (float)g->n_gaussians;
    float scale = a->scale_weight / (3.0f * (float)g->n_gaussians);
#pragma omp parallel for schedule(static)
    for (int32_t i = 0; i < g->n_gaussians; i++) {
        if (a->visible && !a->visible[i]) continue;
        float o = 1.0f / (1.0f + expf(-g->logit_opacity[i]));
        a->v_logit_opacity[i] += opacity * o * (1.0f - o);
        for (int k = 0; k < 3; k++) {
            a->v_log_scale[3 * (int64_t)i + k] += scale * expf(g->log_scale[3 * (int64_t)i + k]);
        }
    }
}
