/* The header of a PLY file and its rows, for splats, point clouds and nodes (formats.md 3.1).
 *
 *     struct ply_header *header;
 *     RT_TRY(ply_header_parse(source, &header, err));
 *     struct ply_rows rows;
 *     status = ply_rows_open(header, source, "vertex", &rows, err);   // walks what stands before
 *     int32_t x = ply_column(rows.element, "x");                       // -1 when absent
 *     for (i...) status = ply_rows_next(&rows, columns, n, values, err);
 *     ply_header_destroy(&header);
 *
 * Counts are compared with the bytes that are there by ply_rows_open(). Threading: values only. */
#ifndef RETAKE_RENDER_IO_PLY_HEADER_H
#define RETAKE_RENDER_IO_PLY_HEADER_H

#include <stdbool.h>
#include <stdint.h>

#include "render/io/image_codec.h"

enum { PLY_MAX_ELEMENTS = 64, PLY_MAX_PROPERTIES = 512, PLY_NAME_BYTES = 64 };

enum ply_encoding { PLY_ASCII, PLY_LITTLE_ENDIAN, PLY_BIG_ENDIAN };
enum ply_type { PLY_I8, PLY_U8, PLY_I16, PLY_U16, PLY_I32, PLY_U32, PLY_F32, PLY_F64, PLY_N_TYPES };

struct ply_property {
    char name[PLY_NAME_BYTES];
    enum ply_type type;
    enum ply_type count_type; /* of a list */
    bool is_list;
    uint32_t offset_bytes; /* in a binary row without lists */
};

struct ply_element {
    char name[PLY_NAME_BYTES];
    uint64_t n_rows;
    int32_t i_property; /* first one in header->properties */
    int32_t n_properties;
    uint32_t row_bytes; /* smallest size of a binary row: exact without lists */
    bool has_list;
    const struct ply_header *header; /* borrowed: back to the properties */
};

struct ply_header {
    enum ply_encoding encoding;
    struct ply_element elements[PLY_MAX_ELEMENTS];
    int32_t n_elements;
    struct ply_property properties[PLY_MAX_PROPERTIES];
    int32_t n_properties;
    size_t body_offset;
    bool antialiased; /* comments that mean something; last wins */
    char axes[4];     /* of a retake_axes comment, else "" */
};

/* "ply" and a line end at the beginning. */
bool ply_is(struct byte_span source);
/* Reads the header; *out is owned by the caller. RT_BAD_FILE bad-magic, bad-header, limit,
 * truncated; RT_NO_MEMORY. */
enum rt_status ply_header_parse(struct byte_span source, struct ply_header **out,
                                struct rt_error *err);
void ply_header_destroy(struct ply_header **header);

/* Element by name or NULL; column of a scalar property or -1. */
const struct ply_element *ply_find_element(const struct ply_header *header, const char *name);
int32_t ply_column(const struct ply_element *element, const char *name);
const struct ply_property *ply_property_at(const struct ply_element *element, int32_t column);
size_t ply_type_bytes(enum ply_type type);

/* Names of the properties, separated by blanks, cut to fit. */
void ply_list_properties(const struct ply_element *element, char *text, size_t n_bytes);

struct ply_rows {
    const struct ply_element *element; /* borrowed */
    enum ply_encoding encoding;
    struct byte_span source;
    size_t at; /* offset of the next row */
    uint64_t i_row;
};

/* Goes to the first row of `element`, which must have scalar properties only, and checks that its
 * rows can be there: count-too-large above RT_MAX_GAUSSIANS, truncated (binary: exactly, ascii: at
 * least two characters per value), bad-header for a list. */
enum rt_status ply_rows_open(const struct ply_header *header, struct byte_span source,
                             const struct ply_element *element, struct ply_rows *out,
                             struct rt_error *err);
/* Values of n columns of the next row; column -1 gives 0. Never past the end of the source. */
enum rt_status ply_rows_next(struct ply_rows *rows, const int32_t *columns, int32_t n,
                             double *values, struct rt_error *err);

#endif
