#include "render/cpu/variants.h"

#include <string.h>

#include "render/core/blend.h"
#include "render/cpu/tile_pixels.h"

enum { RECHECK = 16 };

/* Per column of the tile, summed over its rows: the moments in y are taken while walking the rows,
 * those in x once at the end. */
struct column_sums {
    float p[RT_TILE_PX], p_dy[RT_TILE_PX], p_dy2[RT_TILE_PX];
    float colour[3][RT_TILE_PX];
    float depth[RT_TILE_PX];
};

/* What one splat does to a row of 16 pixels. */
struct row_blend {
    float before[RT_TILE_PX]; /* transmittance */
    float alpha[RT_TILE_PX];
    float weight[RT_TILE_PX];
    float passes[RT_TILE_PX]; /* 1; 0 where nothing is blended or the opacity was clamped */
};

struct row_place {
    vec2 offset; /* first pixel centre - mean */
    int from;    /* first pixel in the tile's arrays */
};

/* The same evaluation as blend_row() of composite.c, so that both passes blend the same splats. It
 * is a loop of its own because gcc threads its conditions into those of the derivative and then
 * leaves the joint loop scalar. */
static inline void replay_row(const struct blend_limits limits, const struct projected *splat,
                              struct row_place at, float *RT_RESTRICT transmittance,
                              struct row_blend *RT_RESTRICT row) {
    const float half_a = 0.5f * splat->conic[0];
    const float b_dy = splat->conic[1] * at.offset.y;
    const float half_c_dy2 = 0.5f * splat->conic[2] * at.offset.y * at.offset.y;
    const float opacity = splat->opacity;
#pragma omp simd
    for (int i = 0; i < RT_TILE_PX; i++) {
        float sigma = blend_sigma(half_a, b_dy, half_c_dy2, at.offset.x + (float)i);
        float raw = opacity * blend_exp(-sigma);
        float alpha = min_of(raw, limits.alpha_max);
        int hit = blend_hit(sigma, alpha, limits.alpha_min);
        float weight;
        row->before[i] = transmittance[i];
        transmittance[i] = blend_advance(transmittance[i], alpha, hit, limits.t_min, &weight);
        row->alpha[i] = alpha;
        row->weight[i] = weight;
        row->passes[i] = ((weight > 0.0f) & (raw <= limits.alpha_max)) ? 1.0f : 0.0f;
    }
}

static inline void backward_row(const struct row_blend *RT_RESTRICT row,
                                const struct projected *splat, struct row_place at, bool with_depth,
                                struct tile_upstream *RT_RESTRICT up,
                                struct column_sums *RT_RESTRICT sums) {
    const float depth = splat->depth;
    const float dy = at.offset.y;
    const float colour[3] = {splat->colour[0], splat->colour[1], splat->colour[2]};
    float *RT_RESTRICT behind = up->behind + at.from;
    const float *RT_RESTRICT v_red = up->v_colour[0] + at.from;
    const float *RT_RESTRICT v_green = up->v_colour[1] + at.from;
    const float *RT_RESTRICT v_blue = up->v_colour[2] + at.from;
    const float *RT_RESTRICT v_depth = up->v_depth + at.from;
    const float *RT_RESTRICT v_alpha_sum = up->v_alpha + at.from;
#pragma omp simd
    for (int i = 0; i < RT_TILE_PX; i++) {
        float weight = row->weight[i];
        float value = RT_FMA(colour[0], v_red[i], v_alpha_sum[i]);
        value = RT_FMA(colour[1], v_green[i], value);
        value = RT_FMA(colour[2], v_blue[i], value);
        if (with_depth) value = RT_FMA(depth, v_depth[i], value);
        float rest = behind[i] - weight * value;
        behind[i] = rest;
        float v_alpha = blend_alpha_vjp(row->before[i], row->alpha[i], value, rest);
        float p = -row->alpha[i] * v_alpha * row->passes[i];
        sums->p[i] += p;
        sums->p_dy[i] = RT_FMA(p, dy, sums->p_dy[i]);
        sums->p_dy2[i] = RT_FMA(p, dy * dy, sums->p_dy2[i]);
        sums->colour[0][i] = RT_FMA(weight, v_red[i], sums->colour[0][i]);
        sums->colour[1][i] = RT_FMA(weight, v_green[i], sums->colour[1][i]);
        sums->colour[2][i] = RT_FMA(weight, v_blue[i], sums->colour[2][i]);
        if (with_depth) sums->depth[i] = RT_FMA(weight, v_depth[i], sums->depth[i]);
    }
}

