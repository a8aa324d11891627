#include "api/drawing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/picture_encode.h"
#include "render/core/log.h"

struct drawing {
    struct api *api;
    struct http_exchange *x;
    struct drawing_request request;
    char id[RT_ID_BYTES];
    int64_t begin_ns, deadline_ns;
    double load_ms;
    struct engine_picture *picture; /* owned between the engine and the encoder */
};

static const char *outcome_of(enum rt_status status) {
    switch (status) {
        case RT_OK:
            return "ok";
        case RT_CANCELLED:
            return "cancelled";
        case RT_DEADLINE:
            return "deadline";
        case RT_INTERNAL:
        case RT_NO_MEMORY:
            return "failed";
        default:
            return "rejected";
    }
}

static void finish(struct drawing *drawing, enum rt_status status) {
    metric_add(drawing->api->m.render_requests, 1.0,
               (const char *[]){"camera", outcome_of(status)});
    http_finish(drawing->x);
    engine_picture_free(drawing->picture);
    free(drawing);
}

void drawing_reply_error(struct api *api, struct http_exchange *x, const char *id,
                         const struct scene *scene, const struct rt_error *err) {
    json_t *members = NULL;
    if (err->status == RT_NOT_FOUND && scene != NULL) {
        json_t *known = json_pack("[s]", "default");
        for (int32_t i = 0; i < scene->n_cameras && i < 19; i++) {
            json_array_append_new(known, json_string(scene->cameras[i].id));
        }
        members = json_pack("{s:s, s:o}", "resource", "sensor", "known", known);
    } else if (err->status == RT_TIME_RANGE && scene != NULL) {
        members = json_pack("{s:I, s:I}", "t_begin_us", (json_int_t)scene->t_begin_us, "t_end_us",
                            (json_int_t)scene->t_end_us);
    } else if (err->status == RT_QUEUE_FULL) {
        struct engine_stats stats = engine_stats(api->engine);
        members = json_pack("{s:i, s:i, s:f}", "retry_after_s", engine_retry_after_s(api->engine),
                            "queue_length", stats.queue_length, "estimate_ms", stats.estimate_ms);
    } else if (err->status == RT_LIMIT) {
        members = json_pack("{s:s, s:i}", "limit_name", "pixels", "limit", RT_MAX_PIXELS);
    } else if (err->status == RT_DEADLINE) {
        members = json_pack("{s:s}", "stage", scene != NULL ? "render" : "load");
    } else if (err->status == RT_UNSUPPORTED && err->code == NULL) {
        members = json_pack("{s:s}", "capability", "camera_model");
    } else if (scene == NULL) {
        reply_scene_error(api, x, id, err);
        return;
    }
    problem_reply_error(api, x, err, members);
}

static void fail(struct drawing *drawing, const struct scene *scene, const struct rt_error *err) {
    drawing_reply_error(drawing->api, drawing->x, drawing->id, scene, err);
    finish(drawing, err->status);
}

/* -- encoder thread -- */

static void add_headers(struct drawing *drawing, const struct encoded *encoded, double encode_ms) {
    static const char *const stages[] = {"collect", "project", "intersect", "sort", "blend"};
    const struct engine_picture *picture = drawing->picture;
    struct http_exchange *x = drawing->x;
    char timing[320];
    int n = snprintf(timing, sizeof timing,
                     "queue;dur=%.2f, load;dur=%.2f, render;dur=%.2f, encode;dur=%.2f",
                     picture->queue_ms, drawing->load_ms, picture->render_ms, encode_ms);
    for (int i = 0; drawing->request.with_stages && i < 5; i++) {
        n += snprintf(timing + n, sizeof timing - (size_t)n, ", %s;dur=%.2f", stages[i],
                      picture->stage_ms[i]);
    }
    http_reply_header(x, "Server-Timing", timing);
    http_reply_header(x, "X-Shape", encoded->shape);
    http_reply_header(x, "X-Dtype", encoded->dtype);
    http_reply_header(x, "X-Layout", encoded->layout);
    http_reply_header(x, "X-Device", engine_stats(drawing->api->engine).backend);
    http_reply_header(x, "X-Projection", "ewa");
    http_reply_header(x, "Vary", "Accept");
    if (drawing->request.etag[0] != '\0') http_reply_header(x, "ETag", drawing->request.etag);
    http_reply_header(x, "Cache-Control", drawing->request.cache_control);
}

