/* Reading SPZ v4: plain header, extension records, table of streams, zstd frames (formats.md
 * section 3.4). */
#include <stdlib.h>
#include <zstd.h>

#include "render/io/splat_spz.h"

struct v4_layout {
    size_t n_streams, toc_at, first_frame_at;
    size_t n_raw[SPZ_N_BLOCKS]; /* of the streams, in block order; empty blocks have none */
};

static uint64_t load_u64(const unsigned char *at) {
    return (uint64_t)spz_load_u32(at) | (uint64_t)spz_load_u32(at + 4) << 32;
}

/* Where things lie; every length is compared with the file. */
static enum rt_status locate(struct byte_span source, const struct spz_header *header,
                             struct v4_layout *layout, struct rt_error *err) {
    size_t n_block[SPZ_N_BLOCKS];
    spz_block_bytes(header, n_block);
    *layout = (struct v4_layout){.toc_at = spz_load_u32(source.bytes + 16)};
    for (int k = 0; k < SPZ_N_BLOCKS; k++) {
        if (n_block[k] > 0) layout->n_raw[layout->n_streams++] = n_block[k];
    }
    size_t declared = source.bytes[15];
    if (declared != layout->n_streams) {
        return rt_fail_file(err, "bad-header", 15, "SPZ: %zu streams, must be %zu for SH degree %d",
                            declared, layout->n_streams, header->sh_degree);
    }
    size_t toc_bytes = layout->n_streams * SPZ_TOC_ENTRY_BYTES;
    if (layout->toc_at < SPZ_HEADER_V4_BYTES) {
        return rt_fail_file(err, "bad-header", 16,
                            "SPZ: table of streams at %zu, inside the header", layout->toc_at);
    }
    layout->first_frame_at = layout->toc_at + toc_bytes;
    if (layout->first_frame_at > source.n_bytes) {
        return rt_fail_file(err, "truncated", (int64_t)source.n_bytes,
                            "SPZ: table of streams ends at byte %zu, the file at %zu",
                            layout->first_frame_at, source.n_bytes);
    }
    return RT_OK;
}

static enum rt_status check_toc(struct byte_span source, const struct v4_layout *layout,
                                struct rt_error *err) {
    uint64_t left = source.n_bytes - layout->first_frame_at;
    for (size_t k = 0; k < layout->n_streams; k++) {
        const unsigned char *entry = source.bytes + layout->toc_at + k * SPZ_TOC_ENTRY_BYTES;
        uint64_t n_packed = load_u64(entry), n_raw = load_u64(entry + 8);
        if (n_raw != layout->n_raw[k]) {
            return rt_fail_file(err, "bad-header", entry - source.bytes,
                                "SPZ: stream %zu declares %llu bytes, the splats need %zu", k,
                                (unsigned long long)n_raw, layout->n_raw[k]);
        }
        if (n_packed > left) {
            return rt_fail_file(err, "truncated", (int64_t)source.n_bytes,
                                "SPZ: stream %zu needs %llu bytes, %llu are there", k,
                                (unsigned long long)n_packed, (unsigned long long)left);
        }
        left -= n_packed;
    }
    if (left == 0) return RT_OK;
    return rt_fail_file(err, "bad-header", (int64_t)(source.n_bytes - left),
                        "SPZ: %llu bytes after the last stream", (unsigned long long)left);
}

static enum rt_status read_records(struct byte_span source, const struct v4_layout *layout,
                                   struct spz_header *header, struct splat_file *out,
                                   struct rt_error *err) {
    size_t at = SPZ_HEADER_V4_BYTES;
    while (at < layout->toc_at) {
        size_t left = layout->toc_at - at;
        size_t length = left >= SPZ_RECORD_BYTES ? spz_load_u32(source.bytes + at + 4) : UINT32_MAX;
        if (left < SPZ_RECORD_BYTES || length > left - SPZ_RECORD_BYTES) {
            return rt_fail_file(err, "truncated", (int64_t)at,
                                "SPZ: an extension record ends after the table of streams begins");
        }
        if (spz_load_u32(source.bytes + at) == SPZ_RECORD_AXES && length >= 4) {
            uint32_t value = spz_load_u32(source.bytes + at + SPZ_RECORD_BYTES);
            RT_TRY(spz_axes_apply(value, header, out, err));
        }
        at += SPZ_RECORD_BYTES + length;
    }
    return RT_OK;
}

