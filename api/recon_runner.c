#include "api/recon_runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/recon_active.h"
#include "api/reply.h"
#include "render/core/log.h"

enum rt_status recon_runner_create(struct recon_runner **out,
                                   const struct recon_runner_options *options,
                                   struct rt_error *err) {
    RT_TRY(folder_create(options->folder, err));
    struct recon_runner *runner = calloc(1, sizeof *runner);
    char *folder = strdup(options->folder);
    if (!runner || !folder) {
        free(runner);
        free(folder);
        return rt_fail(err, RT_NO_MEMORY, "reconstructions: out of memory");
    }
    runner->options = *options;
    runner->options.folder = runner->folder = folder;
    pthread_mutex_init(&runner->mutex, NULL);
    runner->current = recon_status_none();
    *out = runner;
    return RT_OK;
}

void recon_runner_destroy(struct recon_runner **runner) {
    if (!*runner) return;
    recon_runner_stop(*runner);
    pthread_mutex_destroy(&(*runner)->mutex);
    free((*runner)->folder);
    free(*runner);
    *runner = NULL;
}

void recon_runner_wake(struct recon_runner *runner) {
    atomic_store(&runner->has_requests, true);
    engine_wake(runner->options.engine);
}

/* -- what other threads may ask ---------------------------------------------------------------- */

enum rt_status recon_runner_path(const struct recon_runner *runner, const char *id,
                                 const char *name, char *out, struct rt_error *err) {
    int n =
        snprintf(out, FOLDER_PATH_BYTES, "%s/%s%s%s", runner->folder, id, name[0] ? "/" : "", name);
    if (n < 0 || n >= FOLDER_PATH_BYTES) return rt_fail(err, RT_LIMIT, "path too long");
    return RT_OK;
}

struct recon_status recon_runner_status(struct recon_runner *runner, const char *id) {
    struct recon_status status = recon_status_none();
    pthread_mutex_lock(&runner->mutex);
    bool is_current = strcmp(runner->current_id, id) == 0;
    if (is_current) status = runner->current;
    pthread_mutex_unlock(&runner->mutex);
    char path[FOLDER_PATH_BYTES];
    if (!is_current && recon_runner_path(runner, id, "status.json", path, NULL) == RT_OK) {
        recon_status_read(path, &status);
    }
    return status;
}

char *recon_runner_metrics(struct recon_runner *runner, const char *id) {
    char *text = NULL;
    pthread_mutex_lock(&runner->mutex);
    if (runner->metrics && strcmp(runner->current_id, id) == 0) text = strdup(runner->metrics);
    pthread_mutex_unlock(&runner->mutex);
    return text;
}

json_t *recon_runner_row(struct recon_runner *runner, const struct job_row *job) {
    struct recon_status status = recon_runner_status(runner, job->id);
    struct engine_stats stats = engine_stats(runner->options.engine);
    return wire_reconstruction_row(job, &status, stats.backend);
}

char *recon_runner_row_text(void *context, const char *id) {
    struct recon_runner *runner = context;
    struct job_row job = {0};
    if (jobs_get(runner->options.jobs, id, &job, NULL) != RT_OK) return NULL;
    json_t *row = recon_runner_row(runner, &job);
    job_row_free(&job);
    char *text = row ? json_dumps(row, JSON_COMPACT) : NULL;
    json_decref(row);
    return text;
}

static void publish_row(struct recon_runner *runner, const char *id, const char *event) {
    char *text = recon_runner_row_text(runner, id);
    if (text) jobs_publish(runner->options.jobs, id, event, text);
    free(text);
}

void recon_runner_announce(struct recon_runner *runner, const char *id) {
    publish_row(runner, id, "state");
}

/* -- the life of one job ----------------------------------------------------------------------- */

