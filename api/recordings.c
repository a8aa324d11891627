#include "api/recordings.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/folder.h"
#include "api/later.h"
#include "api/recording_store.h"
#include "api/routes.h"
#include "api/wire_json.h"
#include "api/wire_recording.h"
#include "render/core/scene.h"
#include "server/jobs.h"

enum { PAGE = 100, MAX_PAGE = 1000, MAX_KNOWN = 20 };

/* -- rows -------------------------------------------------------------------------------------- */

static void reply_not_found(struct api *api, struct http_exchange *x, const char *id) {
    char(*ids)[RT_ID_BYTES] = NULL;
    int32_t n_ids = 0;
    json_t *known = json_array();
    recording_store_list(api->recordings, &ids, &n_ids, NULL);
    for (int32_t i = 0; i < n_ids && i < MAX_KNOWN; i++) {
        json_array_append_new(known, json_string(ids[i]));
    }
    free(ids);
    problem_reply(api, x, PROBLEM_NOT_FOUND,
                  json_pack("{s:s, s:o}", "resource", "recording", "known", known),
                  "there is no recording \"%.64s\"", id);
}

/* The row of a recording that exists, or NULL. */
static json_t *row_of(struct api *api, const char *id) {
    struct recording_origin origin;
    struct recording_handle *handle = NULL;
    struct rt_error err = {0};
    if (recording_store_origin(api->recordings, id, &origin, NULL) != RT_OK) return NULL;
    recording_store_acquire(api->recordings, id, &handle, &err);
    json_t *row = wire_recording_row(&origin, handle ? handle->recording : NULL, &err);
    recording_handle_release(&handle);
    return row;
}

static void answer_list(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct wire_faults faults = {0};
    struct rt_error err = {0};
    static const char *const known[] = {"limit", "cursor", NULL};
    int64_t limit = PAGE;
    wire_query_members(&faults, x, known);
    wire_query_int(&faults, x, "limit", 1, MAX_PAGE, &limit);
    if (faults.n_faults) {
        wire_reply_faults(api, x, &faults);
        return;
    }
    char(*ids)[RT_ID_BYTES] = NULL;
    int32_t n_ids = 0;
    if (recording_store_list(api->recordings, &ids, &n_ids, &err) != RT_OK) {
        problem_reply_error(api, x, &err, NULL);
        return;
    }
    const char *after = http_query(x, "cursor");
    json_t *items = json_array(), *next = json_null();
    for (int32_t i = 0; i < n_ids; i++) {
        if (after && strcmp(ids[i], after) <= 0) continue;
        if ((int64_t)json_array_size(items) == limit) {
            next = json_string(ids[i - 1]);
            break;
        }
        json_t *row = row_of(api, ids[i]);
        if (row) json_array_append_new(items, row);
    }
    free(ids);
    reply_json(api, x, 200, json_pack("{s:o, s:o}", "items", items, "next", next));
}

void get_recordings(struct http_exchange *x, void *context) {
    handle_later(context, x, answer_list);
}

static void answer_detail(struct http_exchange *x, void *context) {
    struct api *api = context;
    const char *id = http_param(x, "id");
    json_t *row = row_of(api, id);
    if (row) {
        reply_json(api, x, 200, row);
    } else {
        reply_not_found(api, x, id);
    }
}

void get_recording(struct http_exchange *x, void *context) {
    handle_later(context, x, answer_detail);
}

/* -- use by jobs ------------------------------------------------------------------------------- */

/* Ids of jobs that will still read the recording. */
static json_t *users_of(struct api *api, const char *id) {
    static const char *const states[] = {"queued", "running", "paused"};
    json_t *users = json_array();
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        struct jobs_filter filter = {.state = states[i], .subject = id, .limit = MAX_KNOWN};
        struct job_row *rows = NULL;
        int32_t n_rows = 0;
        if (jobs_list(api->jobs, &filter, &rows, &n_rows, NULL) != RT_OK) continue;
        for (int32_t k = 0; k < n_rows; k++) {
            json_array_append_new(users, json_string(rows[k].id));
            job_row_free(&rows[k]);
        }
        free(rows);
    }
    return users;
}

/* True (and answered) when a job reads the recording. */
static bool refuse_in_use(struct api *api, struct http_exchange *x, const char *id) {
    json_t *users = users_of(api, id);
    if (json_array_size(users) == 0) {
        json_decref(users);
        return false;
    }
    problem_reply(api, x, PROBLEM_RECORDING_IN_USE, json_pack("{s:o}", "users", users),
                  "a reconstruction that is not finished reads the recording \"%s\"", id);
    return true;
}

/* -- upload and import ------------------------------------------------------------------------- */

