/* Which 16x16 tiles of the picture a splat reaches, exactly: its support is the ellipse
 * q(d) = d^T A d <= t around the mean, the samples are pixel centres.
 *
 *     float t = tile_cut(o_eff, alpha_min);
 *     struct tile_box box = tile_box(&grid, &ellipse);                   // halves: tile_half()
 *     for (int ty = box.y0; ty < box.y1; ty++) {
 *         struct tile_span span = tile_row_span(&grid, &ellipse, ty);        // [begin, end) in x
 *
 * The part of an ellipse inside a slab is convex, so its extent along the slab decides for every
 * tile of that row: exact with two square roots a row. Source: sensors.md section 10; Hanson et al.
 * 2025 (Speedy-Splat); Radl et al. 2024 (StopThePop). */
#ifndef RETAKE_RENDER_CORE_TILE_H
#define RETAKE_RENDER_CORE_TILE_H

#include <stdint.h>

#include "render/core/vec.h"

#define RT_TILE_PX 16
#define RT_TILE_PIXELS (RT_TILE_PX * RT_TILE_PX)

struct tile_grid {
    int32_t width_px, height_px;
    int32_t n_x, n_y;
};

struct tile_box { /* [x0, x1) x [y0, y1) in tiles */
    int32_t x0, y0, x1, y1;
};

struct tile_span { /* [begin, end) */
    int32_t begin, end;
};

struct tile_ellipse {
    vec2 mean_px;
    sym2 conic;
    float cut;        /* t */
    float half_px[2]; /* half sizes of its box */
};

HD struct tile_grid tile_grid_make(int32_t width_px, int32_t height_px) {
    struct tile_grid r;
    r.width_px = width_px;
    r.height_px = height_px;
    r.n_x = (width_px + RT_TILE_PX - 1) / RT_TILE_PX;
    r.n_y = (height_px + RT_TILE_PX - 1) / RT_TILE_PX;
    return r;
}

/* t of the cut alpha >= alpha_min; negative: the splat is nowhere visible. With alpha_min = 0
 * (gradient tests) a floor of 1e-6 keeps it finite. The margin keeps rounding from dropping a
 * pixel that passes the alpha test itself. */
HD float tile_cut(float opacity, float alpha_min) {
    float floor_alpha = max_of(alpha_min, 1e-6f);
    if (!(opacity >= floor_alpha)) return -1.0f;
    return 2.0f * logf(opacity / floor_alpha) * 1.0001f + 1e-4f;
}

HD float tile_half(float cut, float variance) { return sqrtf(cut * variance); }

/* Tiles [begin, end) of n with a pixel centre in [low, high]; the last one ends at the picture. */
HD struct tile_span tile_span_make(float low, float high, int32_t n, int32_t size_px) {
    const float per_tile = 1.0f / (float)RT_TILE_PX;
    float last_centre = (float)size_px - 0.5f;
    struct tile_span r;
    r.begin = 0;
    r.end = 0;
    if (!(low <= last_centre) || !(high >= 0.5f)) return r;
    float begin = ceilf((max_of(low, 0.5f) - ((float)RT_TILE_PX - 0.5f)) * per_tile);
    float end = floorf((min_of(high, last_centre) - 0.5f) * per_tile) + 1.0f;
    r.begin = begin > 0.0f ? (int32_t)begin : 0;
    r.end = (int32_t)end;
    if (r.end > n) r.end = n;
    if (r.end < r.begin) r.end = r.begin;
    return r;
}

HD struct tile_box tile_box(const struct tile_grid *grid, const struct tile_ellipse *ellipse) {
    vec2 m = ellipse->mean_px;
    struct tile_span x = tile_span_make(m.x - ellipse->half_px[0], m.x + ellipse->half_px[0],
                                        grid->n_x, grid->width_px);
    struct tile_span y = tile_span_make(m.y - ellipse->half_px[1], m.y + ellipse->half_px[1],
                                        grid->n_y, grid->height_px);
    struct tile_box r;
    r.x0 = x.begin;
    r.x1 = x.end;
    r.y0 = y.begin;
    r.y1 = y.end;
    return r;
}

