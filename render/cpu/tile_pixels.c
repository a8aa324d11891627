#include "render/cpu/tile_pixels.h"

#include <math.h>

/* The part of a tile that lies in the picture. */
struct tile_window {
    int32_t x_px, y_px;
    int32_t n_columns, n_rows;
};

static struct tile_window window_of(const struct tile_grid *grid, int32_t tile) {
    struct tile_window w = {.x_px = tile % grid->n_x * RT_TILE_PX,
                            .y_px = tile / grid->n_x * RT_TILE_PX};
    w.n_columns = grid->width_px - w.x_px < RT_TILE_PX ? grid->width_px - w.x_px : RT_TILE_PX;
    w.n_rows = grid->height_px - w.y_px < RT_TILE_PX ? grid->height_px - w.y_px : RT_TILE_PX;
    return w;
}

void tile_start(const struct tile_grid *grid, int32_t tile, float transmittance[RT_TILE_PIXELS]) {
    struct tile_window w = window_of(grid, tile);
    for (int i = 0; i < RT_TILE_PIXELS; i++) {
        bool inside = i % RT_TILE_PX < w.n_columns && i / RT_TILE_PX < w.n_rows;
        transmittance[i] = inside ? 1.0f : -1.0f;
    }
}

static void write_rgb(const struct composite_args *args, const struct tile_state *state, int from,
                      int n, float *rgb) {
    for (int i = 0; i < n; i++) {
        float rest = fabsf(state->transmittance[from + i]);
        for (int c = 0; c < 3; c++) {
            rgb[3 * i + c] = state->colour[c][from + i] + rest * args->background[c];
        }
    }
}

void tile_write(const struct composite_args *args, int32_t tile, const struct tile_state *state,
                const struct tile_extras *extras) {
    struct tile_window w = window_of(&args->grid, tile);
    const struct render_target *target = &args->target;
    for (int32_t row = 0; row < w.n_rows; row++) {
        size_t at = (size_t)(w.y_px + row) * (size_t)args->grid.width_px + (size_t)w.x_px;
        int from = row * RT_TILE_PX;
        if (target->rgb) write_rgb(args, state, from, w.n_columns, target->rgb + 3 * at);
        for (int i = 0; i < w.n_columns; i++) {
            float alpha = 1.0f - fabsf(state->transmittance[from + i]);
            if (target->alpha) target->alpha[at + (size_t)i] = alpha;
            if (target->depth_expected) {
                target->depth_expected[at + (size_t)i] =
                    alpha < 1e-6f ? NAN : state->depth[from + i] / alpha;
            }
            if (target->depth_median) {
                float median = extras->median[from + i];
                target->depth_median[at + (size_t)i] = median < 0.0f ? NAN : median;
            }
            if (target->splat_count) target->splat_count[at + (size_t)i] = extras->count[from + i];
        }
    }
}

/* Upstream of one pixel: expected depth E = D/acc turns into v_D and v_acc (section 11). */
static void read_pixel(const struct composite_args *args, const struct tile_state *state, int i,
                       size_t at, struct tile_upstream *out) {
    const struct render_upstream *upstream = &args->upstream;
    float rest = fabsf(state->transmittance[i]);
    float alpha = 1.0f - rest;
    float v_depth = 0.0f;
    float v_alpha = upstream->v_alpha ? upstream->v_alpha[at] : 0.0f;
    if (upstream->v_depth_expected && alpha >= 1e-6f) {
        v_depth = upstream->v_depth_expected[at] / alpha;
        v_alpha -= v_depth * state->depth[i] / alpha;
    }
    float total = alpha * v_alpha + state->depth[i] * v_depth;
    for (int c = 0; c < 3; c++) {
        float v = upstream->v_rgb ? upstream->v_rgb[3 * at + (size_t)c] : 0.0f;
        out->v_colour[c][i] = v;
        total += v * (state->colour[c][i] + rest * args->background[c]);
        out->any |= v != 0.0f;
    }
    out->v_depth[i] = v_depth;
    out->v_alpha[i] = v_alpha;
    out->behind[i] = total;
    out->any_depth |= v_depth != 0.0f;
    out->any |= v_depth != 0.0f || v_alpha != 0.0f;
}

void tile_read_upstream(const struct composite_args *args, int32_t tile,
                        struct tile_upstream *upstream) {
    struct tile_window w = window_of(&args->grid, tile);
    *upstream = (struct tile_upstream){0};
    tile_start(&args->grid, tile, upstream->transmittance);
    for (int32_t row = 0; row < w.n_rows; row++) {
        size_t at = (size_t)(w.y_px + row) * (size_t)args->grid.width_px + (size_t)w.x_px;
        for (int i = 0; i < w.n_columns; i++) {
            read_pixel(args, &args->states[tile], row * RT_TILE_PX + i, at + (size_t)i, upstream);
        }
    }
}
