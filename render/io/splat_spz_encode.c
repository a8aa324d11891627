/* Writing SPZ v4 (formats.md section 3.4). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "render/io/splat_spz.h"

enum {
    ZSTD_LEVEL = 12,
    AXES_RECORD_BYTES = SPZ_RECORD_BYTES + 4,
    MOST_FRACTIONAL_BITS = 12,
    MAX_FIXED = (1 << 23) - 1
};

/* Nearest integer within low...high. */
static int32_t quantise(double value, int32_t low, int32_t high) {
    if (!(value > low)) return low;
    return value >= high ? high : (int32_t)floor(value + 0.5);
}

static unsigned char to_byte(double value) { return (unsigned char)quantise(value, 0, 255); }

/* The most that keep every coordinate within 24 bits; other writers wrap beyond 2,048 m. */
static enum rt_status choose_fractional_bits(const struct gaussians *splats, int32_t *bits,
                                             struct rt_error *err) {
    float most = 0.0f;
    for (size_t i = 0; i < 3 * (size_t)splats->n_gaussians; i++) {
        most = fmaxf(most, fabsf(splats->mean[i]));
    }
    for (*bits = MOST_FRACTIONAL_BITS; *bits >= 0; (*bits)--) {
        if (ldexp((double)most, *bits) < 1 << 23) return RT_OK;
    }
    return rt_fail(err, RT_INVALID,
                   "a position of %g m: .spz holds less than %d m, write .ply instead",
                   (double)most, 1 << 23);
}

static void store_position(const float mean[3], int32_t fractional_bits, unsigned char *to) {
    for (int k = 0; k < 3; k++) {
        double scaled = ldexp((double)mean[k], fractional_bits);
        uint32_t value = (uint32_t)quantise(scaled, -MAX_FIXED - 1, MAX_FIXED);
        for (int b = 0; b < 3; b++) to[3 * k + b] = (unsigned char)(value >> (8 * b));
    }
}

static void store_rotation(const float quat_wxyz[4], unsigned char *to) {
    double q[4], length = 0.0; /* x, y, z, w */
    for (int k = 0; k < 4; k++) {
        q[k] = (double)quat_wxyz[(k + 1) % 4];
        length += q[k] * q[k];
    }
    length = sqrt(length);
    int largest = 3;
    for (int k = 0; k < 4; k++) {
        q[k] = length > 1e-12 ? q[k] / length : k == 3 ? 1.0 : 0.0;
    }
    for (int k = 0; k < 4; k++) {
        if (fabs(q[k]) > fabs(q[largest])) largest = k;
    }
    uint32_t bits = (uint32_t)largest;
    for (int k = 0; k < 4; k++) {
        if (k == largest) continue;
        uint32_t is_negative = (q[k] < 0.0) != (q[largest] < 0.0);
        uint32_t size = (uint32_t)quantise(fabs(q[k]) * sqrt(2.0) * 511.0, 0, 511);
        bits = bits << 10 | is_negative << 9 | size;
    }
    spz_store_u32(to, bits);
}

/* Fewer bits compress better: values are rounded to multiples of 2^(8 - bits) around 128 = 0. */
static unsigned char sh_to_byte(float value, int32_t n_bits) {
    int32_t step = 1 << (8 - n_bits);
    double rounded = floor((double)value * 128.0 / step + 0.5) * step;
    return to_byte(128.0 + rounded);
}

static void store_sh(const struct gaussians *splats, int32_t sh_bits, unsigned char *to) {
    size_t n_sh = 3 * (size_t)sh_count(splats->sh_degree);
    for (size_t i = 0; i < (size_t)splats->n_gaussians; i++) {
        for (size_t k = 3; k < n_sh; k++) {
            int32_t n_bits = sh_bits > 0 ? sh_bits : k < 12 ? 5 : 4;
            *to++ = sh_to_byte(splats->sh[i * n_sh + k], n_bits);
        }
    }
}

static void store_blocks(const struct splat_write *what, const struct spz_header *header,
                         const size_t n_block[SPZ_N_BLOCKS], unsigned char *to) {
    const struct gaussians *splats = what->gaussians;
    size_t n_sh = 3 * (size_t)sh_count(splats->sh_degree);
    unsigned char *block[SPZ_N_BLOCKS];
    for (int k = 0; k < SPZ_N_BLOCKS; k++) {
        block[k] = to;
        to += n_block[k];
    }
    for (size_t i = 0; i < (size_t)splats->n_gaussians; i++) {
        double opacity = 1.0 / (1.0 + exp(-(double)splats->logit_opacity[i]));
        store_position(splats->mean + 3 * i, header->fractional_bits, block[SPZ_POSITION] + 9 * i);
        block[SPZ_ALPHA][i] = to_byte(opacity * 255.0);
        for (size_t k = 0; k < 3; k++) {
            double dc = (double)splats->sh[n_sh * i + k];
            double log_scale = (double)splats->log_scale[3 * i + k];
            block[SPZ_COLOUR][3 * i + k] = to_byte((dc * 0.15 + 0.5) * 255.0);
            block[SPZ_SCALE][3 * i + k] = to_byte((log_scale + 10.0) * 16.0);
        }
        store_rotation(splats->quat + 4 * i, block[SPZ_ROTATION] + 4 * i);
    }
    store_sh(splats, what->spz_sh_bits, block[SPZ_SH]);
}

