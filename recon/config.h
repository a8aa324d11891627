/* Hyper-parameters: ONE table (config.c) drives defaults, presets, JSON parsing, range errors, the
 * schema route, --help and the documentation (api.md section 6.2).
 *
 *     struct recon_config config;
 *     RT_TRY(config_preset("preview", &config, err));
 *     RT_TRY(config_set(&config, "steps", "2000", err));     // command line
 *
 * Only parameters that this version honours have a row; naming another one is an error that says so
 * (with the nearest known name). Threading: values and constant tables. */
#ifndef RETAKE_RECON_CONFIG_H
#define RETAKE_RECON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "render/core/status.h"

struct recon_config {
    char preset[16];
    /* budget */
    int32_t steps;
    double time_budget_s;
    int32_t splats_max;
    int32_t seed;
    /* first points */
    char init[16]; /* auto sfm random */
    int32_t init_splats;
    float init_opacity, init_scale, random_travel;
    /* images */
    float resolution, resolution_start, resolution_full_at;
    float ssim_weight;
    int32_t ssim_every, holdout_every;
    float near_m;
    /* rates */
    float lr_mean, lr_mean_final, lr_sh0, lr_sh_rest, lr_opacity, lr_scale, lr_rotation;
    float adam_beta1, adam_beta2, adam_eps;
    int32_t sh_degree, sh_degree_every;
    /* densification */
    char strategy[8]; /* mcmc none */
    int32_t refine_from, refine_every;
    float refine_until, growth, dead_opacity, noise_lr, opacity_reg, scale_reg;
    /* service */
    float preview_every_s;
    int32_t eval_every;
    float checkpoint_every_s;
    int32_t checkpoints_kept;
};

enum config_type { CONFIG_INT, CONFIG_FLOAT, CONFIG_DOUBLE, CONFIG_CHOICE };

struct config_row {
    const char *name;
    const char *group;
    enum config_type type;
    size_t offset; /* in struct recon_config */
    double default_value, minimum, maximum;
    const char *choices; /* CONFIG_CHOICE: "auto sfm random"; the first is the default */
    const char *unit;    /* "" = none */
    const char *text;    /* one sentence */
    const char *source;  /* "" or paper */
};

const struct config_row *config_rows(int32_t *n_rows);
/* Names of presets, NULL-terminated: preview, balanced, quality. */
const char *const *config_presets(void);

/* Defaults of `balanced`, then what the preset changes. RT_INVALID for an unknown preset. */
enum rt_status config_preset(const char *preset, struct recon_config *out, struct rt_error *err);
/* One value from text. RT_INVALID names the parameter, value, range and the nearest known name. */
enum rt_status config_set(struct recon_config *config, const char *name, const char *value,
                          struct rt_error *err);
/* Members of a JSON object given as text; every fault is reported through `fault` (may be NULL)
 * with its member name; the first one is also in *err. */
typedef void (*config_fault)(void *context, const char *name, const char *message);
enum rt_status config_from_json(struct recon_config *config, const char *json, config_fault fault,
                                void *context, struct rt_error *err);
/* All parameters as a JSON object text; caller frees. */
enum rt_status config_to_json(const struct recon_config *config, char **json, struct rt_error *err);
/* {"parameters":[…],"presets":{…}} for the schema route; caller frees. */
enum rt_status config_schema_json(char **json, struct rt_error *err);

#endif
