#include "api/wire_reconstruction.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/reply.h"
#include "render/core/scene.h"
#include "render/io/image_file.h"

static const char *const priorities[] = {"low", "normal", "high", NULL};

enum { STATUS_MAX_BYTES = 16384, MAX_LABELS = 32 };

void recon_request_free(struct recon_request *request) {
    json_decref(request->changes);
    json_decref(request->labels);
    json_decref(request->findings);
    request->changes = request->labels = request->findings = NULL;
}

/* -- in ---------------------------------------------------------------------------------------- */

static void read_id(struct wire_faults *faults, const json_t *body, const char *name, char *out) {
    const char *text = NULL;
    if (!wire_string(faults, body, "", name, 64, &text)) return;
    if (!id_is_valid(text, false)) {
        wire_fault(faults, "", name,
                   "\"%.64s\" is not an identifier: letters, digits, _ and -, first a letter or "
                   "digit, at most 64",
                   text);
        return;
    }
    snprintf(out, RT_ID_BYTES, "%s", text);
}

static void note_config_fault(void *context, const char *name, const char *message) {
    wire_fault(context, "/config", name, "%s", message);
}

static void read_config(struct wire_faults *faults, const json_t *body, const char *default_preset,
                        struct recon_request *request) {
    struct recon_config *out = &request->config;
    const char *preset = default_preset;
    struct rt_error err = {0};
    wire_string(faults, body, "", "preset", 32, &preset);
    if (config_preset(preset, out, &err) != RT_OK) {
        wire_fault(faults, "", "preset", "%s", err.message);
        return;
    }
    json_t *changes = json_object_get(body, "config");
    if (!changes || json_is_null(changes)) return;
    if (!json_is_object(changes)) {
        wire_fault(faults, "", "config", "must be an object of parameters");
        return;
    }
    request->changes = json_incref(changes);
    int32_t n_before = faults->n_faults;
    char *text = json_dumps(changes, JSON_COMPACT);
    if (!text || (config_from_json(out, text, note_config_fault, faults, &err) != RT_OK &&
                  faults->n_faults == n_before)) {
        wire_fault(faults, "", "config", "%s", text ? err.message : "out of memory");
    }
    free(text);
}

static void read_labels(struct wire_faults *faults, const json_t *body, json_t **out) {
    json_t *labels = json_object_get(body, "labels");
    const char *name;
    json_t *value;
    if (!labels || json_is_null(labels)) return;
    if (!json_is_object(labels) || json_object_size(labels) > MAX_LABELS) {
        wire_fault(faults, "", "labels", "must be an object of at most %d strings", MAX_LABELS);
        return;
    }
    json_object_foreach(labels, name, value) {
        if (!json_is_string(value) || json_string_length(value) > 256 || strlen(name) > 64) {
            wire_fault(faults, "/labels", name,
                       "must be a string of at most 256 bytes (name: at most 64)");
        }
    }
    *out = json_incref(labels);
}

