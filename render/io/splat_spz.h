/* What the SPZ readers and the writer share (formats.md section 3.4); internal to render/io.
 *
 * A file is a header, extension records and one block per attribute, in the order of enum
 * spz_block: in v1-v3 one gzip member holds header, blocks, records; in v4 each non-empty block is
 * a zstd frame. Both readers inflate the blocks into one buffer, which spz_decode() turns into
 * splats. */
#ifndef RETAKE_RENDER_IO_SPLAT_SPZ_H
#define RETAKE_RENDER_IO_SPLAT_SPZ_H

#include <stdbool.h>

#include "render/io/splat_format.h"

enum spz_block {
    SPZ_POSITION,
    SPZ_ALPHA,
    SPZ_COLOUR,
    SPZ_SCALE,
    SPZ_ROTATION,
    SPZ_SH,
    SPZ_N_BLOCKS
};

enum {
    SPZ_HEADER_BYTES = 16,    /* v1-v3, inside the gzip member */
    SPZ_HEADER_V4_BYTES = 32, /* v4, plain */
    SPZ_TOC_ENTRY_BYTES = 16,
    SPZ_RECORD_BYTES = 8, /* type and length of an extension record */
    SPZ_MAX_INFLATION = 1024,
    SPZ_MAX_WINDOW_LOG = 27,
    SPZ_FLAG_ANTIALIASED = 1,
    SPZ_FLAG_EXTENSIONS = 2,
    SPZ_MAX_FRACTIONAL_BITS = 31
};
#define SPZ_RECORD_AXES 0xADBE0003u

struct spz_header {
    uint32_t version, n_splats;
    int32_t sh_degree; /* of the file, 0...4 */
    int32_t fractional_bits;
    uint32_t flags;
    bool flip[3]; /* axes to mirror to get `rub`, for axes we have no name for */
};

static inline uint32_t spz_load_u32(const unsigned char *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline void spz_store_u32(unsigned char *at, uint32_t value) {
    for (int k = 0; k < 4; k++) at[k] = (unsigned char)(value >> (8 * k));
}

/* Reads the first 16 bytes, which all versions share, and checks them; `n_file_bytes` is the size
 * of the compressed file: RT_BAD_FILE "count-too-large" when so many splats cannot be inside.
 * Fills format, axes and antialiased of *out. */
enum rt_status spz_header_parse(const unsigned char bytes[SPZ_HEADER_BYTES], size_t n_file_bytes,
                                struct spz_header *header, struct splat_file *out,
                                struct rt_error *err);

/* Raw bytes of each block; returns their sum. No overflow below RT_MAX_GAUSSIANS. */
size_t spz_block_bytes(const struct spz_header *header, size_t n_bytes[SPZ_N_BLOCKS]);

/* The value of an axes record, 1...8: sets out->axes, or header->flip for axes without a name. */
enum rt_status spz_axes_apply(uint32_t value, struct spz_header *header, struct splat_file *out,
                              struct rt_error *err);
/* The value for "rub", "rdf" or "luf"; 0 for any other. */
uint32_t spz_axes_value(const char *axes);

/* blocks: spz_block_bytes() bytes, all blocks one after the other. Creates out->gaussians. */
enum rt_status spz_decode(const struct spz_header *header, const unsigned char *blocks,
                          struct splat_file *out, struct rt_error *err);

#endif
