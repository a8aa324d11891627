#include "render/render.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "render/backend.h"
#include "render/core/arena.h"
#include "render/core/limits.h"

enum { SORT_CHUNKS = 16 };
#define DEFAULT_WORKSPACE_BYTES ((size_t)4 << 30)

/* Arrays whose size follows from the frame alone, one allocation. */
struct frame_arrays {
    struct layer_row *rows;    /* [n_layers] */
    struct projected *splats;  /* [n_gaussians] */
    uint32_t *keys[2];         /* [n_gaussians] */
    uint32_t *indices[2];      /* [n_gaussians] */
    uint32_t *scratch[2];      /* [n_gaussians] */
    uint32_t *chunk_visible;   /* [n_gaussians / RT_PROJECT_CHUNK] */
    uint32_t *tile_begin;      /* [n_tiles + 1] */
    uint32_t *tile_counts;     /* [SORT_CHUNKS][n_tiles] */
    struct tile_state *states; /* [n_tiles] */
};

struct pair_arrays {
    uint32_t *pair_tile; /* [n_pairs] */
    struct pair *pairs;  /* [n_pairs] */
};

struct renderer {
    const struct render_ops *ops;
    size_t max_workspace_bytes;
    int64_t max_pairs;
    struct rt_buffer frame_buffer, pair_buffer, gradient_buffer;
    struct frame_arrays arrays;
    struct pair_arrays pair_arrays;
    struct render_counts counts;
    struct ewa_camera camera;
    struct tile_grid grid;
    int32_t n_gaussians; /* of the last frame */
    int32_t n_layers;
    bool is_rendered; /* render_backward may follow */
};

struct render_frame render_frame_defaults(void) {
    return (struct render_frame){
        .sensor = {.T_world_sensor_start = pose_identity(), .T_world_sensor_end = pose_identity()},
        .near_m = 0.2f,
        .sh_degree = RT_MAX_SH_DEGREE,
        .limits = {
            .alpha_min = 1.0f / 255.0f, .alpha_max = 0.99f, .t_min = 1e-4f, .low_pass_px2 = 0.3f}};
}

enum rt_status render_create(struct renderer **out, const struct render_options *options,
                             struct rt_error *err) {
    *out = NULL;
    const struct render_ops *ops;
    RT_TRY(render_backend_find(options->backend, &ops, err));
    struct renderer *renderer = calloc(1, sizeof *renderer);
    if (!renderer) return rt_fail(err, RT_NO_MEMORY, "renderer: out of memory");
    renderer->ops = ops;
    renderer->max_workspace_bytes =
        options->max_workspace_bytes ? options->max_workspace_bytes : DEFAULT_WORKSPACE_BYTES;
    renderer->max_pairs = options->max_pairs > 0 && options->max_pairs < RT_MAX_PAIRS
                              ? options->max_pairs
                              : RT_MAX_PAIRS;
    renderer->frame_buffer.max_bytes = renderer->max_workspace_bytes;
    renderer->pair_buffer.max_bytes = renderer->max_workspace_bytes;
    renderer->gradient_buffer.max_bytes = renderer->max_workspace_bytes;
    *out = renderer;
    return RT_OK;
}

void render_destroy(struct renderer **renderer) {
    struct renderer *r = *renderer;
    *renderer = NULL;
    if (!r) return;
    rt_buffer_free(&r->frame_buffer);
    rt_buffer_free(&r->pair_buffer);
    rt_buffer_free(&r->gradient_buffer);
    free(r);
}

const char *render_backend_name(const struct renderer *renderer) { return renderer->ops->name; }

struct render_counts render_counts(const struct renderer *renderer) {
    return renderer->counts;
}

size_t render_workspace_bytes(const struct renderer *renderer) {
    return renderer->frame_buffer.capacity_bytes + renderer->pair_buffer.capacity_bytes +
           renderer->gradient_buffer.capacity_bytes;
}

static bool pose_is_finite(struct pose pose) {
    return isfinite(pose.q.w + pose.q.x + pose.q.y + pose.q.z) &&
           isfinite(pose.t.x + pose.t.y + pose.t.z);
}

/* Sensor kinds, lenses and shutters that this version renders. A new one is a new case here, in
 * collect and in project. */
