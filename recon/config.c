#include "recon/config.h"

#include <errno.h>
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INT(member, group_, def, lo, hi, unit_, text_, source_)                               \
    {                                                                                         \
        .name = #member, .group = group_, .type = CONFIG_INT,                                 \
        .offset = offsetof(struct recon_config, member), .default_value = def, .minimum = lo, \
        .maximum = hi, .unit = unit_, .text = text_, .source = source_                        \
    }
#define FLOAT(member, group_, def, lo, hi, unit_, text_, source_)                             \
    {                                                                                         \
        .name = #member, .group = group_, .type = CONFIG_FLOAT,                               \
        .offset = offsetof(struct recon_config, member), .default_value = def, .minimum = lo, \
        .maximum = hi, .unit = unit_, .text = text_, .source = source_                        \
    }
#define DOUBLE(member, group_, def, lo, hi, unit_, text_)                                     \
    {                                                                                         \
        .name = #member, .group = group_, .type = CONFIG_DOUBLE,                              \
        .offset = offsetof(struct recon_config, member), .default_value = def, .minimum = lo, \
        .maximum = hi, .unit = unit_, .text = text_, .source = ""                             \
    }
#define CHOICE(member, group_, list, text_, source_)                                  \
    {                                                                                 \
        .name = #member, .group = group_, .type = CONFIG_CHOICE,                      \
        .offset = offsetof(struct recon_config, member), .choices = list, .unit = "", \
        .text = text_, .source = source_                                              \
    }

/* clang-format off */
static const struct config_row rows[] = {
    INT(steps, "budget", 10000, 1, 200000, "", "training steps, one picture each", ""),
    DOUBLE(time_budget_s, "budget", 0, 0, 86400, "s",
           "end training after this time, with the schedules run on time; 0 = none"),
    INT(splats_max, "budget", 1500000, 1000, 1e8, "", "most gaussians in the scene", "3DGS-MCMC"),
    INT(seed, "budget", 42, 0, 2147483647, "", "seed of every random draw", ""),

    CHOICE(init, "first points", "auto sfm random",
           "where the first gaussians stand: points of the recording, or anywhere; auto = points "
           "when there are any", ""),
    INT(init_splats, "first points", 800000, 1, 1e8, "",
        "most first gaussians (random: also at most a third of splats_max)", ""),
    FLOAT(init_opacity, "first points", 0.5, 0.01, 0.99, "", "opacity of a first gaussian",
          "3DGS-MCMC"),
    FLOAT(init_scale, "first points", 0.5, 0.01, 10, "",
          "size of a first gaussian x mean distance to 3 neighbours", ""),
    FLOAT(random_travel, "first points", 20, 1, 1000, "",
          "lr_mean begins so many times higher where gaussians start at random, and ends as it is",
          ""),

    FLOAT(resolution, "images", 1, 0.05, 1, "", "size of the training pictures x recorded size", ""),
    FLOAT(resolution_start, "images", 0.25, 0.05, 1, "",
          "size at the first step x the training size", "DashGaussian"),
    FLOAT(resolution_full_at, "images", 0.5, 0, 1, "",
          "part of training at which the full training size is reached", "DashGaussian"),
    FLOAT(ssim_weight, "images", 0.2, 0, 1, "", "weight of 1-SSIM, the rest is L1", "3DGS"),
    INT(ssim_every, "images", 1, 1, 100, "steps", "SSIM enters every n-th step, else L1 alone", ""),
    INT(holdout_every, "images", 8, 0, 1000, "",
        "every n-th picture is held out, unless the recording declares it; 0 = none", ""),
    FLOAT(near_m, "images", 0.2, 1e-3, 10, "m", "nearest distance at which gaussians are seen", ""),

    FLOAT(lr_mean, "rates", 1.6e-4, 0, 1, "", "rate of positions x scene extent, at the start", "3DGS"),
    FLOAT(lr_mean_final, "rates", 1.6e-5, 0, 1, "", "the same at the end", "LiteGS"),
    FLOAT(lr_sh0, "rates", 0.01, 0, 1, "", "rate of the base colour", "LiteGS"),
    FLOAT(lr_sh_rest, "rates", 5e-4, 0, 1, "", "rate of the view-dependent colour", "LiteGS"),
    FLOAT(lr_opacity, "rates", 0.025, 0, 1, "", "rate of opacity logits", "LiteGS"),
    FLOAT(lr_scale, "rates", 5e-3, 0, 1, "", "rate of log scales", "3DGS"),
    FLOAT(lr_rotation, "rates", 1e-3, 0, 1, "", "rate of quaternions", "3DGS"),
    FLOAT(adam_beta1, "rates", 0.9, 0, 0.9999, "", "decay of the first moment", "Adam"),
    FLOAT(adam_beta2, "rates", 0.999, 0, 0.99999, "", "decay of the second moment", "Adam"),
    FLOAT(adam_eps, "rates", 1e-15, 1e-20, 1, "", "added to the root of the second moment", "3DGS"),
    INT(sh_degree, "rates", 3, 0, 3, "", "degree of the view-dependent colour", "3DGS"),
    INT(sh_degree_every, "rates", 1000, 1, 1e5, "steps", "one more degree every n steps", "3DGS"),

    CHOICE(strategy, "densification", "mcmc none",
           "mcmc relocates dead gaussians and grows to splats_max; none keeps the first ones",
           "3DGS-MCMC"),
    INT(refine_from, "densification", 500, 0, 2147483647, "steps", "first refinement", "3DGS-MCMC"),
    INT(refine_every, "densification", 100, 1, 1e4, "steps", "steps between refinements",
        "3DGS-MCMC"),
    FLOAT(refine_until, "densification", 0.8, 0, 1, "", "last refinement, part of training",
          "3DGS-MCMC"),
    FLOAT(growth, "densification", 1.05, 1, 2, "", "growth at a refinement", "3DGS-MCMC"),
    FLOAT(dead_opacity, "densification", 0.005, 0, 0.1, "", "dead at this opacity", "3DGS-MCMC"),
    FLOAT(noise_lr, "densification", 5e5, 0, 1e7, "", "noise on positions x their rate",
          "3DGS-MCMC"),
    FLOAT(opacity_reg, "densification", 0.01, 0, 1, "", "weight of the mean opacity", "3DGS-MCMC"),
    FLOAT(scale_reg, "densification", 0.01, 0, 1, "", "weight of the mean scale", "3DGS-MCMC"),

    FLOAT(preview_every_s, "service", 2, 0.2, 3600, "s", "seconds between previews", ""),
    INT(eval_every, "service", 2000, 0, 1e6, "steps",
        "steps between evaluations of the held-out pictures; 0 = only at the end", ""),
    FLOAT(checkpoint_every_s, "service", 60, 1, 86400, "s", "seconds between checkpoints", ""),
    INT(checkpoints_kept, "service", 2, 1, 100, "", "checkpoints kept in the work folder", ""),
};
/* clang-format on */

