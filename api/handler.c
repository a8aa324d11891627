#include "api/handler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/wire_scene.h"

enum { MAX_KNOWN = 20 };
static const int64_t default_timeout_ns = 30000000000;

bool take_scene_id(struct api *api, struct http_exchange *x, const char **id) {
    *id = http_param(x, "id");
    if (*id != NULL && id_is_valid(*id, false)) return true;
    problem_reply(api, x, PROBLEM_NOT_FOUND, json_pack("{s:s}", "resource", "scene"),
                  "this is no scene id: letters, digits, - and _, at most 64");
    return false;
}

static json_t *known_ids(struct api *api) {
    struct scene_row *rows = NULL;
    int32_t n_rows = 0;
    json_t *known = json_array();
    struct rt_error err;
    if (scene_cache_rows(api->scenes, &rows, &n_rows, &err) != RT_OK) return known;
    for (int32_t i = 0; i < n_rows; i++) {
        if (i < MAX_KNOWN) json_array_append_new(known, json_string(rows[i].id));
        scene_row_free(&rows[i]);
    }
    free(rows);
    return known;
}

void reply_scene_error(struct api *api, struct http_exchange *x, const char *id,
                       const struct rt_error *err) {
    json_t *members = NULL;
    if (err->status == RT_NOT_FOUND) {
        members = json_pack("{s:s, s:o}", "resource", "scene", "known", known_ids(api));
    } else if (err->status == RT_DEADLINE) { /* a load that outlasts the request */
        problem_reply(api, x, PROBLEM_SCENE_LOADING,
                      json_pack("{s:i, s:f}", "retry_after_s", 2, "progress", 0.0),
                      "scene %s is still loading", id);
        return;
    } else if (err->status == RT_BUSY) {
        bool is_training = strstr(err->message, "trained") != NULL;
        members = json_pack("{s:[s]}", "users", is_training ? "training" : "pin");
    }
    problem_reply_error(api, x, err, members);
}

void reply_scene_row(struct api *api, struct http_exchange *x, const char *id, int status) {
    struct scene_row row = {0};
    struct rt_error err;
    if (scene_cache_row(api->scenes, id, &row, &err) != RT_OK) {
        reply_scene_error(api, x, id, &err);
        return;
    }
    reply_json(api, x, status, wire_scene_row(&row, engine_stats(api->engine).backend, true));
    scene_row_free(&row);
}

bool refuse_unknown_query(struct api *api, struct http_exchange *x, const char *const *known) {
    struct wire_faults faults = {0};
    wire_query_members(&faults, x, known);
    if (faults.n_faults > 0) wire_reply_faults(api, x, &faults);
    return faults.n_faults > 0;
}

struct pending {
    struct api *api;
    struct http_exchange *x;
    scene_ready ready;
    char id[RT_ID_BYTES];
};

static void on_scene(void *context, struct scene *scene, const struct rt_error *err) {
    struct pending *pending = context;
    if (scene != NULL) {
        pending->ready(pending->api, pending->x, pending->id, scene);
    } else {
        reply_scene_error(pending->api, pending->x, pending->id, err);
    }
    scene_release(&scene);
    http_finish(pending->x);
    free(pending);
}

void with_scene(struct api *api, struct http_exchange *x, const char *id, scene_ready ready) {
    struct pending *pending = calloc(1, sizeof *pending);
    if (pending == NULL) {
        problem_reply(api, x, PROBLEM_DEVICE_MEMORY, NULL, "no memory for this request");
        return;
    }
    *pending = (struct pending){.api = api, .x = x, .ready = ready};
    snprintf(pending->id, sizeof pending->id, "%s", id);
    http_defer(x);
    const struct scene_wait wait = {
        .ready = on_scene, .context = pending, .deadline_ns = time_mono_ns() + default_timeout_ns};
    scene_cache_get(api->scenes, pending->id, &wait);
}
