#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/handler.h"
#include "api/routes.h"
#include "api/scene_store.h"
#include "render/io/scene_file.h"

/* Exports are written to a temporary file and answered from there. The stored file itself is sent
 * when it is what was asked for. */
struct export {
    struct api *api;
    struct http_exchange *x;
    struct scene *scene; /* one reference */
    char id[RT_ID_BYTES], ext[8], axes[4];
    char etag[ETAG_BYTES];
};

static const char *const extensions[] = {"retake", "ply", "splat", "spz", NULL};

static const char media_type[] = "application/octet-stream";

static void write_export(void *context) {
    struct export *export = context;
    struct api *api = export->api;
    struct rt_error err;
    char name[96];
    snprintf(name, sizeof name, "export-%s.%s", http_request_id(export->x), export->ext);
    char *path = path_join(api->folder, name);
    enum rt_status status = path != NULL ? RT_OK : rt_fail(&err, RT_NO_MEMORY, "no memory");
    bool is_scene = strcmp(export->ext, "retake") == 0;
    if (status == RT_OK) {
        status = is_scene ? scene_write(path, export->scene, &err)
                          : scene_export(path, export->ext, export->scene, export->axes, &err);
    }
    if (status == RT_OK) {
        reply_file(api, export->x, media_type, path, export->etag);
    } else {
        problem_reply_error(api, export->x, &err, NULL);
    }
    if (path != NULL) unlink(path); /* the answer holds it open */
    scene_release(&export->scene);
    http_finish(export->x);
    free(path);
    free(export);
}

static void on_scene(void *context, struct scene *scene, const struct rt_error *err) {
    struct export *export = context;
    struct rt_error full;
    export->scene = scene;
    if (scene == NULL) {
        reply_scene_error(export->api, export->x, export->id, err);
    } else if (workers_submit(export->api->readers, write_export, export, &full) == RT_OK) {
        return;
    } else {
        problem_reply_error(export->api, export->x, &full, NULL);
    }
    scene_release(&export->scene);
    http_finish(export->x);
    free(export);
}

static void read_axes(struct http_exchange *x, const char *ext, struct export *export,
                      struct wire_faults *faults) {
    static const char *const known[] = {"node", "axes", "t_us", NULL};
    static const char *const axes[] = {"flu", "rdf", "rub", "luf", NULL};
    wire_query_members(faults, x, known);
    int32_t choice = strcmp(ext, "spz") == 0 ? 2 : strcmp(ext, "retake") == 0 ? 0 : 1;
    wire_query_choice(faults, x, "axes", axes, &choice);
    snprintf(export->axes, sizeof export->axes, "%s", axes[choice]);
    if (http_query(x, "node") != NULL && strcmp(http_query(x, "node"), "background") != 0) {
        wire_unsupported(faults, "?node", NULL, "export_nodes", "only the background is exported");
    }
}

static bool has_extension(const char *ext) {
    for (int i = 0; extensions[i] != NULL; i++) {
        if (strcmp(extensions[i], ext) == 0) return true;
    }
    return false;
}

/* Answered with a problem when false. */
static bool check_extension(struct api *api, struct http_exchange *x, const char *ext) {
    static const char *const later[] = {"sog", "glb", "usda"};
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++) {
        if (strcmp(ext, later[i]) != 0) continue;
        problem_reply(api, x, PROBLEM_UNSUPPORTED_FEATURE,
                      json_pack("{s:s+}", "capability", "export_", ext),
                      "this version does not write .%s", ext);
        return false;
    }
    if (has_extension(ext)) return true;
    problem_reply(api, x, PROBLEM_NOT_FOUND, json_pack("{s:s}", "resource", "format"),
                  "exports are .retake, .ply, .splat and .spz");
    return false;
}

void get_export(struct http_exchange *x, void *context) {
    struct api *api = context;
    const char *id, *ext = http_param(x, "ext");
    struct scene_row row = {0};
    struct rt_error err;
    if (!take_scene_id(api, x, &id) || !check_extension(api, x, ext)) return;
    struct export *export = calloc(1, sizeof *export);
    if (export == NULL) {
        problem_reply(api, x, PROBLEM_DEVICE_MEMORY, NULL, "no memory for the export");
        return;
    }
    *export = (struct export){.api = api, .x = x};
    struct wire_faults faults = {0};
    read_axes(x, ext, export, &faults);
    if (faults.n_faults > 0 || scene_cache_row(api->scenes, id, &row, &err) != RT_OK) {
        if (faults.n_faults > 0) wire_reply_faults(api, x, &faults);
        if (faults.n_faults == 0) reply_scene_error(api, x, id, &err);
        free(export);
        return;
    }
    char key[256];
    snprintf(key, sizeof key, "export %s %d %s %s", row.digest, row.live_step, ext, export->axes);
    etag_of_bytes(key, strlen(key), export->etag);
    scene_row_free(&row);
    snprintf(export->id, sizeof export->id, "%s", id);
    snprintf(export->ext, sizeof export->ext, "%s", ext);
    char disposition[RT_ID_BYTES + 48];
    snprintf(disposition, sizeof disposition, "attachment; filename=\"%s.%s\"", id, ext);
    http_reply_header(x, "Content-Disposition", disposition);
    if (http_etag_matches(x, export->etag)) {
        http_reply_header(x, "ETag", export->etag);
        reply_empty(api, x, 304);
        free(export);
        return;
    }
    http_defer(x);
    scene_cache_get(api->scenes, id, &(struct scene_wait){.ready = on_scene, .context = export});
}