enum { N_ROWS = sizeof rows / sizeof rows[0] };

struct preset_change {
    const char *preset, *name;
    double value;
};

static const struct preset_change changes[] = {
    {"preview", "steps", 3000},       {"preview", "splats_max", 300000},
    {"preview", "resolution", 0.5},   {"preview", "sh_degree", 1},
    {"preview", "ssim_every", 2},     {"preview", "eval_every", 0},
    {"preview", "refine_from", 100},  {"preview", "refine_every", 50},
    {"preview", "growth", 1.15},      {"preview", "sh_degree_every", 500},
    {"preview", "lr_opacity", 0.05},  {"preview", "lr_scale", 0.01},
    {"preview", "init_opacity", 0.1}, {"preview", "resolution_start", 0.5},
    {"quality", "steps", 30000},      {"quality", "splats_max", 4000000},
    {"quality", "lr_sh0", 2.5e-3},    {"quality", "resolution_start", 0.5},
    {"quality", "lr_opacity", 0.05},  {"quality", "lr_mean_final", 1.6e-6},
    {"quality", "eval_every", 5000},  {"quality", "lr_sh_rest", 1.25e-4},
};
enum { N_CHANGES = sizeof changes / sizeof changes[0] };

static const char *const presets[] = {"preview", "balanced", "quality", NULL};

const struct config_row *config_rows(int32_t *n_rows) {
    *n_rows = N_ROWS;
    return rows;
}

const char *const *config_presets(void) { return presets; }

static const struct config_row *find_row(const char *name) {
    for (int i = 0; i < N_ROWS; i++) {
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    }
    return NULL;
}

static void store_number(struct recon_config *config, const struct config_row *row, double value) {
    char *member = (char *)config + row->offset;
    if (row->type == CONFIG_INT) {
        int32_t number = (int32_t)value;
        memcpy(member, &number, sizeof number);
    } else if (row->type == CONFIG_FLOAT) {
        float number = (float)value;
        memcpy(member, &number, sizeof number);
    } else {
        memcpy(member, &value, sizeof value);
    }
}

static double load_number(const struct recon_config *config, const struct config_row *row) {
    const char *member = (const char *)config + row->offset;
    if (row->type == CONFIG_INT) {
        int32_t number = 0;
        memcpy(&number, member, sizeof number);
        return number;
    }
    if (row->type == CONFIG_FLOAT) {
        float number = 0;
        char digits[32];
        memcpy(&number, member, sizeof number);
        /* The shortest decimal that gives the same float, so that JSON shows 0.2 and not
         * 0.20000000298. */
        for (int precision = 6; precision <= 9; precision++) {
            snprintf(digits, sizeof digits, "%.*g", precision, (double)number);
            if (strtof(digits, NULL) == number) break;
        }
        return strtod(digits, NULL);
    }
    double number = 0;
    memcpy(&number, member, sizeof number);
    return number;
}

