#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/event_pump.h"
#include "api/later.h"
#include "api/recon_runner.h"
#include "api/recording_store.h"
#include "api/routes.h"
#include "api/wire_json.h"
#include "api/wire_reconstruction.h"
#include "api/wire_recording.h"
#include "render/core/image.h"

enum { SHA256_HEX_BYTES = 65, MAX_KEY_BYTES = 64 };

/* What the checks of a submission found. */
struct plan {
    struct recon_request request;
    struct recon_estimate estimate;
    bool scene_is_taken; /* and the request does not replace it */
};

void get_reconstruction_schema(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct wire_faults faults = {0};
    struct rt_error err = {0};
    char *text = NULL;
    wire_query_members(&faults, x, (const char *const[]){NULL});
    if (faults.n_faults) {
        wire_reply_faults(api, x, &faults);
    } else if (config_schema_json(&text, &err) != RT_OK) {
        problem_reply_error(api, x, &err, NULL);
    } else {
        reply_json(api, x, 200, json_loads(text, 0, NULL));
    }
    free(text);
}

/* Parses the body; false when it was answered. The caller frees the request either way. */
static bool parse_request(struct api *api, struct http_exchange *x, struct recon_request *out) {
    struct wire_faults faults = {0};
    size_t n_bytes = 0;
    memset(out, 0, sizeof *out);
    const void *text = http_body(x, &n_bytes);
    json_t *body = wire_parse(text, n_bytes, true, &faults);
    bool is_cpu = strcmp(engine_stats(api->engine).backend, "cpu") == 0;
    if (body) wire_reconstruction_request(&faults, body, is_cpu ? "preview" : "balanced", out);
    json_decref(body);
    if (faults.n_faults) wire_reply_faults(api, x, &faults);
    return faults.n_faults == 0;
}

static struct recon_work work_of(const struct recording *recording) {
    long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct recon_work work = {.n_threads = n_cores > 0 ? (int32_t)n_cores : 1};
    for (int32_t i = 0; i < recording->n_cameras; i++) {
        const struct camera *camera = &recording->cameras[i].camera;
        int64_t n_pixels = (int64_t)camera->width_px * camera->height_px;
        if (n_pixels > work.largest_px) work.largest_px = n_pixels;
        work.total_px += n_pixels * recording->cameras[i].n_frames;
    }
    return work;
}

/* Reads the recording for findings and the estimate; false when it was answered. */
static bool plan_recording(struct api *api, struct http_exchange *x, struct plan *plan) {
    struct recording_handle *handle = NULL;
    struct rt_error err = {0};
    const char *id = plan->request.recording;
    enum rt_status status = recording_store_acquire(api->recordings, id, &handle, &err);
    if (status == RT_NOT_FOUND && !recording_store_has(api->recordings, id)) {
        json_t *errors = json_pack("[{s:s, s:s}]", "pointer", "/recording", "message",
                                   "there is no such recording");
        problem_reply(api, x, PROBLEM_NOT_FOUND,
                      json_pack("{s:s, s:o}", "resource", "recording", "errors", errors),
                      "there is no recording \"%s\"; GET /v1/recordings lists them", id);
        return false;
    }
    if (status != RT_OK) {
        if (status != RT_NO_MEMORY && status != RT_IO) err.status = RT_BAD_RECORDING;
        problem_reply_error(api, x, &err, NULL);
        return false;
    }
    struct recon_work work = work_of(handle->recording);
    plan->request.findings = wire_recording_findings(handle->recording);
    plan->estimate = wire_reconstruction_estimate(&plan->request.config, &work);
    recording_handle_release(&handle);
    long n_pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t budget = n_pages > 0 ? (uint64_t)n_pages * (uint64_t)page_bytes : UINT64_MAX;
    if (plan->estimate.device_bytes <= budget) return true;
    problem_reply(api, x, PROBLEM_SCENE_TOO_LARGE,
                  json_pack("{s:I, s:I}", "needed_bytes", (json_int_t)plan->estimate.device_bytes,
                            "budget_bytes", (json_int_t)budget),
                  "%d splats need more memory than this machine has; lower config.splats_max",
                  plan->estimate.splats_max);
    return false;
}

