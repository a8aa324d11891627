/* Runs accepted reconstructions, one at a time, on the engine thread: takes jobs from the journal,
 * advances them in small units between renders, publishes progress, previews and the scene
 * (api.md sections 6.3 and 6.4).
 *
 *     RT_TRY(recon_runner_create(&runner, &options, err));
 *     engine_set_background(engine, recon_runner_advance, runner);
 *     recon_runner_wake(runner);                    // after a submission or a control
 *     engine_stop_background(engine);               // on shutdown, then:
 *     recon_runner_stop(runner);                    // checkpoint; the job continues at the next
 * start recon_runner_destroy(&runner);                // after engine and workers are gone
 *
 * Work folder of a job: DATA/reconstructions/ID/ with config.json, checkpoints, metrics.csv,
 * eval.json (written by the reconstruction), scene.retake, status.json, log.txt, preview.jpg.
 * Threading: advance and stop on the engine's thread or after it; the rest from any thread. One
 * leaf mutex guards the copy of the current status. */
#ifndef RETAKE_API_RECON_RUNNER_H
#define RETAKE_API_RECON_RUNNER_H

#include <jansson.h>
#include <stdbool.h>

#include "api/engine.h"
#include "api/recording_store.h"
#include "api/scene_cache.h"
#include "api/wire_reconstruction.h"
#include "api/workers.h"
#include "server/jobs.h"

struct recon_runner;

/* Empty file in the work folder of a waiting job that shall publish what its checkpoint holds. */
#define RECON_STOP_EARLY "stop-early"

struct recon_runner_options {
    const char *folder; /* DATA/reconstructions, created; copied */
    struct jobs *jobs;  /* all borrowed */
    struct engine *engine;
    struct scene_cache *scenes;
    struct recording_store *recordings;
    struct workers *encoders; /* for previews */
};

enum rt_status recon_runner_create(struct recon_runner **out,
                                   const struct recon_runner_options *options,
                                   struct rt_error *err);
void recon_runner_destroy(struct recon_runner **runner);

/* engine_advance: one unit of work of the current or next job. */
bool recon_runner_advance(void *runner, struct renderer *renderer);
/* There is a new job, or a running one shall look at what is requested of it. */
void recon_runner_wake(struct recon_runner *runner);
/* Writes a checkpoint of the running job and lets go of it; it is queued again. */
void recon_runner_stop(struct recon_runner *runner);

/* Path of a file of the job's work folder, `out` [FOLDER_PATH_BYTES]; "" = the folder. */
enum rt_status recon_runner_path(const struct recon_runner *runner, const char *id,
                                 const char *name, char *out, struct rt_error *err);
struct recon_status recon_runner_status(struct recon_runner *runner, const char *id);
/* History of the running job as JSON text (api.md section 6.4), at most 1 s old; caller frees. NULL
 * when the job is not running: its metrics.csv has it then. */
char *recon_runner_metrics(struct recon_runner *runner, const char *id);
/* The row of api.md section 6.3; NULL when out of memory. */
json_t *recon_runner_row(struct recon_runner *runner, const struct job_row *job);
/* The same as text by id (event_row of event_pump.h); caller frees. */
char *recon_runner_row_text(void *runner, const char *id);
/* Publishes a `state` event with the row as it is now. */
void recon_runner_announce(struct recon_runner *runner, const char *id);

#endif
