#include <math.h>
#include <string.h>

#include "render/cpu/activate.h"
#include "render/cpu/variants.h"

enum { CHUNK = RT_PROJECT_CHUNK };

struct chunk_sums {
    int64_t n_visible, n_pairs, n_invalid;
};

static bool finite_all(const float *values, int n) {
    float sum = 0.0f; /* NaN and infinity survive a sum of products with zero */
    for (int i = 0; i < n; i++) sum += values[i] * 0.0f;
    return sum == 0.0f;
}

static int64_t count_tiles(const struct tile_grid *grid, const struct tile_ellipse *ellipse) {
    struct tile_box box = tile_box(grid, ellipse);
    if (box.x1 <= box.x0) return 0;
    if (tile_box_is_single(box)) return 1;
    int64_t n = 0;
    for (int32_t ty = box.y0; ty < box.y1; ty++) {
        struct tile_span span = tile_row_span(grid, ellipse, ty);
        n += span.end - span.begin;
    }
    return n;
}

static bool colour_of(const struct layer_row *row, int32_t i, float colour[3]) {
    float basis[RT_SH_MAX];
    sh_basis(row->sh_degree, direction(active_view(row, i)), basis);
    vec3 raw = sh_colour(sh_count(row->sh_degree), basis, active_sh(row, i));
    vec3_store(colour, raw);
    if (!finite_all(colour, 3)) return false;
    for (int c = 0; c < 3; c++) colour[c] = max_of(colour[c], 0.0f);
    return true;
}

/* Outcome of one gaussian; PROJECT_INVALID ones are counted, the others are merely not seen. */
enum outcome { PROJECT_VISIBLE, PROJECT_UNSEEN, PROJECT_INVALID };

static enum outcome project_one(const struct project_args *args, const struct layer_row *row,
                                int32_t i, struct projected *out) {
    vec3 p = active_centre(row, i);
    const float centre[3] = {p.x, p.y, p.z};
    if (!finite_all(centre, 3)) return PROJECT_INVALID;
    if (!(p.z > args->near_m)) return PROJECT_UNSEEN;
    struct active a = active_make(row, i);
    const float stored[5] = {a.q.w, a.q.x, a.q.y, a.q.z, a.opacity};
    if (!finite_all(stored, 5)) return PROJECT_INVALID;
    struct ewa_splat splat;
    if (!project_ewa(&args->camera, row->R_camera_node, p, a.sigma, &splat)) return PROJECT_INVALID;
    out->opacity = row->antialiased ? a.opacity * splat.chi : a.opacity;
    out->cut = tile_cut(out->opacity, args->alpha_min);
    if (!(out->cut >= 0.0f)) return PROJECT_UNSEEN;
    struct tile_ellipse ellipse = {
        .mean_px = splat.mean_px,
        .conic = splat.conic,
        .cut = out->cut,
        .half_px = {tile_half(out->cut, splat.cov_px2.xx), tile_half(out->cut, splat.cov_px2.yy)}};
    int64_t n_tiles = count_tiles(&args->grid, &ellipse);
    if (n_tiles == 0) return PROJECT_UNSEEN;
    if (!colour_of(row, i, out->colour)) return PROJECT_INVALID;
    out->mean_px[0] = splat.mean_px.x;
    out->mean_px[1] = splat.mean_px.y;
    out->conic[0] = splat.conic.xx;
    out->conic[1] = splat.conic.xy;
    out->conic[2] = splat.conic.yy;
    out->depth = p.z;
    memcpy(out->half_px, ellipse.half_px, sizeof out->half_px);
    out->n_tiles = (int32_t)n_tiles;
    return PROJECT_VISIBLE;
}

static struct chunk_sums project_chunk(const struct project_args *args, int32_t begin,
                                       int32_t end) {
    struct chunk_sums sums = {0};
    int32_t i_row = 0;
    for (int32_t i = begin; i < end; i++) {
        while (i >= args->rows[i_row].first + args->rows[i_row].gaussians->n_gaussians) i_row++;
        const struct layer_row *row = &args->rows[i_row];
        struct projected *splat = &args->splats[i];
        splat->n_tiles = 0;
        enum outcome outcome = project_one(args, row, i - row->first, splat);
        sums.n_invalid += outcome == PROJECT_INVALID;
        if (outcome != PROJECT_VISIBLE) continue;
        int32_t at = begin + (int32_t)sums.n_visible++;
        uint32_t key;
        memcpy(&key, &splat->depth, sizeof key); /* z > 0: the order of the bits is that of z */
        args->scratch[0][at] = key;
        args->scratch[1][at] = (uint32_t)i;
        sums.n_pairs += splat->n_tiles;
    }
    return sums;
}

void RT_VARIANT(cpu_project)(const struct project_args *args) {
    int32_t n = args->n_gaussians;
    int32_t n_chunks = (n + CHUNK - 1) / CHUNK;
    int64_t n_pairs = 0;
    int64_t n_invalid = 0;
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : n_pairs, n_invalid)
    for (int32_t chunk = 0; chunk < n_chunks; chunk++) {
        struct chunk_sums sums = {0};
        int32_t begin = chunk * CHUNK;
        int32_t end = begin + CHUNK < n ? begin + CHUNK : n;
        if (!rt_stop_asked(args->stop)) sums = project_chunk(args, begin, end);
        args->chunk_visible[chunk] = (uint32_t)sums.n_visible;
        n_pairs += sums.n_pairs;
        n_invalid += sums.n_invalid;
    }
    int64_t n_visible = 0;
    for (int32_t chunk = 0; chunk < n_chunks; chunk++) {
        size_t bytes = args->chunk_visible[chunk] * sizeof(uint32_t);
        memcpy(args->keys + n_visible, args->scratch[0] + chunk * CHUNK, bytes);
        memcpy(args->indices + n_visible, args->scratch[1] + chunk * CHUNK, bytes);
        n_visible += args->chunk_visible[chunk];
    }
    *args->n_visible = n_visible;
    *args->n_pairs = n_pairs;
    *args->n_invalid = n_invalid;
}