/* A recording that cannot be read is the client's fault, whatever part of it failed. */
static void reply_refused(struct api *api, struct http_exchange *x, const char *id,
                          struct rt_error *err) {
    struct recording_origin origin;
    if (err->status == RT_EXISTS) {
        json_t *digest = json_null();
        if (recording_store_origin(api->recordings, id, &origin, NULL) == RT_OK &&
            origin.digest[0]) {
            digest = json_sprintf("sha256:%s", origin.digest);
        }
        problem_reply(api, x, PROBLEM_RECORDING_EXISTS, json_pack("{s:o}", "digest", digest),
                      "the recording \"%s\" exists; send If-Match with its ETag to replace it", id);
        return;
    }
    if (err->status == RT_BAD_FILE || err->status == RT_UNSUPPORTED || err->status == RT_LIMIT ||
        err->status == RT_CALIBRATION || err->status == RT_INVALID) {
        err->status = RT_BAD_RECORDING;
    }
    problem_reply_error(api, x, err, NULL);
}

static void reply_created(struct api *api, struct http_exchange *x, const char *id, int status) {
    char location[96];
    snprintf(location, sizeof location, "/v1/recordings/%s", id);
    http_reply_header(x, "Location", location);
    reply_json(api, x, status, row_of(api, id));
}

/* If-Match names the row's ETag, the digest, or "*". */
static bool matches_if_match(struct api *api, const struct recording_origin *origin,
                             const char *if_match) {
    char etag[ETAG_BYTES] = "";
    json_t *row = row_of(api, origin->id);
    char *text = row ? json_dumps(row, JSON_COMPACT) : NULL;
    json_decref(row);
    if (text) etag_of_bytes(text, strlen(text), etag);
    free(text);
    return strcmp(if_match, "*") == 0 || (etag[0] && strstr(if_match, etag)) ||
           (origin->digest[0] && strstr(if_match, origin->digest));
}

/* Decides what an upload over an existing id means; true when it was answered already. */
static bool settle_existing(struct api *api, struct http_exchange *x, const char *sha256,
                            bool *replace) {
    const char *id = http_param(x, "id"), *if_match = http_header(x, "If-Match");
    struct recording_origin origin;
    *replace = false;
    bool exists = recording_store_origin(api->recordings, id, &origin, NULL) == RT_OK;
    if (!exists && !if_match) return false;
    if (exists && strcmp(origin.digest, sha256) == 0) {
        reply_created(api, x, id, 200);
        return true;
    }
    if (exists && !if_match) {
        struct rt_error err = {.status = RT_EXISTS};
        reply_refused(api, x, id, &err);
        return true;
    }
    if (!exists || !matches_if_match(api, &origin, if_match)) {
        problem_reply(api, x, PROBLEM_PRECONDITION_FAILED,
                      json_pack("{s:s?}", "digest", exists ? origin.digest : NULL),
                      "If-Match does not name the recording \"%s\" as it is now", id);
        return true;
    }
    *replace = true;
    return refuse_in_use(api, x, id);
}

static void answer_upload(struct http_exchange *x, void *context) {
    struct api *api = context;
    const char *id = http_param(x, "id"), *sha256 = NULL;
    uint64_t n_bytes = 0;
    struct rt_error err = {0};
    bool replace;
    const char *file = http_body_file(x, &n_bytes, &sha256);
    if (settle_existing(api, x, sha256, &replace)) return;
    if (recording_store_add_archive(api->recordings, id, file, sha256, replace, &err) != RT_OK) {
        reply_refused(api, x, id, &err);
        return;
    }
    reply_created(api, x, id, replace ? 200 : 201);
}

static bool is_sha256(const char *text) {
    size_t n = 0;
    while (isxdigit((unsigned char)text[n])) n++;
    return n == 64 && text[n] == '\0';
}

static bool same_hex(const char *a, const char *b) {
    for (; *a && tolower((unsigned char)*a) == tolower((unsigned char)*b); a++, b++) continue;
    return *a == *b;
}

void put_recording(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct wire_faults faults = {0};
    static const char *const known[] = {"sha256", NULL};
    const char *expected = http_query(x, "sha256"), *actual = NULL;
    uint64_t n_bytes = 0;
    wire_query_members(&faults, x, known);
    if (!id_is_valid(http_param(x, "id"), false)) {
        wire_fault(&faults, "", "id",
                   "is not an identifier: letters, digits, _ and -, first a letter or digit, at "
                   "most 64");
    }
    if (expected && !is_sha256(expected)) {
        wire_fault(&faults, "?sha256", NULL, "must be 64 hex digits");
    }
    http_body_file(x, &n_bytes, &actual);
    if (faults.n_faults) {
        wire_reply_faults(api, x, &faults);
    } else if (expected && !same_hex(expected, actual)) {
        problem_reply(api, x, PROBLEM_DIGEST_MISMATCH,
                      json_pack("{s:s, s:s}", "expected", expected, "actual", actual),
                      "the bytes that arrived have another SHA-256 than the one named");
    } else if (api_storage_is_full(api)) {
        problem_reply(api, x, PROBLEM_STORAGE_FULL, NULL,
                      "the disk has less free space than the floor of the service");
    } else {
        handle_later(api, x, answer_upload);
    }
}

