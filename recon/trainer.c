#include "recon/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "recon/backend.h"
#include "recon/loss.h"
#include "recon/schedule.h"

/* A level is never smaller than this: a handful of pixels teaches nothing. */
enum { LEAST_SIDE_PX = 48 };
#define MAX_IMAGE_BUFFER_BYTES ((size_t)8 << 30)

struct trainer {
    struct recon_config config;
    const struct picture_set *pictures; /* borrowed */
    struct renderer *renderer;          /* borrowed */
    const struct recon_ops *ops;
    float extent, travel;
    float background[3];
    struct trainer_state state;
    struct gaussians *gaussians;         /* owned */
    float *gradient[N_PARAMETER_GROUPS]; /* [capacity][width], zero between steps */
    float *moment1[N_PARAMETER_GROUPS];  /* [capacity][width] */
    float *moment2[N_PARAMETER_GROUPS];  /* [capacity][width] */
    uint8_t *visible;                    /* [capacity] */
    int32_t *order;                      /* [n_training] permutation of `epoch` */
    int32_t epoch;
    void *arena;                   /* owned: the arrays above */
    struct rt_buffer level_buffer; /* owned: picture at the level of the step */
    struct rt_buffer image_buffer; /* owned: rendered picture, its gradient, scratch */
};

/* Rendered picture, its gradient and the scratch of the loss. */
struct step_images {
    float *rgb;
    float *v_rgb;
    float *scratch;
};

static void layout(struct rt_carver *carver, struct trainer *t) {
    size_t n = (size_t)t->gaussians->capacity;
    for (int g = 0; g < N_PARAMETER_GROUPS; g++) {
        int32_t width = group_width((enum parameter_group)g, t->gaussians->sh_degree);
        t->gradient[g] = rt_carve(carver, n * (size_t)width, sizeof(float));
        t->moment1[g] = rt_carve(carver, n * (size_t)width, sizeof(float));
        t->moment2[g] = rt_carve(carver, n * (size_t)width, sizeof(float));
    }
    t->visible = rt_carve(carver, n, 1);
    t->order = rt_carve(carver, (size_t)t->pictures->n_training, sizeof(int32_t));
}

static enum rt_status allocate(struct trainer *t, struct rt_error *err) {
    struct rt_carver carver = {0};
    layout(&carver, t);
    t->arena = carver.overflow ? NULL : aligned_alloc(64, carver.used_bytes);
    if (!t->arena) {
        return rt_fail(err, RT_NO_MEMORY,
                       "training of up to %d splats needs %zu MiB: out of memory; lower splats_max",
                       t->gaussians->capacity, carver.used_bytes >> 20);
    }
    memset(t->arena, 0, carver.used_bytes);
    carver = (struct rt_carver){.base = t->arena};
    layout(&carver, t);
    return RT_OK;
}

enum rt_status trainer_create(struct trainer **out, const struct trainer_options *options,
                              struct rt_error *err) {
    *out = NULL;
    const struct recon_ops *ops = NULL;
    RT_TRY(recon_backend(render_backend_name(options->renderer), &ops, err));
    struct trainer *t = calloc(1, sizeof *t);
    if (!t) return rt_fail(err, RT_NO_MEMORY, "trainer: out of memory");
    t->config = *options->config;
    t->pictures = options->pictures;
    t->renderer = options->renderer;
    t->ops = ops;
    t->extent = options->extent;
    t->travel = options->travel;
    memcpy(t->background, options->background, sizeof t->background);
    t->state =
        (struct trainer_state){.rate_scale = 1.0f, .n_gaussians = options->first->n_gaussians};
    t->epoch = -1;
    t->level_buffer.max_bytes = MAX_IMAGE_BUFFER_BYTES;
    t->image_buffer.max_bytes = MAX_IMAGE_BUFFER_BYTES;
    t->gaussians = options->first;
    enum rt_status status = allocate(t, err);
    if (status != RT_OK) {
        t->gaussians = NULL; /* stays the caller's */
        trainer_destroy(&t);
        return status;
    }
    *out = t;
    return RT_OK;
}

