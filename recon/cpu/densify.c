#include "recon/densify.h"

#include "recon/cpu/ops_cpu.h"
#include "render/core/rng.h"
#include "render/core/vec.h"

enum { STREAM_NOISE = 0x4e4f4953 };

/* Below this part of the noise nothing would be seen; most gaussians of a trained scene end here.
 */
static const float GATE_MIN = 1e-4f;

/* mean += strength x gate x Sigma eta, eta standard normal. */
static void perturb_one(const struct perturb_args *a, int32_t i, float factor) {
    struct gaussians *g = a->gaussians;
    int64_t at = i;
    struct rng_bits bits = rng_draw(a->seed, STREAM_NOISE, (uint32_t)a->step, (uint64_t)i);
    struct rng_bits more = rng_philox(bits, (uint32_t)a->seed, STREAM_NOISE);
    vec3 eta = vec3_make(rng_normal(bits, 0), rng_normal(bits, 2), rng_normal(more, 0));
    mat3 rotation = quat_to_mat3(quat_normalised(quat_load(g->quat + 4 * at)));
    vec3 axes = mat3_mul_vec_transposed(rotation, eta);
    vec3 s = vec3_load(g->log_scale + 3 * at);
    axes.x *= expf(2.0f * s.x);
    axes.y *= expf(2.0f * s.y);
    axes.z *= expf(2.0f * s.z);
    vec3 shift = vec3_scale(mat3_mul_vec(rotation, axes), factor);
    vec3_store(g->mean + 3 * at, vec3_add(vec3_load(g->mean + 3 * at), shift));
}

void cpu_perturb(const struct perturb_args *a) {
    const struct gaussians *g = a->gaussians;
#pragma omp parallel for schedule(static)
    for (int32_t i = 0; i < g->n_gaussians; i++) {
        float opacity = 1.0f / (1.0f + expf(-g->logit_opacity[i]));
        float gate = noise_gate(opacity, a->dead_opacity);
        if (gate > GATE_MIN) perturb_one(a, i, a->strength * gate);
    }
}
