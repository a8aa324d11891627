#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/drawing.h"
#include "api/recorded.h"
#include "api/routes.h"
#include "api/wire_view.h"
#include "retake_version.h"

enum frame_view { FRAME_RENDERED, FRAME_RECORDED, FRAME_DIFF, FRAME_SIDE_BY_SIDE };

/* The first 32 hex digits of SHA-256 over what the picture depends on (api.md section 3). */
static void frame_etag(const struct api *api, const struct scene_row *row, const char *kind,
                       const struct view *view, char etag[ETAG_BYTES]) {
    char text[VIEW_CANONICAL_BYTES], key[VIEW_CANONICAL_BYTES + 256];
    view_canonical(view, text);
    snprintf(key, sizeof key, "%s|%d|%s|%s|%s|%s|%s", row->digest, row->live ? row->live_step : -1,
             kind, text, RETAKE_VERSION, RETAKE_GIT_HASH, engine_stats(api->engine).backend);
    etag_of_bytes(key, strlen(key), etag);
}

/* A URL with the current version never changes its picture. No tokens exist, so it is public. */
static const char *cache_control(struct http_exchange *x, const struct scene_row *row) {
    const char *version = http_query(x, "v");
    bool is_pinned = version != NULL && !row->live && strcmp(version, row->version) == 0;
    return is_pinned ? "public, max-age=31536000, immutable" : "public, no-cache";
}

static void reply_head(struct api *api, struct http_exchange *x,
                       const struct drawing_request *request) {
    static const char *const types[] = {"image/png", "image/jpeg", "application/octet-stream",
                                        "application/octet-stream", "application/x-npy"};
    http_reply_header(x, "ETag", request->etag);
    http_reply_header(x, "Cache-Control", request->cache_control);
    http_reply_header(x, "Vary", "Accept");
    (void)api;
    http_reply(x, 200, types[request->view.format], "", 0);
}

/* An unknown sensor is 404 for HEAD too when that is known without loading. */
static bool check_loaded(struct api *api, struct http_exchange *x,
                         const struct drawing_request *request) {
    struct engine_render render;
    struct rt_error err;
    struct scene *scene = scene_cache_peek(api->scenes, request->id);
    bool is_good = scene == NULL || view_resolve(&request->view, scene, &render, &err) == RT_OK;
    if (!is_good) drawing_reply_error(api, x, request->id, scene, &err);
    scene_release(&scene);
    return is_good;
}

static bool read_view_kind(struct wire_faults *faults, struct http_exchange *x, int32_t *kind) {
    static const char *const names[] = {"rendered", "recorded", "diff", "side_by_side", NULL};
    *kind = FRAME_RENDERED;
    wire_query_choice(faults, x, "view", names, kind);
    if (*kind >= FRAME_DIFF) {
        wire_unsupported(faults, "?view", NULL, names[*kind], "%s is not in this version",
                         names[*kind]);
    }
    return *kind == FRAME_RECORDED;
}

void get_frame(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct drawing_request request = {.view = view_defaults()};
    if (!take_scene_id(api, x, &request.id)) return;
    struct wire_faults faults = {0};
    int32_t kind;
    bool is_recorded = read_view_kind(&faults, x, &kind);
    wire_view_from_query(&faults, x, &request.view);
    if (faults.n_faults > 0) {
        wire_reply_faults(api, x, &faults);
        return;
    }
    struct scene_row row = {0};
    struct rt_error err;
    if (scene_cache_row(api->scenes, request.id, &row, &err) != RT_OK) {
        reply_scene_error(api, x, request.id, &err);
        return;
    }
    frame_etag(api, &row, is_recorded ? "recorded" : "rendered", &request.view, request.etag);
    request.cache_control = cache_control(x, &row);
    const char *timing = http_query(x, "timing");
    request.with_stages = timing != NULL && strcmp(timing, "stages") == 0;
    scene_row_free(&row);
    if (http_etag_matches(x, request.etag)) {
        metric_add(api->m.not_modified, 1.0, NULL);
        http_reply_header(x, "ETag", request.etag);
        http_reply_header(x, "Cache-Control", request.cache_control);
        reply_empty(api, x, 304);
    } else if (strcmp(http_method(x), "HEAD") == 0) {
        if (check_loaded(api, x, &request)) reply_head(api, x, &request);
    } else if (is_recorded) {
        recorded_start(api, x, &request);
    } else {
        drawing_start(api, x, &request);
    }
}