void trainer_destroy(struct trainer **trainer) {
    struct trainer *t = *trainer;
    *trainer = NULL;
    if (!t) return;
    gaussians_destroy(&t->gaussians);
    rt_buffer_free(&t->level_buffer);
    rt_buffer_free(&t->image_buffer);
    free(t->arena);
    free(t);
}

const struct trainer_state *trainer_state(const struct trainer *t) { return &t->state; }

const struct gaussians *trainer_gaussians(const struct trainer *t) { return t->gaussians; }

double trainer_fraction(const struct trainer *t) {
    double by_steps = (double)t->state.step / (double)t->config.steps;
    double budget_s = t->config.time_budget_s;
    double by_time = budget_s > 0.0 ? t->state.seconds / budget_s : 0.0;
    double fraction = by_steps > by_time ? by_steps : by_time;
    return fraction < 1.0 ? fraction : 1.0;
}

static struct step_plan plan_step(const struct trainer *t) {
    return schedule_step(&t->config, &(struct training_point){.step = t->state.step,
                                                              .fraction = trainer_fraction(t),
                                                              .extent = t->extent,
                                                              .travel = t->travel,
                                                              .rate_scale = t->state.rate_scale});
}

int32_t trainer_sh_degree(const struct trainer *t) { return plan_step(t).sh_degree; }

bool trainer_is_finite(const struct trainer *t) {
    for (int g = 0; g < N_PARAMETER_GROUPS; g++) {
        const float *values = group_parameters(t->gaussians, (enum parameter_group)g);
        int64_t n = (int64_t)t->gaussians->n_gaussians *
                    group_width((enum parameter_group)g, t->gaussians->sh_degree);
        for (int64_t i = 0; i < n; i++) {
            if (!isfinite(values[i])) return false;
        }
    }
    return true;
}

/* Cost of a step against one at full resolution: a quarter does not depend on pixels (measured on
 * the CPU at 270x480 with 60 k splats). */
static double step_weight(float resolution) {
    return 0.25 + 0.75 * (double)resolution * (double)resolution;
}

double trainer_rest_ms(const struct trainer *t, double step_ms) {
    enum { SAMPLES = 64 };
    double fraction = trainer_fraction(t), sum = 0.0;
    if (t->config.time_budget_s > 0.0 && t->state.step > 0) {
        return (1.0 - fraction) / fmax(fraction, 1e-6) * 1e3 * t->state.seconds;
    }
    struct training_point point = {.step = t->state.step, .extent = 1.0f, .rate_scale = 1.0f};
    point.fraction = fraction;
    double now = step_weight(schedule_step(&t->config, &point).resolution);
    for (int i = 0; i < SAMPLES; i++) {
        point.fraction = fraction + (1.0 - fraction) * (i + 0.5) / SAMPLES;
        sum += step_weight(schedule_step(&t->config, &point).resolution) / SAMPLES;
    }
    return step_ms * sum / now * (double)(t->config.steps - t->state.step);
}

static const struct training_picture *pick_picture(struct trainer *t) {
    int32_t i = schedule_picture(t->order, t->pictures->n_training, &t->epoch,
                                 (uint64_t)t->config.seed, t->state.step);
    return &t->pictures->pictures[t->pictures->training[i]];
}

static float level_scale(const struct training_picture *picture, float resolution) {
    int32_t side = picture->rgb.width_px < picture->rgb.height_px ? picture->rgb.width_px
                                                                  : picture->rgb.height_px;
    float least = side > LEAST_SIDE_PX ? (float)LEAST_SIDE_PX / (float)side : 1.0f;
    return resolution > least ? resolution : least;
}

