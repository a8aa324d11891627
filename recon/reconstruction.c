#include "recon/reconstruction.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "recon/checkpoint.h"
#include "recon/evaluate.h"
#include "recon/init.h"
#include "recon/loss.h"
#include "recon/pictures.h"
#include "recon/publish.h"
#include "recon/report.h"
#include "recon/trainer.h"
#include "recon/work_folder.h"
#include "render/core/log.h"
#include "render/io/scene_file.h"

enum { MAX_DIVERGENCES = 3 };
#define MAX_EVALUATION_BYTES ((size_t)8 << 30)

struct reconstruction {
    char *recording_id, *work_folder, *output, *name; /* owned; id and name may be NULL */
    struct recon_config config;
    struct renderer *renderer; /* borrowed */
    struct recording *recording;
    struct picture_set pictures;
    struct checkpoint_key key;
    struct trainer *trainer;
    struct rt_buffer evaluation_buffer;
    struct picture_quality *qualities; /* owned [n_pictures], of the last evaluation */
    struct quality_sum evaluated;      /* held-out pictures of the evaluation that is going on */
    struct picture_quality last;       /* mean of the last complete one */
    struct history history;
    enum recon_phase phase;
    int32_t i_picture;      /* next to be read or evaluated */
    bool evaluates_midway;  /* held-out pictures are being evaluated between two steps */
    int32_t evaluated_step; /* of the last evaluation */
    bool finish_early;
    int32_t checkpoint_step; /* 0 = none */
    double checkpoint_at_s;  /* monotonic time of the last one */
    double other_s;          /* spent outside training steps, in this process */
    double step_ms;          /* recent mean */
};

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* -- opening ---------------------------------------------------------------------------------- */

static enum rt_status copy_text(char **out, const char *text, struct rt_error *err) {
    *out = text ? strdup(text) : NULL;
    if (text && !*out) return rt_fail(err, RT_NO_MEMORY, "reconstruction: out of memory");
    return RT_OK;
}

static enum rt_status write_config(const struct reconstruction *r, struct rt_error *err) {
    char *json = NULL;
    RT_TRY(config_to_json(&r->config, &json, err));
    enum rt_status status = work_folder_write(r->work_folder, "config.json", json, err);
    free(json);
    return status;
}

/* A checkpoint of something else is met before hours of work, not after. */
static enum rt_status check_checkpoint(struct reconstruction *r, struct rt_error *err) {
    struct checkpoint *found = NULL;
    enum rt_status status = checkpoint_latest(r->work_folder, &r->key, &found, err);
    if (status == RT_OK) r->checkpoint_step = checkpoint_step(found);
    checkpoint_close(&found);
    return status == RT_NOT_FOUND ? RT_OK : status;
}

static enum rt_status open_parts(struct reconstruction *r, const struct recon_spec *spec,
                                 struct rt_error *err) {
    RT_TRY(copy_text(&r->recording_id, spec->recording_id, err));
    RT_TRY(copy_text(&r->work_folder, spec->work_folder, err));
    RT_TRY(copy_text(&r->output, spec->output, err));
    RT_TRY(copy_text(&r->name, spec->name, err));
    RT_TRY(recording_open(spec->recording_folder, &r->recording, err));
    RT_TRY(pictures_plan(&r->pictures, r->recording, &r->config, err));
    r->qualities = calloc((size_t)r->pictures.n_pictures, sizeof *r->qualities);
    if (!r->qualities) return rt_fail(err, RT_NO_MEMORY, "reconstruction: out of memory");
    RT_TRY(work_folder_create(r->work_folder, err));
    RT_TRY(work_folder_key(&r->config, r->recording, &r->key, err));
    RT_TRY(check_checkpoint(r, err));
    return write_config(r, err);
}

