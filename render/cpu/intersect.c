#include "render/cpu/variants.h"

enum { CHUNK = 512 };

/* Writes the tiles of one splat, row by row; the same spans that project counted. */
static void emit(const struct intersect_args *args, const struct projected *splat) {
    struct tile_ellipse ellipse = {.mean_px = vec2_make(splat->mean_px[0], splat->mean_px[1]),
                                   .conic = {splat->conic[0], splat->conic[1], splat->conic[2]},
                                   .cut = splat->cut,
                                   .half_px = {splat->half_px[0], splat->half_px[1]}};
    struct tile_box box = tile_box(&args->grid, &ellipse);
    uint32_t *out = args->pair_tile + splat->first_pair;
    if (tile_box_is_single(box)) {
        *out = (uint32_t)(box.y0 * args->grid.n_x + box.x0);
        return;
    }
    for (int32_t ty = box.y0; ty < box.y1; ty++) {
        struct tile_span span = tile_row_span(&args->grid, &ellipse, ty);
        for (int32_t tx = span.begin; tx < span.end; tx++) {
            *out++ = (uint32_t)(ty * args->grid.n_x + tx);
        }
    }
}

void RT_VARIANT(cpu_intersect)(const struct intersect_args *args) {
    uint32_t sum = 0; /* the total was checked against RT_MAX_PAIRS */
    for (int64_t i = 0; i < args->n_visible; i++) {
        struct projected *splat = &args->splats[args->order[i]];
        splat->first_pair = sum;
        sum += (uint32_t)splat->n_tiles;
    }
    int64_t n_chunks = (args->n_visible + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(dynamic, 1)
    for (int64_t chunk = 0; chunk < n_chunks; chunk++) {
        if (rt_stop_asked(args->stop)) continue;
        int64_t end = (chunk + 1) * CHUNK < args->n_visible ? (chunk + 1) * CHUNK : args->n_visible;
        for (int64_t i = chunk * CHUNK; i < end; i++) emit(args, &args->splats[args->order[i]]);
    }
}