static enum rt_status reserve_images(struct trainer *t, const struct picture_level *level,
                                     struct step_images *out, struct rt_error *err) {
    size_t plane = (size_t)level->width_px * (size_t)level->height_px * 3;
    size_t padded = (plane + 15) / 16 * 16;
    size_t scratch = loss_scratch_floats(level->width_px, level->height_px);
    RT_TRY(rt_buffer_reserve(&t->image_buffer, 2 * padded + scratch, sizeof(float), err));
    float *base = t->image_buffer.bytes;
    *out = (struct step_images){base, base + padded, base + 2 * padded};
    return RT_OK;
}

static struct render_frame frame_of(const struct trainer *t, const struct training_picture *picture,
                                    const struct picture_level *level,
                                    const struct render_layer *layer) {
    struct render_frame frame = picture_frame(picture, level);
    frame.layers = layer;
    frame.n_layers = 1;
    frame.near_m = t->config.near_m;
    frame.sh_degree = trainer_sh_degree(t);
    memcpy(frame.background, t->background, sizeof frame.background);
    return frame;
}

static enum rt_status diverged(const struct trainer *t, const char *what, struct rt_error *err) {
    return rt_fail(err, RT_DIVERGED, "%s no longer finite at step %d", what, t->state.step);
}

static enum rt_status compare(struct trainer *t, const struct picture_level *level,
                              const struct step_plan *plan, const struct step_images *images,
                              struct rt_error *err) {
    struct loss_values values;
    t->ops->loss(&(struct loss_args){.prediction = images->rgb,
                                     .target = level->rgb,
                                     .mask = level->mask,
                                     .width_px = level->width_px,
                                     .height_px = level->height_px,
                                     .ssim_weight = plan->ssim_weight,
                                     .v_prediction = images->v_rgb,
                                     .scratch = images->scratch},
                 &values);
    if (!isfinite(values.loss) || !isfinite(values.mse)) return diverged(t, "the loss is", err);
    double keep = t->state.step < 100 ? (double)t->state.step / (t->state.step + 1.0) : 0.99;
    t->state.loss = keep * t->state.loss + (1.0 - keep) * values.loss;
    t->state.l1 = keep * t->state.l1 + (1.0 - keep) * values.l1;
    t->state.mse = keep * t->state.mse + (1.0 - keep) * values.mse;
    return RT_OK;
}

static enum rt_status differentiate(struct trainer *t, const struct render_frame *frame,
                                    const struct step_images *images, struct rt_error *err) {
    memset(t->visible, 0, (size_t)t->gaussians->n_gaussians);
    const struct gaussian_gradients gradients = {
        .v_mean = t->gradient[GROUP_MEAN],
        .v_log_scale = t->gradient[GROUP_LOG_SCALE],
        .v_quat = t->gradient[GROUP_QUAT],
        .v_logit_opacity = t->gradient[GROUP_LOGIT_OPACITY],
        .v_sh = t->gradient[GROUP_SH],
        .visible = t->visible,
    };
    RT_TRY(render_backward(t->renderer, frame, &(struct render_upstream){.v_rgb = images->v_rgb},
                           &gradients, err));
    t->ops->regularise(&(struct regularise_args){.gaussians = t->gaussians,
                                                 .visible = t->visible,
                                                 .opacity_weight = t->config.opacity_reg,
                                                 .scale_weight = t->config.scale_reg,
                                                 .v_logit_opacity = gradients.v_logit_opacity,
                                                 .v_log_scale = gradients.v_log_scale});
    return RT_OK;
}

static int32_t update_columns(struct trainer *t, enum parameter_group group, float rate,
                              int32_t first, int32_t last) {
    double t_step = (double)t->state.step + 1.0;
    struct adam_args args = {
        .parameter = group_parameters(t->gaussians, group),
        .moment1 = t->moment1[group],
        .moment2 = t->moment2[group],
        .gradient = t->gradient[group],
        .visible = t->visible,
        .n = t->gaussians->n_gaussians,
        .width = group_width(group, t->gaussians->sh_degree),
        .first = first,
        .last = last,
        .rate = rate,
        .beta1 = t->config.adam_beta1,
        .beta2 = t->config.adam_beta2,
        .eps = t->config.adam_eps,
        .correction1 = (float)(1.0 - pow((double)t->config.adam_beta1, t_step)),
        .correction2 = (float)(1.0 - pow((double)t->config.adam_beta2, t_step))};
    return t->ops->adam(&args);
}

