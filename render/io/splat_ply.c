/* INRIA PLY (formats.md 3.1): read in any scalar type and encoding, written as f32. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/core/limits.h"
#include "render/io/ply_header.h"
#include "render/io/splat_format.h"

enum {
    N_FIXED = 14, /* x y z, f_dc 3, opacity, scale 3, rot 4 */
    AT_DC = 3,
    AT_OPACITY = 6,
    AT_SCALE = 7,
    AT_ROT = 10,
    MAX_REST = 72,
    FLAT_LOG_SCALE = -20
};

struct layout {
    int32_t columns[N_FIXED + MAX_REST];
    int32_t n_columns;
    int32_t n_rest; /* 0, 9, 24, 45 or 72 */
    bool is_2d;
};

static const char *const fixed_names[N_FIXED] = {
    "x",       "y",       "z",       "f_dc_0", "f_dc_1", "f_dc_2", "opacity",
    "scale_0", "scale_1", "scale_2", "rot_0",  "rot_1",  "rot_2",  "rot_3"};

static enum rt_status find_fixed(const struct ply_element *vertex, struct layout *layout,
                                 struct rt_error *err) {
    for (int i = 0; i < N_FIXED; i++) {
        layout->columns[i] = ply_column(vertex, fixed_names[i]);
        if (layout->columns[i] >= 0) continue;
        if (i == AT_SCALE + 2) {
            layout->is_2d = true;
            continue;
        }
        char names[200];
        ply_list_properties(vertex, names, sizeof names);
        bool is_cloud = ply_column(vertex, "f_dc_0") < 0 && ply_column(vertex, "scale_0") < 0;
        return rt_fail_file(err, "missing-property", 0, "vertex: property %s is missing (has %s)%s",
                            fixed_names[i], names,
                            is_cloud ? ": this is a point cloud or a mesh, not splats" : "");
    }
    return RT_OK;
}

static enum rt_status find_rest(const struct ply_element *vertex, struct layout *layout,
                                struct rt_error *err) {
    int32_t n_named = 0;
    for (int32_t i = 0; i < vertex->n_properties; i++) {
        n_named += strncmp(ply_property_at(vertex, i)->name, "f_rest_", 7) == 0;
    }
    if (n_named != 0 && n_named != 9 && n_named != 24 && n_named != 45 && n_named != 72) {
        return rt_fail_file(err, "bad-header", 0,
                            "vertex: %d f_rest properties, must be 0, 9, 24, 45 or 72", n_named);
    }
    for (int32_t i = 0; i < n_named; i++) {
        char name[24];
        snprintf(name, sizeof name, "f_rest_%d", i);
        layout->columns[N_FIXED + i] = ply_column(vertex, name);
        if (layout->columns[N_FIXED + i] < 0) {
            return rt_fail_file(err, "bad-header", 0, "vertex: property %s is missing of %d f_rest",
                                name, n_named);
        }
    }
    layout->n_rest = n_named;
    layout->n_columns = N_FIXED + n_named;
    return RT_OK;
}

/* Channel-major f_rest (R block, G block, B block) to our coefficient-major order. A degree-4 file
 * has a stride of 24 per channel of which the first 15 are kept. */
static void set_splat(struct gaussians *splats, size_t i, const struct layout *layout,
                      const double *v) {
    size_t n_kept = (size_t)sh_count(splats->sh_degree) - 1;
    size_t stride = (size_t)layout->n_rest / 3;
    float *sh = splat_sh_at(splats, i);
    for (size_t k = 0; k < 3; k++) {
        splats->mean[3 * i + k] = (float)v[k];
        splats->log_scale[3 * i + k] = (float)v[AT_SCALE + k];
        sh[k] = (float)v[AT_DC + k];
        for (size_t j = 0; j < n_kept; j++) {
            sh[3 * (j + 1) + k] = (float)v[N_FIXED + k * stride + j];
        }
    }
    if (layout->is_2d) splats->log_scale[3 * i + 2] = FLAT_LOG_SCALE;
    for (size_t k = 0; k < 4; k++) splats->quat[4 * i + k] = (float)v[AT_ROT + k];
    splats->logit_opacity[i] = (float)v[AT_OPACITY];
}

static enum rt_status warn_unused(const struct ply_element *vertex, struct splat_file *out,
                                  struct rt_error *err) {
    static const char *const names[] = {"lidar_opacity", "ray_drop", "intensity_0", "f_dc_t1_0",
                                        "semantic"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (ply_column(vertex, names[i]) < 0) continue;
        RT_TRY(splat_warn(out, err, "property %s is not used by this version and was left out",
                          names[i]));
    }
    return RT_OK;
}

