#include "api/engine_draw.h"

#include <stdlib.h>

void engine_picture_free(struct engine_picture *picture) {
    if (picture == NULL) return;
    free(picture->rgb);
    free(picture->alpha);
    free(picture->depth);
    free(picture->splat_count);
    free(picture);
}

/* Room for the asked-for arrays; false when there is no memory. */
static bool reserve(struct engine_picture *picture, uint32_t outputs) {
    size_t n = (size_t)picture->width_px * (size_t)picture->height_px;
    bool wants_depth = (outputs & (ENGINE_DEPTH_EXPECTED | ENGINE_DEPTH_MEDIAN)) != 0;
    if (outputs & ENGINE_RGB) picture->rgb = malloc(n * 3 * sizeof *picture->rgb);
    if (outputs & ENGINE_ALPHA) picture->alpha = malloc(n * sizeof *picture->alpha);
    if (wants_depth) picture->depth = malloc(n * sizeof *picture->depth);
    if (outputs & ENGINE_SPLAT_COUNT) {
        picture->splat_count = malloc(n * sizeof *picture->splat_count);
    }
    return (!(outputs & ENGINE_RGB) || picture->rgb != NULL) &&
           (!(outputs & ENGINE_ALPHA) || picture->alpha != NULL) &&
           (!wants_depth || picture->depth != NULL) &&
           (!(outputs & ENGINE_SPLAT_COUNT) || picture->splat_count != NULL);
}

/* One layer per node; caller frees. Actors are drawn where their node stands. */
static struct render_layer *collect_layers(const struct scene *scene) {
    struct render_layer *layers = calloc((size_t)scene->n_nodes + 1, sizeof *layers);
    for (int32_t i = 0; layers != NULL && i < scene->n_nodes; i++) {
        layers[i].gaussians = scene->nodes[i].gaussians;
        layers[i].T_world_node = scene->nodes[i].T_world_node;
        layers[i].antialiased = scene->nodes[i].antialiased;
    }
    return layers;
}

enum rt_status engine_draw(struct renderer *renderer, const struct engine_render *render,
                           const atomic_bool *cancel, struct engine_picture **out,
                           struct rt_error *err) {
    const struct camera *camera = &render->sensor.camera;
    RT_TRY(camera_validate(camera, err)); /* limits before any allocation */
    enum rt_status status = RT_OK;
    struct engine_picture *picture = calloc(1, sizeof *picture);
    struct render_layer *layers = collect_layers(render->scene);
    if (picture != NULL) {
        picture->width_px = camera->width_px;
        picture->height_px = camera->height_px;
    }
    if (picture == NULL || layers == NULL || !reserve(picture, render->outputs)) {
        status = rt_fail(err, RT_NO_MEMORY, "no memory for a picture of %d x %d", camera->width_px,
                         camera->height_px);
        goto out;
    }
    struct render_frame frame = render_frame_defaults();
    frame.sensor = render->sensor;
    frame.layers = layers;
    frame.n_layers = render->scene->n_nodes;
    for (int c = 0; c < 3; c++) frame.background[c] = render->background[c];
    frame.near_m = render->near_m;
    frame.sh_degree = render->sh_degree;
    frame.cancel = cancel;
    frame.deadline_ns = render->deadline_ns;
    bool is_median = (render->outputs & ENGINE_DEPTH_MEDIAN) != 0;
    const struct render_target target = {.rgb = picture->rgb,
                                         .alpha = picture->alpha,
                                         .depth_expected = is_median ? NULL : picture->depth,
                                         .depth_median = is_median ? picture->depth : NULL,
                                         .splat_count = picture->splat_count};
    status = render_camera(renderer, &frame, &target, err);
    if (status != RT_OK) goto out;
    struct render_counts counts = render_counts(renderer);
    for (int i = 0; i < 5; i++) picture->stage_ms[i] = counts.stage_ms[i];
    *out = picture;
    picture = NULL;
out:
    engine_picture_free(picture);
    free(layers);
    return status;
}

enum rt_status engine_heartbeat_scene(struct scene **out, struct rt_error *err) {
    enum { N_SPLATS = 8 };
    struct scene *scene = NULL;
    struct gaussians *splats = NULL;
    RT_TRY(scene_create(&scene, err));
    enum rt_status status = gaussians_create(&splats, N_SPLATS, N_SPLATS, 0, err);
    if (status != RT_OK) goto out;
    for (int32_t i = 0; i < N_SPLATS; i++) { /* a row of soft balls 4 m in front of the camera */
        splats->mean[3 * i + 0] = (float)i * 0.25f - 1.0f;
        splats->mean[3 * i + 2] = 4.0f;
        for (int k = 0; k < 3; k++) splats->log_scale[3 * i + k] = -2.0f;
        splats->quat[4 * i] = 1.0f;
    }
    status = scene_add_node(scene, "background", NODE_BACKGROUND, splats, err);
    if (status != RT_OK) goto out;
    splats = NULL;
    *out = scene;
    scene = NULL;
out:
    gaussians_destroy(&splats);
    scene_release(&scene);
    return status;
}

struct engine_render engine_heartbeat_render(struct scene *scene) {
    struct engine_render render = {.scene = scene, .outputs = ENGINE_RGB, .near_m = 0.2f};
    render.sensor.kind = SENSOR_CAMERA;
    render.sensor.camera = camera_ideal(16, 16, 50.0f);
    render.sensor.T_world_sensor_start = pose_identity();
    render.sensor.T_world_sensor_end = pose_identity();
    return render;
}