static enum rt_status update(struct trainer *t, const struct step_plan *plan,
                             struct rt_error *err) {
    int32_t n_sh = 3 * sh_count(plan->sh_degree);
    int32_t n_broken = update_columns(t, GROUP_MEAN, plan->lr_mean, 0, 3);
    n_broken += update_columns(t, GROUP_LOG_SCALE, plan->lr_scale, 0, 3);
    n_broken += update_columns(t, GROUP_QUAT, plan->lr_rotation, 0, 4);
    n_broken += update_columns(t, GROUP_LOGIT_OPACITY, plan->lr_opacity, 0, 1);
    n_broken += update_columns(t, GROUP_SH, plan->lr_sh0, 0, 3);
    if (n_sh > 3) n_broken += update_columns(t, GROUP_SH, plan->lr_sh_rest, 3, n_sh);
    return n_broken == 0 ? RT_OK : diverged(t, "parameters are", err);
}

static void shake(struct trainer *t, const struct step_plan *plan) {
    if (plan->noise <= 0.0f) return;
    t->ops->perturb(&(struct perturb_args){.gaussians = t->gaussians,
                                           .strength = plan->noise,
                                           .dead_opacity = t->config.dead_opacity,
                                           .seed = (uint64_t)t->config.seed,
                                           .step = t->state.step});
}

static enum rt_status densify(struct trainer *t, struct rt_error *err) {
    struct densify_set set = {.gaussians = t->gaussians};
    memcpy(set.moment1, t->moment1, sizeof set.moment1);
    memcpy(set.moment2, t->moment2, sizeof set.moment2);
    const struct densify_rules rules = {.dead_opacity = t->config.dead_opacity,
                                        .growth = t->config.growth,
                                        .splats_max = t->config.splats_max,
                                        .seed = (uint64_t)t->config.seed,
                                        .step = t->state.step};
    struct densify_report report;
    return densify_relocate(&set, &rules, &report, err);
}

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

enum rt_status trainer_step(struct trainer *t, struct rt_error *err) {
    double start_s = now_s();
    const struct step_plan plan = plan_step(t);
    const struct training_picture *picture = pick_picture(t);

    struct picture_level level;
    struct step_images images;
    float scale = level_scale(picture, plan.resolution);
    RT_TRY(picture_at_level(picture, scale, &t->level_buffer, &level, err));
    RT_TRY(reserve_images(t, &level, &images, err));

    const struct render_layer layer = {.gaussians = t->gaussians, .T_world_node = pose_identity()};
    const struct render_frame frame = frame_of(t, picture, &level, &layer);
    const struct render_target target = {.rgb = images.rgb};
    RT_TRY(render_camera(t->renderer, &frame, &target, err));
    RT_TRY(compare(t, &level, &plan, &images, err));
    RT_TRY(differentiate(t, &frame, &images, err));
    RT_TRY(update(t, &plan, err));
    shake(t, &plan);
    if (plan.refine) RT_TRY(densify(t, err));

    t->state.step++;
    t->state.n_gaussians = t->gaussians->n_gaussians;
    t->state.seconds += now_s() - start_s;
    return RT_OK;
}

/* -- checkpoints ------------------------------------------------------------------------------ */

static const char *const array_names[3] = {"parameter", "moment1", "moment2"};

static float *state_array(const struct trainer *t, int kind, enum parameter_group group) {
    float *const arrays[3] = {group_parameters(t->gaussians, group), t->moment1[group],
                              t->moment2[group]};
    return arrays[kind];
}