/* Header and axes record; returns where the table of streams begins. */
static size_t store_header(const struct spz_header *header, size_t n_streams, uint32_t axes,
                           unsigned char *to) {
    static const unsigned char magic[4] = {'N', 'G', 'S', 'P'};
    size_t toc_at = SPZ_HEADER_V4_BYTES;
    memset(to, 0, SPZ_HEADER_V4_BYTES);
    memcpy(to, magic, sizeof magic);
    spz_store_u32(to + 4, header->version);
    spz_store_u32(to + 8, header->n_splats);
    to[12] = (unsigned char)header->sh_degree;
    to[13] = (unsigned char)header->fractional_bits;
    to[14] = (unsigned char)header->flags;
    to[15] = (unsigned char)n_streams;
    if (header->flags & SPZ_FLAG_EXTENSIONS) {
        spz_store_u32(to + toc_at, SPZ_RECORD_AXES);
        spz_store_u32(to + toc_at + 4, 4);
        spz_store_u32(to + toc_at + SPZ_RECORD_BYTES, axes);
        toc_at += AXES_RECORD_BYTES;
    }
    spz_store_u32(to + 16, (uint32_t)toc_at);
    return toc_at;
}

/* The whole file from the raw blocks. */
static enum rt_status pack(const struct spz_header *header, uint32_t axes,
                           const unsigned char *blocks, struct rt_bytes *out,
                           struct rt_error *err) {
    size_t n_block[SPZ_N_BLOCKS], n_streams = 0;
    spz_block_bytes(header, n_block);
    size_t most = SPZ_HEADER_V4_BYTES + AXES_RECORD_BYTES + SPZ_N_BLOCKS * SPZ_TOC_ENTRY_BYTES;
    for (int k = 0; k < SPZ_N_BLOCKS; k++) {
        most += ZSTD_compressBound(n_block[k]);
        n_streams += n_block[k] > 0;
    }
    unsigned char *to = malloc(most);
    if (!to) return rt_fail(err, RT_NO_MEMORY, ".spz of %zu bytes: out of memory", most);
    size_t toc_at = store_header(header, n_streams, axes, to);
    size_t at = toc_at + n_streams * SPZ_TOC_ENTRY_BYTES;
    for (size_t k = 0; k < n_streams; k++) {
        unsigned char *entry = to + toc_at + k * SPZ_TOC_ENTRY_BYTES;
        size_t n = ZSTD_compress(to + at, most - at, blocks, n_block[k], ZSTD_LEVEL);
        if (ZSTD_isError(n)) {
            free(to);
            return rt_fail(err, RT_NO_MEMORY, ".spz: zstd: %s", ZSTD_getErrorName(n));
        }
        spz_store_u32(entry, (uint32_t)n);
        spz_store_u32(entry + 4, (uint32_t)((uint64_t)n >> 32));
        spz_store_u32(entry + 8, (uint32_t)n_block[k]);
        spz_store_u32(entry + 12, (uint32_t)((uint64_t)n_block[k] >> 32));
        blocks += n_block[k];
        at += n;
    }
    *out = (struct rt_bytes){.bytes = to, .n_bytes = at};
    return RT_OK;
}

enum rt_status splat_spz_encode(const struct splat_write *what, struct rt_bytes *out,
                                struct rt_error *err) {
    memset(out, 0, sizeof *out);
    const struct gaussians *splats = what->gaussians;
    uint32_t axes = spz_axes_value(what->axes);
    if (axes == 0) {
        return rt_fail(err, RT_INVALID, "axes %s cannot be declared in .spz: use rub, rdf or luf",
                       what->axes);
    }
    if (what->spz_sh_bits < 0 || what->spz_sh_bits > 8) {
        return rt_fail(err, RT_INVALID, "spz_sh_bits = %d must be 0...8", what->spz_sh_bits);
    }
    struct spz_header header = {.version = 4,
                                .n_splats = (uint32_t)splats->n_gaussians,
                                .sh_degree = splats->sh_degree,
                                .flags = what->antialiased ? SPZ_FLAG_ANTIALIASED : 0};
    if (axes != spz_axes_value("rub")) header.flags |= SPZ_FLAG_EXTENSIONS;
    RT_TRY(choose_fractional_bits(splats, &header.fractional_bits, err));
    size_t n_block[SPZ_N_BLOCKS];
    size_t n_bytes = spz_block_bytes(&header, n_block);
    unsigned char *blocks = malloc(n_bytes > 0 ? n_bytes : 1);
    if (!blocks) return rt_fail(err, RT_NO_MEMORY, ".spz of %zu bytes: out of memory", n_bytes);
    store_blocks(what, &header, n_block, blocks);
    enum rt_status status = pack(&header, axes, blocks, out, err);
    free(blocks);
    return status;
}
