#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "api/routes.h"
#include "api/wire_json.h"
#include "render/core/limits.h"
#include "retake_version.h"
#include "server/jobs.h"

static const double max_heartbeat_age_s = 5.0;

void get_live(struct http_exchange *x, void *context) {
    reply_json(context, x, 200, json_pack("{s:s}", "status", "live"));
}

void get_ready(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct engine_stats stats = engine_stats(api->engine);
    json_t *reasons = json_array();
    if (atomic_load(&api->draining)) json_array_append_new(reasons, json_string("draining"));
    /* A long render or a training unit is work, not a hang. */
    bool is_busy = stats.is_rendering || stats.is_training;
    if (stats.heartbeat_age_s > max_heartbeat_age_s && !is_busy) {
        json_array_append_new(reasons, json_string("the device has drawn nothing for 5 s"));
    }
    if (stats.queue_length >= stats.queue_limit) {
        json_array_append_new(reasons, json_string("the render queue is full"));
    }
    if (api->jobs != NULL && !jobs_writable(api->jobs)) {
        json_array_append_new(reasons, json_string("the journal cannot be written"));
    }
    if (api_storage_is_full(api)) json_array_append_new(reasons, json_string("the disk is full"));
    if (json_array_size(reasons) == 0) {
        json_decref(reasons);
        reply_json(api, x, 200, json_pack("{s:s}", "status", "ready"));
        return;
    }
    json_t *members = json_pack("{s:O}", "reasons", reasons);
    problem_reply(api, x, PROBLEM_NOT_READY, members, "not ready: %s",
                  json_string_value(json_array_get(reasons, 0)));
    json_decref(reasons);
}

void get_version(struct http_exchange *x, void *context) {
    struct api *api = context;
    reply_json(api, x, 200,
               json_pack("{s:s, s:s, s:{s:i, s:i, s:i}, s:[s]}", "version_id", RETAKE_VERSION,
                         "git_hash", RETAKE_GIT_HASH, "api_version", "major", 1, "minor", 0,
                         "patch", 0, "backends", "cpu"));
}

static json_t *limits_json(void) {
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:i, s:i, s:I}",
                     "width_px", RT_MAX_SIDE_PX, "height_px", RT_MAX_SIDE_PX, "pixels",
                     RT_MAX_PIXELS, "json_bytes", 256 * 1024, "json_large_bytes", 4 * 1024 * 1024,
                     "json_depth", 64, "json_values", 16384, "url_bytes", 8192, "header_bytes",
                     32768, "upload_bytes", (json_int_t)16 << 30, "uploads", 8, "render_queue",
                     ENGINE_QUEUE_LIMIT, "pairs", (json_int_t)RT_MAX_PAIRS);
}

static json_t *routes_json(void) {
    json_t *routes = json_array();
    for (const struct http_route *route = api_routes; route->method != NULL; route++) {
        json_array_append_new(routes, json_pack("[s, s]", route->method, route->pattern));
    }
    return routes;
}

void get_metadata(struct http_exchange *x, void *context) {
    json_t *body = json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:o}", "name", "Retake", "version", RETAKE_VERSION, "license",
        "Apache-2.0", "limits", limits_json(), "routes", routes_json(), "capabilities",
        json_pack("[s, s, s, s, s, s, s, s, s, s]", "scenes", "render_camera", "frames", "depth",
                  "splat_count", "colormaps", "crop", "export", "recordings", "reconstructions"));
    if (body != NULL) {
        json_object_set_new(
            body, "formats",
            json_pack("{s:[s,s,s,s,s,s], s:[s,s,s,s], s:[s,s,s,s]}", "camera", "png", "jpeg", "raw",
                      "raw_planar", "npy", "npy_f16", "upload", "retake", "ply", "splat", "spz",
                      "export", "retake", "ply", "splat", "spz"));
        json_object_set_new(body, "outputs",
                            json_pack("[s,s,s,s]", "rgb", "alpha", "depth", "splat_count"));
        json_object_set_new(body, "camera_models", json_pack("[s]", "pinhole"));
        json_object_set_new(body, "lidar_models", json_array());
        json_object_set_new(body, "presets",
                            json_pack("[s,s,s]", "preview", "balanced", "quality"));
    }
    reply_json(context, x, 200, body);
}

