/* Blocks of SPZ v1-v4 to splats (formats.md section 3.4). */
#include <math.h>
#include <stddef.h>

#include "render/core/limits.h"
#include "render/io/splat_spz.h"

/* IEEE 754 binary16: sign, 5 bits of exponent, 10 of fraction. */
static float half_to_float(const unsigned char *at) {
    int bits = at[0] | at[1] << 8;
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float sign = bits & 0x8000 ? -1.0f : 1.0f;
    if (exponent == 31) return fraction ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * ldexpf((float)fraction, -24);
    return sign * ldexpf((float)(fraction + 1024), exponent - 25);
}

static float fixed_to_float(const unsigned char *at, int fractional_bits) {
    int32_t value = at[0] | at[1] << 8 | at[2] << 16;
    if (value >= 1 << 23) value -= 1 << 24;
    return ldexpf((float)value, -fractional_bits);
}

static void decode_positions(const struct spz_header *header, const unsigned char *from,
                             float *mean) {
    for (size_t i = 0; i < 3 * (size_t)header->n_splats; i++) {
        mean[i] = header->version == 1 ? half_to_float(from + 2 * i)
                                       : fixed_to_float(from + 3 * i, header->fractional_bits);
    }
}

/* Three bytes x, y, z; the missing w is not negative. */
static void decode_first_three(const unsigned char *from, float quat_wxyz[4]) {
    float sum = 0.0f;
    for (int k = 0; k < 3; k++) {
        quat_wxyz[k + 1] = (float)from[k] / 127.5f - 1.0f;
        sum += quat_wxyz[k + 1] * quat_wxyz[k + 1];
    }
    quat_wxyz[0] = sqrtf(fmaxf(0.0f, 1.0f - sum));
}

/* Two bits say which of x, y, z, w is the largest and left out; the last one lies lowest. */
static void decode_smallest_three(const unsigned char *from, float quat_wxyz[4]) {
    uint32_t bits = spz_load_u32(from);
    int largest = (int)(bits >> 30);
    float sum = 0.0f;
    for (int k = 3; k >= 0; k--) {
        if (k == largest) continue;
        float value = (float)(bits & 511) / 511.0f * 0.70710678f;
        if (bits & 512) value = -value;
        quat_wxyz[(k + 1) % 4] = value;
        sum += value * value;
        bits >>= 10;
    }
    quat_wxyz[(largest + 1) % 4] = sqrtf(fmaxf(0.0f, 1.0f - sum));
}

static void decode_sh(const struct spz_header *header, const unsigned char *from,
                      struct gaussians *splats) {
    size_t n_file = 3 * ((size_t)sh_count(header->sh_degree) - 1);
    size_t n_kept = 3 * ((size_t)sh_count(splats->sh_degree) - 1);
    for (size_t i = 0; i < header->n_splats; i++) {
        float *sh = splat_sh_at(splats, i) + 3;
        for (size_t k = 0; k < n_kept; k++) {
            sh[k] = ((float)from[i * n_file + k] - 128.0f) / 128.0f;
        }
    }
}

/* Mirrors axes: an odd power of a mirrored axis turns the sign (sensors.md section 6). */
static void flip_axes(const bool flip[3], struct gaussians *splats) {
    enum { X = 1, Y = 2, Z = 4 };
    static const int odd[16] = {0, Y, Z, X, X | Y, Y | Z, 0, X | Z, 0, Y, X | Y | Z, Y, Z, X, Z, X};
    float sign[8];
    for (int axes = 0; axes < 8; axes++) {
        sign[axes] = 1.0f;
        for (int k = 0; k < 3; k++) {
            if (flip[k] && (axes >> k & 1)) sign[axes] = -sign[axes];
        }
    }
    int n_sh = sh_count(splats->sh_degree);
    for (size_t i = 0; i < (size_t)splats->n_gaussians; i++) {
        float *sh = splat_sh_at(splats, i);
        for (int k = 0; k < 3; k++) {
            splats->mean[3 * i + (size_t)k] *= sign[1 << k];
            splats->quat[4 * i + 1 + (size_t)k] *= sign[(X | Y | Z) ^ 1 << k];
        }
        for (int k = 0; k < 3 * n_sh; k++) sh[k] *= sign[odd[k / 3]];
    }
}

enum rt_status spz_decode(const struct spz_header *header, const unsigned char *blocks,
                          struct splat_file *out, struct rt_error *err) {
    size_t n_block[SPZ_N_BLOCKS];
    const unsigned char *block[SPZ_N_BLOCKS];
    spz_block_bytes(header, n_block);
    for (int k = 0; k < SPZ_N_BLOCKS; k++) {
        block[k] = blocks;
        blocks += n_block[k];
    }
    int32_t n = (int32_t)header->n_splats;
    bool is_cut = header->sh_degree > RT_MAX_SH_DEGREE;
    int32_t degree = is_cut ? RT_MAX_SH_DEGREE : header->sh_degree;
    RT_TRY(gaussians_create(&out->gaussians, n, n, degree, err));
    struct gaussians *splats = out->gaussians;
    decode_positions(header, block[SPZ_POSITION], splats->mean);
    decode_sh(header, block[SPZ_SH], splats);
    for (size_t i = 0; i < (size_t)n; i++) {
        float *dc = splat_sh_at(splats, i);
        for (size_t k = 0; k < 3; k++) {
            dc[k] = ((float)block[SPZ_COLOUR][3 * i + k] / 255.0f - 0.5f) / 0.15f;
            splats->log_scale[3 * i + k] = (float)block[SPZ_SCALE][3 * i + k] / 16.0f - 10.0f;
        }
        splats->logit_opacity[i] = splat_logit((float)block[SPZ_ALPHA][i] / 255.0f);
        if (header->version <= 2) {
            decode_first_three(block[SPZ_ROTATION] + 3 * i, splats->quat + 4 * i);
        } else {
            decode_smallest_three(block[SPZ_ROTATION] + 4 * i, splats->quat + 4 * i);
        }
    }
    if (header->flip[0] || header->flip[1] || header->flip[2]) flip_axes(header->flip, splats);
    return is_cut ? splat_warn(out, err, "SH degree 4 was cut to 3") : RT_OK;
}
