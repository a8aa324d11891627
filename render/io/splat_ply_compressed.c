/* PlayCanvas compressed PLY (formats.md 3.2): chunks of 256 splats with their ranges. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/io/ply_header.h"
#include "render/io/splat_format.h"

enum { CHUNK_SPLATS = 256, N_RANGES = 18, N_PACKED = 4, MAX_REST = 45 };

struct chunk {
    float low[3][3]; /* position, scale, colour by axis */
    float high[3][3];
};

static enum rt_status find_chunk_columns(const struct ply_element *chunk, int32_t columns[N_RANGES],
                                         bool *has_colour, struct rt_error *err) {
    static const char *const names[N_RANGES] = {
        "min_x",       "min_y",       "min_z",       "max_x",       "max_y",       "max_z",
        "min_scale_x", "min_scale_y", "min_scale_z", "max_scale_x", "max_scale_y", "max_scale_z",
        "min_r",       "min_g",       "min_b",       "max_r",       "max_g",       "max_b"};
    *has_colour = ply_column(chunk, "min_r") >= 0;
    for (int i = 0; i < N_RANGES; i++) {
        columns[i] = ply_column(chunk, names[i]);
        if ((i < 12 || *has_colour) && columns[i] < 0) {
            return rt_fail_file(err, "missing-property", 0, "chunk: property %s is missing",
                                names[i]);
        }
    }
    return RT_OK;
}

static enum rt_status read_chunks(const struct ply_header *header, struct byte_span source,
                                  size_t n_splats, struct chunk **out, struct rt_error *err) {
    const struct ply_element *element = ply_find_element(header, "chunk");
    int32_t columns[N_RANGES];
    bool has_colour = false;
    struct ply_rows rows;
    RT_TRY(find_chunk_columns(element, columns, &has_colour, err));
    RT_TRY(ply_rows_open(header, source, element, &rows, err));
    size_t n = (n_splats + CHUNK_SPLATS - 1) / CHUNK_SPLATS;
    if (element->n_rows < n) {
        return rt_fail_file(err, "bad-header", 0, "chunk: %llu rows, %zu splats need %zu",
                            (unsigned long long)element->n_rows, n_splats, n);
    }
    *out = calloc(n, sizeof **out);
    if (!*out) return rt_fail(err, RT_NO_MEMORY, "%zu chunks: out of memory", n);
    for (size_t i = 0; i < n; i++) {
        double v[N_RANGES];
        RT_TRY(ply_rows_next(&rows, columns, N_RANGES, v, err));
        for (int group = 0; group < 3; group++) {
            for (int k = 0; k < 3; k++) {
                (*out)[i].low[group][k] = (float)v[6 * group + k];
                (*out)[i].high[group][k] = (float)v[6 * group + 3 + k];
            }
        }
        for (int k = 0; !has_colour && k < 3; k++) (*out)[i].high[2][k] = 1.0f;
    }
    return RT_OK;
}

static float lerp(const struct chunk *chunk, int group, int axis, float fraction) {
    float low = chunk->low[group][axis];
    return low + (chunk->high[group][axis] - low) * fraction;
}

/* 11, 10, 11 bits from high to low. */
static void unpack_range(const struct chunk *chunk, int group, uint32_t packed, float out[3]) {
    out[0] = lerp(chunk, group, 0, (float)(packed >> 21) / 2047.0f);
    out[1] = lerp(chunk, group, 1, (float)(packed >> 11 & 1023) / 1023.0f);
    out[2] = lerp(chunk, group, 2, (float)(packed & 2047) / 2047.0f);
}

static void unpack_rotation(uint32_t packed, float wxyz[4]) {
    uint32_t largest = packed >> 30;
    float sum = 0.0f;
    int shift = 20;
    for (uint32_t k = 0; k < 4; k++) {
        if (k == largest) continue;
        float v = ((float)(packed >> shift & 1023) / 1023.0f - 0.5f) * 1.41421356f;
        wxyz[k] = v;
        sum += v * v;
        shift -= 10;
    }
    wxyz[largest] = sqrtf(fmaxf(0.0f, 1.0f - sum));
}

static void unpack_colour(const struct chunk *chunk, uint32_t packed, float dc[3],
                          float *logit_opacity) {
    for (int k = 0; k < 3; k++) {
        float c = lerp(chunk, 2, k, (float)(packed >> (24 - 8 * k) & 255) / 255.0f);
        dc[k] = (c - 0.5f) / SPLAT_C0;
    }
    *logit_opacity = splat_logit((float)(packed & 255) / 255.0f);
}

