/* Relocation and growth: the formula against the published double sum and the ray integral it
 * preserves, zeroed moments, the hard cap, draws, and noise that does not depend on threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "recon/cpu/ops_cpu.h"
#include "recon/densify.h"
#include "render/core/rng.h"

static double choose(int n, int k) {
    double value = 1.0;
    for (int i = 1; i <= k; i++) value *= (double)(n - k + i) / i;
    return value;
}

/* The denominator as printed in the paper: sum_i sum_k C(i-1,k) (-1)^k o'^(k+1) / sqrt(k+1). */
static double published_sum(double o_new, int n) {
    double sum = 0.0;
    for (int i = 1; i <= n; i++) {
        for (int k = 0; k < i; k++) {
            sum += choose(i - 1, k) * (k % 2 ? -1 : 1) * pow(o_new, k + 1) / sqrt(k + 1.0);
        }
    }
    return sum;
}

static void test_formula(void **state) {
    (void)state;
    static const double opacities[] = {0.01, 0.3, 0.9, 0.999};
    static const int counts[] = {1, 2, 5, 51};
    for (int a = 0; a < 4; a++) {
        for (int b = 0; b < 4; b++) {
            double o = opacities[a];
            int n = counts[b];
            double o_new = relocation_opacity(o, n);
            assert_true(fabs(1 - pow(1 - o_new, n) - o) < 1e-12);
            double scale = relocation_scale(o, o_new, n);
            assert_true(fabs(scale / (o / published_sum(o_new, n)) - 1) < 1e-9);
            /* the integral of 1-(1-o'G')^N over a ray against that of oG, sigma = 1 */
            double before = 0, after = 0;
            for (int i = -20000; i <= 20000; i++) {
                double x = i * 1e-3;
                before += o * exp(-0.5 * x * x);
                after += 1 - pow(1 - o_new * exp(-0.5 * x * x / (scale * scale)), n);
            }
            assert_true(fabs(after / before - 1) < 1e-6);
        }
    }
}

struct fixture {
    struct gaussians *g;
    struct densify_set set;
};

static struct fixture make(int32_t n, int32_t capacity) {
    struct fixture f = {0};
    assert_int_equal(gaussians_create(&f.g, n, capacity, 1, NULL), RT_OK);
    f.set.gaussians = f.g;
    for (int group = 0; group < N_PARAMETER_GROUPS; group++) {
        size_t size = (size_t)capacity * (size_t)group_width((enum parameter_group)group, 1);
        float *array = group_parameters(f.g, (enum parameter_group)group);
        f.set.moment1[group] = malloc(size * sizeof(float));
        f.set.moment2[group] = malloc(size * sizeof(float));
        for (size_t i = 0; i < size; i++) {
            array[i] = rng_normal(rng_draw(3, (uint32_t)group, 0, i), 0);
            f.set.moment1[group][i] = f.set.moment2[group][i] = 1.0f;
        }
    }
    return f;
}

static void drop(struct fixture *f) {
    for (int group = 0; group < N_PARAMETER_GROUPS; group++) {
        free(f->set.moment1[group]);
        free(f->set.moment2[group]);
    }
    gaussians_destroy(&f->g);
}

static const struct densify_rules rules = {
    .dead_opacity = 0.005f, .growth = 1.0f, .splats_max = 1000, .seed = 9, .step = 100};

static void test_dead_ones_move_and_moments_are_zero(void **state) {
    (void)state;
    struct fixture f = make(3, 3);
    struct gaussians *g = f.g;
    g->logit_opacity[0] = -9.0f; /* dead */
    g->logit_opacity[1] = 1.0f;
    g->logit_opacity[2] = -30.0f; /* dead */
    float log_scale = g->log_scale[3];
    struct densify_report report;
    assert_int_equal(densify_relocate(&f.set, &rules, &report, NULL), RT_OK);
    assert_int_equal(report.n_dead, 2);
    assert_int_equal(report.n_added, 0);
    double o = 1 / (1 + exp(-1.0));
    double o_new = relocation_opacity(o, 3);
    for (int i = 0; i < 3; i++) {
        assert_true(fabs(1 / (1 + exp(-(double)g->logit_opacity[i])) - o_new) < 1e-6);
        double expected = (double)log_scale + log(relocation_scale(o, o_new, 3));
        assert_true(fabs((double)g->log_scale[3 * i] - expected) < 1e-6);
        assert_memory_equal(g->mean + 3 * i, g->mean + 3, 3 * sizeof(float));
        assert_memory_equal(g->sh + 12 * i, g->sh + 12, 12 * sizeof(float));
        for (int group = 0; group < N_PARAMETER_GROUPS; group++) {
            int32_t width = group_width((enum parameter_group)group, 1);
            for (int32_t k = i * width; k < (i + 1) * width; k++) {
                assert_true(f.set.moment1[group][k] == 0.0f && f.set.moment2[group][k] == 0.0f);
            }
        }
    }
    drop(&f);
}

