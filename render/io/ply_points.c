#include "render/io/ply_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "render/core/image.h"
#include "render/io/file_atomic.h"
#include "render/io/ply_header.h"

enum { N_COLUMNS = 6 };
static const size_t MAX_FILE_BYTES = (size_t)1 << 34;

static uint8_t to_byte(double value, bool is_float) {
    if (is_float) return image_quantise((float)value);
    if (!(value > 0.0)) return 0;
    return value >= 255.0 ? 255 : (uint8_t)value;
}

static enum rt_status find_columns(const struct ply_element *vertex, int32_t columns[N_COLUMNS],
                                   bool *is_float, struct rt_error *err) {
    static const char *const names[N_COLUMNS] = {"x", "y", "z", "red", "green", "blue"};
    for (int i = 0; i < N_COLUMNS; i++) {
        columns[i] = ply_column(vertex, names[i]);
        if (i < 3 && columns[i] < 0) {
            return rt_fail_file(err, "missing-property", 0, "vertex: property %s is missing",
                                names[i]);
        }
    }
    *is_float = columns[3] >= 0 && ply_property_at(vertex, columns[3])->type >= PLY_F32;
    return RT_OK;
}

static enum rt_status read_rows(struct ply_rows *rows, const int32_t columns[N_COLUMNS],
                                bool is_float, struct ply_points *out, struct rt_error *err) {
    for (uint64_t i = 0; i < rows->element->n_rows; i++) {
        double v[N_COLUMNS];
        RT_TRY(ply_rows_next(rows, columns, N_COLUMNS, v, err));
        float xyz[3] = {(float)v[0], (float)v[1], (float)v[2]};
        if (!isfinite(xyz[0]) || !isfinite(xyz[1]) || !isfinite(xyz[2])) {
            out->n_dropped++;
            continue;
        }
        size_t at = 3 * (size_t)out->n_points++;
        memcpy(out->xyz + at, xyz, sizeof xyz);
        for (size_t k = 0; out->rgb && k < 3; k++) out->rgb[at + k] = to_byte(v[3 + k], is_float);
    }
    return RT_OK;
}

static enum rt_status read_points(const struct ply_header *header, struct byte_span source,
                                  struct ply_points *out, struct rt_error *err) {
    const struct ply_element *vertex = ply_find_element(header, "vertex");
    if (!vertex) return rt_fail_file(err, "bad-header", 0, "PLY without element vertex");
    int32_t columns[N_COLUMNS];
    bool is_float = false;
    RT_TRY(find_columns(vertex, columns, &is_float, err));
    struct ply_rows rows;
    RT_TRY(ply_rows_open(header, source, vertex, &rows, err));
    size_t n = vertex->n_rows > 0 ? (size_t)vertex->n_rows : 1;
    bool has_colour = columns[3] >= 0 && columns[4] >= 0 && columns[5] >= 0;
    out->xyz = malloc(n * 3 * sizeof(float));
    if (has_colour) out->rgb = malloc(n * 3);
    if (!out->xyz || (has_colour && !out->rgb)) {
        return rt_fail(err, RT_NO_MEMORY, "%zu points: out of memory", n);
    }
    return read_rows(&rows, columns, is_float, out, err);
}

enum rt_status ply_points_parse(const void *bytes, size_t n_bytes, struct ply_points *out,
                                struct rt_error *err) {
    memset(out, 0, sizeof *out);
    struct byte_span source = {.bytes = bytes, .n_bytes = n_bytes};
    struct ply_header *header = NULL;
    RT_TRY(ply_header_parse(source, &header, err));
    enum rt_status status = read_points(header, source, out, err);
    ply_header_destroy(&header);
    if (status != RT_OK) ply_points_free(out);
    return status;
}

enum rt_status ply_points_read(const char *path, struct ply_points *out, struct rt_error *err) {
    memset(out, 0, sizeof *out);
    struct rt_bytes bytes = {0};
    RT_TRY(file_read(path, MAX_FILE_BYTES, &bytes, err));
    enum rt_status status = ply_points_parse(bytes.bytes, bytes.n_bytes, out, err);
    rt_bytes_free(&bytes);
    return status == RT_OK ? RT_OK : rt_prefix(err, status, "%.200s", path_base(path));
}

void ply_points_free(struct ply_points *points) {
    free(points->xyz);
    free(points->rgb);
    memset(points, 0, sizeof *points);
}
