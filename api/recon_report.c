#include "api/recon_active.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/reply.h"
#include "render/core/log.h"

enum { LOG_LINE_BYTES = 1024, PROGRESS_EVERY_MS = 250, METRICS_EVERY_MS = 1000 };

static void publish_json(struct recon_runner *runner, const struct recon_active *active,
                         const char *event, json_t *body) {
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    if (text) jobs_publish(runner->options.jobs, active->job.id, event, text);
    free(text);
    json_decref(body);
}

void recon_log(struct recon_runner *runner, const struct recon_active *active, const char *level,
               const char *format, ...) {
    char line[LOG_LINE_BYTES], path[FOLDER_PATH_BYTES], when[TIME_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (char *c = line; *c; c++) {
        if ((unsigned char)*c < 0x20) *c = ' '; /* one event is one line */
    }
    time_text(time_now_ms(), when);
    FILE *log =
        folder_join(active->folder, "log.txt", path, NULL) == RT_OK ? fopen(path, "a") : NULL;
    if (log) {
        fprintf(log, "%s %-5s %s\n", when, level, line);
        fclose(log);
    }
    log_info("reconstruction", "%s: %s", active->job.id, line);
    publish_json(runner, active, "log", json_pack("{s:s, s:s}", "level", level, "text", line));
}

void recon_share_status(struct recon_runner *runner, struct recon_active *active) {
    pthread_mutex_lock(&runner->mutex);
    if (strcmp(runner->current_id, active->job.id) == 0) { /* written by the encoder of previews */
        active->status.preview_step = runner->current.preview_step;
    }
    memcpy(runner->current_id, active->job.id, sizeof runner->current_id);
    runner->current = active->status;
    pthread_mutex_unlock(&runner->mutex);
}

void recon_save_status(struct recon_runner *runner, struct recon_active *active) {
    char path[FOLDER_PATH_BYTES];
    struct rt_error err = {0};
    recon_share_status(runner, active);
    if (folder_join(active->folder, "status.json", path, &err) != RT_OK ||
        recon_status_write(path, &active->status, &err) != RT_OK) {
        log_warn("reconstruction", "%s: status not kept: %s", active->job.id, err.message);
    }
}

static void report_phase(struct recon_runner *runner, struct recon_active *active) {
    const struct recon_progress *progress = &active->status.progress;
    if (progress->phase == active->announced_phase || progress->phase == RECON_DONE) return;
    active->announced_phase = progress->phase;
    recon_log(runner, active, "info", "%s (step %d of %d, %d splats)",
              recon_phase_name(progress->phase), progress->step, progress->n_steps,
              progress->n_gaussians);
    recon_runner_announce(runner, active->job.id);
}

static void report_eval(struct recon_runner *runner, struct recon_active *active,
                        const struct recon_progress *before) {
    const struct recon_progress *now = &active->status.progress;
    if (!isfinite(now->psnr_db) || (isfinite(before->psnr_db) && now->psnr_db == before->psnr_db &&
                                    now->ssim == before->ssim)) {
        return;
    }
    active->status.eval_step = now->step;
    recon_log(runner, active, "info", "step %d: %.2f dB on pictures not trained on, SSIM %.4f",
              now->step, now->psnr_db, now->ssim);
    publish_json(runner, active, "eval", wire_reconstruction_eval(&active->status));
}

/* A copy of the history for readers on other threads. */
static void share_metrics(struct recon_runner *runner, struct recon_active *active,
                          int64_t now_ns) {
    char *text = NULL;
    if (now_ns < active->next_metrics_ns || active->status.progress.step < 1) return;
    active->next_metrics_ns = now_ns + METRICS_EVERY_MS * INT64_C(1000000);
    if (reconstruction_metrics(active->reconstruction, &text, NULL) != RT_OK) return;
    pthread_mutex_lock(&runner->mutex);
    free(runner->metrics);
    runner->metrics = text;
    pthread_mutex_unlock(&runner->mutex);
}

void recon_report(struct recon_runner *runner, struct recon_active *active) {
    struct recon_progress before = active->status.progress;
    active->status.progress = reconstruction_progress(active->reconstruction);
    const struct recon_progress *now = &active->status.progress;
    bool has_checkpoint = now->checkpoint_step > before.checkpoint_step;
    recon_share_status(runner, active);
    report_phase(runner, active);
    report_eval(runner, active, &before);
    if (has_checkpoint) {
        active->status.checkpoint_ms = time_now_ms();
        jobs_mark_progress(runner->options.jobs, active->job.id, NULL);
        recon_save_status(runner, active);
        recon_log(runner, active, "info", "checkpoint at step %d", now->checkpoint_step);
    }
    int64_t now_ns = time_mono_ns();
    share_metrics(runner, active, now_ns);
    if (now_ns < active->next_progress_ns) return;
    active->next_progress_ns = now_ns + PROGRESS_EVERY_MS * INT64_C(1000000);
    publish_json(runner, active, "progress", wire_reconstruction_progress(&active->status));
}