/* True when an unfinished job will publish the scene. */
static bool job_makes_scene(struct api *api, const char *scene) {
    static const char *const states[] = {"queued", "running", "paused"};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        struct jobs_filter filter = {.state = states[i], .object = scene, .limit = 1};
        struct job_row *rows = NULL;
        int32_t n_rows = 0;
        jobs_list(api->jobs, &filter, &rows, &n_rows, NULL);
        for (int32_t k = 0; k < n_rows; k++) job_row_free(&rows[k]);
        free(rows);
        if (n_rows > 0) return true;
    }
    return false;
}

static void plan_scene(struct api *api, struct plan *plan) {
    struct scene_row row = {0};
    const char *scene = plan->request.scene;
    bool exists = scene_cache_row(api->scenes, scene, &row, NULL) == RT_OK;
    scene_row_free(&row);
    bool is_taken = exists || job_makes_scene(api, scene);
    plan->request.live_as_job = is_taken;
    plan->scene_is_taken = is_taken && !plan->request.replace;
}

/* -- dry run ----------------------------------------------------------------------------------- */

static void answer_check(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct plan plan = {0};
    if (parse_request(api, x, &plan.request) && plan_recording(api, x, &plan)) {
        plan_scene(api, &plan);
        json_t *findings = plan.request.findings;
        if (plan.scene_is_taken) {
            char text[192];
            snprintf(text, sizeof text,
                     "the scene \"%s\" exists: choose another id or say \"replace\":true",
                     plan.request.scene);
            json_array_append_new(findings,
                                  json_pack("{s:s, s:s, s:n, s:s}", "severity", "error", "code",
                                            "scene-exists", "file", "message", text));
        }
        reply_json(api, x, 200,
                   json_pack("{s:b, s:s, s:s, s:s, s:o, s:O, s:o}", "ok", !plan.scene_is_taken,
                             "recording", plan.request.recording, "scene", plan.request.scene,
                             "preset", plan.request.config.preset, "config",
                             wire_reconstruction_config(&plan.request.config), "findings", findings,
                             "estimate", wire_reconstruction_estimate_json(&plan.estimate)));
    }
    recon_request_free(&plan.request);
}

void post_reconstruction_check(struct http_exchange *x, void *context) {
    handle_later(context, x, answer_check);
}

/* -- submission -------------------------------------------------------------------------------- */