static enum rt_status check_sensor(const struct sensor *sensor, struct rt_error *err) {
    const struct camera *camera = &sensor->camera;
    if (sensor->kind != SENSOR_CAMERA) {
        return rt_fail(err, RT_UNSUPPORTED, "lidar sensors are not rendered by this version");
    }
    if (camera->model != CAMERA_PINHOLE) {
        return rt_fail(err, RT_UNSUPPORTED, "camera model \"%s\" is not rendered by this version",
                       camera->model == CAMERA_FISHEYE ? "fisheye" : "ftheta");
    }
    RT_TRY(camera_validate(camera, err));
    if (camera_is_distorted(camera)) {
        return rt_fail(err, RT_UNSUPPORTED,
                       "distorted pinhole lenses are not rendered by this version: leave the "
                       "distortion coefficients out");
    }
    if (!pose_is_finite(sensor->T_world_sensor_start) ||
        !pose_is_finite(sensor->T_world_sensor_end)) {
        return rt_fail(err, RT_INVALID, "the sensor pose must be finite");
    }
    bool moves = !pose_equal(sensor->T_world_sensor_start, sensor->T_world_sensor_end);
    if (camera->shutter != SHUTTER_GLOBAL && moves) {
        return rt_fail(err, RT_UNSUPPORTED,
                       "a rolling shutter on a moving sensor is not rendered by this version: use "
                       "shutter \"global\" or equal poses");
    }
    return RT_OK;
}

static enum rt_status check_frame(const struct render_frame *frame, int64_t *n_gaussians,
                                  struct rt_error *err) {
    RT_TRY(check_sensor(&frame->sensor, err));
    if (!(frame->near_m > 0.0f) || !isfinite(frame->near_m)) {
        return rt_fail(err, RT_INVALID, "near_m = %g must be > 0", (double)frame->near_m);
    }
    if (frame->sh_degree < 0 || frame->sh_degree > RT_MAX_SH_DEGREE) {
        return rt_fail(err, RT_INVALID, "sh_degree = %d must be 0...%d", frame->sh_degree,
                       RT_MAX_SH_DEGREE);
    }
    if (!(frame->limits.alpha_max < 1.0f) || !(frame->limits.alpha_max > 0.0f)) {
        return rt_fail(err, RT_INVALID, "alpha_max = %g must be between 0 and 1",
                       (double)frame->limits.alpha_max);
    }
    assert(frame->n_layers >= 0 && (frame->layers || frame->n_layers == 0));
    *n_gaussians = 0;
    for (int32_t i = 0; i < frame->n_layers; i++) {
        if (!pose_is_finite(frame->layers[i].T_world_node)) {
            return rt_fail(err, RT_INVALID, "layer %d: its pose must be finite", i);
        }
        *n_gaussians += frame->layers[i].gaussians->n_gaussians;
    }
    if (*n_gaussians > RT_MAX_GAUSSIANS) {
        return rt_fail(err, RT_LIMIT, "%lld splats in one frame exceed the limit of %d",
                       (long long)*n_gaussians, RT_MAX_GAUSSIANS);
    }
    return RT_OK;
}

static size_t n_tiles_of(const struct tile_grid *grid) {
    return (size_t)grid->n_x * (size_t)grid->n_y;
}

static void layout_frame(struct rt_carver *carver, struct frame_arrays *a, size_t n_layers,
                         size_t n, size_t n_tiles) {
    a->rows = rt_carve(carver, n_layers, sizeof *a->rows);
    a->splats = rt_carve(carver, n, sizeof *a->splats);
    for (int i = 0; i < 2; i++) {
        a->keys[i] = rt_carve(carver, n, sizeof(uint32_t));
        a->indices[i] = rt_carve(carver, n, sizeof(uint32_t));
        a->scratch[i] = rt_carve(carver, n, sizeof(uint32_t));
    }
    a->chunk_visible = rt_carve(carver, n / RT_PROJECT_CHUNK + 1, sizeof(uint32_t));
    a->tile_begin = rt_carve(carver, n_tiles + 1, sizeof(uint32_t));
    a->tile_counts = rt_carve(carver, n_tiles * SORT_CHUNKS, sizeof(uint32_t));
    a->states = rt_carve(carver, n_tiles, sizeof *a->states);
}

static void layout_pairs(struct rt_carver *carver, struct pair_arrays *a, size_t n_pairs) {
    a->pair_tile = rt_carve(carver, n_pairs, sizeof *a->pair_tile);
    a->pairs = rt_carve(carver, n_pairs, sizeof *a->pairs);
}