static enum rt_status read_packed(const struct ply_header *header, struct byte_span source,
                                  const struct chunk *chunks, struct gaussians *splats,
                                  struct rt_error *err) {
    static const char *const names[N_PACKED] = {"packed_position", "packed_rotation",
                                                "packed_scale", "packed_color"};
    const struct ply_element *vertex = ply_find_element(header, "vertex");
    int32_t columns[N_PACKED];
    for (int i = 0; i < N_PACKED; i++) {
        columns[i] = ply_column(vertex, names[i]);
        if (columns[i] < 0 || ply_property_at(vertex, columns[i])->type != PLY_U32) {
            return rt_fail_file(err, "missing-property", 0, "vertex: property uint %s is missing",
                                names[i]);
        }
    }
    struct ply_rows rows;
    RT_TRY(ply_rows_open(header, source, vertex, &rows, err));
    for (size_t i = 0; i < (size_t)splats->n_gaussians; i++) {
        double v[N_PACKED];
        RT_TRY(ply_rows_next(&rows, columns, N_PACKED, v, err));
        const struct chunk *chunk = &chunks[i / CHUNK_SPLATS];
        for (int k = 0; k < N_PACKED; k++) {
            if (v[k] < 0.0 || v[k] > 4294967295.0 || v[k] != floor(v[k])) {
                return rt_fail_file(err, "bad-value", (int64_t)rows.at,
                                    "vertex %zu: %s is no 32-bit number", i, names[k]);
            }
        }
        unpack_range(chunk, 0, (uint32_t)v[0], splats->mean + 3 * i);
        unpack_rotation((uint32_t)v[1], splats->quat + 4 * i);
        unpack_range(chunk, 1, (uint32_t)v[2], splats->log_scale + 3 * i);
        unpack_colour(chunk, (uint32_t)v[3], splat_sh_at(splats, i), &splats->logit_opacity[i]);
    }
    return RT_OK;
}

static float unpack_sh(double value) {
    double n = value <= 0.0 ? 0.0 : value >= 255.0 ? 1.0 : (value + 0.5) / 256.0;
    return (float)(8.0 * (n - 0.5));
}

static enum rt_status read_sh(struct ply_rows *rows, int32_t n_rest, struct gaussians *splats,
                              struct rt_error *err) {
    int32_t columns[MAX_REST];
    for (int32_t i = 0; i < n_rest; i++) {
        char name[24];
        snprintf(name, sizeof name, "f_rest_%d", i);
        columns[i] = ply_column(rows->element, name);
        if (columns[i] < 0) {
            return rt_fail_file(err, "missing-property", 0, "sh: property %s is missing", name);
        }
    }
    size_t n_coefficients = (size_t)n_rest / 3;
    for (size_t i = 0; i < (size_t)splats->n_gaussians; i++) {
        double v[MAX_REST];
        RT_TRY(ply_rows_next(rows, columns, n_rest, v, err));
        float *sh = splat_sh_at(splats, i);
        for (size_t k = 0; k < 3; k++) {
            for (size_t j = 0; j < n_coefficients; j++) {
                sh[3 * (j + 1) + k] = unpack_sh(v[k * n_coefficients + j]);
            }
        }
    }
    return RT_OK;
}

static enum rt_status sh_degree_of(const struct ply_element *sh, uint64_t n_splats, int32_t *degree,
                                   struct rt_error *err) {
    *degree = 0;
    if (!sh) return RT_OK;
    if (sh->n_properties == 9) *degree = 1;
    if (sh->n_properties == 24) *degree = 2;
    if (sh->n_properties == 45) *degree = 3;
    if (*degree == 0 || sh->n_rows != n_splats) {
        return rt_fail_file(
            err, "bad-header", 0, "sh: %d properties and %llu rows, must be 9, 24 or 45 and %llu",
            sh->n_properties, (unsigned long long)sh->n_rows, (unsigned long long)n_splats);
    }
    return RT_OK;
}

static enum rt_status read_all(const struct ply_header *header, struct byte_span source,
                               struct chunk **chunks, struct splat_file *out,
                               struct rt_error *err) {
    const struct ply_element *vertex = ply_find_element(header, "vertex");
    const struct ply_element *sh = ply_find_element(header, "sh");
    struct ply_rows rows;
    int32_t degree = 0;
    RT_TRY(ply_rows_open(header, source, vertex, &rows, err));
    if (vertex->n_rows == 0) return rt_fail_file(err, "empty", 0, "vertex: count is 0");
    RT_TRY(sh_degree_of(sh, vertex->n_rows, &degree, err));
    if (sh) RT_TRY(ply_rows_open(header, source, sh, &rows, err));
    RT_TRY(read_chunks(header, source, (size_t)vertex->n_rows, chunks, err));
    int32_t n = (int32_t)vertex->n_rows;
    RT_TRY(gaussians_create(&out->gaussians, n, n, degree, err));
    RT_TRY(read_packed(header, source, *chunks, out->gaussians, err));
    return sh ? read_sh(&rows, sh->n_properties, out->gaussians, err) : RT_OK;
}

enum rt_status splat_ply_compressed_parse(const struct ply_header *header, struct byte_span source,
                                          struct splat_file *out, struct rt_error *err) {
    snprintf(out->format, sizeof out->format, "compressed-ply");
    struct chunk *chunks = NULL;
    enum rt_status status = read_all(header, source, &chunks, out, err);
    free(chunks);
    return status;
}
