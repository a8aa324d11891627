/* SPZ v1-v3: one gzip member of header, blocks and extension records (formats.md section 3.4). */
#include <stdlib.h>
#include <string.h>

#define ZLIB_CONST
#include <zlib.h>

#include "render/io/splat_spz.h"

enum { WINDOW_BYTES = 1 << 16, MAX_PIECE_BYTES = 1 << 30 };

/* The member, read forward. */
struct gzip_reader {
    z_stream stream;
    struct byte_span source;
    size_t n_fed;   /* bytes of the source handed to zlib */
    size_t n_total; /* bytes inflated */
    bool at_end;
};

static enum rt_status open_member(struct gzip_reader *reader, struct byte_span source,
                                  struct rt_error *err) {
    *reader = (struct gzip_reader){.source = source};
    if (inflateInit2(&reader->stream, 15 + 16) == Z_OK) return RT_OK;
    return rt_fail(err, RT_NO_MEMORY, "SPZ: out of memory");
}

static size_t bytes_used(const struct gzip_reader *reader) {
    return reader->n_fed - reader->stream.avail_in;
}

static enum rt_status fail_inflate(const struct gzip_reader *reader, int result,
                                   struct rt_error *err) {
    if (result == Z_MEM_ERROR) return rt_fail(err, RT_NO_MEMORY, "SPZ: out of memory");
    const char *why = reader->stream.msg ? reader->stream.msg : "not a gzip member";
    return rt_fail_file(err, "bad-value", (int64_t)bytes_used(reader), "SPZ: damaged gzip data: %s",
                        why);
}

/* Up to n bytes into `to`; *n_read is less only at the end of the member or of the file. */
static enum rt_status read_some(struct gzip_reader *reader, unsigned char *to, size_t n,
                                size_t *n_read, struct rt_error *err) {
    z_stream *stream = &reader->stream;
    *n_read = 0;
    while (*n_read < n && !reader->at_end) {
        if (stream->avail_in == 0) {
            size_t left = reader->source.n_bytes - reader->n_fed;
            if (left == 0) return RT_OK;
            stream->next_in = reader->source.bytes + reader->n_fed;
            stream->avail_in = (uInt)(left < MAX_PIECE_BYTES ? left : MAX_PIECE_BYTES);
            reader->n_fed += stream->avail_in;
        }
        size_t room = n - *n_read < MAX_PIECE_BYTES ? n - *n_read : MAX_PIECE_BYTES;
        stream->next_out = to + *n_read;
        stream->avail_out = (uInt)room;
        int result = inflate(stream, Z_NO_FLUSH);
        *n_read += room - stream->avail_out;
        reader->n_total += room - stream->avail_out;
        reader->at_end = result == Z_STREAM_END;
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
            return fail_inflate(reader, result, err);
        }
    }
    return RT_OK;
}

static enum rt_status read_exactly(struct gzip_reader *reader, unsigned char *to, size_t n,
                                   const char *what, struct rt_error *err) {
    size_t n_read;
    RT_TRY(read_some(reader, to, n, &n_read, err));
    if (n_read == n) return RT_OK;
    return rt_fail_file(err, "truncated", (int64_t)reader->source.n_bytes,
                        "SPZ: the %s needs %zu bytes, %zu are there", what, n, n_read);
}

/* Reads `n` bytes (or to the end of the member) away and counts them; a member that goes on and on
 * is a bomb. */
static enum rt_status skip(struct gzip_reader *reader, size_t n, size_t *n_skipped,
                           struct rt_error *err) {
    static const size_t most = WINDOW_BYTES;
    unsigned char *window = malloc(WINDOW_BYTES);
    if (!window) return rt_fail(err, RT_NO_MEMORY, "SPZ: out of memory");
    enum rt_status status = RT_OK;
    *n_skipped = 0;
    while (*n_skipped < n && status == RT_OK) {
        size_t n_read;
        size_t piece = n - *n_skipped < most ? n - *n_skipped : most;
        status = read_some(reader, window, piece, &n_read, err);
        *n_skipped += n_read;
        if (n_read < piece) break;
        if (reader->n_total / SPZ_MAX_INFLATION > reader->source.n_bytes) {
            status = rt_fail_file(err, "limit", -1, "SPZ: inflates to more than %d times its size",
                                  SPZ_MAX_INFLATION);
        }
    }
    free(window);
    return status;
}

