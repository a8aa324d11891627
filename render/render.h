/* Rendering: layers of gaussians + a sensor -> pictures, and gradients back.
 *
 *     struct renderer *renderer;
 *     RT_TRY(render_create(&renderer, &(struct render_options){.backend = "cpu"}, err));
 *     struct render_frame frame = render_frame_defaults();
 *     frame.layers = &layer; frame.n_layers = 1; frame.sensor = sensor;
 *     struct render_target target = {.rgb = rgb, .alpha = alpha};    // NULL = not wanted
 *     RT_TRY(render_camera(renderer, &frame, &target, err));
 *     RT_TRY(render_backward(renderer, &frame, &upstream, &gradients, err));   // training only
 *     render_destroy(&renderer);
 *
 * The path: collect -> project -> intersect -> sort -> composite (stages.h). The renderer owns a
 * grow-only workspace. Threading: one renderer belongs to one thread at a time; several may exist.
 * Colours are display-space floats, not clamped to 1 (clamp when writing). */
#ifndef RETAKE_RENDER_RENDER_H
#define RETAKE_RENDER_RENDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "render/core/gaussians.h"
#include "render/core/scene.h"
#include "render/core/sensor.h"

struct renderer;

struct render_options {
    const char *backend;        /* "auto", "cpu", "cuda"; NULL = auto */
    size_t max_workspace_bytes; /* 0 = 4 GiB */
    int64_t max_pairs;          /* 0 = RT_MAX_PAIRS */
};

/* Cut-offs of sensors.md section 11, as data so that tests can switch them off. */
struct blend_limits {
    float alpha_min;    /* 1/255 */
    float alpha_max;    /* 0.99 */
    float t_min;        /* 1e-4 */
    float low_pass_px2; /* 0.3 */
};

struct render_layer {
    const struct gaussians *gaussians; /* borrowed for the call */
    struct pose T_world_node;
    bool antialiased;
};

struct render_frame {
    struct sensor sensor;              /* camera size = output size */
    const struct render_layer *layers; /* borrowed [n_layers] */
    int32_t n_layers;
    float background[3];
    float near_m;
    int32_t sh_degree; /* bands above are ignored */
    struct blend_limits limits;
    const atomic_bool *cancel; /* borrowed or NULL; checked between bands of tile rows */
    int64_t deadline_ns;       /* CLOCK_MONOTONIC, 0 = none; RT_DEADLINE when passed */
};

/* Caller-owned outputs, row-major [height][width]; NULL = not wanted. */
struct render_target {
    float *rgb;            /* [h][w][3], background included */
    float *alpha;          /* accumulated opacity */
    float *depth_expected; /* z, NaN where alpha < 1e-6 */
    float *depth_median;   /* z where transmittance crosses 1/2, NaN when it never does */
    int32_t *splat_count;  /* splats blended */
};

/* dL/d(output), [h][w]...; NULL = zero. */
struct render_upstream {
    const float *v_rgb;            /* [h][w][3] */
    const float *v_alpha;          /* [h][w] */
    const float *v_depth_expected; /* [h][w] */
};

/* dL/d(stored parameter) of one layer; caller-owned, added to, so zero them first. */
struct gaussian_gradients {
    float *v_mean;          /* [n][3] */
    float *v_log_scale;     /* [n][3] */
    float *v_quat;          /* [n][4] */
    float *v_logit_opacity; /* [n] */
    float *v_sh;            /* [n][K][3], K of the layer's gaussians */
    float *mean2d_norm;     /* [n] |dL/d mean in px|, for densification statistics; may be NULL */
    uint8_t *visible;       /* [n] set to 1 where a splat touched a tile; may be NULL */
};

struct render_counts {
    int64_t n_visible;
    int64_t n_pairs; /* splat-tile intersections */
    int64_t n_culled_invalid;
    double stage_ms[5]; /* collect, project, intersect, sort, composite */
};

struct render_frame render_frame_defaults(void);

/* RT_UNSUPPORTED with the reason when the backend is not in this build or not usable here; never a
 * silent fall-back for an explicit name. */
enum rt_status render_create(struct renderer **out, const struct render_options *options,
                             struct rt_error *err);
void render_destroy(struct renderer **renderer);
const char *render_backend_name(const struct renderer *renderer);

/* Renders one camera exposure. RT_UNSUPPORTED for lenses and shutters not rendered yet, RT_LIMIT
 * and RT_TOO_MUCH_WORK before anything is allocated, RT_NO_MEMORY, RT_CANCELLED, RT_DEADLINE. On an
 * error the target's contents are unspecified. */
enum rt_status render_camera(struct renderer *renderer, const struct render_frame *frame,
                             const struct render_target *target, struct rt_error *err);

/* Backward of the *most recent* render_camera of this renderer, which must have been given the same
 * frame (the layers' parameters unchanged). `gradients` is [n_layers]. Deterministic for any number
 * of threads. */
enum rt_status render_backward(struct renderer *renderer, const struct render_frame *frame,
                               const struct render_upstream *upstream,
                               const struct gaussian_gradients *gradients, struct rt_error *err);

/* Counts of the most recent render_camera. */
struct render_counts render_counts(const struct renderer *renderer);
size_t render_workspace_bytes(const struct renderer *renderer);

#endif