void get_devices(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct engine_stats engine = engine_stats(api->engine);
    struct scene_cache_stats scenes = scene_cache_stats(api->scenes);
    double total = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    const char *state =
        engine.heartbeat_age_s > max_heartbeat_age_s && !engine.is_rendering && !engine.is_training
            ? "lost"
            : "ok";
    json_t *bytes =
        json_pack("{s:I, s:I, s:I, s:I}", "total", (json_int_t)total, "budget",
                  (json_int_t)scenes.budget_bytes, "scenes", (json_int_t)scenes.loaded_bytes,
                  "workspace", (json_int_t)engine.workspace_bytes);
    json_t *device = json_pack(
        "{s:s, s:s, s:s, s:f, s:{s:i, s:i, s:f}, s:b, s:b, s:{s:I, s:I, s:I}, s:o}", "id",
        engine.backend, "name", "host processor", "state", state, "heartbeat_age_s",
        engine.heartbeat_age_s, "queue", "length", engine.queue_length, "limit", engine.queue_limit,
        "estimate_ms", engine.estimate_ms, "rendering", engine.is_rendering, "training",
        engine.is_training, "renders", "done", (json_int_t)engine.n_rendered, "failed",
        (json_int_t)engine.n_failed, "cancelled", (json_int_t)engine.n_cancelled, "bytes", bytes);
    reply_json(api, x, 200, json_pack("{s:[o], s:n}", "items", device, "next"));
}

void get_metrics(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct engine_stats engine = engine_stats(api->engine);
    struct scene_cache_stats scenes = scene_cache_stats(api->scenes);
    const char *const device[] = {engine.backend};
    metric_set(api->m.queue_length, engine.queue_length, device);
    metric_set(api->m.queue_capacity, engine.queue_limit, device);
    metric_set(api->m.heartbeat_age, engine.heartbeat_age_s, device);
    metric_set(api->m.scene_bytes, (double)scenes.loaded_bytes, device);
    metric_set(api->m.scene_budget, (double)scenes.budget_bytes, device);
    metric_set(api->m.hits, (double)scenes.n_hits, NULL);
    metric_set(api->m.misses, (double)scenes.n_misses, NULL);
    for (int i = 0; i <= SCENE_FAILED; i++) {
        const char *const state[] = {scene_state_name((enum scene_state)i)};
        metric_set(api->m.scenes, scenes.n_by_state[i], state);
    }
    for (int i = 0; i <= (int)JOB_CANCELLED; i++) {
        const char *const state[] = {job_state_name((enum job_state)i)};
        metric_set(api->m.reconstructions, jobs_count(api->jobs, (enum job_state)i), state);
    }
    char *text = NULL;
    size_t n_bytes = 0;
    struct rt_error err;
    if (metrics_text(api->metrics, &text, &n_bytes, &err) != RT_OK) {
        problem_reply_error(api, x, &err, NULL);
        return;
    }
    http_reply_header(x, "Cache-Control", "no-store");
    reply_bytes(api, x, "text/plain; version=0.0.4; charset=utf-8", text, n_bytes);
}

void get_openapi(struct http_exchange *x, void *context) {
    struct api *api = context;
    size_t n_bytes = strlen(api->openapi);
    char etag[ETAG_BYTES];
    etag_of_bytes(api->openapi, n_bytes, etag);
    http_reply_header(x, "ETag", etag);
    if (http_etag_matches(x, etag)) {
        reply_empty(api, x, 304);
    } else {
        http_reply(x, 200, "application/yaml", api->openapi, n_bytes);
    }
}