/* Extension records up to the end of the member. */
static enum rt_status read_records(struct gzip_reader *reader, struct spz_header *header,
                                   struct splat_file *out, struct rt_error *err) {
    for (;;) {
        unsigned char record[SPZ_RECORD_BYTES], payload[4];
        size_t n_read, n_skipped;
        RT_TRY(read_some(reader, record, sizeof record, &n_read, err));
        if (n_read == 0) return RT_OK;
        if (n_read < sizeof record) {
            return rt_fail_file(err, "truncated", -1, "SPZ: an extension record ends early");
        }
        size_t length = spz_load_u32(record + 4);
        if (spz_load_u32(record) == SPZ_RECORD_AXES && length >= sizeof payload) {
            RT_TRY(read_exactly(reader, payload, sizeof payload, "axes record", err));
            RT_TRY(spz_axes_apply(spz_load_u32(payload), header, out, err));
            length -= sizeof payload;
        }
        RT_TRY(skip(reader, length, &n_skipped, err));
        if (n_skipped < length) {
            return rt_fail_file(err, "truncated", -1,
                                "SPZ: an extension record of %zu bytes ends after %zu", length,
                                n_skipped);
        }
    }
}

/* The sum at the end of the member is checked only when all of it was read. */
static enum rt_status read_end(struct gzip_reader *reader, struct splat_file *out,
                               struct rt_error *err) {
    size_t n_more;
    RT_TRY(skip(reader, SIZE_MAX, &n_more, err));
    if (!reader->at_end) {
        return rt_fail_file(err, "truncated", (int64_t)reader->source.n_bytes,
                            "SPZ: the gzip member ends early, after %zu bytes",
                            reader->source.n_bytes);
    }
    n_more += reader->source.n_bytes - bytes_used(reader);
    if (n_more == 0) return RT_OK;
    return splat_warn(out, err, "%zu bytes after the last splat were ignored", n_more);
}

static enum rt_status read_header(struct gzip_reader *reader, struct spz_header *header,
                                  struct splat_file *out, struct rt_error *err) {
    unsigned char bytes[SPZ_HEADER_BYTES];
    RT_TRY(read_exactly(reader, bytes, sizeof bytes, "header", err));
    if (memcmp(bytes, "NGSP", 4) != 0) {
        return rt_fail_file(err, "bad-magic", 0, "a gzip file that holds no SPZ stream");
    }
    uint32_t version = spz_load_u32(bytes + 4);
    if (version < 1 || version > 3) {
        return rt_fail_file(err, "unsupported-version", 4, "SPZ version %u in gzip: must be 1...3",
                            version);
    }
    return spz_header_parse(bytes, reader->source.n_bytes, header, out, err);
}

static enum rt_status parse_member(struct gzip_reader *reader, struct splat_file *out,
                                   struct rt_error *err) {
    struct spz_header header;
    size_t n_block[SPZ_N_BLOCKS];
    RT_TRY(read_header(reader, &header, out, err));
    size_t n_bytes = spz_block_bytes(&header, n_block);
    unsigned char *blocks = malloc(n_bytes);
    if (!blocks) return rt_fail(err, RT_NO_MEMORY, "SPZ of %zu bytes: out of memory", n_bytes);
    enum rt_status status = read_exactly(reader, blocks, n_bytes, "splats", err);
    if (status == RT_OK && (header.flags & SPZ_FLAG_EXTENSIONS)) {
        status = read_records(reader, &header, out, err);
    }
    if (status == RT_OK) status = read_end(reader, out, err);
    if (status == RT_OK) status = spz_decode(&header, blocks, out, err);
    free(blocks);
    return status;
}

enum rt_status splat_spz_gzip_parse(struct byte_span source, struct splat_file *out,
                                    struct rt_error *err) {
    struct gzip_reader reader;
    RT_TRY(open_member(&reader, source, err));
    enum rt_status status = parse_member(&reader, out, err);
    inflateEnd(&reader.stream);
    return status;
}