enum rt_status reconstruction_open(struct reconstruction **out, const struct recon_spec *spec,
                                   struct rt_error *err) {
    *out = NULL;
    struct reconstruction *r = calloc(1, sizeof *r);
    if (!r) return rt_fail(err, RT_NO_MEMORY, "reconstruction: out of memory");
    r->config = spec->config;
    r->renderer = spec->renderer;
    r->evaluation_buffer.max_bytes = MAX_EVALUATION_BYTES;
    r->last = (struct picture_quality){(double)NAN, (double)NAN};
    enum rt_status status = open_parts(r, spec, err);
    if (status != RT_OK) {
        reconstruction_close(&r);
        return status;
    }
    *out = r;
    return RT_OK;
}

void reconstruction_close(struct reconstruction **reconstruction) {
    struct reconstruction *r = *reconstruction;
    *reconstruction = NULL;
    if (!r) return;
    trainer_destroy(&r->trainer);
    pictures_free(&r->pictures);
    if (r->recording) recording_close(&r->recording);
    rt_buffer_free(&r->evaluation_buffer);
    free(r->qualities);
    free(r->recording_id);
    free(r->work_folder);
    free(r->output);
    free(r->name);
    free(r);
}

/* -- checkpoints ------------------------------------------------------------------------------ */

static enum rt_status save(struct reconstruction *r, struct rt_error *err) {
    struct checkpoint_section sections[TRAINER_SECTIONS + 1];
    int32_t step = trainer_state(r->trainer)->step;
    if (!trainer_is_finite(r->trainer)) {
        return rt_fail(err, RT_DIVERGED, "parameters are no longer finite at step %d", step);
    }
    int32_t n = trainer_sections(r->trainer, sections);
    sections[n++] = (struct checkpoint_section){"history", &r->history, sizeof r->history};
    const struct checkpoint_content content = {sections, n};
    RT_TRY(checkpoint_write(r->work_folder, step, &r->key, &content, err));
    checkpoint_prune(r->work_folder, r->config.checkpoints_kept);
    r->checkpoint_step = step;
    r->checkpoint_at_s = now_s();
    char *csv = NULL;
    RT_TRY(history_csv(&r->history, &csv, err));
    enum rt_status status = work_folder_write(r->work_folder, "metrics.csv", csv, err);
    free(csv);
    return status;
}

/* Continues at the newest checkpoint; leaves the trainer at its start when there is none. */
static enum rt_status restore(struct reconstruction *r, struct rt_error *err) {
    struct checkpoint *found = NULL;
    enum rt_status status = checkpoint_latest(r->work_folder, &r->key, &found, err);
    if (status == RT_NOT_FOUND) return RT_OK;
    if (status != RT_OK) return status;
    status = trainer_restore(r->trainer, found, err);
    if (status == RT_OK) {
        size_t n_bytes = 0;
        const void *history = checkpoint_find(found, "history", &n_bytes);
        if (n_bytes == sizeof r->history) memcpy(&r->history, history, n_bytes);
        if (r->history.n_rows < 0 || r->history.n_rows > HISTORY_ROWS) r->history.n_rows = 0;
        r->checkpoint_step = checkpoint_step(found);
    }
    checkpoint_close(&found);
    return status;
}

static enum rt_status start_trainer(struct reconstruction *r, struct rt_error *err) {
    struct gaussians *first = NULL;
    RT_TRY(init_gaussians(&r->pictures, &r->config, &first, err));
    struct trainer_options options = {.config = &r->config,
                                      .pictures = &r->pictures,
                                      .renderer = r->renderer,
                                      .first = first,
                                      .extent = init_scene_frame(&r->pictures).extent};
    if (init_is_random(&r->pictures, &r->config)) options.travel = r->config.random_travel;
    if (r->recording->has_background) {
        memcpy(options.background, r->recording->background, sizeof options.background);
    }
    trainer_destroy(&r->trainer);
    enum rt_status status = trainer_create(&r->trainer, &options, err);
    if (status != RT_OK) {
        gaussians_destroy(&first);
        return status;
    }
    return restore(r, err);
}