static void observe(struct drawing *drawing, double encode_ms) {
    static const char *const stages[] = {"collect", "project", "intersect", "sort", "composite"};
    const char *const sensor[] = {"camera"};
    const struct api_metrics *m = &drawing->api->m;
    const struct engine_picture *picture = drawing->picture;
    metric_observe(m->queue_seconds, picture->queue_ms * 1e-3, sensor);
    metric_observe(m->device_seconds, picture->render_ms * 1e-3, sensor);
    metric_observe(m->encode_seconds, encode_ms * 1e-3, sensor);
    metric_add(m->pixels, (double)picture->width_px * picture->height_px, NULL);
    for (int i = 0; i < 5; i++) {
        metric_observe(m->stage_seconds, picture->stage_ms[i] * 1e-3, (const char *[]){stages[i]});
    }
}

static void encode(void *context) {
    struct drawing *drawing = context;
    struct encoded encoded = {0};
    struct rt_error err;
    rt_error_clear(&err);
    int64_t begin_ns = time_mono_ns();
    if (http_client_gone(drawing->x)) {
        (void)rt_fail(&err, RT_CANCELLED, "the client has left");
        fail(drawing, NULL, &err);
        return;
    }
    if (picture_encode(drawing->picture, &drawing->request.view, &encoded, &err) != RT_OK) {
        rt_bytes_free(&encoded.bytes);
        problem_reply_error(drawing->api, drawing->x, &err, NULL);
        finish(drawing, err.status);
        return;
    }
    double encode_ms = (double)(time_mono_ns() - begin_ns) * 1e-6;
    add_headers(drawing, &encoded, encode_ms);
    observe(drawing, encode_ms);
    reply_bytes(drawing->api, drawing->x, encoded.content_type, encoded.bytes.bytes,
                encoded.bytes.n_bytes);
    finish(drawing, RT_OK);
}

/* -- engine thread -- */

static void on_drawn(void *context, struct engine_picture *picture, const struct rt_error *err) {
    struct drawing *drawing = context;
    struct rt_error full;
    drawing->picture = picture;
    if (picture == NULL) {
        struct scene *scene = scene_cache_peek(drawing->api->scenes, drawing->id);
        fail(drawing, scene, err);
        scene_release(&scene);
    } else if (workers_submit(drawing->api->encoders, encode, drawing, &full) != RT_OK) {
        fail(drawing, NULL, &full);
    }
}

static bool is_client_gone(void *context) {
    return http_client_gone(((struct drawing *)context)->x);
}

/* -- loader or connection thread -- */

static void on_scene(void *context, struct scene *scene, const struct rt_error *load_error) {
    struct drawing *drawing = context;
    struct view *view = &drawing->request.view;
    struct rt_error err;
    rt_error_clear(&err);
    drawing->load_ms = (double)(time_mono_ns() - drawing->begin_ns) * 1e-6;
    if (scene == NULL) {
        reply_scene_error(drawing->api, drawing->x, drawing->id, load_error);
        finish(drawing, load_error->status);
        return;
    }
    struct engine_render render;
    if (view_resolve(view, scene, &render, &err) != RT_OK) {
        fail(drawing, scene, &err);
        scene_release(&scene);
        return;
    }
    for (int c = 0; c < 3; c++) view->background[c] = render.background[c];
    render.deadline_ns = drawing->deadline_ns;
    render.client_gone = is_client_gone;
    render.done = on_drawn;
    render.context = drawing;
    if (engine_submit(drawing->api->engine, &render, &err) != RT_OK) fail(drawing, scene, &err);
    scene_release(&scene);
}

void drawing_start(struct api *api, struct http_exchange *x,
                   const struct drawing_request *request) {
    struct drawing *drawing = calloc(1, sizeof *drawing);
    if (drawing == NULL) {
        problem_reply(api, x, PROBLEM_DEVICE_MEMORY, NULL, "no memory for this picture");
        return;
    }
    *drawing = (struct drawing){.api = api, .x = x, .request = *request};
    snprintf(drawing->id, sizeof drawing->id, "%s", request->id);
    drawing->request.id = drawing->id;
    drawing->begin_ns = time_mono_ns();
    drawing->deadline_ns = http_start_ns(x) + request->view.timeout_ms * 1000000;
    http_defer(x);
    const struct scene_wait wait = {
        .ready = on_scene, .context = drawing, .deadline_ns = drawing->deadline_ns};
    scene_cache_get(api->scenes, drawing->id, &wait);
}