/* With an Idempotency-Key, importing the same folder again is the same import. */
static bool is_repeat(struct api *api, struct http_exchange *x, const char *id,
                      const char *folder) {
    char known[FOLDER_PATH_BYTES];
    return http_header(x, "Idempotency-Key") &&
           recording_store_folder(api->recordings, id, known, NULL) == RT_OK &&
           strcmp(known, folder) == 0;
}

static void answer_import(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct wire_faults faults = {0};
    struct rt_error err = {0};
    char folder[FOLDER_PATH_BYTES];
    const char *id = NULL, *path = NULL;
    size_t n_bytes = 0;
    static const char *const known[] = {"id", "path", NULL};
    const void *text = http_body(x, &n_bytes);
    json_t *body = wire_parse(text, n_bytes, false, &faults);
    if (body) {
        wire_members(&faults, body, "", known);
        if (!wire_string(&faults, body, "", "id", 64, &id) && !json_object_get(body, "id")) {
            wire_fault(&faults, "", "id", "is required");
        }
        if (id && !id_is_valid(id, false)) wire_fault(&faults, "", "id", "is not an identifier");
        if (!wire_string(&faults, body, "", "path", 1024, &path) &&
            !json_object_get(body, "path")) {
            wire_fault(&faults, "", "path", "is required: a folder below --data-root");
        }
        if (path && !api->data_root) {
            wire_fault(&faults, "", "path", "this server was started without --data-root");
        } else if (path && folder_resolve_below(api->data_root, path, folder, &err) != RT_OK) {
            wire_fault(&faults, "", "path", "%s", err.message);
        }
    }
    if (faults.n_faults) {
        wire_reply_faults(api, x, &faults);
    } else if (recording_store_add_folder(api->recordings, id, folder, &err) != RT_OK &&
               !(err.status == RT_EXISTS && is_repeat(api, x, id, folder))) {
        reply_refused(api, x, id, &err);
    } else {
        reply_created(api, x, id, 201);
    }
    json_decref(body);
}

void post_recording_import(struct http_exchange *x, void *context) {
    handle_later(context, x, answer_import);
}

static void answer_delete(struct http_exchange *x, void *context) {
    struct api *api = context;
    const char *id = http_param(x, "id");
    struct rt_error err = {0};
    if (!recording_store_has(api->recordings, id)) {
        reply_not_found(api, x, id);
    } else if (refuse_in_use(api, x, id)) {
        return;
    } else if (recording_store_remove(api->recordings, id, &err) != RT_OK) {
        problem_reply_error(api, x, &err, NULL);
    } else {
        reply_empty(api, x, 204);
    }
}

void delete_recording(struct http_exchange *x, void *context) {
    handle_later(context, x, answer_delete);
}

/* -- check ------------------------------------------------------------------------------------- */

static json_t *check_json(struct api *api, const char *id, bool deep) {
    char folder[FOLDER_PATH_BYTES];
    struct recording *recording = NULL;
    struct rt_error err = {0};
    enum rt_status status = recording_store_folder(api->recordings, id, folder, &err);
    if (status == RT_OK) status = recording_open(folder, &recording, &err);
    if (status == RT_OK && deep) status = recording_check_deep(recording, &err);
    json_t *findings = recording ? wire_recording_findings(recording) : json_array();
    bool is_ok = status == RT_OK;
    for (int32_t i = 0; recording && i < recording->n_findings; i++) {
        is_ok = is_ok && recording->findings[i].severity != FINDING_ERROR;
    }
    if (status != RT_OK) json_array_append_new(findings, wire_recording_refusal(&err));
    recording_close(&recording);
    return json_pack("{s:b, s:o}", "ok", is_ok, "findings", findings);
}

static void answer_check(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct wire_faults faults = {0};
    const char *id = http_param(x, "id");
    size_t n_bytes = 0;
    bool deep = false;
    static const char *const known[] = {"deep", NULL};
    const void *text = http_body(x, &n_bytes);
    json_t *body = n_bytes ? wire_parse(text, n_bytes, false, &faults) : NULL;
    if (body && wire_members(&faults, body, "", known)) {
        wire_bool(&faults, body, "", "deep", &deep);
    }
    json_decref(body);
    if (faults.n_faults) {
        wire_reply_faults(api, x, &faults);
    } else if (!recording_store_has(api->recordings, id)) {
        reply_not_found(api, x, id);
    } else {
        reply_json(api, x, 200, check_json(api, id, deep));
    }
}

void post_recording_check(struct http_exchange *x, void *context) {
    handle_later(context, x, answer_check);
}
