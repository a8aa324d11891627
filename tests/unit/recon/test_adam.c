/* Adam against a double reference; which rows and columns it may touch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "recon/cpu/ops_cpu.h"
#include "render/core/rng.h"

enum { N = 37, WIDTH = 12 };

struct set {
    float parameter[N * WIDTH], moment1[N * WIDTH], moment2[N * WIDTH], gradient[N * WIDTH];
};

static struct adam_args args_of(struct set *s, int32_t step) {
    return (struct adam_args){.parameter = s->parameter,
                              .moment1 = s->moment1,
                              .moment2 = s->moment2,
                              .gradient = s->gradient,
                              .n = N,
                              .width = WIDTH,
                              .last = WIDTH,
                              .rate = 0.01f,
                              .beta1 = 0.9f,
                              .beta2 = 0.999f,
                              .eps = 1e-15f,
                              .correction1 = (float)(1.0 - pow(0.9, step)),
                              .correction2 = (float)(1.0 - pow(0.999, step))};
}

static void test_follows_the_paper(void **state) {
    (void)state;
    static struct set s;
    static double x[N * WIDTH], m[N * WIDTH], v[N * WIDTH];
    memset(&s, 0, sizeof s);
    for (int32_t step = 1; step <= 50; step++) {
        for (int i = 0; i < N * WIDTH; i++) {
            float g = rng_normal(rng_draw(1, 0, (uint32_t)step, (uint64_t)i), 0) + 0.3f;
            s.gradient[i] = g;
            m[i] = 0.9 * m[i] + 0.1 * (double)g;
            v[i] = 0.999 * v[i] + 0.001 * (double)g * (double)g;
            x[i] -= 0.01 * (m[i] / (1 - pow(0.9, step))) /
                    (sqrt(v[i] / (1 - pow(0.999, step))) + 1e-15);
        }
        struct adam_args args = args_of(&s, step);
        assert_int_equal(cpu_adam(&args), 0);
    }
    for (int i = 0; i < N * WIDTH; i++) {
        /* worst measured 1.2e-6 after 50 steps of 0.01, allowed 5e-6 */
        assert_true(fabs((double)s.parameter[i] - x[i]) < 5e-6);
        assert_true(s.gradient[i] == 0.0f);
    }
}

static void test_leaves_the_rest_alone(void **state) {
    (void)state;
    static struct set s, before;
    uint8_t visible[N];
    for (int i = 0; i < N * WIDTH; i++) {
        s.parameter[i] = (float)i;
        s.moment1[i] = s.moment2[i] = s.gradient[i] = 1.0f;
    }
    for (int i = 0; i < N; i++) visible[i] = i % 3 == 0;
    before = s;
    struct adam_args args = args_of(&s, 1);
    args.visible = visible;
    args.first = 3;
    args.last = 9;
    assert_int_equal(cpu_adam(&args), 0);
    for (int i = 0; i < N * WIDTH; i++) {
        bool touched = visible[i / WIDTH] && i % WIDTH >= 3 && i % WIDTH < 9;
        assert_int_equal(s.parameter[i] != before.parameter[i], touched);
        assert_int_equal(s.moment1[i] != before.moment1[i] || s.gradient[i] == 0.0f, touched);
    }
}

static void test_counts_broken_rows(void **state) {
    (void)state;
    static struct set s;
    memset(&s, 0, sizeof s);
    s.gradient[2 * WIDTH + 5] = NAN;
    s.gradient[7 * WIDTH] = INFINITY;
    s.parameter[9 * WIDTH + 1] = -INFINITY;
    struct adam_args args = args_of(&s, 1);
    assert_int_equal(cpu_adam(&args), 3);
}

static void test_regularisers(void **state) {
    (void)state;
    struct gaussians *g = NULL;
    assert_int_equal(gaussians_create(&g, 4, 4, 0, NULL), RT_OK);
    for (int i = 0; i < 4; i++) g->logit_opacity[i] = 0.3f * (float)i;
    for (int i = 0; i < 12; i++) g->log_scale[i] = 0.1f * (float)i;
    float v_opacity[4] = {0}, v_scale[12] = {0};
    uint8_t visible[4] = {1, 1, 0, 1};
    cpu_regularise(&(struct regularise_args){.gaussians = g,
                                             .visible = visible,
                                             .opacity_weight = 0.5f,
                                             .scale_weight = 2.0f,
                                             .v_logit_opacity = v_opacity,
                                             .v_log_scale = v_scale});
    for (int i = 0; i < 4; i++) {
        double o = 1 / (1 + exp(-0.3 * i));
        double expected = visible[i] ? 0.5 / 4 * o * (1 - o) : 0.0;
        assert_true(fabs((double)v_opacity[i] - expected) < 1e-6);
        for (int k = 3 * i; k < 3 * i + 3; k++) {
            expected = visible[i] ? 2.0 / 12 * exp(0.1 * k) : 0.0;
            assert_true(fabs((double)v_scale[k] - expected) < 1e-6);
        }
    }
    gaussians_destroy(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_follows_the_paper),
        cmocka_unit_test(test_leaves_the_rest_alone),
        cmocka_unit_test(test_counts_broken_rows),
        cmocka_unit_test(test_regularisers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
