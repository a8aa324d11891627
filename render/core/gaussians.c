#include "render/core/gaussians.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "render/core/arena.h"
#include "render/core/limits.h"

static void layout(struct rt_carver *carver, struct gaussians *g) {
    size_t n = (size_t)g->capacity;
    g->mean = rt_carve(carver, n * 3, sizeof(float));
    g->log_scale = rt_carve(carver, n * 3, sizeof(float));
    g->quat = rt_carve(carver, n * 4, sizeof(float));
    g->logit_opacity = rt_carve(carver, n, sizeof(float));
    g->sh = rt_carve(carver, n * 3 * (size_t)sh_count(g->sh_degree), sizeof(float));
}

enum { HEADER_BYTES = (sizeof(struct gaussians) + 63) / 64 * 64 };

enum rt_status gaussians_create(struct gaussians **out, int32_t n, int32_t capacity,
                                int32_t sh_degree, struct rt_error *err) {
    *out = NULL;
    assert(n >= 0 && capacity >= n && sh_degree >= 0 && sh_degree <= RT_MAX_SH_DEGREE);
    if (capacity > RT_MAX_GAUSSIANS) {
        return rt_fail(err, RT_LIMIT, "%d splats exceed the limit of %d", capacity,
                       RT_MAX_GAUSSIANS);
    }
    struct gaussians shape = {
        .n_gaussians = n, .capacity = capacity > 0 ? capacity : 1, .sh_degree = sh_degree};
    struct rt_carver carver = {.used_bytes = HEADER_BYTES};
    layout(&carver, &shape);
    unsigned char *base = carver.overflow ? NULL : aligned_alloc(64, carver.used_bytes);
    if (!base) return rt_fail(err, RT_NO_MEMORY, "%d splats: out of memory", capacity);
    memset(base, 0, carver.used_bytes);
    carver = (struct rt_carver){.base = base, .used_bytes = HEADER_BYTES};
    layout(&carver, &shape);
    struct gaussians *g = (struct gaussians *)(void *)base;
    *g = shape;
    *out = g;
    return RT_OK;
}

enum rt_status gaussians_copy(struct gaussians **out, const struct gaussians *source,
                              struct rt_error *err) {
    int32_t n = source->n_gaussians;
    RT_TRY(gaussians_create(out, n, n, source->sh_degree, err));
    struct gaussians *g = *out;
    size_t count = (size_t)n;
    memcpy(g->mean, source->mean, count * 3 * sizeof(float));
    memcpy(g->log_scale, source->log_scale, count * 3 * sizeof(float));
    memcpy(g->quat, source->quat, count * 4 * sizeof(float));
    memcpy(g->logit_opacity, source->logit_opacity, count * sizeof(float));
    memcpy(g->sh, source->sh, count * 3 * (size_t)sh_count(g->sh_degree) * sizeof(float));
    return RT_OK;
}

void gaussians_destroy(struct gaussians **gaussians) {
    free(*gaussians);
    *gaussians = NULL;
}

size_t gaussians_bytes(const struct gaussians *gaussians) {
    struct gaussians shape = *gaussians;
    struct rt_carver carver = {.used_bytes = HEADER_BYTES};
    layout(&carver, &shape);
    return carver.used_bytes;
}

static bool usable(const struct gaussians *g, size_t i) {
    for (size_t k = 0; k < 3; k++) {
        if (!isfinite(g->mean[3 * i + k])) return false;
        float s = g->log_scale[3 * i + k];
        if (isnan(s) || s > 20.0f) return false;
    }
    return !isnan(g->logit_opacity[i]);
}

static void repair(struct gaussians *g, size_t i, struct gaussians_report *report) {
    for (size_t k = 0; k < 3; k++) {
        if (g->log_scale[3 * i + k] < -20.0f) g->log_scale[3 * i + k] = -20.0f;
    }
    if (fabsf(g->logit_opacity[i]) > 20.0f) {
        g->logit_opacity[i] = copysignf(20.0f, g->logit_opacity[i]);
        report->n_opacity_clamped++;
    }
    float *q = g->quat + 4 * i;
    float length2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    if (!isfinite(length2) || length2 < 1e-24f) {
        q[0] = 1.0f;
        q[1] = q[2] = q[3] = 0.0f;
        report->n_zero_quat++;
    }
    size_t n_sh = 3 * (size_t)sh_count(g->sh_degree);
    bool zeroed = false;
    for (size_t k = 0; k < n_sh; k++) {
        if (!isfinite(g->sh[n_sh * i + k])) {
            g->sh[n_sh * i + k] = 0.0f;
            zeroed = true;
        }
    }
    report->n_sh_zeroed += zeroed;
}

static void move_one(struct gaussians *g, size_t to, size_t from) {
    size_t n_sh = 3 * (size_t)sh_count(g->sh_degree);
    memcpy(g->mean + 3 * to, g->mean + 3 * from, 3 * sizeof(float));
    memcpy(g->log_scale + 3 * to, g->log_scale + 3 * from, 3 * sizeof(float));
    memcpy(g->quat + 4 * to, g->quat + 4 * from, 4 * sizeof(float));
    g->logit_opacity[to] = g->logit_opacity[from];
    memcpy(g->sh + n_sh * to, g->sh + n_sh * from, n_sh * sizeof(float));
}

void gaussians_sanitise(struct gaussians *gaussians, struct gaussians_report *report) {
    *report = (struct gaussians_report){0};
    size_t n_kept = 0;
    for (size_t i = 0; i < (size_t)gaussians->n_gaussians; i++) {
        if (!usable(gaussians, i)) {
            report->n_dropped++;
            continue;
        }
        if (n_kept != i) move_one(gaussians, n_kept, i);
        repair(gaussians, n_kept, report);
        n_kept++;
    }
    gaussians->n_gaussians = (int32_t)n_kept;
}