/* Lets go of the current job; its state in the journal is settled already. */
static void drop_active(struct recon_runner *runner) {
    struct recon_active *active = runner->active;
    pthread_mutex_lock(&runner->mutex);
    runner->current_id[0] = '\0';
    free(runner->metrics);
    runner->metrics = NULL;
    pthread_mutex_unlock(&runner->mutex);
    runner->active = NULL;
    reconstruction_close(&active->reconstruction);
    recon_request_free(&active->request);
    job_row_free(&active->job);
    free(active->ending.result);
    free(active);
}

/* Writes the end of the current job to the journal, tells the readers, and lets go of the job.
 * While the journal cannot be written (full disk) the job stays and this is tried again. */
static void settle(struct recon_runner *runner) {
    struct recon_active *active = runner->active;
    const struct recon_ending *ending = &active->ending;
    struct job_change change = {ending->to, ending->reason, ending->detail, ending->result};
    struct rt_error err = {0};
    enum rt_status status = jobs_transition(runner->options.jobs, active->job.id, &change, &err);
    if (status == RT_STORAGE_FULL || status == RT_IO) return;
    if (status != RT_OK) {
        log_error("reconstruction", "%s: the journal refused the state %s: %s", active->job.id,
                  job_state_name(ending->to), err.message);
    }
    recon_save_status(runner, active);
    recon_log(runner, active, ending->to == JOB_FAILED ? "error" : "info", "%s%s%s%s%s",
              job_state_name(ending->to), ending->reason[0] ? ": " : "", ending->reason,
              ending->detail[0] ? ": " : "", ending->detail);
    if (ending->to != JOB_PAUSED) {
        scene_cache_end_live(runner->options.scenes, active->live_scene);
    }
    publish_row(runner, active->job.id, "state");
    if (ending->to != JOB_PAUSED) publish_row(runner, active->job.id, "done");
    drop_active(runner);
}

/* The current job is over; `result` is copied. */
static void end_job(struct recon_runner *runner, enum job_state to, const char *reason,
                    const char *detail, const char *result) {
    struct recon_active *active = runner->active;
    struct recon_ending *ending = &active->ending;
    ending->is_due = true;
    ending->to = to;
    snprintf(ending->reason, sizeof ending->reason, "%s", reason ? reason : "");
    snprintf(ending->detail, sizeof ending->detail, "%s", detail ? detail : "");
    ending->result = result ? strdup(result) : NULL;
    reconstruction_close(&active->reconstruction);
    settle(runner);
}

/* Lets the engine breathe while something outside has to change. */
static void wait_a_moment(void) {
    const struct timespec moment = {.tv_nsec = 50000000};
    nanosleep(&moment, NULL);
}

static const char *failure_reason(enum rt_status status) {
    switch (status) {
        case RT_BAD_RECORDING:
        case RT_BAD_FILE:
        case RT_NOT_FOUND:
        case RT_UNSUPPORTED:
        case RT_CALIBRATION:
            return "invalid-recording";
        case RT_NO_MEMORY:
        case RT_DEVICE_MEMORY:
        case RT_TOO_LARGE:
            return "out-of-memory";
        case RT_STORAGE_FULL:
            return "storage-full";
        case RT_DIVERGED:
            return "diverged";
        default:
            return "internal";
    }
}

static void fail_job(struct recon_runner *runner, enum rt_status status,
                     const struct rt_error *err) {
    const char *reason = failure_reason(status);
    log_error("reconstruction", "%s failed: %s: %s", runner->active->job.id, rt_status_name(status),
              err->message);
    bool is_defect = strcmp(reason, "internal") == 0;
    end_job(runner, JOB_FAILED, reason, is_defect ? "see the log of the server" : err->message,
            NULL);
}

static enum rt_status open_reconstruction(struct recon_runner *runner, struct recon_active *active,
                                          struct renderer *renderer, struct rt_error *err) {
    char recording[FOLDER_PATH_BYTES], output[FOLDER_PATH_BYTES];
    const char *id = active->request.recording;
    RT_TRY(recording_store_folder(runner->options.recordings, id, recording, err));
    RT_TRY(folder_join(active->folder, "scene.retake", output, err));
    struct recon_spec spec = {.recording_folder = recording,
                              .recording_id = id,
                              .work_folder = active->folder,
                              .output = output,
                              .name = active->request.scene,
                              .config = active->request.config,
                              .renderer = renderer};
    return reconstruction_open(&active->reconstruction, &spec, err);
}