/* Length of a choice member, by its offset (the two arrays of the struct differ). */
static size_t choice_bytes(const struct config_row *row) {
    return row->offset == offsetof(struct recon_config, init)
               ? sizeof((struct recon_config *)0)->init
               : sizeof((struct recon_config *)0)->strategy;
}

/* True when `value` is a word of the list `choices`; *length is that of the first word. */
static bool choice_allowed(const char *choices, const char *value, size_t *first_length) {
    *first_length = strcspn(choices, " ");
    size_t n = strlen(value);
    for (const char *word = choices; *word; word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        if (n == length && memcmp(word, value, n) == 0) return true;
        word += length;
    }
    return false;
}

static void store_text(struct recon_config *config, const struct config_row *row, const char *text,
                       size_t length) {
    char *member = (char *)config + row->offset;
    memset(member, 0, choice_bytes(row));
    memcpy(member, text, length < choice_bytes(row) ? length : choice_bytes(row) - 1);
}

enum rt_status config_preset(const char *preset, struct recon_config *out, struct rt_error *err) {
    memset(out, 0, sizeof *out);
    bool known = false;
    for (int i = 0; presets[i]; i++) known |= strcmp(presets[i], preset) == 0;
    if (!known) {
        return rt_fail(err, RT_INVALID,
                       "preset \"%.40s\" is unknown; use preview, balanced or quality", preset);
    }
    snprintf(out->preset, sizeof out->preset, "%s", preset);
    for (int i = 0; i < N_ROWS; i++) {
        size_t length = 0;
        if (rows[i].type != CONFIG_CHOICE) {
            store_number(out, &rows[i], rows[i].default_value);
        } else {
            choice_allowed(rows[i].choices, "", &length);
            store_text(out, &rows[i], rows[i].choices, length);
        }
    }
    for (int i = 0; i < N_CHANGES; i++) {
        if (strcmp(changes[i].preset, preset) == 0) {
            store_number(out, find_row(changes[i].name), changes[i].value);
        }
    }
    return RT_OK;
}

/* Edits between two short names [Wagner and Fischer 1974]; long ones count as far. */
static int edit_distance(const char *a, const char *b) {
    enum { LONGEST = 40 };
    int row[LONGEST + 1];
    int n_a = (int)strlen(a), n_b = (int)strlen(b);
    if (n_a > LONGEST || n_b > LONGEST) return LONGEST;
    for (int j = 0; j <= n_b; j++) row[j] = j;
    for (int i = 1; i <= n_a; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n_b; j++) {
            int substituted = diagonal + (a[i - 1] != b[j - 1]);
            int inserted = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = inserted < substituted ? inserted : substituted;
        }
    }
    return row[n_b];
}

static enum rt_status unknown_name(const char *name, struct rt_error *err) {
    const char *nearest = rows[0].name;
    int least = edit_distance(name, nearest);
    for (int i = 1; i < N_ROWS; i++) {
        int distance = edit_distance(name, rows[i].name);
        if (distance < least) {
            least = distance;
            nearest = rows[i].name;
        }
    }
    return rt_fail(err, RT_INVALID,
                   "parameter \"%.40s\" does not exist in this version; the nearest name is \"%s\"",
                   name, nearest);
}

static enum rt_status set_number(struct recon_config *config, const struct config_row *row,
                                 double value, struct rt_error *err) {
    const char *space = row->unit[0] ? " " : "";
    if (!(value >= row->minimum && value <= row->maximum)) {
        return rt_fail(err, RT_INVALID, "%s = %.9g is outside [%.10g, %.10g]%s%s", row->name, value,
                       row->minimum, row->maximum, space, row->unit);
    }
    if (row->type == CONFIG_INT && value != floor(value)) {
        return rt_fail(err, RT_INVALID, "%s = %.9g must be a whole number", row->name, value);
    }
    store_number(config, row, value);
    return RT_OK;
}

static enum rt_status set_choice(struct recon_config *config, const struct config_row *row,
                                 const char *value, struct rt_error *err) {
    size_t length = 0;
    if (!choice_allowed(row->choices, value, &length)) {
        return rt_fail(err, RT_INVALID, "%s = \"%.40s\" must be one of: %s", row->name, value,
                       row->choices);
    }
    store_text(config, row, value, strlen(value));
    return RT_OK;
}