/* One frame that fills `to` exactly and ends where the stream ends. */
static enum rt_status inflate_frame(ZSTD_DCtx *context, struct byte_span frame, unsigned char *to,
                                    size_t n_raw, struct rt_error *err) {
    ZSTD_inBuffer in = {.src = frame.bytes, .size = frame.n_bytes};
    ZSTD_outBuffer out = {.dst = to, .size = n_raw};
    size_t result = 1, before;
    do {
        before = in.pos + out.pos;
        result = ZSTD_decompressStream(context, &out, &in);
        if (ZSTD_isError(result)) {
            return rt_fail_file(err, "bad-value", -1, "damaged zstd frame: %s",
                                ZSTD_getErrorName(result));
        }
    } while (result != 0 && in.pos + out.pos > before);
    if (result == 0 && in.pos == in.size && out.pos == out.size) return RT_OK;
    return rt_fail_file(err, "bad-value", -1,
                        "zstd frame holds %s than the %zu bytes the splats need",
                        out.pos < out.size ? "less" : "more", n_raw);
}

static enum rt_status inflate_all(struct byte_span source, const struct v4_layout *layout,
                                  unsigned char *blocks, struct rt_error *err) {
    ZSTD_DCtx *context = ZSTD_createDCtx();
    if (!context) return rt_fail(err, RT_NO_MEMORY, "SPZ: out of memory");
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, SPZ_MAX_WINDOW_LOG);
    size_t at = layout->first_frame_at;
    enum rt_status status = RT_OK;
    for (size_t k = 0; k < layout->n_streams && status == RT_OK; k++) {
        const unsigned char *entry = source.bytes + layout->toc_at + k * SPZ_TOC_ENTRY_BYTES;
        struct byte_span frame = {.bytes = source.bytes + at, .n_bytes = (size_t)load_u64(entry)};
        ZSTD_DCtx_reset(context, ZSTD_reset_session_only);
        status = inflate_frame(context, frame, blocks, layout->n_raw[k], err);
        if (status != RT_OK) {
            if (err) err->offset = (int64_t)at;
            status = rt_prefix(err, status, "SPZ: stream %zu", k);
        }
        blocks += layout->n_raw[k];
        at += frame.n_bytes;
    }
    ZSTD_freeDCtx(context);
    return status;
}

enum rt_status splat_spz_zstd_parse(struct byte_span source, struct splat_file *out,
                                    struct rt_error *err) {
    struct spz_header header;
    struct v4_layout layout;
    size_t n_block[SPZ_N_BLOCKS];
    if (source.n_bytes < SPZ_HEADER_V4_BYTES) {
        return rt_fail_file(err, "truncated", (int64_t)source.n_bytes,
                            "SPZ: the header needs %d bytes, %zu are there", SPZ_HEADER_V4_BYTES,
                            source.n_bytes);
    }
    RT_TRY(spz_header_parse(source.bytes, source.n_bytes, &header, out, err));
    RT_TRY(locate(source, &header, &layout, err));
    RT_TRY(check_toc(source, &layout, err));
    if (header.flags & SPZ_FLAG_EXTENSIONS) {
        RT_TRY(read_records(source, &layout, &header, out, err));
    }
    size_t n_bytes = spz_block_bytes(&header, n_block);
    unsigned char *blocks = malloc(n_bytes);
    if (!blocks) return rt_fail(err, RT_NO_MEMORY, "SPZ of %zu bytes: out of memory", n_bytes);
    enum rt_status status = inflate_all(source, &layout, blocks, err);
    if (status == RT_OK) status = spz_decode(&header, blocks, out, err);
    free(blocks);
    return status;
}