/* The last good state with half the rates; the third time is the last. */
static enum rt_status roll_back(struct reconstruction *r, struct rt_error *err) {
    int32_t n_divergences = trainer_state(r->trainer)->n_divergences + 1;
    if (n_divergences > MAX_DIVERGENCES) {
        return rt_fail(err, RT_DIVERGED,
                       "training became non-finite again after %d halvings of the rates; the last "
                       "good state is the checkpoint at step %d; lower the lr_ parameters",
                       MAX_DIVERGENCES, r->checkpoint_step);
    }
    log_warn("reconstruction", "%s; back to step %d with rates x %g", err ? err->message : "",
             r->checkpoint_step, ldexp(1.0, -n_divergences));
    RT_TRY(start_trainer(r, err));
    trainer_slow_down(r->trainer, n_divergences);
    return RT_OK;
}

/* -- phases ----------------------------------------------------------------------------------- */

static enum rt_status read_next(struct reconstruction *r, struct rt_error *err) {
    RT_TRY(pictures_load(&r->pictures, r->i_picture++, err));
    if (r->i_picture == r->pictures.n_pictures) r->phase = RECON_INITIALISING;
    return RT_OK;
}

static enum rt_status initialise(struct reconstruction *r, struct rt_error *err) {
    RT_TRY(start_trainer(r, err));
    r->checkpoint_at_s = now_s();
    r->i_picture = 0;
    r->phase = RECON_TRAINING;
    return RT_OK;
}

static void note_history(struct reconstruction *r, const struct picture_quality *quality) {
    const struct trainer_state *state = trainer_state(r->trainer);
    history_add(&r->history, &(struct history_row){.step = state->step,
                                                   .n_gaussians = state->n_gaussians,
                                                   .seconds = state->seconds,
                                                   .loss = state->loss,
                                                   .psnr_db = quality->psnr_db,
                                                   .ssim = quality->ssim,
                                                   .step_ms = r->step_ms});
}

static enum rt_status evaluate_one(struct reconstruction *r, int32_t index, struct rt_error *err) {
    struct evaluate_args args = {.renderer = r->renderer,
                                 .gaussians = trainer_gaussians(r->trainer),
                                 .picture = &r->pictures.pictures[index],
                                 .buffer = &r->evaluation_buffer,
                                 .near_m = r->config.near_m,
                                 .sh_degree = trainer_sh_degree(r->trainer)};
    if (r->recording->has_background) {
        memcpy(args.background, r->recording->background, sizeof args.background);
    }
    RT_TRY(evaluate_picture(&args, &r->qualities[index], err));
    if (args.picture->holdout) quality_add(&r->evaluated, &r->qualities[index]);
    return RT_OK;
}

static void begin_evaluation(struct reconstruction *r) {
    r->i_picture = 0;
    r->evaluated = (struct quality_sum){0};
}

static void end_evaluation(struct reconstruction *r) {
    r->last = quality_mean(&r->evaluated);
    r->evaluated_step = trainer_state(r->trainer)->step;
    note_history(r, &r->last);
}

static bool training_ends(const struct reconstruction *r) {
    return r->finish_early || trainer_fraction(r->trainer) >= 1.0;
}

static bool evaluation_is_due(const struct reconstruction *r) {
    int32_t step = trainer_state(r->trainer)->step, every = r->config.eval_every;
    return every > 0 && step > 0 && step % every == 0 && step != r->evaluated_step &&
           r->pictures.n_holdout > 0 && !training_ends(r);
}

/* Held-out pictures only: the mean is for watching. */
static enum rt_status evaluate_midway(struct reconstruction *r, struct rt_error *err) {
    while (r->i_picture < r->pictures.n_pictures && !r->pictures.pictures[r->i_picture].holdout) {
        r->i_picture++;
    }
    if (r->i_picture < r->pictures.n_pictures) return evaluate_one(r, r->i_picture++, err);
    end_evaluation(r);
    r->evaluates_midway = false;
    return RT_OK;
}

