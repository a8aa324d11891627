#include "render/io/splat_spz.h"

#include <stdio.h>
#include <string.h>

#include "render/core/limits.h"

static enum rt_status check_count(uint32_t n, struct rt_error *err) {
    if (n == 0) return rt_fail_file(err, "empty", 8, "SPZ: count is 0");
    if (n > RT_MAX_GAUSSIANS) {
        return rt_fail_file(err, "count-too-large", 8, "SPZ of %u splats exceeds %d", n,
                            RT_MAX_GAUSSIANS);
    }
    return RT_OK;
}

enum rt_status spz_header_parse(const unsigned char bytes[SPZ_HEADER_BYTES], size_t n_file_bytes,
                                struct spz_header *header, struct splat_file *out,
                                struct rt_error *err) {
    *header = (struct spz_header){.version = spz_load_u32(bytes + 4),
                                  .n_splats = spz_load_u32(bytes + 8),
                                  .sh_degree = bytes[12],
                                  .fractional_bits = bytes[13],
                                  .flags = bytes[14]};
    snprintf(out->format, sizeof out->format, "spz v%u", header->version % 10);
    snprintf(out->axes, sizeof out->axes, "rub");
    out->antialiased = (header->flags & SPZ_FLAG_ANTIALIASED) != 0;
    RT_TRY(check_count(header->n_splats, err));
    if (header->sh_degree > RT_MAX_SH_DEGREE + 1) {
        return rt_fail_file(err, "bad-header", 12, "SPZ: SH degree %d, must be 0...4",
                            header->sh_degree);
    }
    if (header->fractional_bits > SPZ_MAX_FRACTIONAL_BITS) {
        return rt_fail_file(err, "bad-header", 13, "SPZ: %d fractional bits, must be 0...%d",
                            header->fractional_bits, SPZ_MAX_FRACTIONAL_BITS);
    }
    size_t n_blocks[SPZ_N_BLOCKS];
    size_t n_bytes = spz_block_bytes(header, n_blocks);
    if (n_bytes / SPZ_MAX_INFLATION > n_file_bytes) {
        return rt_fail_file(err, "count-too-large", 8,
                            "SPZ: %u splats need %zu bytes, more than %d times the %zu of the file",
                            header->n_splats, n_bytes, SPZ_MAX_INFLATION, n_file_bytes);
    }
    return RT_OK;
}

size_t spz_block_bytes(const struct spz_header *header, size_t n_bytes[SPZ_N_BLOCKS]) {
    size_t n = header->n_splats;
    n_bytes[SPZ_POSITION] = (header->version == 1 ? 6 : 9) * n;
    n_bytes[SPZ_ALPHA] = n;
    n_bytes[SPZ_COLOUR] = 3 * n;
    n_bytes[SPZ_SCALE] = 3 * n;
    n_bytes[SPZ_ROTATION] = (header->version <= 2 ? 3 : 4) * n;
    n_bytes[SPZ_SH] = 3 * ((size_t)sh_count(header->sh_degree) - 1) * n;
    size_t sum = 0;
    for (int k = 0; k < SPZ_N_BLOCKS; k++) sum += n_bytes[k];
    return sum;
}

/* Bits of value - 1: 1 = right (else left), 2 = up (else down), 4 = front (else back). */
static const struct {
    const char *name;
    uint32_t value;
} named_axes[] = {{"rub", 4}, {"rdf", 6}, {"luf", 7}};
enum { N_NAMED_AXES = sizeof named_axes / sizeof named_axes[0] };

enum rt_status spz_axes_apply(uint32_t value, struct spz_header *header, struct splat_file *out,
                              struct rt_error *err) {
    if (value >= 9 && value <= 16) {
        return rt_coded(err,
                        rt_fail(err, RT_UNSUPPORTED,
                                "SPZ axes %u are not read by this version: write the file with "
                                "axes 1...8 (4 = right, up, back)",
                                value),
                        "unsupported-format");
    }
    if (value < 1 || value > 16) {
        return rt_fail_file(err, "bad-value", -1, "SPZ axes %u: must be 1...8", value);
    }
    memset(header->flip, 0, sizeof header->flip);
    snprintf(out->axes, sizeof out->axes, "rub");
    for (int k = 0; k < N_NAMED_AXES; k++) {
        if (named_axes[k].value != value) continue;
        snprintf(out->axes, sizeof out->axes, "%s", named_axes[k].name);
        return RT_OK;
    }
    uint32_t differs = (value - 1) ^ (named_axes[0].value - 1);
    for (int k = 0; k < 3; k++) header->flip[k] = (differs >> k & 1) != 0;
    return RT_OK;
}

uint32_t spz_axes_value(const char *axes) {
    for (int k = 0; k < N_NAMED_AXES; k++) {
        if (strcmp(named_axes[k].name, axes) == 0) return named_axes[k].value;
    }
    return 0;
}
