/* Training: gaussians + pictures -> better gaussians, one picture a step.
 *
 *     struct trainer *trainer;
 *     RT_TRY(trainer_create(&trainer, &options, err));     // takes over options.first
 *     while (trainer_state(trainer)->step < config.steps) RT_TRY(trainer_step(trainer, err));
 *     trainer_gaussians(trainer);                          // borrowed
 *     trainer_destroy(&trainer);
 *
 * A step: schedule -> pick a picture -> render -> loss -> backward -> Adam -> noise -> (every so
 * often) relocation. Equal configuration, pictures and seed give equal bits, for any number of
 * threads, in one run or resumed. Threading: one thread. */
#ifndef RETAKE_RECON_TRAINER_H
#define RETAKE_RECON_TRAINER_H

#include "recon/checkpoint.h"
#include "recon/config.h"
#include "recon/densify.h"
#include "recon/pictures.h"
#include "recon/stages.h"

struct trainer;

struct trainer_options {
    const struct recon_config *config;  /* copied */
    const struct picture_set *pictures; /* borrowed, loaded */
    struct renderer *renderer;          /* borrowed */
    struct gaussians *first;            /* taken over by a successful create */
    float extent;                       /* scene extent, m */
    float travel;                       /* of struct training_point */
    float background[3];
};

/* Everything of a step that is not an array; stored in checkpoints as it stands. */
struct trainer_state {
    int32_t step; /* done */
    int32_t n_gaussians;
    int32_t n_divergences;
    float rate_scale; /* 1, halved by each divergence */
    double seconds;   /* spent in steps */
    double loss;      /* running means over about 100 steps */
    double l1;
    double mse; /* over valid pixels, at the resolution of the step */
};

enum rt_status trainer_create(struct trainer **out, const struct trainer_options *options,
                              struct rt_error *err);
void trainer_destroy(struct trainer **trainer);

/* One step. RT_DIVERGED when the loss or a parameter is no longer finite: the trainer must then be
 * restored or destroyed. Other errors: those of rendering; the state is unchanged then. */
enum rt_status trainer_step(struct trainer *trainer, struct rt_error *err);

const struct trainer_state *trainer_state(const struct trainer *trainer);
const struct gaussians *trainer_gaussians(const struct trainer *trainer);
/* Bands of harmonics in use so far. */
int32_t trainer_sh_degree(const struct trainer *trainer);
/* True when every parameter is a number; a checkpoint or scene is never made of others. */
bool trainer_is_finite(const struct trainer *trainer);
/* Estimated milliseconds until the end, with the resolution schedule: step_ms is the recent mean.
 */
double trainer_rest_ms(const struct trainer *trainer, double step_ms);
/* Done part of training, 0...1, by steps or by the time budget. */
double trainer_fraction(const struct trainer *trainer);

/* The state as checkpoint sections, borrowed until the next step. Returns their number. */
enum { TRAINER_SECTIONS = 1 + 3 * N_PARAMETER_GROUPS };
int32_t trainer_sections(const struct trainer *trainer,
                         struct checkpoint_section sections[TRAINER_SECTIONS]);
/* RT_INVALID when a section is missing or of another size; the trainer is unchanged then. */
enum rt_status trainer_restore(struct trainer *trainer, const struct checkpoint *checkpoint,
                               struct rt_error *err);
/* After a divergence and a restore: notes it and halves the rates. */
void trainer_slow_down(struct trainer *trainer, int32_t n_divergences);

#endif
