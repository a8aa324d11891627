#include "recon/densify.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "render/core/rng.h"

enum { STREAM_RELOCATE = 0x52454c4f };

/* Above this, 1-(1-o)^(1/N) would lose its digits; a logit of 16 says the same. */
static const double OPACITY_MAX = 1.0 - 1e-7;

int32_t group_width(enum parameter_group group, int32_t sh_degree) {
    static const int32_t widths[N_PARAMETER_GROUPS] = {3, 3, 4, 1, 3};
    return group == GROUP_SH ? 3 * sh_count(sh_degree) : widths[group];
}

float *group_parameters(struct gaussians *g, enum parameter_group group) {
    float *const arrays[N_PARAMETER_GROUPS] = {g->mean, g->log_scale, g->quat, g->logit_opacity,
                                               g->sh};
    return arrays[group];
}

static double opacity_of(const struct gaussians *g, int32_t i) {
    double o = 1.0 / (1.0 + exp(-(double)g->logit_opacity[i]));
    return o < OPACITY_MAX ? o : OPACITY_MAX;
}

struct plan {
    double *cumulative; /* [n] sum of live opacities up to and with i */
    int32_t *n_drawn;   /* [n] */
    int32_t *targets;   /* [n_targets] slots to fill */
    int32_t *sources;   /* [n_targets] */
    int32_t n_targets;
};

static void free_plan(struct plan *plan) {
    free(plan->cumulative);
    free(plan->n_drawn);
    free(plan->targets);
    free(plan->sources);
}

/* First index whose cumulative weight exceeds `at`: never one of weight 0. */
static int32_t index_at(const double *cumulative, int32_t n, double at) {
    int32_t lo = 0, hi = n - 1;
    while (lo < hi) {
        int32_t middle = lo + (hi - lo) / 2;
        if (cumulative[middle] > at) {
            hi = middle;
        } else {
            lo = middle + 1;
        }
    }
    return lo;
}

static void move_in(struct densify_set *set, int32_t target, int32_t source) {
    struct gaussians *g = set->gaussians;
    for (int group = 0; group < N_PARAMETER_GROUPS; group++) {
        size_t width = (size_t)group_width((enum parameter_group)group, g->sh_degree);
        float *array = group_parameters(g, (enum parameter_group)group);
        if (target != source) {
            memcpy(array + (size_t)target * width, array + (size_t)source * width,
                   width * sizeof(float));
        }
        memset(set->moment1[group] + (size_t)target * width, 0, width * sizeof(float));
        memset(set->moment2[group] + (size_t)target * width, 0, width * sizeof(float));
    }
}

/* The source becomes one of its N equal copies. */
static void thin_source(struct densify_set *set, int32_t source, int32_t n_copies,
                        float dead_opacity) {
    struct gaussians *g = set->gaussians;
    double o = opacity_of(g, source);
    double o_new = relocation_opacity(o, n_copies);
    double grow = log(relocation_scale(o, o_new, n_copies));
    for (int k = 0; k < 3; k++) {
        float *log_scale = g->log_scale + 3 * (int64_t)source + k;
        *log_scale = (float)((double)*log_scale + grow);
    }
    if (o_new < (double)dead_opacity) o_new = (double)dead_opacity;
    if (o_new > OPACITY_MAX) o_new = OPACITY_MAX;
    if (o_new > 0.0) g->logit_opacity[source] = (float)log(o_new / (1.0 - o_new));
    move_in(set, source, source);
}

static int32_t grown_count(const struct gaussians *g, const struct densify_rules *rules) {
    double wanted = floor((double)rules->growth * (double)g->n_gaussians + 0.5);
    int32_t most = rules->splats_max < g->capacity ? rules->splats_max : g->capacity;
    int32_t n = wanted < (double)most ? (int32_t)wanted : most;
    return n > g->n_gaussians ? n : g->n_gaussians;
}

/* Slots that shall be filled: the dead, then the new; returns the weight of the live. */
static double find_targets(const struct gaussians *g, const struct densify_rules *rules,
                           struct plan *plan, struct densify_report *report) {
    double total = 0.0;
    for (int32_t i = 0; i < g->n_gaussians; i++) {
        double o = opacity_of(g, i);
        bool dead = o <= (double)rules->dead_opacity;
        if (dead) plan->targets[plan->n_targets++] = i;
        total += dead ? 0.0 : o;
        plan->cumulative[i] = total;
    }
    report->n_dead = plan->n_targets;
    int32_t n_new = grown_count(g, rules);
    for (int32_t i = g->n_gaussians; i < n_new; i++) plan->targets[plan->n_targets++] = i;
    report->n_added = n_new - g->n_gaussians;
    return total;
}

static void draw_sources(const struct gaussians *g, const struct densify_rules *rules,
                         struct plan *plan, double total) {
    for (int32_t k = 0; k < plan->n_targets; k++) {
        struct rng_bits bits =
            rng_draw(rules->seed, STREAM_RELOCATE, (uint32_t)rules->step, (uint64_t)k);
        double at = rng_uniform_double(bits) * total;
        plan->sources[k] = index_at(plan->cumulative, g->n_gaussians, at);
        plan->n_drawn[plan->sources[k]]++;
    }
}

static bool make_plan(struct plan *plan, int32_t n, int32_t n_targets) {
    plan->cumulative = malloc((size_t)n * sizeof(double));
    plan->n_drawn = calloc((size_t)n, sizeof(int32_t));
    plan->targets = malloc((size_t)n_targets * sizeof(int32_t));
    plan->sources = malloc((size_t)n_targets * sizeof(int32_t));
    return plan->cumulative && plan->n_drawn && plan->targets && plan->sources;
}

enum rt_status densify_relocate(struct densify_set *set, const struct densify_rules *rules,
                                struct densify_report *report, struct rt_error *err) {
    *report = (struct densify_report){0};
    struct gaussians *g = set->gaussians;
    int32_t n = g->n_gaussians;
    if (n == 0) return RT_OK;
    struct plan plan = {0};
    if (!make_plan(&plan, n, grown_count(g, rules))) {
        free_plan(&plan);
        return rt_fail(err, RT_NO_MEMORY, "densification of %d splats: out of memory", n);
    }
    double total = find_targets(g, rules, &plan, report);
    if (total > 0.0) {
        draw_sources(g, rules, &plan, total);
        for (int32_t i = 0; i < n; i++) {
            int32_t n_copies = plan.n_drawn[i] + 1;
            if (n_copies > RELOCATION_MAX_COPIES) n_copies = RELOCATION_MAX_COPIES;
            if (n_copies > 1) thin_source(set, i, n_copies, rules->dead_opacity);
        }
        for (int32_t k = 0; k < plan.n_targets; k++) {
            move_in(set, plan.targets[k], plan.sources[k]);
        }
        g->n_gaussians = n + report->n_added;
    } else {
        *report = (struct densify_report){0}; /* all dead: nothing to move them to */
    }
    free_plan(&plan);
    return RT_OK;
}
