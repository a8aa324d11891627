#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/handler.h"
#include "api/routes.h"
#include "api/wire_scene.h"

enum { MAX_LIMIT = 1000 };

/* -- index -- */

struct scene_filter {
    int32_t state, kind; /* -1 = any */
    const char *text, *cursor;
    int64_t limit;
};

static bool is_wanted(const struct scene_row *row, const struct scene_filter *filter) {
    static const char *const kinds[] = {"scene", "asset"};
    if (filter->state >= 0 && (int32_t)row->state != filter->state) return false;
    if (filter->kind >= 0 && strcmp(row->kind, kinds[filter->kind]) != 0) return false;
    if (filter->cursor != NULL && strcmp(row->id, filter->cursor) <= 0) return false;
    return filter->text == NULL || strstr(row->id, filter->text) != NULL ||
           strstr(row->name, filter->text) != NULL;
}

static bool read_filter(struct api *api, struct http_exchange *x, struct scene_filter *filter) {
    static const char *const known[] = {"state", "kind", "q", "limit", "cursor", NULL};
    static const char *const states[] = {"unloaded",  "loading", "loaded",
                                         "unloading", "failed",  NULL};
    static const char *const kinds[] = {"scene", "asset", NULL};
    struct wire_faults faults = {0};
    *filter = (struct scene_filter){-1, -1, http_query(x, "q"), http_query(x, "cursor"), 100};
    wire_query_members(&faults, x, known);
    wire_query_choice(&faults, x, "state", states, &filter->state);
    wire_query_choice(&faults, x, "kind", kinds, &filter->kind);
    wire_query_int(&faults, x, "limit", 1, MAX_LIMIT, &filter->limit);
    if (filter->cursor != NULL && !id_is_valid(filter->cursor, false)) {
        wire_fault(&faults, "?cursor", NULL, "is no cursor of this list");
    }
    if (faults.n_faults > 0) wire_reply_faults(api, x, &faults);
    return faults.n_faults == 0;
}

void get_scenes(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct scene_filter filter;
    if (!read_filter(api, x, &filter)) return;
    struct scene_row *rows = NULL;
    int32_t n_rows = 0;
    struct rt_error err;
    if (scene_cache_rows(api->scenes, &rows, &n_rows, &err) != RT_OK) {
        problem_reply_error(api, x, &err, NULL);
        return;
    }
    struct engine_stats stats = engine_stats(api->engine);
    json_t *items = json_array(), *next = json_null();
    int64_t n_left = filter.limit;
    const char *last = "";
    for (int32_t i = 0; i < n_rows; i++) {
        if (!is_wanted(&rows[i], &filter)) continue;
        if (n_left-- == 0) {
            next = json_string(last);
            break;
        }
        json_array_append_new(items, wire_scene_row(&rows[i], stats.backend, false));
        last = rows[i].id;
    }
    reply_json(api, x, 200, json_pack("{s:o, s:o}", "items", items, "next", next));
    for (int32_t i = 0; i < n_rows; i++) scene_row_free(&rows[i]);
    free(rows);
}

void get_scene(struct http_exchange *x, void *context) {
    static const char *const known[] = {NULL};
    struct api *api = context;
    const char *id;
    if (!take_scene_id(api, x, &id) || refuse_unknown_query(api, x, known)) return;
    struct scene_row row = {0};
    struct rt_error err;
    if (scene_cache_row(api->scenes, id, &row, &err) != RT_OK) {
        reply_scene_error(api, x, id, &err);
        return;
    }
    /* The ETag names the file, for If-Match; a row that changes (state, times) is not cached. */
    char etag[SCENE_DIGEST_BYTES + 4];
    snprintf(etag, sizeof etag, "\"%s\"", row.digest);
    if (row.digest[0] != '\0') http_reply_header(x, "ETag", etag);
    http_reply_header(x, "Cache-Control", "private, no-cache");
    json_t *body = wire_scene_row(&row, engine_stats(api->engine).backend, true);
    char *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
    bool has_it = row.digest[0] != '\0' && !row.live && http_etag_matches(x, etag);
    json_decref(body);
    scene_row_free(&row);
    if (text == NULL) {
        problem_reply(api, x, PROBLEM_INTERNAL, NULL, "the answer could not be built");
    } else if (has_it) {
        free(text);
        reply_empty(api, x, 304);
    } else {
        reply_bytes(api, x, "application/json", text, strlen(text));
    }
}

void delete_scene(struct http_exchange *x, void *context) {
    static const char *const known[] = {"force", NULL};
    struct api *api = context;
    const char *id;
    if (!take_scene_id(api, x, &id)) return;
    struct wire_faults faults = {0};
    bool force = false;
    wire_query_members(&faults, x, known);
    wire_query_bool(&faults, x, "force", &force);
    if (faults.n_faults > 0) {
        wire_reply_faults(api, x, &faults);
        return;
    }
    struct rt_error err;
    if (scene_cache_delete(api->scenes, id, force, &err) != RT_OK) {
        reply_scene_error(api, x, id, &err);
    } else {
        reply_empty(api, x, 204);
    }
}

