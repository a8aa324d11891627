#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/handler.h"
#include "api/routes.h"
#include "api/wire_scene.h"

/* A file that waits to be checked and published on a reader thread. */
struct upload {
    struct api *api;
    struct http_exchange *x;
    struct scene_meta meta; /* strings owned below or static */
    char id[RT_ID_BYTES], name[SCENE_NAME_BYTES];
    char *path;
    bool move, replaces;
};

static void free_upload(struct upload *upload) {
    if (upload != NULL) free(upload->path);
    free(upload);
}

/* Readers name the file they opened; the client knows it by the id, not by our temporary name. */
static void name_by_id(struct rt_error *err, const struct upload *upload) {
    const char *base = strrchr(upload->path, '/');
    base = base != NULL ? base + 1 : upload->path;
    size_t n = strlen(base);
    if (strncmp(err->message, base, n) != 0) return;
    char rest[RT_MESSAGE_BYTES];
    snprintf(rest, sizeof rest, "%s", err->message + n);
    snprintf(err->message, sizeof err->message, "%s%.*s", upload->id,
             (int)(sizeof err->message - sizeof upload->id), rest);
}

static void publish(void *context) {
    struct upload *upload = context;
    struct rt_error err;
    rt_error_clear(&err);
    enum rt_status status = scene_cache_publish_file(upload->api->scenes, upload->id, upload->path,
                                                     upload->move, &upload->meta, &err);
    if (status == RT_OK) {
        char location[RT_ID_BYTES + 16];
        snprintf(location, sizeof location, "/v1/scenes/%s", upload->id);
        if (!upload->replaces) http_reply_header(upload->x, "Location", location);
        reply_scene_row(upload->api, upload->x, upload->id, upload->replaces ? 200 : 201);
    } else {
        name_by_id(&err, upload);
        reply_scene_error(upload->api, upload->x, upload->id, &err);
    }
    http_finish(upload->x);
    free_upload(upload);
}

/* Hands over to a reader; takes the upload over. */
static void start(struct upload *upload) {
    struct rt_error err;
    struct http_exchange *x = upload->x;
    http_defer(x);
    if (workers_submit(upload->api->readers, publish, upload, &err) == RT_OK) return;
    problem_reply_error(upload->api, x, &err, NULL);
    http_finish(x);
    free_upload(upload);
}

static const char *const axes_names[] = {"flu", "rdf", "rub", "luf", NULL};
static const char *const kind_names[] = {"scene", "asset", NULL};
static const char *const format_names[] = {"retake", "ply", "splat", "spz", NULL};

static void read_query(struct http_exchange *x, struct upload *upload, struct wire_faults *faults) {
    static const char *const known[] = {"sha256", "axes", "name", "kind", "format", NULL};
    int32_t axes = -1, kind = 0, format = -1;
    wire_query_members(faults, x, known);
    if (wire_query_choice(faults, x, "axes", axes_names, &axes)) {
        upload->meta.axes = axes_names[axes];
    }
    wire_query_choice(faults, x, "kind", kind_names, &kind);
    upload->meta.kind = kind_names[kind];
    if (wire_query_choice(faults, x, "format", format_names, &format)) {
        upload->meta.format = format_names[format];
    }
    const char *name = http_query(x, "name");
    if (name != NULL && (strlen(name) >= SCENE_NAME_BYTES || name[0] == '\0')) {
        wire_fault(faults, "?name", NULL, "must have 1...%d bytes", SCENE_NAME_BYTES - 1);
    } else if (name != NULL) {
        snprintf(upload->name, sizeof upload->name, "%s", name);
        upload->meta.name = upload->name;
    }
    const char *digest = http_query(x, "sha256");
    if (digest != NULL && (strlen(digest) != 64 || strspn(digest, "0123456789abcdef") != 64)) {
        wire_fault(faults, "?sha256", NULL, "must be 64 lower-case hex digits");
    }
}

/* RT_OK to go on; otherwise answered. */
static bool check_digest(struct upload *upload, const char *actual) {
    const char *expected = http_query(upload->x, "sha256");
    if (expected == NULL || strcmp(expected, actual) == 0) return true;
    json_t *members = json_pack("{s:s, s:s}", "expected", expected, "actual", actual);
    problem_reply(upload->api, upload->x, PROBLEM_DIGEST_MISMATCH, members,
                  "the bytes that arrived have another SHA-256 than declared");
    return false;
}

/* The rules of replacing: same bytes are a no-op, others need If-Match. False when answered. */
static bool check_existing(struct upload *upload, const char *digest) {
    struct scene_row row = {0};
    struct http_exchange *x = upload->x;
    const char *if_match = http_header(x, "If-Match");
    bool exists = scene_cache_row(upload->api->scenes, upload->id, &row, NULL) == RT_OK;
    scene_row_free(&row);
    char etag[SCENE_DIGEST_BYTES + 4];
    snprintf(etag, sizeof etag, "\"%s\"", row.digest);
    bool is_match = if_match != NULL && (strcmp(if_match, "*") == 0 || strstr(if_match, etag));
    upload->replaces = exists;
    if (exists && row.live) {
        problem_reply(upload->api, x, PROBLEM_SCENE_BUSY, json_pack("{s:[s]}", "users", "training"),
                      "scene %s is being trained", upload->id);
        return false;
    }
    if (if_match != NULL && (!exists || !is_match)) {
        json_t *members = exists ? json_pack("{s:s}", "digest", row.digest) : NULL;
        problem_reply(upload->api, x, PROBLEM_PRECONDITION_FAILED, members,
                      "If-Match does not name the present content of scene %s", upload->id);
        return false;
    }
    if (!exists) return true;
    if (strcmp(row.digest, digest) == 0) {
        reply_scene_row(upload->api, x, upload->id, 200);
        return false;
    }
    if (if_match != NULL) return true;
    problem_reply(upload->api, x, PROBLEM_SCENE_EXISTS, json_pack("{s:s}", "digest", row.digest),
                  "scene %s exists with other content; replace it with If-Match and its ETag",
                  upload->id);
    return false;
}