static size_t array_bytes(const struct trainer *t, enum parameter_group group, int32_t n) {
    return (size_t)n * (size_t)group_width(group, t->gaussians->sh_degree) * sizeof(float);
}

static void section_name(char name[CHECKPOINT_NAME_BYTES], int kind, int group) {
    static const char *const groups[N_PARAMETER_GROUPS] = {"mean", "log_scale", "quat", "opacity",
                                                           "sh"};
    memset(name, 0, CHECKPOINT_NAME_BYTES);
    strcpy(name, array_names[kind]);
    strcat(name, "/");
    strcat(name, groups[group]);
}

int32_t trainer_sections(const struct trainer *t,
                         struct checkpoint_section sections[TRAINER_SECTIONS]) {
    int32_t n = 0;
    sections[n++] = (struct checkpoint_section){"state", &t->state, sizeof t->state};
    for (int kind = 0; kind < 3; kind++) {
        for (int group = 0; group < N_PARAMETER_GROUPS; group++) {
            section_name(sections[n].name, kind, group);
            sections[n].bytes = state_array(t, kind, (enum parameter_group)group);
            sections[n++].n_bytes =
                array_bytes(t, (enum parameter_group)group, t->gaussians->n_gaussians);
        }
    }
    return n;
}

/* Address of a stored array, or NULL when it is missing or not of n gaussians. */
static const void *stored_array(const struct trainer *t, const struct checkpoint *checkpoint,
                                int kind, int group, int32_t n) {
    char name[CHECKPOINT_NAME_BYTES];
    size_t n_bytes = 0;
    section_name(name, kind, group);
    const void *bytes = checkpoint_find(checkpoint, name, &n_bytes);
    return n_bytes == array_bytes(t, (enum parameter_group)group, n) ? bytes : NULL;
}

static enum rt_status check_sections(const struct trainer *t, const struct checkpoint *checkpoint,
                                     struct trainer_state *state, struct rt_error *err) {
    size_t n_bytes = 0;
    const void *bytes = checkpoint_find(checkpoint, "state", &n_bytes);
    bool usable = bytes && n_bytes == sizeof *state;
    if (usable) memcpy(state, bytes, sizeof *state);
    usable = usable && state->n_gaussians >= 0 && state->n_gaussians <= t->gaussians->capacity;
    for (int kind = 0; usable && kind < 3; kind++) {
        for (int group = 0; usable && group < N_PARAMETER_GROUPS; group++) {
            usable = stored_array(t, checkpoint, kind, group, state->n_gaussians) != NULL;
        }
    }
    if (usable) return RT_OK;
    return rt_fail(err, RT_INVALID,
                   "the checkpoint at step %d does not fit this version; use another work folder",
                   checkpoint_step(checkpoint));
}

enum rt_status trainer_restore(struct trainer *t, const struct checkpoint *checkpoint,
                               struct rt_error *err) {
    struct trainer_state state;
    RT_TRY(check_sections(t, checkpoint, &state, err));
    t->state = state;
    t->epoch = -1;
    t->gaussians->n_gaussians = state.n_gaussians;
    for (int group = 0; group < N_PARAMETER_GROUPS; group++) {
        for (int kind = 0; kind < 3; kind++) {
            const void *bytes = stored_array(t, checkpoint, kind, group, state.n_gaussians);
            memcpy(state_array(t, kind, (enum parameter_group)group), bytes,
                   array_bytes(t, (enum parameter_group)group, state.n_gaussians));
        }
        /* A diverged step may have left gradients behind. */
        memset(t->gradient[group], 0,
               array_bytes(t, (enum parameter_group)group, t->gaussians->capacity));
    }
    return RT_OK;
}

void trainer_slow_down(struct trainer *t, int32_t n_divergences) {
    t->state.n_divergences = n_divergences;
    t->state.rate_scale = ldexpf(1.0f, -n_divergences);
}