static enum rt_status train(struct reconstruction *r, struct rt_error *err) {
    const struct picture_quality unknown = {(double)NAN, (double)NAN};
    double before_s = trainer_state(r->trainer)->seconds;
    RT_TRY(trainer_step(r->trainer, err));
    double step_ms = 1e3 * (trainer_state(r->trainer)->seconds - before_s);
    r->step_ms = r->step_ms > 0.0 ? 0.95 * r->step_ms + 0.05 * step_ms : step_ms;
    note_history(r, &unknown);
    bool due = now_s() - r->checkpoint_at_s >= (double)r->config.checkpoint_every_s;
    return due ? save(r, err) : RT_OK;
}

static enum rt_status train_on(struct reconstruction *r, struct rt_error *err) {
    if (r->evaluates_midway) return evaluate_midway(r, err);
    if (!training_ends(r)) {
        enum rt_status status = train(r, err);
        if (status == RT_DIVERGED) status = roll_back(r, err);
        if (status != RT_OK) return status;
        r->evaluates_midway = evaluation_is_due(r);
        if (r->evaluates_midway) begin_evaluation(r);
        return RT_OK;
    }
    enum rt_status status = save(r, err); /* a fault in evaluation costs no training */
    if (status == RT_DIVERGED) return roll_back(r, err);
    begin_evaluation(r);
    r->phase = RECON_EVALUATING;
    return status;
}

static enum rt_status evaluate_next(struct reconstruction *r, struct rt_error *err) {
    RT_TRY(evaluate_one(r, r->i_picture++, err));
    if (r->i_picture < r->pictures.n_pictures) return RT_OK;
    end_evaluation(r);
    r->phase = RECON_PUBLISHING;
    return RT_OK;
}

static struct eval_report report_of(const struct reconstruction *r) {
    const struct trainer_state *state = trainer_state(r->trainer);
    return (struct eval_report){.pictures = &r->pictures,
                                .qualities = r->qualities,
                                .steps = state->step,
                                .n_gaussians = state->n_gaussians,
                                .seconds = state->seconds + r->other_s};
}

static enum rt_status write_reports(struct reconstruction *r, struct rt_error *err) {
    const struct eval_report report = report_of(r);
    char *json = NULL, *csv = NULL;
    RT_TRY(report_eval_json(&report, true, &json, err));
    enum rt_status status = work_folder_write(r->work_folder, "eval.json", json, err);
    free(json);
    if (status != RT_OK) return status;
    RT_TRY(history_csv(&r->history, &csv, err));
    status = work_folder_write(r->work_folder, "metrics.csv", csv, err);
    free(csv);
    return status;
}

/* {"config":…,"eval":…} of the scene. */
static enum rt_status provenance(const struct reconstruction *r, bool with_eval, char **out,
                                 struct rt_error *err) {
    char *config = NULL, *eval = NULL;
    *out = NULL;
    const struct eval_report report = report_of(r);
    enum rt_status status = config_to_json(&r->config, &config, err);
    if (status == RT_OK && with_eval) status = report_eval_json(&report, false, &eval, err);
    if (status == RT_OK) {
        const char *shown = eval ? eval : "null";
        size_t size = strlen(config) + strlen(shown) + 32;
        *out = malloc(size);
        if (*out) {
            snprintf(*out, size, "{\"config\":%s,\"eval\":%s}", config, shown);
        } else {
            status = rt_fail(err, RT_NO_MEMORY, "provenance: out of memory");
        }
    }
    free(config);
    free(eval);
    return status;
}

static enum rt_status make_scene(const struct reconstruction *r, bool with_eval, struct scene **out,
                                 struct rt_error *err) {
    char *text = NULL;
    RT_TRY(provenance(r, with_eval, &text, err));
    enum rt_status status =
        publish_scene(&(struct publish_args){.pictures = &r->pictures,
                                             .gaussians = trainer_gaussians(r->trainer),
                                             .name = r->name,
                                             .recording_id = r->recording_id,
                                             .provenance_json = text},
                      out, err);
    free(text);
    return status;
}

static enum rt_status publish(struct reconstruction *r, struct rt_error *err) {
    struct scene *scene = NULL;
    RT_TRY(write_reports(r, err));
    RT_TRY(make_scene(r, true, &scene, err));
    enum rt_status status = scene_write(r->output, scene, err);
    scene_release(&scene);
    if (status != RT_OK) return status;
    checkpoint_prune(r->work_folder, 0); /* the scene is complete */
    r->checkpoint_step = 0;
    r->phase = RECON_DONE;
    return RT_OK;
}