/* A box of one tile is taken as it is: testing it costs more than the few pairs it would save. */
HD int tile_box_is_single(struct tile_box box) {
    return box.x1 - box.x0 == 1 && box.y1 - box.y0 == 1;
}

/* Extent along u of {q <= t} inside the slab v in [v_low, v_high] (offsets from the mean), for
 * q = a u^2 + 2 b u v + c v^2. Returns 0 when the slab misses the ellipse. */
HD int tile_slab_extent(sym2 conic, float cut, vec2 half_uv, vec2 slab, vec2 *extent) {
    float v_low = max_of(slab.x, -half_uv.y);
    float v_high = min_of(slab.y, half_uv.y);
    if (!(v_low <= v_high)) return 0;
    float det = conic.xx * conic.yy - conic.xy * conic.xy;
    float v_at_max = -conic.xy / conic.yy * half_uv.x; /* where u is largest */
    float v_right = min_of(max_of(v_at_max, v_low), v_high);
    float v_left = min_of(max_of(-v_at_max, v_low), v_high);
    float inside_right = max_of(0.0f, conic.xx * cut - det * v_right * v_right);
    float inside_left = max_of(0.0f, conic.xx * cut - det * v_left * v_left);
    extent->x = (-conic.xy * v_left - sqrtf(inside_left)) / conic.xx;
    extent->y = (-conic.xy * v_right + sqrtf(inside_right)) / conic.xx;
    return 1;
}

/* Tiles of row `ty` reached by the ellipse. */
HD struct tile_span tile_row_span(const struct tile_grid *grid, const struct tile_ellipse *ellipse,
                                  int32_t ty) {
    float first = (float)(ty * RT_TILE_PX) + 0.5f;
    float last = min_of(first + (float)(RT_TILE_PX - 1), (float)grid->height_px - 0.5f);
    vec2 slab = vec2_make(first - ellipse->mean_px.y, last - ellipse->mean_px.y);
    vec2 half_uv = vec2_make(ellipse->half_px[0], ellipse->half_px[1]);
    vec2 extent;
    if (!tile_slab_extent(ellipse->conic, ellipse->cut, half_uv, slab, &extent)) {
        struct tile_span none;
        none.begin = none.end = 0;
        return none;
    }
    return tile_span_make(ellipse->mean_px.x + extent.x, ellipse->mean_px.x + extent.y, grid->n_x,
                          grid->width_px);
}

/* Pixel rows [begin, end) of 0...16 of the tile at (tx, ty) that the ellipse can reach. */
HD struct tile_span tile_pixel_rows(const struct tile_ellipse *ellipse, int32_t tx, int32_t ty) {
    float first = (float)(tx * RT_TILE_PX) + 0.5f - ellipse->mean_px.x;
    sym2 swapped;
    swapped.xx = ellipse->conic.yy;
    swapped.xy = ellipse->conic.xy;
    swapped.yy = ellipse->conic.xx;
    vec2 slab = vec2_make(first, first + (float)(RT_TILE_PX - 1));
    vec2 half_uv = vec2_make(ellipse->half_px[1], ellipse->half_px[0]);
    vec2 extent;
    struct tile_span r;
    r.begin = r.end = 0;
    if (!tile_slab_extent(swapped, ellipse->cut, half_uv, slab, &extent)) return r;
    float origin = ellipse->mean_px.y - (float)(ty * RT_TILE_PX) - 0.5f;
    float begin = min_of(max_of(ceilf(origin + extent.x - 1e-3f), 0.0f), (float)RT_TILE_PX);
    float end = min_of(max_of(floorf(origin + extent.y + 1e-3f) + 1.0f, 0.0f), (float)RT_TILE_PX);
    r.begin = (int32_t)begin;
    r.end = (int32_t)end;
    return r;
}

#endif
