#include "api/recorded.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/io/image_file.h"

struct recorded {
    struct api *api;
    struct http_exchange *x;
    struct drawing_request request;
    char id[RT_ID_BYTES];
    struct scene *scene; /* one reference */
    int32_t i_frame, width_px, height_px;
    int64_t t_us;
};

static void finish(struct recorded *recorded) {
    http_finish(recorded->x);
    scene_release(&recorded->scene);
    free(recorded);
}

/* Source pixels [begin, end) under target pixel i: at least one, none counted twice. */
static void covered(int32_t i, int32_t n_source, int32_t n_target, int32_t span[2]) {
    span[0] = (int32_t)((int64_t)i * n_source / n_target);
    span[1] = (int32_t)((int64_t)(i + 1) * n_source / n_target);
    if (span[1] == span[0]) span[1]++;
}

static uint8_t mean_under(const struct image *source, const int32_t rows[2],
                          const int32_t columns[2], int32_t channel) {
    uint32_t sum = 0;
    uint32_t n = (uint32_t)((rows[1] - rows[0]) * (columns[1] - columns[0]));
    for (int32_t y = rows[0]; y < rows[1]; y++) {
        size_t row = (size_t)y * (size_t)source->width_px;
        for (int32_t x = columns[0]; x < columns[1]; x++) {
            size_t pixel = (row + (size_t)x) * (size_t)source->n_channels;
            sum += image_u8(source)[pixel + (size_t)channel];
        }
    }
    return (uint8_t)((sum + n / 2) / n);
}

enum rt_status image_shrink(const struct image *source, int32_t width_px, int32_t height_px,
                            struct image *out, struct rt_error *err) {
    RT_TRY(image_create(out, width_px, height_px, source->n_channels, IMAGE_U8, err));
    uint8_t *to = image_u8(out);
    for (int32_t y = 0; y < height_px; y++) {
        int32_t rows[2], columns[2];
        covered(y, source->height_px, height_px, rows);
        for (int32_t x = 0; x < width_px; x++) {
            covered(x, source->width_px, width_px, columns);
            for (int32_t c = 0; c < source->n_channels; c++) {
                *to++ = mean_under(source, rows, columns, c);
            }
        }
    }
    return RT_OK;
}

static void reply_picture(struct recorded *recorded, const struct image *picture) {
    const struct drawing_request *request = &recorded->request;
    struct rt_bytes bytes = {0};
    struct rt_error err;
    bool is_jpeg = request->view.format == VIEW_JPEG;
    enum rt_status status = is_jpeg
                                ? image_encode_jpeg(picture, request->view.quality, &bytes, &err)
                                : image_encode_png(picture, &bytes, &err);
    if (status != RT_OK) {
        problem_reply_error(recorded->api, recorded->x, &err, NULL);
        return;
    }
    char text[32];
    snprintf(text, sizeof text, "%d", recorded->i_frame);
    http_reply_header(recorded->x, "X-Frame-Index", text);
    snprintf(text, sizeof text, "%lld", (long long)recorded->t_us);
    http_reply_header(recorded->x, "X-Frame-T-Us", text);
    http_reply_header(recorded->x, "ETag", request->etag);
    http_reply_header(recorded->x, "Cache-Control", request->cache_control);
    reply_bytes(recorded->api, recorded->x, is_jpeg ? "image/jpeg" : "image/png", bytes.bytes,
                bytes.n_bytes);
}

static void load_and_reply(void *context) {
    struct recorded *recorded = context;
    struct api *api = recorded->api;
    struct image native = {0}, scaled = {0};
    struct rt_error err;
    rt_error_clear(&err);
    const char *sensor = recorded->request.view.sensor;
    int32_t native_px = scene_find_camera(recorded->scene, sensor)->camera.width_px;
    struct recorded_ask ask = {.recording_id = recorded->scene->recording_id,
                               .camera_id = sensor,
                               .i_frame = recorded->i_frame,
                               .scale = fminf(1.0f, (float)recorded->width_px / (float)native_px)};
    enum rt_status status = api->recorded_picture(api->recorded_context, &ask, &native, &err);
    bool is_smaller =
        recorded->width_px < native.width_px || recorded->height_px < native.height_px;
    if (status == RT_OK && is_smaller) {
        status = image_shrink(&native, recorded->width_px, recorded->height_px, &scaled, &err);
    }
    if (status == RT_NOT_FOUND) {
        problem_reply(api, recorded->x, PROBLEM_NO_RECORDING, NULL, "%s", err.message);
    } else if (status != RT_OK) {
        problem_reply_error(api, recorded->x, &err, NULL);
    } else {
        reply_picture(recorded, is_smaller ? &scaled : &native);
    }
    image_destroy(&native);
    image_destroy(&scaled);
    finish(recorded);
}

/* Index of the frame that starts nearest to the view's time, as view_resolve found it. */
static int32_t frame_at(const struct scene_camera *camera, int64_t t_us) {
    for (int32_t i = 0; i < camera->frames.n_frames; i++) {
        if (camera->frames.t_us[i] == t_us) return i;
    }
    return -1;
}

static void on_scene(void *context, struct scene *scene, const struct rt_error *load_error) {
    struct recorded *recorded = context;
    struct api *api = recorded->api;
    struct rt_error err;
    struct engine_render render;
    recorded->scene = scene;
    if (scene == NULL) {
        reply_scene_error(api, recorded->x, recorded->id, load_error);
        finish(recorded);
        return;
    }
    if (view_resolve(&recorded->request.view, scene, &render, &err) != RT_OK) {
        drawing_reply_error(api, recorded->x, recorded->id, scene, &err);
        finish(recorded);
        return;
    }
    const struct scene_camera *camera = scene_find_camera(scene, recorded->request.view.sensor);
    recorded->t_us = render.sensor.t_us;
    recorded->i_frame = camera != NULL ? frame_at(camera, render.sensor.t_us) : -1;
    recorded->width_px = render.sensor.camera.width_px;
    recorded->height_px = render.sensor.camera.height_px;
    bool has_picture = recorded->i_frame >= 0 && scene->recording_id != NULL;
    if (!has_picture || api->recorded_picture == NULL) {
        problem_reply(api, recorded->x, PROBLEM_NO_RECORDING, NULL,
                      "scene %s has no recorded pictures of sensor %s", recorded->id,
                      recorded->request.view.sensor);
        finish(recorded);
    } else if (workers_submit(api->readers, load_and_reply, recorded, &err) != RT_OK) {
        problem_reply_error(api, recorded->x, &err, NULL);
        finish(recorded);
    }
}

void recorded_start(struct api *api, struct http_exchange *x,
                    const struct drawing_request *request) {
    struct recorded *recorded = calloc(1, sizeof *recorded);
    if (request->view.format != VIEW_PNG && request->view.format != VIEW_JPEG) {
        json_t *offered = json_pack("{s:[s, s]}", "offered", "image/png", "image/jpeg");
        problem_reply(api, x, PROBLEM_NOT_ACCEPTABLE, offered, "recorded frames are png and jpg");
        free(recorded);
        return;
    }
    if (recorded == NULL) {
        problem_reply(api, x, PROBLEM_DEVICE_MEMORY, NULL, "no memory for this picture");
        return;
    }
    *recorded = (struct recorded){.api = api, .x = x, .request = *request};
    snprintf(recorded->id, sizeof recorded->id, "%s", request->id);
    http_defer(x);
    const struct scene_wait wait = {
        .ready = on_scene,
        .context = recorded,
        .deadline_ns = time_mono_ns() + request->view.timeout_ms * 1000000};
    scene_cache_get(api->scenes, recorded->id, &wait);
}