/* Prepares the job that was just taken; on an error the caller fails it. */
static enum rt_status start_active(struct recon_runner *runner, struct renderer *renderer,
                                   struct rt_error *err) {
    struct recon_active *active = runner->active;
    const char *id = active->job.id;
    char path[FOLDER_PATH_BYTES];
    snprintf(active->live_scene, sizeof active->live_scene, "%s", id);
    RT_TRY(recon_runner_path(runner, id, "", active->folder, err));
    RT_TRY(folder_create(active->folder, err));
    RT_TRY(folder_join(active->folder, "status.json", path, err));
    recon_status_read(path, &active->status);
    RT_TRY(wire_reconstruction_stored(active->job.request, &active->request, err));
    if (!active->request.live_as_job) {
        memcpy(active->live_scene, active->request.scene, sizeof active->live_scene);
    }
    active->status.progress.phase = active->announced_phase = RECON_READING;
    if (active->status.progress.n_steps == 0) {
        active->status.progress.n_steps = active->request.config.steps;
    }
    recon_share_status(runner, active);
    recon_save_status(runner, active);
    RT_TRY(folder_join(active->folder, RECON_STOP_EARLY, path, err));
    active->publish_at_once = access(path, F_OK) == 0;
    recon_log(runner, active, "info", "attempt %d: reading recording %s", active->job.attempt,
              active->request.recording);
    publish_row(runner, id, "state");
    return open_reconstruction(runner, active, renderer, err);
}

static bool take_job(struct recon_runner *runner, struct renderer *renderer) {
    struct recon_active *active = calloc(1, sizeof *active);
    struct rt_error err = {0};
    if (!active) return false;
    active->status = recon_status_none();
    enum rt_status status = jobs_take(runner->options.jobs, &active->job, &err);
    if (status != RT_OK) {
        free(active);
        if (status == RT_NOT_FOUND) return false;
        wait_a_moment(); /* the journal cannot be written: the job must not be forgotten */
        return true;
    }
    runner->active = active;
    atomic_store(&runner->has_requests, true); /* asked before it was taken */
    status = start_active(runner, renderer, &err);
    if (status != RT_OK) fail_job(runner, status, &err);
    return true;
}

static void pause_job(struct recon_runner *runner) {
    struct recon_active *active = runner->active;
    struct rt_error err = {0};
    enum rt_status status = RT_OK;
    if (active->status.progress.step > 0) {
        status = reconstruction_checkpoint(active->reconstruction, &err);
    }
    if (status != RT_OK) {
        fail_job(runner, status, &err);
        return;
    }
    recon_report(runner, active);
    end_job(runner, JOB_PAUSED, NULL, NULL, NULL);
}

/* Ends training after the step in progress; a resumed job first reads its checkpoint. */
static void stop_early(struct recon_runner *runner, struct recon_active *active) {
    if (active->status.progress.phase < RECON_TRAINING) {
        atomic_store(&runner->has_requests, true);
        return;
    }
    active->stops_early = true;
    reconstruction_finish_early(active->reconstruction);
    recon_log(runner, active, "info", "asked to publish at step %d", active->status.progress.step);
}

/* Obeys pause, cancel and publish. May end the current job. */
static void obey_requests(struct recon_runner *runner) {
    struct recon_active *active = runner->active;
    struct job_row job = {0};
    if (!atomic_exchange(&runner->has_requests, false)) return;
    if (jobs_get(runner->options.jobs, active->job.id, &job, NULL) != RT_OK) return;
    bool has_steps = active->status.progress.step > 0;
    bool publish = active->publish_at_once || strcmp(job.requested, "publish") == 0;
    if (strcmp(job.requested, "pause") == 0) {
        pause_job(runner);
    } else if (strcmp(job.requested, "cancel") == 0 ||
               (publish && !has_steps && active->job.attempt == 1 && !active->publish_at_once)) {
        end_job(runner, JOB_CANCELLED, NULL, NULL, NULL);
    } else if (publish && !active->stops_early) {
        stop_early(runner, active);
    }
    job_row_free(&job);
}