/* Members of the contract that this version cannot honour: named, not ignored. */
static void refuse_unserved(struct wire_faults *faults, const json_t *body) {
    static const struct {
        const char *name, *capability, *text;
    } rows[] = {
        {"sensors", "sensor-selection", "every sensor of the recording is used; leave it out"},
        {"t_begin_us", "time-selection", "the whole recording is used; leave it out"},
        {"t_end_us", "time-selection", "the whole recording is used; leave it out"},
        {"warm_start", "warm-start", "a reconstruction starts from its recording; leave it out"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *value = json_object_get(body, rows[i].name);
        if (value && !json_is_null(value)) {
            wire_unsupported(faults, "", rows[i].name, rows[i].capability,
                             "not served by this version: %s", rows[i].text);
        }
    }
    const char *device = "auto";
    if (wire_string(faults, body, "", "device", 32, &device) && strcmp(device, "auto") != 0 &&
        strcmp(device, "cpu") != 0) {
        wire_unsupported(faults, "", "device", "device-selection",
                         "\"%s\" is not a device of this server; say auto", device);
    }
}

void wire_reconstruction_request(struct wire_faults *faults, const json_t *body,
                                 const char *default_preset, struct recon_request *out) {
    static const char *const known[] = {
        "recording",  "scene",  "preset",   "config",  "sensors",        "t_begin_us", "t_end_us",
        "warm_start", "device", "priority", "replace", "load_when_done", "labels",     NULL};
    memset(out, 0, sizeof *out);
    out->load_when_done = true;
    if (!wire_members(faults, body, "", known)) return;
    read_id(faults, body, "recording", out->recording);
    json_t *recording = json_object_get(body, "recording");
    if (!recording || json_is_null(recording)) {
        wire_fault(faults, "", "recording", "is required: the id of a recording");
    }
    snprintf(out->scene, sizeof out->scene, "%s", out->recording);
    read_id(faults, body, "scene", out->scene);
    read_config(faults, body, default_preset, out);
    refuse_unserved(faults, body);
    out->priority = 1;
    wire_choice(faults, body, "", "priority", priorities, &out->priority);
    wire_bool(faults, body, "", "replace", &out->replace);
    wire_bool(faults, body, "", "load_when_done", &out->load_when_done);
    read_labels(faults, body, &out->labels);
}

/* Mean of the squared size over training, which starts small (config `resolution_start`). */
static double mean_area(const struct recon_config *config) {
    double start = (double)config->resolution_start, part = (double)config->resolution_full_at;
    double rising = (1.0 + start + start * start) / 3.0;
    return (double)config->resolution * (double)config->resolution * (rising * part + 1.0 - part);
}

struct recon_estimate wire_reconstruction_estimate(const struct recon_config *config,
                                                   const struct recon_work *work) {
    /* Floats per splat: position, scale, rotation, opacity, harmonics. In memory: the value, its
     * gradient and two moments, and about 100 bytes of frame scratch; per pixel about 60 bytes. */
    double n_floats = 11.0 + 3.0 * sh_count(config->sh_degree);
    double n_splats = (double)config->splats_max;
    double n_drawn = (double)work->largest_px * mean_area(config);
    /* Measured on two cores: 5.4, 17.7 and 65.4 ms a step at 32,400, 129,600 and 518,400 pixels
     * with 5,000 splats; 40.2 and 83.9 ms at 129,600 pixels with 100,000 and 300,000; 3.2 s to read
     * 89 M pixels of JPEG. In core microseconds: */
    const double us_per_pixel = 0.25, us_per_splat = 0.45, us_per_read_pixel = 0.036;
    /* Splats count half, since their number grows during training. */
    double step_us = us_per_pixel * n_drawn + 0.5 * us_per_splat * n_splats;
    double training_s = (double)config->steps * step_us * 1e-6 / (double)work->n_threads;
    if (config->time_budget_s > 0.0 && config->time_budget_s < training_s) {
        training_s = config->time_budget_s;
    }
    struct recon_estimate estimate = {.splats_max = config->splats_max};
    estimate.device_bytes =
        (uint64_t)(n_splats * (n_floats * 16.0 + 100.0) + (double)work->largest_px * 60.0);
    estimate.disk_bytes = (uint64_t)(n_splats * n_floats * 4.0 *
                                     (1.0 + 3.0 * ((double)config->checkpoints_kept + 1.0)));
    estimate.seconds = training_s + us_per_read_pixel * 1e-6 * (double)work->total_px;
    return estimate;
}

json_t *wire_reconstruction_estimate_json(const struct recon_estimate *estimate) {
    return json_pack("{s:i, s:I, s:I, s:f}", "splats_max", estimate->splats_max, "device_bytes",
                     (json_int_t)estimate->device_bytes, "disk_bytes",
                     (json_int_t)estimate->disk_bytes, "seconds", estimate->seconds);
}

json_t *wire_reconstruction_config(const struct recon_config *config) {
    char *text = NULL;
    if (config_to_json(config, &text, NULL) != RT_OK) return NULL;
    json_t *object = json_loads(text, 0, NULL);
    free(text);
    return object;
}

char *wire_reconstruction_text(const struct recon_request *request) {
    json_t *config = wire_reconstruction_config(&request->config);
    json_t *stored = json_pack(
        "{s:s, s:s, s:s, s:o, s:s, s:b, s:b, s:b, s:O*, s:O*, s:O*}", "recording",
        request->recording, "scene", request->scene, "preset", request->config.preset, "config",
        config, "priority", priorities[request->priority], "replace", request->replace,
        "load_when_done", request->load_when_done, "live_as_job", request->live_as_job, "changes",
        request->changes, "labels", request->labels, "findings", request->findings);
    char *text = stored ? json_dumps(stored, JSON_COMPACT) : NULL;
    json_decref(stored);
    return text;
}

enum rt_status wire_reconstruction_stored(const char *text, struct recon_request *out,
                                          struct rt_error *err) {
    memset(out, 0, sizeof *out);
    json_t *stored = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (!stored) return rt_fail(err, RT_INTERNAL, "job: the stored request is not JSON");
    json_t *findings = json_incref(json_object_get(stored, "findings"));
    out->live_as_job = json_is_true(json_object_get(stored, "live_as_job"));
    json_object_del(stored, "findings");
    json_object_del(stored, "changes");
    json_object_del(stored, "live_as_job");
    /* `preset` is a member of the configuration and of the request; the request's is the one. */
    json_t *config = json_object_get(stored, "config");
    if (config) json_object_del(config, "preset");
    struct wire_faults faults = {0};
    bool live_as_job = out->live_as_job;
    wire_reconstruction_request(&faults, stored, "balanced", out);
    out->live_as_job = live_as_job;
    out->findings = findings;
    json_decref(stored);
    if (faults.n_faults == 0) return RT_OK;
    recon_request_free(out);
    return rt_fail(err, RT_INTERNAL, "job: the stored request is refused: %s %s",
                   faults.items[0].pointer, faults.items[0].message);
}

/* -- status file ------------------------------------------------------------------------------- */

struct recon_status recon_status_none(void) {
    struct recon_status status = {.preview_step = -1};
    status.progress.eta_s = -1.0;
    status.progress.loss = status.progress.psnr_db = status.progress.ssim = NAN;
    status.progress.train_psnr_db = NAN;
    return status;
}

static double read_real(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static int32_t read_count(const json_t *object, const char *name) {
    json_int_t value = json_integer_value(json_object_get(object, name));
    return value < 0 || value > INT32_MAX ? 0 : (int32_t)value;
}

enum rt_status recon_status_read(const char *path, struct recon_status *out) {
    *out = recon_status_none();
    struct rt_bytes bytes = {0};
    if (file_read(path, STATUS_MAX_BYTES, &bytes, NULL) != RT_OK) return RT_NOT_FOUND;
    json_t *file = json_loadb(bytes.bytes, bytes.n_bytes, 0, NULL);
    rt_bytes_free(&bytes);
    if (!file) return RT_NOT_FOUND;
    struct recon_progress *progress = &out->progress;
    int32_t phase = read_count(file, "phase");
    progress->phase = phase <= (int32_t)RECON_DONE ? (enum recon_phase)phase : RECON_READING;
    progress->step = read_count(file, "step");
    progress->n_steps = read_count(file, "steps");
    progress->n_gaussians = read_count(file, "splats");
    progress->checkpoint_step = read_count(file, "checkpoint_step");
    double fraction = read_real(file, "fraction"), seconds = read_real(file, "seconds");
    progress->fraction = isfinite(fraction) ? fraction : 0.0;
    progress->seconds = isfinite(seconds) ? seconds : 0.0;
    progress->step_ms = read_real(file, "step_ms");
    progress->loss = read_real(file, "loss");
    progress->psnr_db = read_real(file, "psnr_db");
    progress->ssim = read_real(file, "ssim");
    out->checkpoint_ms = json_integer_value(json_object_get(file, "checkpoint_ms"));
    out->eval_step = read_count(file, "eval_step");
    out->preview_step = (int32_t)json_integer_value(json_object_get(file, "preview_step"));
    json_decref(file);
    return RT_OK;
}

enum rt_status recon_status_write(const char *path, const struct recon_status *status,
                                  struct rt_error *err) {
    const struct recon_progress *progress = &status->progress;
    json_t *file =
        json_pack("{s:i, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:i, s:i}", "phase",
                  (int)progress->phase, "step", progress->step, "steps", progress->n_steps,
                  "splats", progress->n_gaussians, "checkpoint_step", progress->checkpoint_step,
                  "fraction", wire_real(progress->fraction), "seconds",
                  wire_real(progress->seconds), "step_ms", wire_real(progress->step_ms), "loss",
                  wire_real(progress->loss), "psnr_db", wire_real(progress->psnr_db), "ssim",
                  wire_real(progress->ssim), "checkpoint_ms", (json_int_t)status->checkpoint_ms,
                  "eval_step", status->eval_step, "preview_step", status->preview_step);
    char *text = file ? json_dumps(file, JSON_INDENT(1)) : NULL;
    json_decref(file);
    if (!text) return rt_fail(err, RT_NO_MEMORY, "job: out of memory");
    enum rt_status result = file_write_atomic(path, text, strlen(text), err);
    free(text);
    return result;
}

/* -- out --------------------------------------------------------------------------------------- */

const char *recon_phase_name(enum recon_phase phase) {
    static const char *const names[] = {"reading",    "initialising", "training",
                                        "evaluating", "publishing",   "done"};
    return names[phase];
}

json_t *wire_reconstruction_progress(const struct recon_status *status) {
    const struct recon_progress *progress = &status->progress;
    return json_pack("{s:i, s:i, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o}", "step", progress->step,
                     "steps", progress->n_steps, "fraction", wire_real(progress->fraction), "eta_s",
                     wire_real(progress->eta_s < 0.0 ? NAN : progress->eta_s), "step_ms",
                     wire_real(progress->step > 0 ? progress->step_ms : NAN), "splats",
                     progress->n_gaussians, "loss",
                     wire_real(progress->step > 0 ? progress->loss : NAN), "psnr_db",
                     wire_real(progress->psnr_db), "train_psnr_db",
                     wire_real(progress->train_psnr_db), "seconds", wire_real(progress->seconds));
}

json_t *wire_reconstruction_eval(const struct recon_status *status) {
    return json_pack("{s:i, s:o, s:o, s:n}", "step", status->eval_step, "psnr_db",
                     wire_real(status->progress.psnr_db), "ssim", wire_real(status->progress.ssim),
                     "lidar_range_error_m");
}

static json_t *links_json(const struct job_row *job, const char *scene) {
    char self[96], events[112], scene_link[128], viewer[128];
    snprintf(self, sizeof self, "/v1/reconstructions/%s", job->id);
    snprintf(events, sizeof events, "%s/events", self);
    snprintf(scene_link, sizeof scene_link, "/v1/scenes/%s", scene);
    snprintf(viewer, sizeof viewer, "/reconstruction.html?id=%s", job->id);
    return json_pack("{s:s, s:s, s:s, s:s}", "self", self, "events", events, "scene", scene_link,
                     "viewer", viewer);
}

static json_t *text_or_null(const char *text) {
    return text && text[0] ? json_string(text) : json_null();
}

static void set_times(json_t *row, const struct job_row *job) {
    json_object_set_new(row, "created_at", time_json(job->created_ms));
    json_object_set_new(row, "started_at", time_json(job->started_ms));
    json_object_set_new(row, "finished_at", time_json(job->finished_ms));
}

static void set_work(json_t *row, const struct job_row *job, const struct recon_status *status) {
    bool is_running = job->state == JOB_RUNNING;
    bool has_checkpoint = status->progress.checkpoint_step > 0;
    json_object_set_new(
        row, "phase",
        is_running ? json_string(recon_phase_name(status->progress.phase)) : json_null());
    json_object_set_new(row, "progress", wire_reconstruction_progress(status));
    json_object_set_new(row, "checkpoint",
                        has_checkpoint
                            ? json_pack("{s:i, s:o}", "step", status->progress.checkpoint_step,
                                        "at", time_json(status->checkpoint_ms))
                            : json_null());
    json_object_set_new(row, "queue_position",
                        job->queue_position >= 0 ? json_integer(job->queue_position) : json_null());
    json_t *result = job->result ? json_loads(job->result, 0, NULL) : NULL;
    json_object_set_new(row, "result", result ? result : json_null());
}

json_t *wire_reconstruction_row(const struct job_row *job, const struct recon_status *status,
                                const char *device) {
    json_t *request = json_loads(job->request ? job->request : "{}", 0, NULL);
    struct recon_status known = *status;
    if (known.progress.n_steps == 0) { /* not started yet */
        known.progress.n_steps = read_count(json_object_get(request, "config"), "steps");
    }
    bool live_as_job = json_is_true(json_object_get(request, "live_as_job"));
    const char *scene = job->object ? job->object : "";
    json_t *labels = json_object_get(request, "labels");
    json_t *findings = json_object_get(request, "findings");
    json_t *changes = json_object_get(request, "changes");
    json_t *row =
        json_pack("{s:s, s:s, s:o, s:o, s:o, s:i, s:s, s:s, s:s}", "id", job->id, "state",
                  job_state_name(job->state), "requested", text_or_null(job->requested), "reason",
                  text_or_null(job->reason), "detail", text_or_null(job->detail), "attempt",
                  job->attempt, "recording", job->subject ? job->subject : "", "scene", scene,
                  "live_scene", live_as_job ? job->id : scene);
    if (row) {
        json_object_set(row, "preset", json_object_get(request, "preset"));
        json_object_set_new(row, "config",
                            json_is_object(changes) ? json_incref(changes) : json_object());
        json_object_set_new(row, "device", json_string(device));
        json_object_set(row, "priority", json_object_get(request, "priority"));
        set_work(row, job, &known);
        json_object_set_new(row, "labels",
                            json_is_object(labels) ? json_incref(labels) : json_object());
        json_object_set_new(row, "findings",
                            json_is_array(findings) ? json_incref(findings) : json_array());
        set_times(row, job);
        json_object_set_new(row, "links", links_json(job, scene));
    }
    json_decref(request);
    return row;
}
