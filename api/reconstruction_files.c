#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/event_pump.h"
#include "api/folder.h"
#include "api/handler.h"
#include "api/later.h"
#include "api/recon_runner.h"
#include "api/reconstructions.h"
#include "api/recorded.h"
#include "api/routes.h"
#include "api/wire_json.h"
#include "render/io/image_file.h"

enum { MAX_SSE = 256, LOG_MAX_BYTES = 16 << 20, MAX_TAIL = 100000 };

/* -- events ------------------------------------------------------------------------------------ */

void get_reconstruction_events(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct job_row job = {0};
    static const char *const known[] = {NULL};
    const char *last = http_header(x, "Last-Event-ID");
    char *end = NULL;
    long long after = last ? strtoll(last, &end, 10) : -1;
    if (last && (*end != '\0' || end == last || after < 0)) after = -1;
    if (refuse_unknown_query(api, x, known) || !reconstruction_find(api, x, &job)) return;
    struct http_stream *stream =
        event_pump_readers(api->events) < MAX_SSE ? http_stream_open(x) : NULL;
    if (!stream) {
        problem_reply(api, x, PROBLEM_TOO_MANY_STREAMS, json_pack("{s:i}", "retry_after_s", 5),
                      "%d event readers are open already", MAX_SSE);
    } else if (event_pump_add(api->events, stream, job.id, after, NULL) != RT_OK) {
        http_stream_close(&stream);
    }
    job_row_free(&job);
}

/* -- log --------------------------------------------------------------------------------------- */

/* The last n lines of the text. */
static const char *tail_of(const char *text, size_t n_bytes, int64_t n_lines) {
    size_t at = n_bytes;
    if (at > 0 && text[at - 1] == '\n') at--;
    while (at > 0) {
        if (text[at - 1] == '\n' && --n_lines == 0) break;
        at--;
    }
    return text + at;
}

static void reply_tail(struct api *api, struct http_exchange *x, const char *path,
                       int64_t n_lines) {
    struct rt_bytes bytes = {0};
    struct rt_error err = {0};
    if (file_read(path, LOG_MAX_BYTES, &bytes, &err) != RT_OK) {
        problem_reply_error(api, x, &err, NULL);
        return;
    }
    const char *tail = tail_of(bytes.bytes, bytes.n_bytes, n_lines);
    size_t n = bytes.n_bytes - (size_t)(tail - (const char *)bytes.bytes);
    http_reply(x, 200, "text/plain; charset=utf-8", tail, n);
    rt_bytes_free(&bytes);
}

void get_reconstruction_log(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct job_row job = {0};
    struct wire_faults faults = {0};
    static const char *const known[] = {"tail", NULL};
    int64_t n_lines = 0;
    char path[FOLDER_PATH_BYTES];
    struct stat file;
    wire_query_members(&faults, x, known);
    wire_query_int(&faults, x, "tail", 1, MAX_TAIL, &n_lines);
    if (faults.n_faults) {
        wire_reply_faults(api, x, &faults);
        return;
    }
    if (!reconstruction_find(api, x, &job)) return;
    if (recon_runner_path(api->runner, job.id, "log.txt", path, NULL) != RT_OK ||
        stat(path, &file) != 0) { /* still waiting for its first start */
        http_reply(x, 200, "text/plain; charset=utf-8", "", 0);
    } else if (n_lines > 0) {
        reply_tail(api, x, path, n_lines);
    } else {
        reply_file(api, x, "text/plain; charset=utf-8", path, NULL);
    }
    job_row_free(&job);
}

/* -- preview ----------------------------------------------------------------------------------- */

static enum rt_status read_scaled(const char *path, int64_t width_px, struct rt_bytes *out,
                                  struct rt_error *err) {
    struct image picture = {0}, scaled = {0};
    RT_TRY(image_read(path, &picture, err));
    int64_t width = width_px < picture.width_px ? width_px : picture.width_px;
    int64_t height = (picture.height_px * width + picture.width_px / 2) / picture.width_px;
    enum rt_status status =
        image_shrink(&picture, (int32_t)width, (int32_t)(height > 0 ? height : 1), &scaled, err);
    if (status == RT_OK) status = image_encode_jpeg(&scaled, 85, out, err);
    image_destroy(&picture);
    image_destroy(&scaled);
    return status;
}

