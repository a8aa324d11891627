/* The job that is being worked on, and what it tells the world: log lines, events, previews.
 * Internal to recon_runner.c, recon_report.c and recon_preview.c. */
#ifndef RETAKE_API_RECON_ACTIVE_H
#define RETAKE_API_RECON_ACTIVE_H

#include <pthread.h>
#include <stdatomic.h>

#include "api/folder.h"
#include "api/recon_runner.h"

/* How the job ends, until the journal has it. */
struct recon_ending {
    bool is_due;
    enum job_state to;
    char reason[32], detail[RT_MESSAGE_BYTES];
    char *result; /* owned or NULL */
};

/* Owned by the engine thread. */
struct recon_active {
    struct job_row job;
    struct recon_request request;
    struct reconstruction *reconstruction; /* owned; NULL before it was opened */
    struct recon_ending ending;
    struct recon_status status;
    char folder[FOLDER_PATH_BYTES];
    char live_scene[RT_ID_BYTES];
    bool stops_early;
    bool publish_at_once; /* asked while it was waiting: RECON_STOP_EARLY lies in the folder */
    enum recon_phase announced_phase;
    int64_t next_progress_ns, next_preview_ns, next_metrics_ns; /* CLOCK_MONOTONIC */
};

struct recon_runner {
    struct recon_runner_options options;
    char *folder;                  /* owned; options.folder points to it */
    atomic_bool has_requests;      /* somebody asked something of a job */
    atomic_bool preview_in_flight; /* at most one picture is being drawn or encoded */
    struct recon_active *active;   /* owned by the engine thread; NULL = idle */
    pthread_mutex_t mutex;         /* guards what stands below, for readers on other threads */
    char current_id[JOB_ID_BYTES]; /* "" = none */
    struct recon_status current;
    char *metrics; /* owned JSON text: history of the current job, or NULL */
};

/* -- recon_report.c: log and events ------------------------------------------------------------ */
/* One line in log.txt and a `log` event. */
void recon_log(struct recon_runner *runner, const struct recon_active *active, const char *level,
               const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Takes the numbers over from the reconstruction; publishes what changed: phase, progress (at most
 * 4 per second), evaluation, checkpoint. */
void recon_report(struct recon_runner *runner, struct recon_active *active);
/* Makes the current numbers visible to other threads and keeps them in status.json. */
void recon_save_status(struct recon_runner *runner, struct recon_active *active);
void recon_share_status(struct recon_runner *runner, struct recon_active *active);

/* -- recon_preview.c --------------------------------------------------------------------------- */
/* When due: the model so far becomes the live scene, and a picture of it preview.jpg. */
void recon_preview(struct recon_runner *runner, struct recon_active *active);

#endif
