/* NPY 1.0 (formats.md section 7; the format is described in NumPy's numpy.lib.format). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/core/arena.h"
#include "render/core/limits.h"
#include "render/io/image_codec.h"

enum { PREFIX_BYTES = 10, MAX_HEADER_BYTES = 4096 };

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

static int write_dictionary(const struct image *image, char *text, size_t n_bytes) {
    static const char *const types[] = {
        [IMAGE_U8] = "|u1", [IMAGE_U16] = "<u2", [IMAGE_F32] = "<f4"};
    char channels[16] = "";
    if (image->n_channels > 1) snprintf(channels, sizeof channels, ", %d", image->n_channels);
    return snprintf(text, n_bytes, "{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d%s), }",
                    types[image->type], image->height_px, image->width_px, channels);
}

enum rt_status image_encode_npy(const struct image *image, struct rt_bytes *out,
                                struct rt_error *err) {
    memset(out, 0, sizeof *out);
    char text[256];
    size_t n_text = (size_t)write_dictionary(image, text, sizeof text);
    size_t n_header = (PREFIX_BYTES + n_text + 1 + 63) / 64 * 64;
    size_t n_pixels = image_bytes(image);
    unsigned char *bytes = malloc(n_header + n_pixels);
    if (!bytes) return rt_fail(err, RT_NO_MEMORY, "NPY of %zu bytes: out of memory", n_pixels);
    memset(bytes, ' ', n_header);
    memcpy(bytes, magic, sizeof magic);
    bytes[6] = 1;
    bytes[7] = 0;
    bytes[8] = (unsigned char)((n_header - PREFIX_BYTES) & 0xff);
    bytes[9] = (unsigned char)((n_header - PREFIX_BYTES) >> 8);
    memcpy(bytes + PREFIX_BYTES, text, n_text);
    bytes[n_header - 1] = '\n';
    memcpy(bytes + n_header, image->pixels, n_pixels);
    out->bytes = bytes;
    out->n_bytes = n_header + n_pixels;
    return RT_OK;
}

/* Position after `'key':` and blanks in the dictionary, or NULL. */
static const char *find_value(const char *dictionary, const char *key) {
    const char *at = strstr(dictionary, key);
    if (!at) return NULL;
    at += strlen(key);
    while (*at == ' ') at++;
    if (*at++ != ':') return NULL;
    while (*at == ' ') at++;
    return at;
}

static enum rt_status parse_shape(const char *text, int64_t shape[4], struct rt_error *err) {
    int n_dimensions = 0;
    for (int i = 0; i < 4; i++) shape[i] = 1;
    if (!text || *text++ != '(') return rt_fail_file(err, "bad-header", -1, "NPY: no shape");
    for (;;) {
        while (*text == ' ' || *text == ',') text++;
        if (*text == ')') break;
        char *end = NULL;
        errno = 0;
        long long value = *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : -1;
        if (value < 0 || errno != 0 || n_dimensions == 4) {
            return rt_fail_file(err, "bad-header", -1, "NPY: shape must be 1 to 4 whole numbers");
        }
        shape[n_dimensions++] = value;
        text = end;
    }
    if (n_dimensions == 0) {
        return rt_fail_file(err, "bad-header", -1, "NPY: shape must have 1 to 4 dimensions");
    }
    return RT_OK;
}

static enum rt_status read_header(struct byte_span source, char dictionary[MAX_HEADER_BYTES + 1],
                                  size_t *n_header, struct rt_error *err) {
    const unsigned char *b = source.bytes;
    if (source.n_bytes < 6 || memcmp(b, magic, sizeof magic) != 0) {
        return rt_fail_file(err, "bad-magic", 0, "not an NPY file");
    }
    if (source.n_bytes < 12) {
        return rt_fail_file(err, "truncated", (int64_t)source.n_bytes, "NPY: no header");
    }
    if (b[6] != 1 && b[6] != 2) {
        return rt_fail_file(err, "unsupported-version", 6, "NPY version %d: must be 1 or 2", b[6]);
    }
    size_t prefix = b[6] == 1 ? PREFIX_BYTES : PREFIX_BYTES + 2;
    size_t n_text = (size_t)b[8] | (size_t)b[9] << 8;
    if (b[6] == 2) n_text |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (n_text > MAX_HEADER_BYTES) {
        return rt_fail_file(err, "limit", 8, "NPY header of %zu bytes exceeds %d", n_text,
                            MAX_HEADER_BYTES);
    }
    if (n_text > source.n_bytes - prefix) {
        return rt_fail_file(err, "truncated", (int64_t)source.n_bytes,
                            "NPY header of %zu bytes ends early", n_text);
    }
    memcpy(dictionary, b + prefix, n_text);
    dictionary[n_text] = '\0';
    *n_header = prefix + n_text;
    return RT_OK;
}

static enum rt_status count_values(const int64_t shape[4], size_t *n_values, struct rt_error *err) {
    *n_values = 1;
    for (int i = 0; i < 4; i++) {
        if (!rt_mul(*n_values, (size_t)shape[i], n_values) || *n_values > SIZE_MAX / 8) {
            return rt_fail_file(err, "count-too-large", -1, "NPY: shape %lld x %lld ... too large",
                                (long long)shape[0], (long long)shape[1]);
        }
    }
    return RT_OK;
}

enum rt_status npy_decode_f32(const void *bytes, size_t n_bytes, float **values, int64_t shape[4],
                              struct rt_error *err) {
    *values = NULL;
    struct byte_span source = {.bytes = bytes, .n_bytes = n_bytes};
    char dictionary[MAX_HEADER_BYTES + 1];
    size_t n_header = 0;
    RT_TRY(read_header(source, dictionary, &n_header, err));
    const char *type = find_value(dictionary, "'descr'");
    const char *order = find_value(dictionary, "'fortran_order'");
    if (!type || strncmp(type, "'<f4'", 5) != 0) {
        return rt_fail_file(err, "bad-value", -1, "NPY: descr must be '<f4' (float32), is %.10s",
                            type ? type : "missing");
    }
    if (!order || strncmp(order, "False", 5) != 0) {
        return rt_fail_file(err, "bad-value", -1, "NPY: fortran_order must be False");
    }
    RT_TRY(parse_shape(find_value(dictionary, "'shape'"), shape, err));
    size_t n_values = 0;
    RT_TRY(count_values(shape, &n_values, err));
    if (n_bytes - n_header != n_values * 4) {
        return rt_fail_file(err, n_bytes - n_header < n_values * 4 ? "truncated" : "bad-value",
                            (int64_t)n_bytes, "NPY: body of %zu bytes expected, %zu present",
                            n_values * 4, n_bytes - n_header);
    }
    *values = malloc(n_values > 0 ? n_values * 4 : 1);
    if (!*values) return rt_fail(err, RT_NO_MEMORY, "NPY of %zu values: out of memory", n_values);
    memcpy(*values, source.bytes + n_header, n_values * 4);
    return RT_OK;
}