static enum rt_status reserve_frame(struct renderer *r, struct rt_error *err) {
    struct rt_carver carver = {0};
    size_t n_layers = (size_t)r->n_layers;
    size_t n = (size_t)r->n_gaussians;
    layout_frame(&carver, &r->arrays, n_layers, n, n_tiles_of(&r->grid));
    if (carver.overflow || carver.used_bytes > r->max_workspace_bytes) {
        return rt_fail(err, RT_LIMIT,
                       "%d splats on %d x %d px need %zu MiB of workspace, allowed are %zu MiB: "
                       "render a smaller picture or raise the workspace limit",
                       r->n_gaussians, r->grid.width_px, r->grid.height_px, carver.used_bytes >> 20,
                       r->max_workspace_bytes >> 20);
    }
    RT_TRY(rt_buffer_reserve(&r->frame_buffer, carver.used_bytes, 1, err));
    carver = (struct rt_carver){.base = r->frame_buffer.bytes};
    layout_frame(&carver, &r->arrays, n_layers, n, n_tiles_of(&r->grid));
    return RT_OK;
}

/* `pair_bytes` = what one pair costs; the workspace that the frame left over bounds their number.
 */
static enum rt_status check_pairs(const struct renderer *r, size_t pair_bytes,
                                  struct rt_error *err) {
    struct rt_carver carver = {0};
    struct frame_arrays measured;
    layout_frame(&carver, &measured, (size_t)r->n_layers, (size_t)r->n_gaussians,
                 n_tiles_of(&r->grid));
    int64_t limit = (int64_t)((r->max_workspace_bytes - carver.used_bytes) / pair_bytes);
    if (limit > r->max_pairs) limit = r->max_pairs;
    if (r->counts.n_pairs <= limit) return RT_OK;
    return rt_fail(err, RT_TOO_MUCH_WORK,
                   "%lld splat-tile pairs exceed the limit of %lld of a frame: render a smaller "
                   "picture or move away from very large splats",
                   (long long)r->counts.n_pairs, (long long)limit);
}

static enum rt_status reserve_pairs(struct renderer *r, struct rt_error *err) {
    RT_TRY(check_pairs(r, sizeof(uint32_t) + sizeof(struct pair), err));
    struct rt_carver carver = {0};
    layout_pairs(&carver, &r->pair_arrays, (size_t)r->counts.n_pairs);
    RT_TRY(rt_buffer_reserve(&r->pair_buffer, carver.used_bytes, 1, err));
    carver = (struct rt_carver){.base = r->pair_buffer.bytes};
    layout_pairs(&carver, &r->pair_arrays, (size_t)r->counts.n_pairs);
    return RT_OK;
}

/* Milliseconds since *since_ns, which moves on to now. */
static double lap_ms(int64_t *since_ns) {
    int64_t now_ns = rt_now_ns();
    double ms = (double)(now_ns - *since_ns) * 1e-6;
    *since_ns = now_ns;
    return ms;
}

static void run_project(struct renderer *r, const struct render_frame *frame,
                        struct rt_stop *stop) {
    struct frame_arrays *a = &r->arrays;
    r->ops->project(&(struct project_args){.rows = a->rows,
                                           .n_rows = r->n_layers,
                                           .n_gaussians = r->n_gaussians,
                                           .camera = r->camera,
                                           .grid = r->grid,
                                           .near_m = frame->near_m,
                                           .alpha_min = frame->limits.alpha_min,
                                           .splats = a->splats,
                                           .keys = a->keys[0],
                                           .indices = a->indices[0],
                                           .scratch = {a->scratch[0], a->scratch[1]},
                                           .chunk_visible = a->chunk_visible,
                                           .n_visible = &r->counts.n_visible,
                                           .n_pairs = &r->counts.n_pairs,
                                           .n_invalid = &r->counts.n_culled_invalid,
                                           .stop = stop});
}

static void run_sort_tiles(struct renderer *r) {
    struct frame_arrays *a = &r->arrays;
    r->ops->sort_tiles(&(struct sort_tiles_args){.n_visible = r->counts.n_visible,
                                                 .n_pairs = r->counts.n_pairs,
                                                 .order = a->indices[0],
                                                 .splats = a->splats,
                                                 .pair_tile = r->pair_arrays.pair_tile,
                                                 .grid = r->grid,
                                                 .n_chunks = SORT_CHUNKS,
                                                 .counts = a->tile_counts,
                                                 .tile_begin = a->tile_begin,
                                                 .pairs = r->pair_arrays.pairs});
}

