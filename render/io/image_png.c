/* PNG by libpng. libpng reports errors by longjmp: everything that must survive one lives in
 * `struct reader` / `struct writer`, which the caller of the setjmp function owns. */
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "render/core/limits.h"
#include "render/io/image_codec.h"
#include "retake_version.h"

enum { CHUNK_CACHE = 64, CHUNK_BYTES = 1 << 20 };

struct reader {
    struct byte_span source;
    size_t used_bytes;
    bool header_only;
    struct image image;
    png_structp png;
    png_infop header;
    bool short_source;
    enum rt_status status;
    struct rt_error *err;
    char message[160];
};

bool image_is_png(struct byte_span source) {
    return source.n_bytes >= 8 && png_sig_cmp(source.bytes, 0, 8) == 0;
}

static void on_error(png_structp png, png_const_charp message) {
    struct reader *reader = png_get_error_ptr(png);
    strncpy(reader->message, message, sizeof reader->message - 1);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void take_bytes(png_structp png, png_bytep target, size_t n_bytes) {
    struct reader *reader = png_get_io_ptr(png);
    if (n_bytes > reader->source.n_bytes - reader->used_bytes) {
        reader->short_source = true;
        png_error(png, "the file ends early");
    }
    memcpy(target, reader->source.bytes + reader->used_bytes, n_bytes);
    reader->used_bytes += n_bytes;
}

/* Everything becomes 8 or 16 bits per channel, no palette, transparency as alpha. */
static void set_transforms(struct reader *reader) {
    png_set_expand(reader->png);
    png_set_swap(reader->png); /* 16 bits: big-endian in the file, little-endian here */
    (void)png_set_interlace_handling(reader->png);
    png_read_update_info(reader->png, reader->header);
}

static enum rt_status allocate(struct reader *reader) {
    png_uint_32 width = png_get_image_width(reader->png, reader->header);
    png_uint_32 height = png_get_image_height(reader->png, reader->header);
    RT_TRY(image_check_size("PNG", width, height, reader->err));
    size_t raw = png_get_rowbytes(reader->png, reader->header) * (size_t)height;
    struct image shape = {
        .width_px = (int32_t)width,
        .height_px = (int32_t)height,
        .n_channels = png_get_channels(reader->png, reader->header),
        .type = png_get_bit_depth(reader->png, reader->header) == 16 ? IMAGE_U16 : IMAGE_U8};
    reader->image = shape;
    if (reader->header_only) return RT_OK;
    /* Deflate expands at most 1032 times and 1-bit palettes become 32 bits; anything beyond that
     * cannot be in the file. */
    if (raw / 32 / 1032 > reader->source.n_bytes) {
        return rt_fail_file(reader->err, "truncated", (int64_t)reader->source.n_bytes,
                            "PNG of %d x %d px cannot be in %zu bytes", shape.width_px,
                            shape.height_px, reader->source.n_bytes);
    }
    return image_create(&reader->image, shape.width_px, shape.height_px, shape.n_channels,
                        shape.type, reader->err);
}

static void read_rows(struct reader *reader) {
    size_t row_bytes = png_get_rowbytes(reader->png, reader->header);
    int n_passes =
        png_get_interlace_type(reader->png, reader->header) == PNG_INTERLACE_ADAM7 ? 7 : 1;
    for (int i_pass = 0; i_pass < n_passes; i_pass++) {
        for (int32_t y = 0; y < reader->image.height_px; y++) {
            png_read_row(reader->png, image_u8(&reader->image) + (size_t)y * row_bytes, NULL);
        }
    }
    png_read_end(reader->png, NULL);
}

static void configure(struct reader *reader) {
    png_set_user_limits(reader->png, RT_MAX_SIDE_PX, RT_MAX_SIDE_PX);
    png_set_chunk_cache_max(reader->png, CHUNK_CACHE);
    png_set_chunk_malloc_max(reader->png, CHUNK_BYTES);
    /* -1: text, profiles and the like are skipped too; libpng would set aside what they claim. */
    png_set_keep_unknown_chunks(reader->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_read_fn(reader->png, reader, take_bytes);
}

/* No local of this function lives across the setjmp. */
static void read_guarded(struct reader *reader) {
    if (setjmp(png_jmpbuf(reader->png))) {
        reader->status = rt_fail_file(reader->err, reader->short_source ? "truncated" : "bad-value",
                                      (int64_t)reader->used_bytes, "PNG: %s", reader->message);
        return;
    }
    configure(reader);
    png_read_info(reader->png, reader->header);
    set_transforms(reader);
    reader->status = allocate(reader);
    if (reader->status == RT_OK && !reader->header_only) read_rows(reader);
}

/* The size stands at a fixed place; checked here first so that the message is ours. */
static enum rt_status check_declared_size(struct byte_span source, struct rt_error *err) {
    if (source.n_bytes < 33) {
        return rt_fail_file(err, "truncated", (int64_t)source.n_bytes,
                            "PNG: %zu bytes are less than a header", source.n_bytes);
    }
    return image_check_size("PNG", png_get_uint_32(source.bytes + 16),
                            png_get_uint_32(source.bytes + 20), err);
}

enum rt_status image_decode_png(struct byte_span source, bool header_only, struct image *out,
                                struct rt_error *err) {
    memset(out, 0, sizeof *out);
    RT_TRY(check_declared_size(source, err));
    struct reader reader = {.source = source, .header_only = header_only, .err = err};
    reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_error, on_warning);
    if (reader.png) reader.header = png_create_info_struct(reader.png);
    if (reader.header) {
        read_guarded(&reader);
    } else {
        reader.status = rt_fail(err, RT_NO_MEMORY, "PNG: out of memory");
    }
    png_destroy_read_struct(&reader.png, &reader.header, NULL);
    if (reader.status == RT_OK) {
        *out = reader.image;
    } else {
        image_destroy(&reader.image);
    }
    return reader.status;
}

struct writer {
    const struct image *image;
    struct rt_bytes bytes;
    size_t capacity_bytes;
    png_structp png;
    png_infop header;
    enum rt_status status;
    bool out_of_memory;
};

static void on_write_error(png_structp png, png_const_charp message) {
    (void)message;
    png_longjmp(png, 1);
}

static void put_bytes(png_structp png, png_bytep source, size_t n_bytes) {
    struct writer *writer = png_get_io_ptr(png);
    size_t needed = writer->bytes.n_bytes + n_bytes;
    if (needed > writer->capacity_bytes) {
        size_t capacity = needed + needed / 2 + 4096;
        void *grown = realloc(writer->bytes.bytes, capacity);
        if (!grown) {
            writer->out_of_memory = true;
            png_error(png, "out of memory");
        }
        writer->bytes.bytes = grown;
        writer->capacity_bytes = capacity;
    }
    memcpy((char *)writer->bytes.bytes + writer->bytes.n_bytes, source, n_bytes);
    writer->bytes.n_bytes = needed;
}

static void flush_bytes(png_structp png) { (void)png; }

static void write_header(struct writer *writer) {
    static const int colour_types[5] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                        PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    const struct image *image = writer->image;
    png_set_write_fn(writer->png, writer, put_bytes, flush_bytes);
    png_set_compression_level(writer->png, 1);
    png_set_filter(writer->png, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB);
    png_set_IHDR(writer->png, writer->header, (png_uint_32)image->width_px,
                 (png_uint_32)image->height_px, image->type == IMAGE_U16 ? 16 : 8,
                 colour_types[image->n_channels], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_BASE,
                 PNG_FILTER_TYPE_BASE);
    if (image->n_channels >= 3) {
        png_set_sRGB(writer->png, writer->header, PNG_sRGB_INTENT_PERCEPTUAL);
    }
    png_text text = {.compression = PNG_TEXT_COMPRESSION_NONE,
                     .key = "Software",
                     /* cppcheck-suppress legacyUninitvar; a member, not the variable */
                     .text = "retake " RETAKE_VERSION};
    png_set_text(writer->png, writer->header, &text, 1);
    png_write_info(writer->png, writer->header);
    if (image->type == IMAGE_U16) png_set_swap(writer->png);
}

/* No local of this function lives across the setjmp. */
static void write_guarded(struct writer *writer) {
    if (setjmp(png_jmpbuf(writer->png))) {
        writer->status = writer->out_of_memory ? RT_NO_MEMORY : RT_INTERNAL;
        return;
    }
    write_header(writer);
    for (int32_t y = 0; y < writer->image->height_px; y++) {
        png_write_row(writer->png, image_u8(writer->image) +
                                       (size_t)y * png_get_rowbytes(writer->png, writer->header));
    }
    png_write_end(writer->png, writer->header);
}

enum rt_status image_encode_png(const struct image *image, struct rt_bytes *out,
                                struct rt_error *err) {
    memset(out, 0, sizeof *out);
    if (image->type == IMAGE_F32) {
        return rt_fail(err, RT_INVALID, "PNG holds 8 or 16 bit integers, not floats");
    }
    struct writer writer = {.image = image};
    writer.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_write_error, on_warning);
    if (writer.png) writer.header = png_create_info_struct(writer.png);
    writer.status = RT_NO_MEMORY;
    if (writer.header) {
        writer.status = RT_OK;
        write_guarded(&writer);
    }
    png_destroy_write_struct(&writer.png, &writer.header);
    if (writer.status != RT_OK) {
        rt_bytes_free(&writer.bytes);
        return rt_fail(err, writer.status, "PNG of %d x %d px: %s", image->width_px,
                       image->height_px,
                       writer.status == RT_NO_MEMORY ? "out of memory" : "encoder failed");
    }
    *out = writer.bytes;
    return RT_OK;
}