static void answer_preview(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct job_row job = {0};
    struct wire_faults faults = {0};
    struct rt_error err = {0};
    struct rt_bytes jpeg = {0};
    /* `step` only keeps browsers from showing an older picture. */
    static const char *const known[] = {"sensor", "w", "step", NULL};
    int64_t width_px = 0;
    char path[FOLDER_PATH_BYTES], etag[ETAG_BYTES];
    wire_query_members(&faults, x, known);
    wire_query_int(&faults, x, "w", 1, 640, &width_px);
    if (http_query(x, "sensor")) {
        wire_unsupported(&faults, "?sensor", NULL, "preview-sensor",
                         "previews show the default view; ask live_scene for other sensors");
    }
    if (faults.n_faults) {
        wire_reply_faults(api, x, &faults);
        return;
    }
    if (!reconstruction_find(api, x, &job)) return;
    enum rt_status status = recon_runner_path(api->runner, job.id, "preview.jpg", path, &err);
    if (status == RT_OK && folder_file_bytes(path) < 0) {
        problem_reply(api, x, PROBLEM_NOT_FOUND, json_pack("{s:s}", "resource", "preview"),
                      "there is no preview yet: the first comes after the first training steps");
        job_row_free(&job);
        return;
    }
    if (status == RT_OK) {
        status = width_px > 0 ? read_scaled(path, width_px, &jpeg, &err)
                              : file_read(path, LOG_MAX_BYTES, &jpeg, &err);
    }
    job_row_free(&job);
    if (status != RT_OK) {
        problem_reply_error(api, x, &err, NULL);
        return;
    }
    etag_of_bytes(jpeg.bytes, jpeg.n_bytes, etag);
    http_reply_header(x, "ETag", etag);
    http_reply_header(x, "Cache-Control", "private, no-cache");
    if (http_etag_matches(x, etag)) {
        rt_bytes_free(&jpeg);
        reply_empty(api, x, 304);
    } else {
        reply_bytes(api, x, "image/jpeg", jpeg.bytes, jpeg.n_bytes);
    }
}

void get_reconstruction_preview(struct http_exchange *x, void *context) {
    handle_later(context, x, answer_preview);
}

/* -- artifacts --------------------------------------------------------------------------------- */

static const struct {
    const char *name, *content_type;
} artifacts[] = {
    {"scene.retake", "application/zip"},        {"config.json", "application/json"},
    {"eval.json", "application/json"},          {"metrics.csv", "text/csv; charset=utf-8"},
    {"checkpoint", "application/octet-stream"},
};
enum { N_ARTIFACTS = sizeof artifacts / sizeof artifacts[0] };

/* Path of an artifact that exists; `checkpoint` is the newest one. */
static bool find_artifact(struct api *api, const char *id, int i_artifact, char *out) {
    char folder[FOLDER_PATH_BYTES], newest[256] = "";
    if (strcmp(artifacts[i_artifact].name, "checkpoint") != 0) {
        return recon_runner_path(api->runner, id, artifacts[i_artifact].name, out, NULL) == RT_OK &&
               folder_file_bytes(out) >= 0;
    }
    if (recon_runner_path(api->runner, id, "", folder, NULL) != RT_OK) return false;
    DIR *listing = opendir(folder);
    if (!listing) return false;
    for (struct dirent *entry; (entry = readdir(listing));) {
        /* checkpoint_000001234.rtck: names sort by step */
        size_t n = strlen(entry->d_name);
        bool is_checkpoint = strncmp(entry->d_name, "checkpoint_", 11) == 0 && n < sizeof newest &&
                             strcmp(entry->d_name + n - 5, ".rtck") == 0;
        if (is_checkpoint && strcmp(entry->d_name, newest) > 0) {
            memcpy(newest, entry->d_name, n + 1);
        }
    }
    closedir(listing);
    return newest[0] && folder_join(folder, newest, out, NULL) == RT_OK;
}

void get_reconstruction_artifacts(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct job_row job = {0};
    char path[FOLDER_PATH_BYTES], link[128];
    static const char *const known[] = {NULL};
    if (refuse_unknown_query(api, x, known) || !reconstruction_find(api, x, &job)) return;
    json_t *items = json_array();
    for (int i = 0; i < N_ARTIFACTS; i++) {
        if (!find_artifact(api, job.id, i, path)) continue;
        snprintf(link, sizeof link, "/v1/reconstructions/%s/artifacts/%s", job.id,
                 artifacts[i].name);
        json_array_append_new(items,
                              json_pack("{s:s, s:I, s:s}", "name", artifacts[i].name, "bytes",
                                        (json_int_t)folder_file_bytes(path), "url", link));
    }
    job_row_free(&job);
    reply_json(api, x, 200, json_pack("{s:o, s:n}", "items", items, "next"));
}

/* The file's identity: it is only ever replaced by a rename. */
static void etag_of_file(const char *path, char etag[ETAG_BYTES]) {
    struct stat file = {0};
    char key[160];
    stat(path, &file);
    int n = snprintf(key, sizeof key, "%lld %lld %lld %ld", (long long)file.st_ino,
                     (long long)file.st_size, (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
    etag_of_bytes(key, (size_t)n, etag);
}

void get_reconstruction_artifact(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct job_row job = {0};
    const char *name = http_param(x, "name");
    char path[FOLDER_PATH_BYTES], etag[ETAG_BYTES];
    static const char *const known[] = {NULL};
    if (refuse_unknown_query(api, x, known) || !reconstruction_find(api, x, &job)) return;
    int found = -1;
    json_t *names = json_array();
    for (int i = 0; i < N_ARTIFACTS; i++) {
        if (!find_artifact(api, job.id, i, path)) continue;
        json_array_append_new(names, json_string(artifacts[i].name));
        if (strcmp(artifacts[i].name, name) == 0) found = i;
    }
    if (found < 0 || !find_artifact(api, job.id, found, path)) {
        problem_reply(api, x, PROBLEM_NOT_FOUND,
                      json_pack("{s:s, s:O}", "resource", "artifact", "known", names),
                      "the job has no artifact \"%.64s\" (yet)", name);
    } else {
        etag_of_file(path, etag);
        reply_file(api, x, artifacts[found].content_type, path, etag);
    }
    json_decref(names);
    job_row_free(&job);
}