static struct composite_args composite_args_of(const struct renderer *r,
                                               const struct render_frame *frame,
                                               struct rt_stop *stop) {
    struct composite_args args = {.grid = r->grid,
                                  .splats = r->arrays.splats,
                                  .tile_begin = r->arrays.tile_begin,
                                  .pairs = r->pair_arrays.pairs,
                                  .limits = frame->limits,
                                  .states = r->arrays.states,
                                  .stop = stop};
    memcpy(args.background, frame->background, sizeof args.background);
    return args;
}

enum rt_status render_camera(struct renderer *renderer, const struct render_frame *frame,
                             const struct render_target *target, struct rt_error *err) {
    struct renderer *r = renderer;
    r->is_rendered = false;
    r->counts = (struct render_counts){0};
    int64_t n_gaussians = 0;
    RT_TRY(check_frame(frame, &n_gaussians, err));
    r->n_gaussians = (int32_t)n_gaussians;
    r->n_layers = frame->n_layers;
    r->camera = ewa_camera_make(&frame->sensor.camera, frame->limits.low_pass_px2);
    r->grid = tile_grid_make(frame->sensor.camera.width_px, frame->sensor.camera.height_px);
    RT_TRY(reserve_frame(r, err));
    struct frame_arrays *a = &r->arrays;
    struct rt_stop stop = {.cancel = frame->cancel, .deadline_ns = frame->deadline_ns};
    int64_t since_ns = rt_now_ns();

    r->ops->collect(&(struct collect_args){.frame = frame, .rows = a->rows});
    r->counts.stage_ms[0] = lap_ms(&since_ns);
    run_project(r, frame, &stop);
    RT_TRY(rt_stop_status(&stop, err));
    RT_TRY(reserve_pairs(r, err));
    r->counts.stage_ms[1] = lap_ms(&since_ns);
    r->ops->sort_depth(&(struct sort_depth_args){.n_visible = r->counts.n_visible,
                                                 .keys = {a->keys[0], a->keys[1]},
                                                 .indices = {a->indices[0], a->indices[1]}});
    r->counts.stage_ms[3] = lap_ms(&since_ns);
    r->ops->intersect(&(struct intersect_args){.n_visible = r->counts.n_visible,
                                               .order = a->indices[0],
                                               .grid = r->grid,
                                               .splats = a->splats,
                                               .pair_tile = r->pair_arrays.pair_tile,
                                               .stop = &stop});
    RT_TRY(rt_stop_status(&stop, err));
    r->counts.stage_ms[2] = lap_ms(&since_ns);
    run_sort_tiles(r);
    r->counts.stage_ms[3] += lap_ms(&since_ns);
    struct composite_args args = composite_args_of(r, frame, &stop);
    args.target = *target;
    r->ops->composite(&args);
    RT_TRY(rt_stop_status(&stop, err));
    r->counts.stage_ms[4] = lap_ms(&since_ns);
    r->is_rendered = true;
    return RT_OK;
}

enum rt_status render_backward(struct renderer *renderer, const struct render_frame *frame,
                               const struct render_upstream *upstream,
                               const struct gaussian_gradients *gradients, struct rt_error *err) {
    struct renderer *r = renderer;
    if (!r->is_rendered || frame->n_layers != r->n_layers) {
        return rt_fail(err, RT_INVALID,
                       "render_backward must follow a successful render_camera of the same frame");
    }
    size_t pair_bytes = sizeof(uint32_t) + sizeof(struct pair) + sizeof(struct pair_gradient);
    RT_TRY(check_pairs(r, pair_bytes, err));
    RT_TRY(rt_buffer_reserve(&r->gradient_buffer, (size_t)r->counts.n_pairs,
                             sizeof(struct pair_gradient), err));
    struct rt_stop stop = {.cancel = frame->cancel, .deadline_ns = frame->deadline_ns};
    struct composite_args args = composite_args_of(r, frame, &stop);
    args.upstream = *upstream;
    args.pair_gradients = r->gradient_buffer.bytes;
    r->ops->composite_backward(&args);
    RT_TRY(rt_stop_status(&stop, err));
    r->ops->project_backward(&(struct project_backward_args){.rows = r->arrays.rows,
                                                             .n_rows = r->n_layers,
                                                             .n_gaussians = r->n_gaussians,
                                                             .camera = r->camera,
                                                             .splats = r->arrays.splats,
                                                             .pair_gradients = args.pair_gradients,
                                                             .gradients = gradients});
    return RT_OK;
}