static enum rt_status read_vertices(const struct ply_header *header, struct byte_span source,
                                    struct splat_file *out, struct rt_error *err) {
    const struct ply_element *vertex = ply_find_element(header, "vertex");
    if (!vertex) return rt_fail_file(err, "bad-header", 0, "PLY without element vertex");
    struct layout layout = {0};
    struct ply_rows rows;
    RT_TRY(ply_rows_open(header, source, vertex, &rows, err));
    RT_TRY(find_fixed(vertex, &layout, err));
    RT_TRY(find_rest(vertex, &layout, err));
    if (vertex->n_rows == 0) return rt_fail_file(err, "empty", 0, "vertex: count is 0");
    int32_t degree = layout.n_rest == 0 ? 0 : layout.n_rest == 9 ? 1 : layout.n_rest == 24 ? 2 : 3;
    int32_t n = (int32_t)vertex->n_rows;
    RT_TRY(gaussians_create(&out->gaussians, n, n, degree, err));
    for (size_t i = 0; i < (size_t)n; i++) {
        double values[N_FIXED + MAX_REST];
        RT_TRY(ply_rows_next(&rows, layout.columns, layout.n_columns, values, err));
        set_splat(out->gaussians, i, &layout, values);
    }
    if (layout.n_rest == 72) RT_TRY(splat_warn(out, err, "SH degree 4 was cut to 3"));
    if (layout.is_2d) RT_TRY(splat_warn(out, err, "scale_2 is absent: flat 2-D splats"));
    RT_TRY(warn_unused(vertex, out, err));
    size_t rest = source.n_bytes - rows.at;
    bool is_last = vertex == &header->elements[header->n_elements - 1];
    if (is_last && header->encoding != PLY_ASCII && rest > 0) {
        RT_TRY(splat_warn(out, err, "%zu bytes after the last splat were ignored", rest));
    }
    return RT_OK;
}

enum rt_status splat_ply_parse(struct byte_span source, struct splat_file *out,
                               struct rt_error *err) {
    struct ply_header *header = NULL;
    RT_TRY(ply_header_parse(source, &header, err));
    const struct ply_element *vertex = ply_find_element(header, "vertex");
    bool compressed =
        vertex && ply_find_element(header, "chunk") && ply_column(vertex, "packed_position") >= 0;
    enum rt_status status = RT_OK;
    if (compressed) {
        status = splat_ply_compressed_parse(header, source, out, err);
    } else {
        snprintf(out->format, sizeof out->format, "ply");
        status = read_vertices(header, source, out, err);
    }
    snprintf(out->axes, sizeof out->axes, "%s", header->axes[0] ? header->axes : "rdf");
    out->antialiased = header->antialiased;
    ply_header_destroy(&header);
    return status;
}

static int write_header(const struct splat_write *what, char *text, size_t n_bytes) {
    const struct gaussians *splats = what->gaussians;
    int n = snprintf(text, n_bytes,
                     "ply\nformat binary_little_endian 1.0\ncomment generated by retake\n"
                     "comment retake_axes %s\n%selement vertex %d\n",
                     what->axes, what->antialiased ? "comment SplatRenderMode: mip\n" : "",
                     splats->n_gaussians);
    static const char *const before[] = {"x", "y", "z", "nx", "ny", "nz"};
    for (int i = 0; i < 6; i++) {
        n += snprintf(text + n, n_bytes - (size_t)n, "property float %s\n", before[i]);
    }
    for (int i = 0; i < 3; i++) {
        n += snprintf(text + n, n_bytes - (size_t)n, "property float f_dc_%d\n", i);
    }
    for (int i = 0; i < 3 * (sh_count(splats->sh_degree) - 1); i++) {
        n += snprintf(text + n, n_bytes - (size_t)n, "property float f_rest_%d\n", i);
    }
    for (int i = AT_OPACITY; i < N_FIXED; i++) {
        n += snprintf(text + n, n_bytes - (size_t)n, "property float %s\n", fixed_names[i]);
    }
    return n + snprintf(text + n, n_bytes - (size_t)n, "end_header\n");
}

static void write_row(const struct gaussians *splats, size_t i, float *row) {
    size_t n_rest = (size_t)sh_count(splats->sh_degree) - 1;
    const float *sh = splats->sh + i * 3 * (n_rest + 1);
    memcpy(row, splats->mean + 3 * i, 3 * sizeof(float));
    memset(row + 3, 0, 3 * sizeof(float));
    memcpy(row + 6, sh, 3 * sizeof(float));
    float *at = row + 9;
    for (size_t k = 0; k < 3; k++) {
        for (size_t j = 0; j < n_rest; j++) *at++ = sh[3 * (j + 1) + k];
    }
    *at++ = splats->logit_opacity[i];
    memcpy(at, splats->log_scale + 3 * i, 3 * sizeof(float));
    memcpy(at + 3, splats->quat + 4 * i, 4 * sizeof(float));
}

enum rt_status splat_ply_encode(const struct splat_write *what, struct rt_bytes *out,
                                struct rt_error *err) {
    memset(out, 0, sizeof *out);
    const struct gaussians *splats = what->gaussians;
    char header[4096];
    size_t n_header = (size_t)write_header(what, header, sizeof header);
    size_t n_row = 17 + 3 * ((size_t)sh_count(splats->sh_degree) - 1);
    size_t n_bytes = n_header + (size_t)splats->n_gaussians * n_row * sizeof(float);
    unsigned char *bytes = malloc(n_bytes);
    if (!bytes) {
        return rt_fail(err, RT_NO_MEMORY, "PLY of %d splats: out of memory", splats->n_gaussians);
    }
    memcpy(bytes, header, n_header);
    for (size_t i = 0; i < (size_t)splats->n_gaussians; i++) {
        float row[17 + 45];
        write_row(splats, i, row);
        memcpy(bytes + n_header + i * n_row * sizeof(float), row, n_row * sizeof(float));
    }
    out->bytes = bytes;
    out->n_bytes = n_bytes;
    return RT_OK;
}