static void digest_of_body(const struct http_exchange *x, char hex[SHA256_HEX_BYTES]) {
    struct sha256_ctx hash;
    uint8_t digest[SHA256_DIGEST_SIZE];
    size_t n_bytes = 0;
    const void *body = http_body(x, &n_bytes);
    sha256_init(&hash);
    sha256_update(&hash, n_bytes, body);
    sha256_digest(&hash, sizeof digest, digest);
    for (int i = 0; i < SHA256_DIGEST_SIZE; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static void reply_accepted(struct api *api, struct http_exchange *x, const struct job_row *job) {
    char location[64];
    snprintf(location, sizeof location, "/v1/reconstructions/%s", job->id);
    http_reply_header(x, "Location", location);
    http_reply_header(x, "Retry-After", "1");
    reply_json(api, x, 202, recon_runner_row(api->runner, job));
}

static void reply_submit_error(struct api *api, struct http_exchange *x,
                               const struct rt_error *err) {
    if (err->status == RT_INVALID) {
        problem_reply(api, x, PROBLEM_IDEMPOTENCY_MISMATCH, NULL,
                      "the Idempotency-Key was used with another body");
    } else if (err->status == RT_QUEUE_FULL) {
        problem_reply(api, x, PROBLEM_QUEUE_FULL, json_pack("{s:i}", "retry_after_s", 60), "%s",
                      err->message);
    } else {
        problem_reply_error(api, x, err, NULL);
    }
}

static void submit(struct api *api, struct http_exchange *x, const struct plan *plan,
                   const char *key) {
    char digest[SHA256_HEX_BYTES];
    struct job_row job = {0};
    struct rt_error err = {0};
    bool is_repeat = false;
    char *text = wire_reconstruction_text(&plan->request);
    digest_of_body(x, digest);
    struct job_submission submission = {.subject = plan->request.recording,
                                        .object = plan->request.scene,
                                        .request = text,
                                        .priority = plan->request.priority,
                                        .idempotency_key = key,
                                        .idempotency_digest = key ? digest : NULL};
    enum rt_status status = text ? jobs_submit(api->jobs, &submission, &job, &is_repeat, &err)
                                 : rt_fail(&err, RT_NO_MEMORY, "out of memory");
    free(text);
    if (status != RT_OK) {
        reply_submit_error(api, x, &err);
        return;
    }
    if (!is_repeat) {
        recon_runner_announce(api->runner, job.id);
        recon_runner_wake(api->runner);
    }
    reply_accepted(api, x, &job);
    job_row_free(&job);
}

static void reply_scene_exists(struct api *api, struct http_exchange *x, const char *scene) {
    struct scene_row row = {0};
    json_t *digest = json_null();
    if (scene_cache_row(api->scenes, scene, &row, NULL) == RT_OK && row.digest[0]) {
        digest = json_sprintf("sha256:%s", row.digest);
    }
    scene_row_free(&row);
    problem_reply(
        api, x, PROBLEM_SCENE_EXISTS, json_pack("{s:o}", "digest", digest),
        "the scene \"%s\" exists or is being made; say \"replace\":true or choose another "
        "\"scene\"",
        scene);
}

/* Answers a repeated submission with its job: before any check, because the job itself may have
 * made the scene by now. */
static bool reply_repeat(struct api *api, struct http_exchange *x, const char *key) {
    char digest[SHA256_HEX_BYTES];
    struct job_row job = {0};
    struct rt_error err = {0};
    if (!key) return false;
    digest_of_body(x, digest);
    enum rt_status status = jobs_find_repeat(api->jobs, key, digest, &job, &err);
    if (status == RT_NOT_FOUND) return false;
    if (status == RT_OK) {
        reply_accepted(api, x, &job);
        job_row_free(&job);
    } else {
        reply_submit_error(api, x, &err);
    }
    return true;
}

static void answer_submit(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct plan plan = {0};
    const char *key = http_header(x, "Idempotency-Key");
    if (!parse_request(api, x, &plan.request) || reply_repeat(api, x, key) ||
        !plan_recording(api, x, &plan)) {
        recon_request_free(&plan.request);
        return;
    }
    plan_scene(api, &plan);
    if (plan.scene_is_taken) {
        reply_scene_exists(api, x, plan.request.scene);
    } else if (api_storage_is_full(api)) {
        problem_reply(api, x, PROBLEM_STORAGE_FULL,
                      json_pack("{s:I}", "needed_bytes", (json_int_t)plan.estimate.disk_bytes),
                      "the disk has less free space than the floor of the service");
    } else {
        submit(api, x, &plan, key);
    }
    recon_request_free(&plan.request);
}

void post_reconstruction(struct http_exchange *x, void *context) {
    struct api *api = context;
    const char *key = http_header(x, "Idempotency-Key");
    if (key && (key[0] == '\0' || strlen(key) > MAX_KEY_BYTES)) {
        problem_reply(api, x, PROBLEM_INVALID_REQUEST, NULL,
                      "Idempotency-Key must have 1 to %d characters", MAX_KEY_BYTES);
        return;
    }
    handle_in_turn(api, x, answer_submit);
}