static struct upload *create_upload(struct api *api, struct http_exchange *x, const char *id,
                                    const char *path) {
    struct upload *upload = calloc(1, sizeof *upload);
    if (upload != NULL) {
        *upload = (struct upload){.api = api, .x = x, .path = strdup(path)};
        snprintf(upload->id, sizeof upload->id, "%s", id);
    }
    if (upload == NULL || upload->path == NULL) {
        free_upload(upload);
        problem_reply(api, x, PROBLEM_DEVICE_MEMORY, NULL, "no memory for this upload");
        return NULL;
    }
    return upload;
}

void put_scene(struct http_exchange *x, void *context) {
    struct api *api = context;
    const char *id, *digest = NULL;
    uint64_t n_bytes = 0;
    if (!take_scene_id(api, x, &id)) return;
    const char *path = http_body_file(x, &n_bytes, &digest);
    if (path == NULL || n_bytes == 0) {
        problem_reply(api, x, PROBLEM_INVALID_REQUEST, NULL, "the body is empty; send the file");
        return;
    }
    if (api_storage_is_full(api)) {
        problem_reply(api, x, PROBLEM_STORAGE_FULL, NULL, "the data folder has no room left");
        return;
    }
    struct upload *upload = create_upload(api, x, id, path);
    if (upload == NULL) return;
    struct wire_faults faults = {0};
    read_query(x, upload, &faults);
    upload->move = true;
    if (faults.n_faults > 0) {
        wire_reply_faults(api, x, &faults);
        free_upload(upload);
    } else if (!check_digest(upload, digest) || !check_existing(upload, digest)) {
        free_upload(upload);
    } else {
        start(upload);
    }
}

/* -- import of a file that is on the machine already -- */

/* The real path below the data root, malloc'ed; NULL with a fault. Links out of it are refused. */
static char *resolve(struct api *api, const char *path, struct wire_faults *faults) {
    if (api->data_root == NULL) {
        wire_fault(faults, "", "path", "imports need the server option --data-root");
        return NULL;
    }
    size_t n = strlen(api->data_root) + strlen(path) + 2;
    char *joined = malloc(n);
    if (joined == NULL) return NULL;
    snprintf(joined, n, "%s/%s", path[0] == '/' ? "" : api->data_root, path);
    char *real = realpath(joined, NULL), *root = realpath(api->data_root, NULL);
    free(joined);
    size_t n_root = root != NULL ? strlen(root) : 0;
    bool is_below = real != NULL && root != NULL && strncmp(real, root, n_root) == 0 &&
                    (real[n_root] == '/' || n_root == 1);
    struct stat status;
    bool is_file = is_below && stat(real, &status) == 0 && S_ISREG(status.st_mode);
    free(root);
    if (is_file) return real;
    free(real);
    wire_fault(faults, "", "path", "is no file below the data root");
    return NULL;
}

static struct upload *read_import(struct api *api, struct http_exchange *x,
                                  struct wire_faults *faults) {
    static const char *const known[] = {"id", "path", "name", "axes", "kind", "format", NULL};
    size_t n_bytes = 0;
    const void *text = http_body(x, &n_bytes);
    json_t *body = wire_parse(text, n_bytes, false, faults);
    const char *id = NULL, *path = NULL, *name = NULL;
    int32_t axes = -1, kind = 0, format = -1;
    struct upload *upload = NULL;
    if (body == NULL || !wire_members(faults, body, "", known)) goto out;
    if (!wire_string(faults, body, "", "id", 64, &id) || !id_is_valid(id, false)) {
        wire_fault(faults, "", "id", "must be a scene id");
    }
    if (!wire_string(faults, body, "", "path", 4096, &path)) {
        wire_fault(faults, "", "path", "is missing");
    }
    wire_string(faults, body, "", "name", SCENE_NAME_BYTES - 1, &name);
    wire_choice(faults, body, "", "axes", axes_names, &axes);
    wire_choice(faults, body, "", "kind", kind_names, &kind);
    wire_choice(faults, body, "", "format", format_names, &format);
    char *real = faults->n_faults == 0 ? resolve(api, path, faults) : NULL;
    if (real != NULL) upload = create_upload(api, x, id, real);
    free(real);
    if (upload == NULL) goto out;
    upload->meta.axes = axes >= 0 ? axes_names[axes] : NULL;
    upload->meta.format = format >= 0 ? format_names[format] : NULL;
    upload->meta.kind = kind_names[kind];
    upload->meta.origin_type = "import";
    snprintf(upload->name, sizeof upload->name, "%s", name != NULL ? name : "");
    if (name != NULL) upload->meta.name = upload->name;
out:
    json_decref(body);
    return upload;
}

void post_scene_import(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct wire_faults faults = {0};
    struct upload *upload = read_import(api, x, &faults);
    if (faults.n_faults > 0) wire_reply_faults(api, x, &faults);
    if (upload == NULL) return;
    struct scene_row row = {0};
    if (scene_cache_row(api->scenes, upload->id, &row, NULL) == RT_OK) {
        problem_reply(api, x, PROBLEM_SCENE_EXISTS, json_pack("{s:s}", "digest", row.digest),
                      "scene %s exists", upload->id);
        scene_row_free(&row);
        free_upload(upload);
        return;
    }
    start(upload);
}
