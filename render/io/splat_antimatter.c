/* .splat (formats.md 3.3): 32 bytes per splat, no header, no SH. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/core/limits.h"
#include "render/io/splat_format.h"

enum { RECORD_BYTES = 32, N_SAMPLES = 64 };

struct record {
    float mean[3];
    float scale[3];
    uint8_t rgba[4];
    uint8_t rotation[4];
};

static struct record load(const unsigned char *at) {
    struct record record;
    memcpy(&record, at, sizeof record);
    return record;
}

static bool plausible(const struct record *record) {
    float length2 = 0.0f;
    for (int k = 0; k < 3; k++) {
        if (!(record->scale[k] >= 0.0f && record->scale[k] < 1e6f)) return false;
        length2 += record->mean[k] * record->mean[k];
    }
    return isfinite(length2) && length2 < 1e14f;
}

static enum rt_status check(struct byte_span source, struct rt_error *err) {
    size_t n = source.n_bytes / RECORD_BYTES;
    if (source.n_bytes % RECORD_BYTES != 0) {
        return rt_fail_file(err, "truncated", (int64_t)source.n_bytes,
                            ".splat of %zu bytes: must be a multiple of %d", source.n_bytes,
                            RECORD_BYTES);
    }
    if (n == 0) return rt_fail_file(err, "empty", 0, ".splat of 0 bytes");
    if (n > RT_MAX_GAUSSIANS) {
        return rt_fail_file(err, "count-too-large", 0, ".splat of %zu splats exceeds %d", n,
                            RT_MAX_GAUSSIANS);
    }
    for (size_t k = 0; k < N_SAMPLES; k++) {
        size_t i = n * k / N_SAMPLES;
        struct record record = load(source.bytes + i * RECORD_BYTES);
        if (!plausible(&record)) {
            return rt_fail_file(err, "bad-value", (int64_t)(i * RECORD_BYTES),
                                "splat %zu has no plausible position and scale: not a .splat file",
                                i);
        }
    }
    return RT_OK;
}

enum rt_status splat_antimatter_parse(struct byte_span source, struct splat_file *out,
                                      struct rt_error *err) {
    snprintf(out->format, sizeof out->format, "splat");
    snprintf(out->axes, sizeof out->axes, "rdf");
    RT_TRY(check(source, err));
    int32_t n = (int32_t)(source.n_bytes / RECORD_BYTES);
    RT_TRY(gaussians_create(&out->gaussians, n, n, 0, err));
    struct gaussians *splats = out->gaussians;
    for (size_t i = 0; i < (size_t)n; i++) {
        struct record record = load(source.bytes + i * RECORD_BYTES);
        for (size_t k = 0; k < 3; k++) {
            splats->mean[3 * i + k] = record.mean[k];
            splats->log_scale[3 * i + k] = logf(record.scale[k]);
            splats->sh[3 * i + k] = ((float)record.rgba[k] / 255.0f - 0.5f) / SPLAT_C0;
        }
        for (size_t k = 0; k < 4; k++) {
            splats->quat[4 * i + k] = ((float)record.rotation[k] - 128.0f) / 128.0f;
        }
        splats->logit_opacity[i] = splat_logit((float)record.rgba[3] / 255.0f);
    }
    return RT_OK;
}

static uint8_t to_byte(float value) {
    if (!(value > 0.0f)) return 0;
    return value >= 255.0f ? 255 : (uint8_t)(value + 0.5f);
}

static void store(const struct gaussians *splats, size_t i, unsigned char *at) {
    struct record record;
    size_t n_sh = 3 * (size_t)sh_count(splats->sh_degree);
    const float *q = splats->quat + 4 * i;
    float length = sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    float opacity = 1.0f / (1.0f + expf(-splats->logit_opacity[i]));
    for (size_t k = 0; k < 3; k++) {
        record.mean[k] = splats->mean[3 * i + k];
        record.scale[k] = expf(splats->log_scale[3 * i + k]);
        record.rgba[k] = to_byte((0.5f + SPLAT_C0 * splats->sh[n_sh * i + k]) * 255.0f);
    }
    record.rgba[3] = to_byte(opacity * 255.0f);
    for (size_t k = 0; k < 4; k++) {
        float unit = length > 1e-12f ? q[k] / length : k == 0 ? 1.0f : 0.0f;
        record.rotation[k] = to_byte(unit * 128.0f + 128.0f);
    }
    memcpy(at, &record, sizeof record);
}

struct rank {
    float weight;
    uint32_t i;
};

/* Falling weight; equal ones keep their order, so the file is the same on each run. */
static int compare_rank(const void *a, const void *b) {
    const struct rank *x = a;
    const struct rank *y = b;
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

/* Viewers draw a .splat while it loads, so what covers most comes first. */
static void rank_splats(const struct gaussians *splats, struct rank *ranks) {
    for (size_t i = 0; i < (size_t)splats->n_gaussians; i++) {
        const float *s = splats->log_scale + 3 * i;
        float opacity = 1.0f / (1.0f + expf(-splats->logit_opacity[i]));
        ranks[i] = (struct rank){.weight = expf(s[0] + s[1] + s[2]) * opacity, .i = (uint32_t)i};
    }
    qsort(ranks, (size_t)splats->n_gaussians, sizeof *ranks, compare_rank);
}

enum rt_status splat_antimatter_encode(const struct splat_write *what, struct rt_bytes *out,
                                       struct rt_error *err) {
    memset(out, 0, sizeof *out);
    size_t n = (size_t)what->gaussians->n_gaussians;
    struct rank *ranks = malloc((n > 0 ? n : 1) * sizeof *ranks);
    unsigned char *bytes = malloc((n > 0 ? n : 1) * RECORD_BYTES);
    if (!ranks || !bytes) {
        free(ranks);
        free(bytes);
        return rt_fail(err, RT_NO_MEMORY, ".splat of %zu splats: out of memory", n);
    }
    rank_splats(what->gaussians, ranks);
    for (size_t i = 0; i < n; i++) store(what->gaussians, ranks[i].i, bytes + i * RECORD_BYTES);
    free(ranks);
    out->bytes = bytes;
    out->n_bytes = n * RECORD_BYTES;
    return RT_OK;
}