enum rt_status config_set(struct recon_config *config, const char *name, const char *value,
                          struct rt_error *err) {
    const struct config_row *row = find_row(name);
    if (!row) return unknown_name(name, err);
    if (row->type == CONFIG_CHOICE) return set_choice(config, row, value, err);
    char *end = NULL;
    double number = strtod(value, &end);
    if (end == value || *end != '\0') {
        return rt_fail(err, RT_INVALID, "%s = \"%.40s\" is not a number", name, value);
    }
    return set_number(config, row, number, err);
}

static enum rt_status set_from_json(struct recon_config *config, const char *name,
                                    const json_t *value, struct rt_error *err) {
    const struct config_row *row = find_row(name);
    if (!row) return unknown_name(name, err);
    if (row->type == CONFIG_CHOICE) {
        if (json_is_string(value)) return set_choice(config, row, json_string_value(value), err);
        return rt_fail(err, RT_INVALID, "%s must be one of the strings: %s", name, row->choices);
    }
    if (!json_is_number(value)) return rt_fail(err, RT_INVALID, "%s must be a number", name);
    if (row->type == CONFIG_INT && json_is_real(value)) {
        return rt_fail(err, RT_INVALID, "%s must be an integer; %g is written as a real number",
                       name, json_real_value(value));
    }
    return set_number(config, row, json_number_value(value), err);
}

enum rt_status config_from_json(struct recon_config *config, const char *json, config_fault fault,
                                void *context, struct rt_error *err) {
    json_error_t where;
    json_t *object = json_loads(json, JSON_REJECT_DUPLICATES, &where);
    if (!object) return rt_fail(err, RT_INVALID, "config is not JSON: %.200s", where.text);
    enum rt_status first = RT_OK;
    const char *name = NULL;
    json_t *value = NULL;
    if (!json_is_object(object)) first = rt_fail(err, RT_INVALID, "config must be a JSON object");
    json_object_foreach(object, name, value) {
        struct rt_error one;
        rt_error_clear(&one);
        if (set_from_json(config, name, value, &one) == RT_OK) continue;
        if (fault) fault(context, name, one.message);
        if (first == RT_OK) {
            first = one.status;
            if (err) *err = one;
        }
    }
    json_decref(object);
    return first;
}

static json_t *row_value(const struct recon_config *config, const struct config_row *row) {
    if (row->type == CONFIG_CHOICE) return json_string((const char *)config + row->offset);
    double number = load_number(config, row);
    return row->type == CONFIG_INT ? json_integer((json_int_t)number) : json_real(number);
}

static json_t *config_object(const struct recon_config *config) {
    json_t *object = json_object();
    for (int i = 0; i < N_ROWS; i++) {
        json_object_set_new(object, rows[i].name, row_value(config, &rows[i]));
    }
    return object;
}

static enum rt_status dump(json_t *value, char **json, struct rt_error *err) {
    *json = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(value);
    return *json ? RT_OK : rt_fail(err, RT_NO_MEMORY, "configuration as JSON: out of memory");
}

enum rt_status config_to_json(const struct recon_config *config, char **json,
                              struct rt_error *err) {
    json_t *object = config_object(config);
    json_object_set_new(object, "preset", json_string(config->preset));
    return dump(object, json, err);
}

static json_t *schema_row(const struct config_row *row) {
    static const char *const types[] = {"integer", "number", "number", "choice"};
    json_t *object =
        json_pack("{s:s,s:s,s:s,s:s,s:s,s:s}", "name", row->name, "group", row->group, "type",
                  types[row->type], "unit", row->unit, "text", row->text, "source", row->source);
    struct recon_config balanced;
    config_preset("balanced", &balanced, NULL);
    json_object_set_new(object, "default", row_value(&balanced, row));
    if (row->type != CONFIG_CHOICE) {
        json_object_set_new(object, "minimum", json_real(row->minimum));
        json_object_set_new(object, "maximum", json_real(row->maximum));
        return object;
    }
    json_t *list = json_array();
    for (const char *word = row->choices; *word; word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        json_array_append_new(list, json_stringn(word, length));
        word += length;
    }
    json_object_set_new(object, "choices", list);
    return object;
}

enum rt_status config_schema_json(char **json, struct rt_error *err) {
    json_t *parameters = json_array();
    for (int i = 0; i < N_ROWS; i++) json_array_append_new(parameters, schema_row(&rows[i]));
    json_t *by_preset = json_object();
    for (int p = 0; presets[p]; p++) {
        struct recon_config config;
        config_preset(presets[p], &config, NULL);
        json_object_set_new(by_preset, presets[p], config_object(&config));
    }
    json_t *schema = json_object();
    json_object_set_new(schema, "parameters", parameters);
    json_object_set_new(schema, "presets", by_preset);
    return dump(schema, json, err);
}