enum rt_status reconstruction_advance(struct reconstruction *r, struct rt_error *err) {
    static enum rt_status (*const phases[])(struct reconstruction *, struct rt_error *) = {
        [RECON_READING] = read_next,  [RECON_INITIALISING] = initialise,
        [RECON_TRAINING] = train_on,  [RECON_EVALUATING] = evaluate_next,
        [RECON_PUBLISHING] = publish,
    };
    if (r->phase == RECON_DONE) return RT_OK;
    double start_s = now_s();
    double trained_s = r->trainer ? trainer_state(r->trainer)->seconds : 0.0;
    bool trains = r->phase == RECON_TRAINING;
    enum rt_status status = phases[r->phase](r, err);
    double spent_s = now_s() - start_s;
    if (trains && r->trainer) spent_s -= trainer_state(r->trainer)->seconds - trained_s;
    if (spent_s > 0.0) r->other_s += spent_s;
    return status;
}

bool reconstruction_done(const struct reconstruction *r) { return r->phase == RECON_DONE; }

void reconstruction_finish_early(struct reconstruction *r) { r->finish_early = true; }

enum rt_status reconstruction_checkpoint(struct reconstruction *r, struct rt_error *err) {
    return r->phase == RECON_TRAINING || r->phase == RECON_EVALUATING ? save(r, err) : RT_OK;
}

enum rt_status reconstruction_snapshot(struct reconstruction *r, struct scene **out,
                                       struct rt_error *err) {
    *out = NULL;
    if (!r->trainer) return rt_fail(err, RT_NO_OUTPUT, "there is no scene before training begins");
    return make_scene(r, false, out, err);
}

enum rt_status reconstruction_metrics(const struct reconstruction *r, char **json,
                                      struct rt_error *err) {
    return history_json(&r->history, json, err);
}

/* -- progress --------------------------------------------------------------------------------- */

/* Parts of the whole at which phases begin. */
static const double PHASE_BEGIN[] = {0.0, 0.03, 0.03, 0.95, 0.99, 1.0};

static double whole_fraction(const struct reconstruction *r) {
    double part = 0.0;
    if (r->phase == RECON_READING || r->phase == RECON_EVALUATING) {
        part = (double)r->i_picture / (double)r->pictures.n_pictures;
    } else if (r->phase == RECON_TRAINING) {
        part = trainer_fraction(r->trainer);
    }
    double begin = PHASE_BEGIN[r->phase];
    double end = r->phase < RECON_DONE ? PHASE_BEGIN[r->phase + 1] : 1.0;
    return begin + part * (end - begin);
}

struct recon_progress reconstruction_progress(const struct reconstruction *r) {
    struct recon_progress p = {.phase = r->phase,
                               .n_steps = r->config.steps,
                               .fraction = whole_fraction(r),
                               .eta_s = r->phase == RECON_DONE ? 0.0 : -1.0,
                               .step_ms = r->step_ms,
                               .psnr_db = r->last.psnr_db,
                               .ssim = r->last.ssim,
                               .train_psnr_db = (double)NAN,
                               .checkpoint_step = r->checkpoint_step,
                               .seconds = r->other_s};
    if (!r->trainer) return p;
    const struct trainer_state *state = trainer_state(r->trainer);
    p.step = state->step;
    p.loss = state->loss;
    p.n_gaussians = state->n_gaussians;
    p.seconds += state->seconds;
    if (state->step > 0) p.train_psnr_db = loss_psnr_db(state->mse);
    if (r->phase != RECON_TRAINING) return p;
    /* An evaluated picture costs about a third of a step: forward without backward. */
    if (state->step > 5 && r->step_ms > 0.0) {
        p.eta_s = 1e-3 * (trainer_rest_ms(r->trainer, r->step_ms) +
                          r->step_ms * 0.33 * (double)r->pictures.n_pictures);
    }
    return p;
}
