/* Rows of PLY elements: binary by offset, ascii by token. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/core/arena.h"
#include "render/core/limits.h"
#include "render/io/ply_header.h"

enum { MAX_TOKEN_BYTES = 63 };

static double load(const unsigned char *at, enum ply_type type, bool big_endian) {
    size_t n = ply_type_bytes(type);
    uint64_t bits = 0;
    for (size_t i = 0; i < n; i++) bits |= (uint64_t)at[big_endian ? n - 1 - i : i] << (8 * i);
    uint32_t low = (uint32_t)bits;
    float single;
    double value;
    switch (type) {
        case PLY_I8:
            return (int8_t)low;
        case PLY_U8:
            return (uint8_t)low;
        case PLY_I16:
            return (int16_t)low;
        case PLY_U16:
            return (uint16_t)low;
        case PLY_I32:
            return (int32_t)low;
        case PLY_U32:
            return low;
        case PLY_F32:
            memcpy(&single, &low, sizeof single);
            return (double)single;
        default:
            memcpy(&value, &bits, sizeof value);
            return value;
    }
}

static bool is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static enum rt_status fail_short(struct rt_error *err, const struct ply_rows *rows) {
    return rt_fail_file(err, "truncated", (int64_t)rows->source.n_bytes,
                        "%s: row %llu of %llu is not in the file", rows->element->name,
                        (unsigned long long)rows->i_row, (unsigned long long)rows->element->n_rows);
}

/* strtod without its hexadecimal form; the process never sets a locale. */
static enum rt_status next_number(struct ply_rows *rows, double *value, struct rt_error *err) {
    const unsigned char *bytes = rows->source.bytes;
    size_t n_bytes = rows->source.n_bytes;
    while (rows->at < n_bytes && is_space(bytes[rows->at])) rows->at++;
    size_t begin = rows->at;
    while (rows->at < n_bytes && !is_space(bytes[rows->at])) rows->at++;
    size_t n = rows->at - begin;
    if (n == 0) return fail_short(err, rows);
    char token[MAX_TOKEN_BYTES + 1] = "";
    char *end = token;
    if (n <= MAX_TOKEN_BYTES) {
        memcpy(token, bytes + begin, n);
        token[n] = '\0';
        if (!strpbrk(token, "xX")) *value = strtod(token, &end);
    }
    if (end == token || *end) {
        return rt_fail_file(err, "bad-value", (int64_t)begin,
                            "%s: row %llu: \"%.20s\" is no number", rows->element->name,
                            (unsigned long long)rows->i_row, token);
    }
    return RT_OK;
}

/* Skips one property of an element that is not read. */
static enum rt_status walk_property(struct ply_rows *rows, const struct ply_property *property,
                                    struct rt_error *err) {
    bool ascii = rows->encoding == PLY_ASCII;
    double n_items = 1.0;
    if (property->is_list) {
        size_t n = ply_type_bytes(property->count_type);
        if (ascii) {
            RT_TRY(next_number(rows, &n_items, err));
        } else {
            if (n > rows->source.n_bytes - rows->at) return fail_short(err, rows);
            n_items = load(rows->source.bytes + rows->at, property->count_type,
                           rows->encoding == PLY_BIG_ENDIAN);
            rows->at += n;
        }
    }
    double left = (double)(rows->source.n_bytes - rows->at);
    if (!(n_items >= 0.0) || n_items > left) return fail_short(err, rows);
    if (!ascii) {
        size_t n = (size_t)n_items * ply_type_bytes(property->type);
        if (n > rows->source.n_bytes - rows->at) return fail_short(err, rows);
        rows->at += n;
        return RT_OK;
    }
    double ignored;
    for (uint64_t i = 0; i < (uint64_t)n_items; i++) RT_TRY(next_number(rows, &ignored, err));
    return RT_OK;
}

/* Bytes that the rows need at least; false when no file can have them. */
static bool needed_bytes(const struct ply_element *element, enum ply_encoding encoding,
                         size_t *out) {
    size_t row = encoding == PLY_ASCII ? 2 * (size_t)element->n_properties : element->row_bytes;
    return rt_mul((size_t)element->n_rows, row, out);
}

