#include "render/cpu/variants.h"

#include <string.h>

#include "render/core/blend.h"
#include "render/cpu/tile_pixels.h"

enum { RECHECK = 16 }; /* splats between looks at which rows are full */

/* One splat over one row of 16 pixels. `wanted` is a constant at every call, so that the plain
 * version does not pay for the extras. */
static inline void blend_row(const struct composite_args *args, const struct projected *splat,
                             vec2 offset, int from, struct tile_state *RT_RESTRICT state,
                             struct tile_extras *RT_RESTRICT wanted) {
    const float half_a = 0.5f * splat->conic[0];
    const float b_dy = splat->conic[1] * offset.y;
    const float half_c_dy2 = 0.5f * splat->conic[2] * offset.y * offset.y;
    const float opacity = splat->opacity;
    const float depth = splat->depth;
    const float colour[3] = {splat->colour[0], splat->colour[1], splat->colour[2]};
    const struct blend_limits limits = args->limits;
    float *RT_RESTRICT transmittance = state->transmittance + from;
    float *RT_RESTRICT red = state->colour[0] + from;
    float *RT_RESTRICT green = state->colour[1] + from;
    float *RT_RESTRICT blue = state->colour[2] + from;
    float *RT_RESTRICT depth_sum = state->depth + from;
#pragma omp simd
    for (int i = 0; i < RT_TILE_PX; i++) {
        float sigma = blend_sigma(half_a, b_dy, half_c_dy2, offset.x + (float)i);
        float alpha = min_of(opacity * blend_exp(-sigma), limits.alpha_max);
        int hit = blend_hit(sigma, alpha, limits.alpha_min);
        float weight;
        float before = transmittance[i];
        float after = blend_advance(before, alpha, hit, limits.t_min, &weight);
        transmittance[i] = after;
        red[i] = RT_FMA(weight, colour[0], red[i]);
        green[i] = RT_FMA(weight, colour[1], green[i]);
        blue[i] = RT_FMA(weight, colour[2], blue[i]);
        depth_sum[i] = RT_FMA(weight, depth, depth_sum[i]);
        if (wanted) {
            int crosses = (before > 0.5f) & (after <= 0.5f) & (weight > 0.0f);
            wanted->median[from + i] = crosses ? depth : wanted->median[from + i];
            wanted->count[from + i] += weight > 0.0f;
        }
    }
}

static void composite_tile(const struct composite_args *args, int32_t tile,
                           struct tile_state *state, struct tile_extras *extras) {
    const int32_t tx = tile % args->grid.n_x;
    const int32_t ty = tile / args->grid.n_x;
    const uint32_t begin = args->tile_begin[tile];
    const uint32_t end = args->tile_begin[tile + 1];
    uint32_t live = tile_live_rows(state->transmittance);
    for (uint32_t k = begin; k < end && live != 0; k++) {
        tile_prefetch(args, k, end);
        const struct projected *splat = &args->splats[args->pairs[k].splat];
        vec2 offset = vec2_make((float)(tx * RT_TILE_PX) + 0.5f - splat->mean_px[0],
                                (float)(ty * RT_TILE_PX) + 0.5f - splat->mean_px[1]);
        uint32_t rows = tile_reached_rows(splat, tx, ty) & live;
        for (; rows != 0; rows &= rows - 1) {
            int row = __builtin_ctz(rows);
            vec2 at = vec2_make(offset.x, offset.y + (float)row);
            if (extras) {
                blend_row(args, splat, at, row * RT_TILE_PX, state, extras);
            } else {
                blend_row(args, splat, at, row * RT_TILE_PX, state, NULL);
            }
        }
        if ((k - begin) % RECHECK == RECHECK - 1) live = tile_live_rows(state->transmittance);
    }
}

void RT_VARIANT(cpu_composite)(const struct composite_args *args) {
    const int32_t n_tiles = args->grid.n_x * args->grid.n_y;
    const bool wants_extras = args->target.depth_median || args->target.splat_count;
#pragma omp parallel for schedule(dynamic, 4)
    for (int32_t tile = 0; tile < n_tiles; tile++) {
        if (rt_stop_asked(args->stop)) continue;
        struct tile_state *state = &args->states[tile];
        struct tile_extras extras;
        memset(state, 0, sizeof *state);
        tile_start(&args->grid, tile, state->transmittance);
        if (wants_extras) {
            memset(extras.count, 0, sizeof extras.count);
            for (int i = 0; i < RT_TILE_PIXELS; i++) extras.median[i] = -1.0f;
        }
        composite_tile(args, tile, state, wants_extras ? &extras : NULL);
        tile_write(args, tile, state, &extras);
    }
}
