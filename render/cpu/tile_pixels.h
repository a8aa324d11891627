/* The pixels of one tile in rows of 16 floats, the form the blending loops work on.
 *
 * The loops (composite.c, composite_backward.c) are compiled under finite-only arithmetic; reading
 * the upstream and writing the outputs, where NaN has a meaning, stays in tile_pixels.c. */
#ifndef RETAKE_RENDER_CPU_TILE_PIXELS_H
#define RETAKE_RENDER_CPU_TILE_PIXELS_H

#include "render/stages.h"

/* Outputs that most frames do not ask for. */
struct tile_extras {
    float median[RT_TILE_PIXELS]; /* < 0: transmittance never crossed 1/2 */
    int32_t count[RT_TILE_PIXELS];
};

/* Upstream of the tile's pixels and what lies behind the current splat. */
struct tile_upstream {
    float transmittance[RT_TILE_PIXELS];
    float behind[RT_TILE_PIXELS]; /* starts as Q of sensors.md section 11 */
    float v_colour[3][RT_TILE_PIXELS];
    float v_depth[RT_TILE_PIXELS]; /* of sum w d */
    float v_alpha[RT_TILE_PIXELS];
    bool any;       /* some upstream value is not zero */
    bool any_depth; /* some v_depth is not zero */
};

/* 1 inside the picture, -1 (switched off) outside. */
void tile_start(const struct tile_grid *grid, int32_t tile, float transmittance[RT_TILE_PIXELS]);

void tile_write(const struct composite_args *args, int32_t tile, const struct tile_state *state,
                const struct tile_extras *extras);

void tile_read_upstream(const struct composite_args *args, int32_t tile,
                        struct tile_upstream *upstream);

/* Asks for the record of the pair a few places ahead: records lie in file order, pairs in
 * that of depth, so every one is a cache miss otherwise. */
static inline void tile_prefetch(const struct composite_args *args, uint32_t k, uint32_t end) {
    enum { AHEAD = 6 };
    uint32_t ahead = k + AHEAD < end ? k + AHEAD : end - 1;
    __builtin_prefetch(&args->splats[args->pairs[ahead].splat]);
}

/* Rows with a pixel that still takes splats, as a bit mask. */
static inline uint32_t tile_live_rows(const float *transmittance) {
    uint32_t live = 0;
    for (int row = 0; row < RT_TILE_PX; row++) {
        float largest = -1.0f;
#pragma omp simd reduction(max : largest)
        for (int i = 0; i < RT_TILE_PX; i++) {
            float t = transmittance[row * RT_TILE_PX + i];
            largest = t > largest ? t : largest;
        }
        live |= (uint32_t)(largest > 0.0f) << row;
    }
    return live;
}

/* The rows of a tile that a splat can reach, as a bit mask. */
static inline uint32_t tile_reached_rows(const struct projected *splat, int32_t tx, int32_t ty) {
    struct tile_ellipse ellipse;
    ellipse.mean_px = vec2_make(splat->mean_px[0], splat->mean_px[1]);
    ellipse.conic.xx = splat->conic[0];
    ellipse.conic.xy = splat->conic[1];
    ellipse.conic.yy = splat->conic[2];
    ellipse.cut = splat->cut;
    ellipse.half_px[0] = splat->half_px[0];
    ellipse.half_px[1] = splat->half_px[1];
    struct tile_span rows = tile_pixel_rows(&ellipse, tx, ty);
    return ((1u << rows.end) - 1u) & ~((1u << rows.begin) - 1u);
}

#endif