static void test_untouched_ones_keep_their_moments(void **state) {
    (void)state;
    struct fixture f = make(200, 200);
    for (int i = 0; i < 200; i++) f.g->logit_opacity[i] = i == 0 ? -9.0f : i == 1 ? 9.0f : -5.2f;
    struct densify_report report;
    densify_relocate(&f.set, &rules, &report, NULL);
    int n_kept = 0;
    for (int i = 0; i < 200; i++) n_kept += f.set.moment1[GROUP_QUAT][4 * i] == 1.0f;
    assert_int_equal(n_kept, 198);
    drop(&f);
}

static void test_cap_is_hard(void **state) {
    (void)state;
    struct fixture f = make(100, 130);
    for (int i = 0; i < 100; i++) f.g->logit_opacity[i] = 0.0f;
    struct densify_rules grow = rules;
    grow.growth = 1.05f;
    struct densify_report report;
    densify_relocate(&f.set, &grow, &report, NULL);
    assert_int_equal(f.g->n_gaussians, 105);
    grow.splats_max = 107;
    densify_relocate(&f.set, &grow, &report, NULL);
    assert_int_equal(f.g->n_gaussians, 107);
    densify_relocate(&f.set, &grow, &report, NULL);
    assert_int_equal(f.g->n_gaussians, 107);
    assert_int_equal(report.n_added, 0);
    grow.splats_max = 1000;
    grow.growth = 2.0f;
    densify_relocate(&f.set, &grow, &report, NULL);
    assert_int_equal(f.g->n_gaussians, 130); /* the capacity */
    drop(&f);
}

static void test_all_dead_changes_nothing(void **state) {
    (void)state;
    struct fixture f = make(10, 20);
    for (int i = 0; i < 10; i++) f.g->logit_opacity[i] = -12.0f;
    struct densify_report report;
    assert_int_equal(densify_relocate(&f.set, &rules, &report, NULL), RT_OK);
    assert_int_equal(f.g->n_gaussians, 10);
    assert_int_equal(report.n_dead, 0);
    drop(&f);
}

/* Copies go where the opacity is: 1 part in 10 to the faint half. */
static void test_draws_follow_opacity(void **state) {
    (void)state;
    enum { LIVE = 200, DEAD = 20000 };
    struct fixture f = make(LIVE + DEAD, LIVE + DEAD);
    for (int i = 0; i < LIVE; i++) {
        double o = i < LIVE / 2 ? 0.9 : 0.1;
        f.g->logit_opacity[i] = (float)log(o / (1 - o));
        f.g->mean[3 * i] = i < LIVE / 2 ? 1.0f : -1.0f;
    }
    for (int i = LIVE; i < LIVE + DEAD; i++) f.g->logit_opacity[i] = -9.0f;
    struct densify_report report;
    densify_relocate(&f.set, &rules, &report, NULL);
    int n_faint = 0;
    for (int i = LIVE; i < LIVE + DEAD; i++) n_faint += f.g->mean[3 * i] < 0.0f;
    assert_true(abs(n_faint - DEAD / 10) < 200); /* 4.7 standard deviations */
    drop(&f);
}

static void test_noise(void **state) {
    (void)state;
    struct fixture f = make(300, 300), again = make(300, 300);
    for (int i = 0; i < 300; i++) {
        f.g->logit_opacity[i] = again.g->logit_opacity[i] = i % 2 ? -6.0f : 3.0f;
    }
    struct perturb_args args = {
        .gaussians = f.g, .strength = 0.1f, .dead_opacity = 0.005f, .seed = 1, .step = 5};
    float *before = malloc(900 * sizeof(float));
    memcpy(before, f.g->mean, 900 * sizeof(float));
    int n_threads = omp_get_max_threads();
    omp_set_num_threads(1);
    cpu_perturb(&args);
    omp_set_num_threads(3);
    args.gaussians = again.g;
    cpu_perturb(&args);
    omp_set_num_threads(n_threads);
    assert_memory_equal(f.g->mean, again.g->mean, 900 * sizeof(float));
    for (int i = 0; i < 300; i++) {
        assert_int_equal(f.g->mean[3 * i] != before[3 * i], i % 2); /* opaque ones stand still */
    }
    free(before);
    drop(&f);
    drop(&again);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formula),
        cmocka_unit_test(test_dead_ones_move_and_moments_are_zero),
        cmocka_unit_test(test_untouched_ones_keep_their_moments),
        cmocka_unit_test(test_cap_is_hard),
        cmocka_unit_test(test_all_dead_changes_nothing),
        cmocka_unit_test(test_draws_follow_opacity),
        cmocka_unit_test(test_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