/* -- load and unload -- */

static void row_when_ready(struct api *api, struct http_exchange *x, const char *id,
                           struct scene *scene) {
    (void)scene;
    reply_scene_row(api, x, id, 200);
}

static void forget(void *context, struct scene *scene, const struct rt_error *err) {
    (void)context;
    (void)err; /* the row of the scene says what happened */
    scene_release(&scene);
}

/* Body of load; an empty body is all defaults. */
static bool read_load(struct api *api, struct http_exchange *x, bool *pin, double *keep_alive_s) {
    static const char *const known[] = {"device", "pin", "keep_alive_s", NULL};
    static const char *const devices[] = {"auto", "cpu", NULL};
    struct wire_faults faults = {0};
    size_t n_bytes = 0;
    const void *text = http_body(x, &n_bytes);
    json_t *body = n_bytes > 0 ? wire_parse(text, n_bytes, false, &faults) : json_object();
    int32_t device = 0;
    *pin = false;
    *keep_alive_s = -1.0;
    if (body != NULL && wire_members(&faults, body, "", known)) {
        wire_choice(&faults, body, "", "device", devices, &device);
        wire_bool(&faults, body, "", "pin", pin);
        wire_number(&faults, body, "", "keep_alive_s", (struct wire_range){-1.0, 1e9, 1},
                    keep_alive_s);
        if (*keep_alive_s < 0.0) *keep_alive_s = -1.0;
    }
    json_decref(body);
    if (faults.n_faults > 0) wire_reply_faults(api, x, &faults);
    return faults.n_faults == 0;
}

void post_scene_load(struct http_exchange *x, void *context) {
    struct api *api = context;
    const char *id;
    bool pin;
    double keep_alive_s;
    if (!take_scene_id(api, x, &id) || !read_load(api, x, &pin, &keep_alive_s)) return;
    struct rt_error err;
    if (scene_cache_keep(api->scenes, id, pin, keep_alive_s, &err) != RT_OK) {
        reply_scene_error(api, x, id, &err);
        return;
    }
    const char *prefer = http_header(x, "Prefer");
    if (prefer == NULL || strstr(prefer, "respond-async") == NULL) {
        with_scene(api, x, id, row_when_ready);
        return;
    }
    scene_cache_get(api->scenes, id, &(struct scene_wait){.ready = forget});
    char location[RT_ID_BYTES + 16];
    snprintf(location, sizeof location, "/v1/scenes/%s", id);
    http_reply_header(x, "Location", location);
    http_reply_header(x, "Retry-After", "1");
    http_reply_header(x, "Preference-Applied", "respond-async");
    reply_scene_row(api, x, id, 202);
}

struct unloading {
    struct api *api;
    struct http_exchange *x;
    char id[RT_ID_BYTES];
};

static void on_unloaded(void *context, struct scene *scene, const struct rt_error *err) {
    struct unloading *unloading = context;
    scene_release(&scene);
    if (err->status == RT_OK) {
        reply_scene_row(unloading->api, unloading->x, unloading->id, 200);
    } else {
        reply_scene_error(unloading->api, unloading->x, unloading->id, err);
    }
    http_finish(unloading->x);
    free(unloading);
}

void post_scene_unload(struct http_exchange *x, void *context) {
    static const char *const known[] = {"device", NULL};
    struct api *api = context;
    const char *id;
    if (!take_scene_id(api, x, &id)) return;
    struct wire_faults faults = {0};
    size_t n_bytes = 0;
    const void *text = http_body(x, &n_bytes);
    const char *device;
    json_t *body = n_bytes > 0 ? wire_parse(text, n_bytes, false, &faults) : json_object();
    if (body != NULL && wire_members(&faults, body, "", known)) {
        wire_string(&faults, body, "", "device", 64, &device);
    }
    json_decref(body);
    struct unloading *unloading = calloc(1, sizeof *unloading);
    if (faults.n_faults > 0 || unloading == NULL) {
        if (faults.n_faults > 0) wire_reply_faults(api, x, &faults);
        if (faults.n_faults == 0) problem_reply(api, x, PROBLEM_DEVICE_MEMORY, NULL, "no memory");
        free(unloading);
        return;
    }
    *unloading = (struct unloading){.api = api, .x = x};
    snprintf(unloading->id, sizeof unloading->id, "%s", id);
    http_defer(x);
    const struct scene_wait wait = {.ready = on_unloaded, .context = unloading};
    scene_cache_unload(api->scenes, unloading->id, &wait);
}