static enum rt_status check_rows(const struct ply_rows *rows, struct rt_error *err) {
    const struct ply_element *element = rows->element;
    size_t present = rows->source.n_bytes - rows->at;
    size_t needed = 0;
    bool fits = needed_bytes(element, rows->encoding, &needed);
    /* The last value of an ascii file needs no separator. */
    if (rows->encoding == PLY_ASCII && needed > 0) needed--;
    if (fits && needed <= present) return RT_OK;
    return rt_fail_file(err, "truncated", (int64_t)rows->source.n_bytes,
                        "%s: %llu rows need %s%zu bytes, %zu are present", element->name,
                        (unsigned long long)element->n_rows,
                        rows->encoding == PLY_ASCII ? "at least " : "", needed, present);
}

static enum rt_status walk_element(struct ply_rows *rows, struct rt_error *err) {
    const struct ply_element *element = rows->element;
    RT_TRY(check_rows(rows, err));
    if (element->n_properties == 0) return RT_OK;
    if (!element->has_list && rows->encoding != PLY_ASCII) {
        rows->at += (size_t)element->n_rows * element->row_bytes;
        return RT_OK;
    }
    for (rows->i_row = 0; rows->i_row < element->n_rows; rows->i_row++) {
        for (int32_t i = 0; i < element->n_properties; i++) {
            RT_TRY(walk_property(rows, ply_property_at(element, i), err));
        }
    }
    return RT_OK;
}

enum rt_status ply_rows_open(const struct ply_header *header, struct byte_span source,
                             const struct ply_element *element, struct ply_rows *out,
                             struct rt_error *err) {
    if (element->has_list) {
        return rt_fail_file(err, "bad-header", 0, "%s: has a list property", element->name);
    }
    if (element->n_rows > RT_MAX_GAUSSIANS) {
        return rt_fail_file(err, "count-too-large", 0, "%s: count %llu exceeds the limit of %d",
                            element->name, (unsigned long long)element->n_rows, RT_MAX_GAUSSIANS);
    }
    *out = (struct ply_rows){
        .encoding = header->encoding, .source = source, .at = header->body_offset};
    for (const struct ply_element *before = header->elements; before != element; before++) {
        out->element = before;
        RT_TRY(walk_element(out, err));
    }
    out->element = element;
    out->i_row = 0;
    return check_rows(out, err);
}

static enum rt_status next_ascii(struct ply_rows *rows, const int32_t *columns, int32_t n,
                                 double *values, struct rt_error *err) {
    double row[PLY_MAX_PROPERTIES];
    for (int32_t i = 0; i < rows->element->n_properties; i++) {
        RT_TRY(next_number(rows, &row[i], err));
    }
    /* cppcheck-suppress uninitvar; columns are indices of properties read above */
    for (int32_t i = 0; i < n; i++) values[i] = columns[i] < 0 ? 0.0 : row[columns[i]];
    return RT_OK;
}

enum rt_status ply_rows_next(struct ply_rows *rows, const int32_t *columns, int32_t n,
                             double *values, struct rt_error *err) {
    if (rows->encoding == PLY_ASCII) {
        RT_TRY(next_ascii(rows, columns, n, values, err));
        rows->i_row++;
        return RT_OK;
    }
    if (rows->element->row_bytes > rows->source.n_bytes - rows->at) return fail_short(err, rows);
    const unsigned char *row = rows->source.bytes + rows->at;
    bool big_endian = rows->encoding == PLY_BIG_ENDIAN;
    for (int32_t i = 0; i < n; i++) {
        if (columns[i] < 0) {
            values[i] = 0.0;
            continue;
        }
        const struct ply_property *property = ply_property_at(rows->element, columns[i]);
        values[i] = load(row + property->offset_bytes, property->type, big_endian);
    }
    rows->at += rows->element->row_bytes;
    rows->i_row++;
    return RT_OK;
}
