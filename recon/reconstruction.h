/* One reconstruction from files to a scene file, in small units of work, so that the command line
 * and the server drive the same object.
 *
 *     struct reconstruction *r;
 *     RT_TRY(reconstruction_open(&r, &spec, err));        // resumes when spec.work_folder has a
 * checkpoint while (!reconstruction_done(r)) { RT_TRY(reconstruction_advance(r, err));         //
 * at most one picture, one step or one evaluation reconstruction_progress(r)
 *     }
 *     reconstruction_close(&r);
 *
 * Phases: reading, initialising, training, evaluating, publishing. Checkpoints are written into the
 * work folder by reconstruction_advance when due (atomically, the last `checkpoints_kept`).
 * Threading: one thread; snapshots returned are immutable and may be shared. */
#ifndef RETAKE_RECON_RECONSTRUCTION_H
#define RETAKE_RECON_RECONSTRUCTION_H

#include "recon/config.h"
#include "recon/recording.h"
#include "render/core/scene.h"
#include "render/render.h"

struct reconstruction;

enum recon_phase {
    RECON_READING,
    RECON_INITIALISING,
    RECON_TRAINING,
    RECON_EVALUATING,
    RECON_PUBLISHING,
    RECON_DONE
};

struct recon_spec {
    const char *recording_folder; /* copied */
    const char *recording_id;     /* copied; stored in the scene, may be NULL */
    const char *work_folder;      /* copied; checkpoints, metrics.csv, eval.json, config.json */
    const char *output;           /* copied; scene path (.retake or folder), written when done */
    const char *name;             /* copied; scene name */
    struct recon_config config;
    struct renderer *renderer; /* borrowed until close */
};

struct recon_progress {
    enum recon_phase phase;
    int32_t step, n_steps;
    double fraction; /* of the whole reconstruction, 0...1 */
    double eta_s;    /* < 0 = not known yet */
    double step_ms;  /* recent mean */
    double loss;
    double psnr_db; /* last evaluation, NaN = none */
    double ssim;
    double train_psnr_db; /* running mean over training pictures */
    int32_t n_gaussians;
    int32_t checkpoint_step; /* 0 = none yet */
    double seconds;          /* spent so far, over all attempts */
};

enum rt_status reconstruction_open(struct reconstruction **out, const struct recon_spec *spec,
                                   struct rt_error *err);
void reconstruction_close(struct reconstruction **reconstruction);
enum rt_status reconstruction_advance(struct reconstruction *reconstruction, struct rt_error *err);
bool reconstruction_done(const struct reconstruction *reconstruction);
struct recon_progress reconstruction_progress(const struct reconstruction *reconstruction);

/* The scene as it is now (one reference), for previews; needs phase >= training. */
enum rt_status reconstruction_snapshot(struct reconstruction *reconstruction, struct scene **out,
                                       struct rt_error *err);
/* Writes a checkpoint now (pause, drain). */
enum rt_status reconstruction_checkpoint(struct reconstruction *reconstruction,
                                         struct rt_error *err);
/* Stops training after the current step; the rest (evaluate, publish) follows. */
void reconstruction_finish_early(struct reconstruction *reconstruction);

/* The history: JSON text of metrics columns (api.md section 6.4), caller frees. */
enum rt_status reconstruction_metrics(const struct reconstruction *reconstruction, char **json,
                                      struct rt_error *err);

#endif
