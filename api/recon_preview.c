#include "api/recon_active.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/reply.h"
#include "render/core/image.h"
#include "render/core/log.h"
#include "render/io/image_file.h"

enum { PREVIEW_MAX_PX = 640, PREVIEW_QUALITY = 85 };

/* One picture on its way from the engine to preview.jpg. */
struct preview {
    struct recon_runner *runner; /* outlives engine and workers */
    struct engine_picture *picture;
    char id[JOB_ID_BYTES];
    int32_t step;
};

static void preview_end(struct preview *preview) {
    engine_picture_free(preview->picture);
    atomic_store(&preview->runner->preview_in_flight, false);
    free(preview);
}

static enum rt_status write_preview(const struct preview *preview, struct rt_error *err) {
    const struct engine_picture *picture = preview->picture;
    char path[FOLDER_PATH_BYTES];
    struct image image = {0};
    RT_TRY(recon_runner_path(preview->runner, preview->id, "preview.jpg", path, err));
    RT_TRY(image_create(&image, picture->width_px, picture->height_px, 3, IMAGE_U8, err));
    size_t n = (size_t)picture->width_px * (size_t)picture->height_px * 3;
    for (size_t i = 0; i < n; i++) image_u8(&image)[i] = image_quantise(picture->rgb[i]);
    struct rt_bytes jpeg = {0};
    enum rt_status status = image_encode_jpeg(&image, PREVIEW_QUALITY, &jpeg, err);
    if (status == RT_OK) status = file_write_atomic(path, jpeg.bytes, jpeg.n_bytes, err);
    rt_bytes_free(&jpeg);
    image_destroy(&image);
    return status;
}

/* Notes the step where other threads see it, if the job is still the current one. */
static void note_step(struct recon_runner *runner, const char *id, int32_t step) {
    pthread_mutex_lock(&runner->mutex);
    if (strcmp(runner->current_id, id) == 0) runner->current.preview_step = step;
    pthread_mutex_unlock(&runner->mutex);
}

static void encode_preview(void *context) {
    struct preview *preview = context;
    struct rt_error err = {0};
    if (write_preview(preview, &err) == RT_OK) {
        char text[160];
        snprintf(text, sizeof text,
                 "{\"step\":%d,\"url\":\"/v1/reconstructions/%s/preview.jpg?step=%d\"}",
                 preview->step, preview->id, preview->step);
        note_step(preview->runner, preview->id, preview->step);
        jobs_publish(preview->runner->options.jobs, preview->id, "preview", text);
    } else {
        log_warn("reconstruction", "%s: no preview: %s", preview->id, err.message);
    }
    preview_end(preview);
}

static void on_drawn(void *context, struct engine_picture *picture, const struct rt_error *err) {
    struct preview *preview = context;
    preview->picture = picture;
    if (!picture || err->status != RT_OK ||
        workers_submit(preview->runner->options.encoders, encode_preview, preview, NULL) != RT_OK) {
        preview_end(preview);
    }
}

static bool draw(struct recon_runner *runner, const struct recon_active *active,
                 struct scene *scene) {
    struct preview *preview = calloc(1, sizeof *preview);
    if (!preview) return false;
    preview->runner = runner;
    preview->step = active->status.progress.step;
    memcpy(preview->id, active->job.id, sizeof preview->id);
    struct engine_render render = {.scene = scene,
                                   .outputs = ENGINE_RGB,
                                   .near_m = active->request.config.near_m,
                                   .sh_degree = RT_MAX_SH_DEGREE,
                                   .done = on_drawn,
                                   .context = preview};
    struct camera camera = camera_ideal(PREVIEW_MAX_PX, PREVIEW_MAX_PX * 9 / 16, 50.0f);
    if (scene->n_cameras > 0) camera = scene->cameras[0].camera;
    int32_t longest = camera.width_px > camera.height_px ? camera.width_px : camera.height_px;
    if (longest > PREVIEW_MAX_PX) {
        int32_t width = camera.width_px * PREVIEW_MAX_PX / longest;
        int32_t height = camera.height_px * PREVIEW_MAX_PX / longest;
        camera = camera_scaled(&camera, width > 0 ? width : 1, height > 0 ? height : 1);
    }
    render.sensor = (struct sensor){.kind = SENSOR_CAMERA,
                                    .camera = camera,
                                    .T_world_sensor_start = scene->default_view,
                                    .T_world_sensor_end = scene->default_view,
                                    .t_us = scene->t_begin_us,
                                    .t_end_us = scene->t_begin_us + 1};
    if (scene->sky == SKY_COLOUR) memcpy(render.background, scene->sky_rgb, sizeof scene->sky_rgb);
    atomic_store(&runner->preview_in_flight, true);
    if (engine_submit(runner->options.engine, &render, NULL) == RT_OK) return true;
    preview_end(preview);
    return false;
}

void recon_preview(struct recon_runner *runner, struct recon_active *active) {
    int64_t now_ns = time_mono_ns();
    if (active->status.progress.phase != RECON_TRAINING || active->status.progress.step < 1 ||
        now_ns < active->next_preview_ns || atomic_load(&runner->preview_in_flight)) {
        return;
    }
    double every_s = (double)active->request.config.preview_every_s;
    struct rt_error err = {0};
    struct scene *scene = NULL;
    active->next_preview_ns = now_ns + (int64_t)(every_s * 1e9);
    if (reconstruction_snapshot(active->reconstruction, &scene, &err) != RT_OK) {
        log_warn("reconstruction", "%s: no snapshot: %s", active->job.id, err.message);
        return;
    }
    draw(runner, active, scene);
    if (scene_cache_set_live(runner->options.scenes, active->live_scene, scene,
                             active->status.progress.step, active->job.id, &err) != RT_OK) {
        log_warn("reconstruction", "%s: not live: %s", active->job.id, err.message);
    }
}