static struct pair_gradient reduce(const struct column_sums *sums, float dx_first) {
    float p = 0.0f, p_dx = 0.0f, p_dy = 0.0f, p_dx2 = 0.0f, p_dxdy = 0.0f, p_dy2 = 0.0f;
    float red = 0.0f, green = 0.0f, blue = 0.0f, depth = 0.0f;
#pragma omp simd reduction(+ : p, p_dx, p_dy, p_dx2, p_dxdy, p_dy2, red, green, blue, depth)
    for (int i = 0; i < RT_TILE_PX; i++) {
        float dx = dx_first + (float)i;
        p += sums->p[i];
        p_dx += sums->p[i] * dx;
        p_dx2 += sums->p[i] * dx * dx;
        p_dy += sums->p_dy[i];
        p_dxdy += sums->p_dy[i] * dx;
        p_dy2 += sums->p_dy2[i];
        red += sums->colour[0][i];
        green += sums->colour[1][i];
        blue += sums->colour[2][i];
        depth += sums->depth[i];
    }
    return (struct pair_gradient){.p = p,
                                  .p_dx = p_dx,
                                  .p_dy = p_dy,
                                  .p_dx2 = p_dx2,
                                  .p_dxdy = p_dxdy,
                                  .p_dy2 = p_dy2,
                                  .colour = {red, green, blue},
                                  .depth = depth};
}

static void backward_tile(const struct composite_args *args, int32_t tile,
                          struct tile_upstream *up) {
    const int32_t tx = tile % args->grid.n_x;
    const int32_t ty = tile / args->grid.n_x;
    const uint32_t begin = args->tile_begin[tile];
    const uint32_t end = args->tile_begin[tile + 1];
    const bool with_depth = up->any_depth;
    struct row_blend
        blend; /* outside the loop: automatic initialisation would clear it every time */
    struct column_sums sums;
    uint32_t live = up->any ? tile_live_rows(up->transmittance) : 0;
    for (uint32_t k = begin; k < end; k++) {
        struct pair_gradient *out = &args->pair_gradients[args->pairs[k].slot];
        memset(out, 0, sizeof *out);
        if (live == 0) continue; /* the slot is read all the same */
        tile_prefetch(args, k, end);
        const struct projected *splat = &args->splats[args->pairs[k].splat];
        vec2 offset = vec2_make((float)(tx * RT_TILE_PX) + 0.5f - splat->mean_px[0],
                                (float)(ty * RT_TILE_PX) + 0.5f - splat->mean_px[1]);
        memset(&sums, 0, sizeof sums);
        uint32_t rows = tile_reached_rows(splat, tx, ty) & live;
        for (; rows != 0; rows &= rows - 1) {
            int row = __builtin_ctz(rows);
            struct row_place at = {.offset = vec2_make(offset.x, offset.y + (float)row),
                                   .from = row * RT_TILE_PX};
            replay_row(args->limits, splat, at, up->transmittance + at.from, &blend);
            if (with_depth) {
                backward_row(&blend, splat, at, true, up, &sums);
            } else {
                backward_row(&blend, splat, at, false, up, &sums);
            }
        }
        *out = reduce(&sums, offset.x);
        if ((k - begin) % RECHECK == RECHECK - 1) live = tile_live_rows(up->transmittance);
    }
}

void RT_VARIANT(cpu_composite_backward)(const struct composite_args *args) {
    const int32_t n_tiles = args->grid.n_x * args->grid.n_y;
#pragma omp parallel for schedule(dynamic, 4)
    for (int32_t tile = 0; tile < n_tiles; tile++) {
        if (rt_stop_asked(args->stop)) continue;
        struct tile_upstream up;
        tile_read_upstream(args, tile, &up);
        backward_tile(args, tile, &up);
    }
}
