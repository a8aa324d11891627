/* A set of Gaussians: the stored (not activated) parameters of sensors.md section 6.
 *
 *     struct gaussians *splats;
 *     RT_TRY(gaussians_create(&splats, n, capacity, 3, err));
 *     vec3 mean = vec3_load(splats->mean + 3 * i);
 *     gaussians_destroy(&splats);
 *
 * One allocation; arrays are sized for `capacity`, the first n_gaussians are alive. Threading: a
 * set is owned by one thread, or immutable and shared. */
#ifndef RETAKE_RENDER_CORE_GAUSSIANS_H
#define RETAKE_RENDER_CORE_GAUSSIANS_H

#include <stddef.h>
#include <stdint.h>

#include "render/core/status.h"

RT_C_BEGIN

struct gaussians {
    int32_t n_gaussians;
    int32_t capacity;
    int32_t sh_degree;    /* 0...3 */
    float *mean;          /* [capacity][3] m, node frame */
    float *log_scale;     /* [capacity][3] ln m; -20 and below is flat */
    float *quat;          /* [capacity][4] w,x,y,z, any length */
    float *logit_opacity; /* [capacity], -20...20 */
    float *sh;            /* [capacity][(sh_degree+1)^2][3], coefficient-major */
};

/* Coefficients per channel with DC: (degree+1)^2. */
static inline int32_t sh_count(int32_t sh_degree) { return (sh_degree + 1) * (sh_degree + 1); }

/* Zero-filled set with n alive of `capacity` (>= n, >= 1). RT_LIMIT, RT_NO_MEMORY. */
enum rt_status gaussians_create(struct gaussians **out, int32_t n, int32_t capacity,
                                int32_t sh_degree, struct rt_error *err);
/* Deep copy of the alive ones (capacity = n). */
enum rt_status gaussians_copy(struct gaussians **out, const struct gaussians *source,
                              struct rt_error *err);
void gaussians_destroy(struct gaussians **gaussians);

/* Bytes of all arrays. */
size_t gaussians_bytes(const struct gaussians *gaussians);

/* What gaussians_sanitise() found. */
struct gaussians_report {
    int32_t n_dropped;         /* mean, scale or opacity unusable */
    int32_t n_opacity_clamped; /* +-Inf or beyond +-20 kept as +-20 */
    int32_t n_zero_quat;       /* repaired to the identity */
    int32_t n_sh_zeroed;       /* splats with a non-finite coefficient set to 0 */
};

/* Applies the bounds of sensors.md section 6 ("bounds on load") in place, keeping the order. */
void gaussians_sanitise(struct gaussians *gaussians, struct gaussians_report *report);

RT_C_END

#endif