static char *result_text(const struct recon_active *active, int64_t file_bytes) {
    const struct recon_progress *progress = &active->status.progress;
    json_t *result =
        json_pack("{s:o, s:o, s:n, s:i, s:o, s:I}", "psnr_db", wire_real(progress->psnr_db), "ssim",
                  wire_real(progress->ssim), "lidar_range_error_m", "splats", progress->n_gaussians,
                  "seconds", wire_real(progress->seconds), "file_bytes", (json_int_t)file_bytes);
    char *text = result ? json_dumps(result, JSON_COMPACT) : NULL;
    json_decref(result);
    return text;
}

static void forget_scene(void *context, struct scene *scene, const struct rt_error *err) {
    (void)context;
    (void)err;
    scene_release(&scene);
}

/* The scene file exists: publish it under its id, then settle the job. */
static void complete_job(struct recon_runner *runner) {
    struct recon_active *active = runner->active;
    struct rt_error err = {0};
    char path[FOLDER_PATH_BYTES];
    struct scene_meta meta = {.name = NULL,
                              .origin_type = "reconstruction",
                              .origin_id = active->job.id,
                              .extension = "retake"};
    enum rt_status status = folder_join(active->folder, "scene.retake", path, &err);
    if (status == RT_OK) {
        status = scene_cache_publish_file(runner->options.scenes, active->request.scene, path,
                                          false, &meta, &err);
    }
    if (status != RT_OK) {
        fail_job(runner, status, &err);
        return;
    }
    if (active->request.load_when_done) {
        struct scene_wait wait = {.ready = forget_scene};
        scene_cache_get(runner->options.scenes, active->request.scene, &wait);
    }
    struct stat file = {0};
    char *result = stat(path, &file) == 0 ? result_text(active, (int64_t)file.st_size) : NULL;
    end_job(runner, JOB_SUCCEEDED, active->stops_early ? "stopped-early" : NULL, NULL, result);
    free(result);
}

bool recon_runner_advance(void *context, struct renderer *renderer) {
    struct recon_runner *runner = context;
    if (!runner->active) return take_job(runner, renderer);
    if (runner->active->ending.is_due) {
        wait_a_moment();
        settle(runner);
        return true;
    }
    obey_requests(runner);
    struct recon_active *active = runner->active;
    if (!active || active->ending.is_due) return true;
    struct rt_error err = {0};
    enum rt_status status = reconstruction_advance(active->reconstruction, &err);
    recon_report(runner, active);
    if (status != RT_OK) {
        fail_job(runner, status, &err);
    } else if (reconstruction_done(active->reconstruction)) {
        complete_job(runner);
    } else {
        recon_preview(runner, active);
    }
    return true;
}

void recon_runner_stop(struct recon_runner *runner) {
    struct recon_active *active = runner->active;
    struct rt_error err = {0};
    if (!active) return;
    if (active->ending.is_due) { /* the journal still says running: it will be tried again */
        drop_active(runner);
        return;
    }
    if (active->status.progress.step > 0 &&
        reconstruction_checkpoint(active->reconstruction, &err) != RT_OK) {
        log_error("reconstruction", "%s: no checkpoint at shutdown: %s", active->job.id,
                  err.message);
    }
    jobs_mark_progress(runner->options.jobs, active->job.id, NULL); /* a clean stop is no loss */
    recon_report(runner, active);
    recon_save_status(runner, active);
    recon_log(runner, active, "info", "the service stops; the job goes on at its next start");
    drop_active(runner);
}
