/* Central differences of the whole path, parameters to loss, on a scene of four splats: every
 * stored parameter, colour, opacity and expected depth upstream at once, both antialias modes. The
 * cut-offs are switched off by data (alpha_min = 0, t_min = 0) so that the loss is smooth. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "render/render.h"

enum { N = 4, WIDTH = 24, HEIGHT = 20, N_PX = WIDTH * HEIGHT, N_SH = 48 };

struct scene4 {
    struct renderer *renderer;
    struct gaussians *splats;
    struct render_layer layer;
    struct render_frame frame;
    struct render_upstream upstream;
    float v_rgb[3 * N_PX], v_alpha[N_PX], v_depth[N_PX];
    float rgb[3 * N_PX], alpha[N_PX], depth[N_PX];
};

static float wave(size_t i, float frequency) { return sinf(frequency * (float)i + 0.5f); }

static void make(struct scene4 *s, bool antialiased) {
    memset(s, 0, sizeof *s);
    assert_int_equal(render_create(&s->renderer, &(struct render_options){0}, NULL), RT_OK);
    assert_int_equal(gaussians_create(&s->splats, N, N, 3, NULL), RT_OK);
    struct gaussians *g = s->splats;
    for (size_t i = 0; i < N; i++) {
        const float mean[3] = {0.5f * wave(i, 2.1f), 0.4f * wave(i, 3.7f), 2.0f + 0.4f * (float)i};
        memcpy(g->mean + 3 * i, mean, sizeof mean);
        for (size_t k = 0; k < 3; k++)
            g->log_scale[3 * i + k] = -1.2f + 0.4f * wave(3 * i + k, 1.3f);
        for (size_t k = 0; k < 4; k++) g->quat[4 * i + k] = wave(4 * i + k, 0.9f);
        g->logit_opacity[i] = 0.8f * wave(i, 1.9f);
        for (size_t k = 0; k < N_SH; k++) g->sh[N_SH * i + k] = 0.15f * wave(N_SH * i + k, 0.7f);
    }
    s->layer = (struct render_layer){
        .gaussians = g,
        .T_world_node = pose_make(quat_normalised(quat_make(1.0f, 0.05f, -0.1f, 0.3f)),
                                  vec3_make(0.1f, 0.0f, 0.05f)),
        .antialiased = antialiased};
    s->frame = render_frame_defaults();
    s->frame.sensor.camera = camera_ideal(WIDTH, HEIGHT, 50.0f);
    s->frame.layers = &s->layer;
    s->frame.n_layers = 1;
    s->frame.limits.alpha_min = 0.0f;
    s->frame.limits.t_min = 0.0f;
    s->frame.background[1] = 0.4f;
    for (size_t i = 0; i < 3 * N_PX; i++) s->v_rgb[i] = wave(i, 0.37f);
    for (size_t i = 0; i < N_PX; i++) {
        s->v_alpha[i] = wave(i, 0.53f);
        s->v_depth[i] = 0.3f * wave(i, 0.29f);
    }
    s->upstream = (struct render_upstream){s->v_rgb, s->v_alpha, s->v_depth};
}

/* Pixels in which the four splats leave nearly nothing have an ill-conditioned expected depth and
 * no upstream for it. */
static double loss(struct scene4 *s) {
    struct render_target target = {.rgb = s->rgb, .alpha = s->alpha, .depth_expected = s->depth};
    assert_int_equal(render_camera(s->renderer, &s->frame, &target, NULL), RT_OK);
    double sum = 0.0;
    for (size_t i = 0; i < 3 * N_PX; i++) sum += (double)s->rgb[i] * (double)s->v_rgb[i];
    for (size_t i = 0; i < N_PX; i++) {
        sum += (double)s->alpha[i] * (double)s->v_alpha[i];
        if (s->v_depth[i] != 0.0f) sum += (double)s->depth[i] * (double)s->v_depth[i];
    }
    return sum;
}

static void compare(struct scene4 *s, const char *name, float *parameter, const float *v,
                    size_t n) {
    /* The loss is linear in the harmonics and hardly feels them, so their step is large. */
    const float step = n == N * N_SH ? 0.1f : 4e-3f;
    double largest = 0.0;
    double worst = 0.0;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs((double)v[i]));
    assert_true(largest > 1e-3);
    for (size_t i = 0; i < n; i++) {
        float kept = parameter[i];
        parameter[i] = kept + step;
        double reach = (double)parameter[i];
        double high = loss(s);
        parameter[i] = kept - step;
        reach -= (double)parameter[i];
        double low = loss(s);
        parameter[i] = kept;
        double error = fabs((high - low) / reach - (double)v[i]) / largest;
        worst = fmax(worst, error);
    }
    print_message("  %-14s largest %.3g, worst error %.1e of it\n", name, largest, worst);
    assert_true(worst < 4e-4); /* worst measured 2e-4, allowed 2x */
}

static void whole_path(bool antialiased) {
    struct scene4 s;
    make(&s, antialiased);
    loss(&s);
    for (size_t i = 0; i < N_PX; i++) {
        if (s.alpha[i] < 0.05f) s.v_depth[i] = 0.0f;
    }
    loss(&s);
    struct gaussians *v = NULL;
    assert_int_equal(gaussians_create(&v, N, N, 3, NULL), RT_OK);
    struct gaussian_gradients gradients = {.v_mean = v->mean,
                                           .v_log_scale = v->log_scale,
                                           .v_quat = v->quat,
                                           .v_logit_opacity = v->logit_opacity,
                                           .v_sh = v->sh};
    assert_int_equal(render_backward(s.renderer, &s.frame, &s.upstream, &gradients, NULL), RT_OK);
    struct gaussians *g = s.splats;
    compare(&s, "mean", g->mean, v->mean, 3 * N);
    compare(&s, "log_scale", g->log_scale, v->log_scale, 3 * N);
    compare(&s, "quat", g->quat, v->quat, 4 * N);
    compare(&s, "logit_opacity", g->logit_opacity, v->logit_opacity, N);
    compare(&s, "sh", g->sh, v->sh, N * N_SH);
    gaussians_destroy(&v);
    gaussians_destroy(&s.splats);
    render_destroy(&s.renderer);
}

static void test_render_backward_classic(void **state) {
    (void)state;
    whole_path(false);
}

static void test_render_backward_antialiased(void **state) {
    (void)state;
    whole_path(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_render_backward_classic),
        cmocka_unit_test(test_render_backward_antialiased),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
