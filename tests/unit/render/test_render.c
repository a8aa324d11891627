/* Rendering as a caller sees it: hard inputs, any size, refusals, the same bits for any number of
 * threads, and an independent per-pixel reference. */
#include "render/render.h"

#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/core/stop.h"

struct fixture {
    struct renderer *renderer;
    struct gaussians *splats;
    struct render_layer layer;
    struct render_frame frame;
    float *rgb, *alpha, *expected, *median;
    int32_t *count;
    size_t n_px;
};

static float uniform(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)(*state >> 40) * (1.0f / 16777216.0f);
}

static struct gaussians *cloud(int32_t n, int32_t sh_degree, float size) {
    struct gaussians *g = NULL;
    assert_int_equal(gaussians_create(&g, n, n, sh_degree, NULL), RT_OK);
    uint64_t seed = 7;
    size_t n_sh = 3 * (size_t)sh_count(sh_degree);
    for (size_t i = 0; i < (size_t)n; i++) {
        for (size_t k = 0; k < 3; k++) {
            g->mean[3 * i + k] = 3.0f * uniform(&seed) - 1.5f;
            g->log_scale[3 * i + k] = logf(size) - 1.5f * uniform(&seed);
        }
        g->mean[3 * i + 2] += 4.0f;
        for (size_t k = 0; k < 4; k++) g->quat[4 * i + k] = uniform(&seed) - 0.5f;
        g->logit_opacity[i] = 6.0f * uniform(&seed) - 2.0f;
        for (size_t k = 0; k < n_sh; k++) g->sh[n_sh * i + k] = uniform(&seed) - 0.5f;
    }
    return g;
}

static void prepare(struct fixture *f, struct gaussians *splats, int32_t width, int32_t height) {
    memset(f, 0, sizeof *f);
    f->splats = splats;
    f->layer = (struct render_layer){.gaussians = splats, .T_world_node = pose_identity()};
    f->frame = render_frame_defaults();
    f->frame.sensor.camera = camera_ideal(width, height, 50.0f);
    f->frame.background[0] = 0.25f;
    f->frame.background[1] = 0.5f;
    f->frame.background[2] = 0.75f;
    f->frame.n_layers = 1;
    f->n_px = (size_t)width * (size_t)height;
    f->rgb = malloc(3 * f->n_px * sizeof(float));
    f->alpha = malloc(f->n_px * sizeof(float));
    f->expected = malloc(f->n_px * sizeof(float));
    f->median = malloc(f->n_px * sizeof(float));
    f->count = malloc(f->n_px * sizeof(int32_t));
    memset(f->rgb, 0x7f, 3 * f->n_px * sizeof(float)); /* every pixel must be written */
    assert_int_equal(render_create(&f->renderer, &(struct render_options){0}, NULL), RT_OK);
}

static enum rt_status draw(struct fixture *f, struct rt_error *err) {
    f->frame.layers = &f->layer;
    struct render_target target = {.rgb = f->rgb,
                                   .alpha = f->alpha,
                                   .depth_expected = f->expected,
                                   .depth_median = f->median,
                                   .splat_count = f->count};
    return render_camera(f->renderer, &f->frame, &target, err);
}

static void finish(struct fixture *f) {
    render_destroy(&f->renderer);
    gaussians_destroy(&f->splats);
    free(f->rgb);
    free(f->alpha);
    free(f->expected);
    free(f->median);
    free(f->count);
}

static struct gaussians *one_splat(float z) {
    struct gaussians *g = cloud(1, 0, 0.05f);
    g->mean[0] = g->mean[1] = 0.0f;
    g->mean[2] = z;
    g->logit_opacity[0] = 4.0f;
    return g;
}

static void is_background(struct fixture *f) {
    struct rt_error err;
    assert_int_equal(draw(f, &err), RT_OK);
    for (size_t i = 0; i < f->n_px; i++) {
        for (size_t c = 0; c < 3; c++) {
            assert_float_equal(f->rgb[3 * i + c], f->frame.background[c], 0.0f);
        }
        assert_float_equal(f->alpha[i], 0.0f, 0.0f);
        assert_true(isnan(f->expected[i]) && isnan(f->median[i]));
        assert_int_equal(f->count[i], 0);
    }
}

/* promises.md section 9, case 1. */
static void case_01_no_splats(void **state) {
    (void)state;
    struct fixture f;
    prepare(&f, cloud(0, 3, 0.1f), 33, 17);
    is_background(&f);
    f.frame.n_layers = 0;
    is_background(&f);
    finish(&f);
}

static void case_02_one_pair(void **state) {
    (void)state;
    struct fixture f;
    prepare(&f, one_splat(2.0f), 16, 16);
    for (size_t k = 0; k < 3; k++) f.splats->log_scale[k] = -1.5f;
    assert_int_equal(draw(&f, NULL), RT_OK);
    assert_int_equal(render_counts(f.renderer).n_pairs, 1);
    assert_true(f.alpha[7 * 16 + 7] > 0.5f);
    assert_float_equal(f.expected[7 * 16 + 7], 2.0f, 1e-4f);
    assert_float_equal(f.median[7 * 16 + 7], 2.0f, 0.0f);
    finish(&f);
}

static void case_03_not_finite(void **state) {
    (void)state;
    static const float bad[] = {NAN, INFINITY};
    for (size_t b = 0; b < 2; b++) {
        for (int what = 0; what < 4; what++) {
            struct fixture f;
            prepare(&f, one_splat(2.0f), 20, 20);
            if (what == 0) f.splats->mean[0] = bad[b];
            if (what == 1) f.splats->log_scale[1] = bad[b];
            if (what == 2) f.splats->quat[2] = bad[b];
            if (what == 3) f.splats->sh[0] = bad[b];
            is_background(&f);
            assert_int_equal(render_counts(f.renderer).n_culled_invalid, 1);
            finish(&f);
        }
    }
}

static void case_04_too_many_pairs(void **state) {
    (void)state;
    struct fixture f;
    prepare(&f, cloud(500, 0, 400.0f), 640, 480);
    render_destroy(&f.renderer);
    assert_int_equal(render_create(&f.renderer, &(struct render_options){.max_pairs = 1000}, NULL),
                     RT_OK);
    struct rt_error err;
    assert_int_equal(draw(&f, &err), RT_TOO_MUCH_WORK);
    assert_non_null(strstr(err.message, "600000"));
    assert_non_null(strstr(err.message, "1000"));
    finish(&f);
}

static void case_08_more_tiles_than_16_bits(void **state) {
    (void)state;
    struct fixture f;
    prepare(&f, one_splat(2.0f), 16384, 1100); /* 70,656 tiles */
    f.splats->mean[0] = 13.8f;                 /* near the right end */
    f.splats->mean[1] = 0.85f;
    f.frame.sensor.camera.focal_px[0] = 1179.0f;
    assert_int_equal(draw(&f, NULL), RT_OK);
    int64_t n = 0;
    for (size_t i = 0; i < f.n_px; i++) n += f.alpha[i] > 0.5f && i % 16384 > 16000;
    assert_true(n > 20);
    finish(&f);
}

static void case_11_behind_the_camera(void **state) {
    (void)state;
    static const float depths[] = {-2.0f, 0.0f, 0.19f};
    for (size_t i = 0; i < 3; i++) {
        struct fixture f;
        prepare(&f, one_splat(depths[i]), 32, 32);
        is_background(&f);
        f.frame.near_m = i == 0 ? -1.0f : 0.0f;
        assert_int_equal(draw(&f, NULL), RT_INVALID);
        finish(&f);
    }
}

static void case_14_zero_quaternion_is_identity(void **state) {
    (void)state;
    struct fixture zero, identity;
    prepare(&zero, one_splat(2.0f), 24, 24);
    prepare(&identity, one_splat(2.0f), 24, 24);
    for (size_t k = 0; k < 4; k++) {
        zero.splats->quat[k] = 0.0f;
        identity.splats->quat[k] = k == 0 ? 5.0f : 0.0f;
    }
    assert_int_equal(draw(&zero, NULL), RT_OK);
    assert_int_equal(draw(&identity, NULL), RT_OK);
    assert_memory_equal(zero.rgb, identity.rgb, 3 * zero.n_px * sizeof(float));
    finish(&zero);
    finish(&identity);
}

static void case_15_flat_splat(void **state) {
    (void)state;
    struct fixture f;
    prepare(&f, one_splat(2.0f), 24, 24);
    f.splats->log_scale[0] = -INFINITY;
    assert_int_equal(draw(&f, NULL), RT_OK);
    assert_int_equal(render_counts(f.renderer).n_visible, 1);
    finish(&f);
}

/* --- an independent reference: every splat over every pixel, in double --- */

struct reference {
    double u, v, a, b, c, opacity, depth, colour[3];
};

static void rotation_of(const float *q, double r[3][3]) {
    double n = sqrt((double)(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]));
    double w = q[0] / n, x = q[1] / n, y = q[2] / n, z = q[3] / n;
    const double m[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                            {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                            {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
    memcpy(r, m, sizeof m);
}

/* The camera stands at the origin, so the camera frame is the world. Degree 0. */
static void refer(const struct fixture *f, size_t i, struct reference *out) {
    const struct camera *camera = &f->frame.sensor.camera;
    const float *m = f->splats->mean + 3 * i;
    double fx = (double)camera->focal_px[0], fy = (double)camera->focal_px[1];
    double z = (double)m[2];
    double lx = 0.65 * camera->width_px / fx, ly = 0.65 * camera->height_px / fy;
    double sx = fmin(fmax(m[0] / z, -lx), lx), sy = fmin(fmax(m[1] / z, -ly), ly);
    double r[3][3], t[2][3];
    rotation_of(f->splats->quat + 4 * i, r);
    for (int k = 0; k < 3; k++) {
        double s = exp((double)f->splats->log_scale[3 * i + (size_t)k]);
        t[0][k] = fx / z * (r[0][k] - sx * r[2][k]) * s;
        t[1][k] = fy / z * (r[1][k] - sy * r[2][k]) * s;
    }
    double xx = 0.3, xy = 0.0, yy = 0.3;
    for (int k = 0; k < 3; k++) {
        xx += t[0][k] * t[0][k];
        xy += t[0][k] * t[1][k];
        yy += t[1][k] * t[1][k];
    }
    double det = xx * yy - xy * xy;
    *out = (struct reference){.u = fx * m[0] / z + (double)camera->principal_px[0],
                              .v = fy * m[1] / z + (double)camera->principal_px[1],
                              .a = yy / det,
                              .b = -xy / det,
                              .c = xx / det,
                              .opacity = 1 / (1 + exp(-(double)f->splats->logit_opacity[i])),
                              .depth = z};
    for (size_t c = 0; c < 3; c++) {
        out->colour[c] = fmax(0, 0.5 + 0.28209479177387814 * (double)f->splats->sh[3 * i + c]);
    }
}

static int by_depth(const void *a, const void *b) {
    double x = ((const struct reference *)a)->depth;
    double y = ((const struct reference *)b)->depth;
    return (x > y) - (x < y);
}

static void reference_pixel(const struct fixture *f, const struct reference *refs, size_t n,
                            size_t i_px, double rgb[3]) {
    double x = (double)(i_px % (size_t)f->frame.sensor.camera.width_px) + 0.5;
    double y = (double)(i_px / (size_t)f->frame.sensor.camera.width_px) + 0.5;
    double rest = 1.0;
    rgb[0] = rgb[1] = rgb[2] = 0.0;
    for (size_t k = 0; k < n; k++) {
        double dx = x - refs[k].u, dy = y - refs[k].v;
        double sigma = 0.5 * (refs[k].a * dx * dx + refs[k].c * dy * dy) + refs[k].b * dx * dy;
        double alpha = fmin(0.99, refs[k].opacity * exp(-sigma));
        if (alpha < 1.0 / 255.0) continue;
        if (rest * (1 - alpha) <= 1e-4) break;
        for (int c = 0; c < 3; c++) rgb[c] += rest * alpha * refs[k].colour[c];
        rest *= 1 - alpha;
    }
    for (int c = 0; c < 3; c++) rgb[c] += rest * (double)f->frame.background[c];
}

/* Any size equals the per-pixel reference (case 9), whatever tile a pixel falls into. */
static void case_09_any_size(void **state) {
    (void)state;
    static const int32_t sizes[][2] = {{1, 1}, {1, 37}, {53, 1}, {16, 16}, {17, 31}, {97, 61}};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        struct fixture f;
        prepare(&f, cloud(150, 0, 0.25f), sizes[s][0], sizes[s][1]);
        assert_int_equal(draw(&f, NULL), RT_OK);
        struct reference refs[150];
        for (size_t i = 0; i < 150; i++) refer(&f, i, &refs[i]);
        qsort(refs, 150, sizeof refs[0], by_depth);
        size_t n_off = 0;
        for (size_t i = 0; i < f.n_px; i++) {
            double rgb[3];
            reference_pixel(&f, refs, 150, i, rgb);
            double worst = 0.0;
            for (size_t c = 0; c < 3; c++) {
                worst = fmax(worst, fabs(rgb[c] - (double)f.rgb[3 * i + c]));
            }
            assert_true(worst < 6e-3); /* one splat on either side of the 1/255 cut */
            n_off += worst > 1e-5;
        }
        assert_true(n_off <= 1); /* worst measured 0 cut-off flips a picture */
        finish(&f);
    }
}

static void case_20_every_sh_degree(void **state) {
    (void)state;
    struct fixture f[4];
    for (int32_t degree = 0; degree < 4; degree++) {
        /* The same splats with zeros above degree 0 look the same at every degree. */
        prepare(&f[degree], cloud(50, degree, 0.2f), 40, 30);
        struct gaussians *base = cloud(50, 0, 0.2f);
        size_t n_sh = 3 * (size_t)sh_count(degree);
        memset(f[degree].splats->sh, 0, 50 * n_sh * sizeof(float));
        for (size_t i = 0; i < 50; i++)
            memcpy(f[degree].splats->sh + n_sh * i, base->sh + 3 * i, 12);
        memcpy(f[degree].splats->mean, base->mean, 50 * 12);
        memcpy(f[degree].splats->log_scale, base->log_scale, 50 * 12);
        memcpy(f[degree].splats->quat, base->quat, 50 * 16);
        memcpy(f[degree].splats->logit_opacity, base->logit_opacity, 50 * 4);
        gaussians_destroy(&base);
        assert_int_equal(draw(&f[degree], NULL), RT_OK);
        assert_memory_equal(f[0].rgb, f[degree].rgb, 3 * f[0].n_px * sizeof(float));
    }
    for (int32_t degree = 0; degree < 4; degree++) finish(&f[degree]);
}

static void backward(struct fixture *f, struct gaussians *v) {
    float *v_rgb = malloc(3 * f->n_px * sizeof(float));
    float *v_depth = malloc(f->n_px * sizeof(float));
    for (size_t i = 0; i < 3 * f->n_px; i++) v_rgb[i] = (float)(i % 5) - 1.5f;
    for (size_t i = 0; i < f->n_px; i++) v_depth[i] = (float)(i % 3) * 0.1f;
    struct gaussian_gradients gradients = {.v_mean = v->mean,
                                           .v_log_scale = v->log_scale,
                                           .v_quat = v->quat,
                                           .v_logit_opacity = v->logit_opacity,
                                           .v_sh = v->sh};
    struct render_upstream upstream = {.v_rgb = v_rgb, .v_depth_expected = v_depth};
    assert_int_equal(render_backward(f->renderer, &f->frame, &upstream, &gradients, NULL), RT_OK);
    free(v_rgb);
    free(v_depth);
}

static void same_bits_for_any_thread_count(void **state) {
    (void)state;
    int n_before = omp_get_max_threads();
    struct fixture f[3];
    struct gaussians *v[3];
    for (int i = 0; i < 3; i++) {
        omp_set_num_threads(i + 1);
        prepare(&f[i], cloud(3000, 2, 0.1f), 131, 77);
        assert_int_equal(gaussians_create(&v[i], 3000, 3000, 2, NULL), RT_OK);
        assert_int_equal(draw(&f[i], NULL), RT_OK);
        backward(&f[i], v[i]);
        assert_memory_equal(f[0].rgb, f[i].rgb, 3 * f[0].n_px * sizeof(float));
        assert_memory_equal(v[0]->mean, v[i]->mean, 3000 * 12);
        assert_memory_equal(v[0]->quat, v[i]->quat, 3000 * 16);
        assert_memory_equal(v[0]->sh, v[i]->sh, 3000 * 27 * 4);
    }
    omp_set_num_threads(n_before);
    for (int i = 0; i < 3; i++) {
        gaussians_destroy(&v[i]);
        finish(&f[i]);
    }
}

/* Clamped in the forward pass, so nothing flows to opacity, shape or place. */
static void clamped_opacity_has_no_gradient(void **state) {
    (void)state;
    struct fixture f;
    prepare(&f, one_splat(2.0f), 1, 1);
    f.splats->logit_opacity[0] = 7.0f; /* 0.9991: clamped, with a sigmoid that still has a slope */
    f.splats->mean[0] = 0.6f;          /* off the pixel's centre, so that shape and place matter */
    f.splats->mean[1] = 0.4f;
    f.splats->log_scale[0] = f.splats->log_scale[1] = f.splats->log_scale[2] = 3.0f;
    struct gaussians *v = NULL;
    assert_int_equal(gaussians_create(&v, 1, 1, 0, NULL), RT_OK);
    assert_int_equal(draw(&f, NULL), RT_OK);
    float v_rgb[3] = {1.0f, 1.0f, 1.0f};
    struct gaussian_gradients gradients = {.v_mean = v->mean,
                                           .v_log_scale = v->log_scale,
                                           .v_quat = v->quat,
                                           .v_logit_opacity = v->logit_opacity,
                                           .v_sh = v->sh};
    assert_int_equal(render_backward(f.renderer, &f.frame,
                                     &(struct render_upstream){.v_rgb = v_rgb}, &gradients, NULL),
                     RT_OK);
    assert_float_equal(v->logit_opacity[0], 0.0f, 0.0f);
    for (size_t k = 0; k < 3; k++) {
        assert_float_equal(v->log_scale[k], 0.0f, 0.0f);
        assert_float_equal(v->mean[k], 0.0f, 0.0f);
        assert_true(v->sh[k] > 0.1f);
    }
    gaussians_destroy(&v);
    finish(&f);
}

static void a_million_identical_splats(void **state) {
    (void)state;
    struct fixture f;
    const int32_t n = 1000000;
    struct gaussians *g = NULL;
    assert_int_equal(gaussians_create(&g, n, n, 0, NULL), RT_OK);
    for (size_t i = 0; i < (size_t)n; i++) {
        g->mean[3 * i + 2] = 2.0f;
        g->quat[4 * i] = 1.0f;
        g->sh[3 * i] = i == 0 ? 1.0f : -1.0f; /* ties by index: the first one is in front */
    }
    prepare(&f, g, 8, 8);
    assert_int_equal(draw(&f, NULL), RT_OK);
    float red = f.rgb[3 * (4 * 8 + 4)];
    assert_true(red > 0.45f && red < 0.52f); /* 0.22 when the first one is behind */
    assert_true(f.alpha[4 * 8 + 4] > 0.99f);
    finish(&f);
}

static void scaling_by_two_keeps_the_place(void **state) {
    (void)state;
    struct fixture f[2];
    double centre[2][2] = {{0}};
    for (int s = 0; s < 2; s++) {
        prepare(&f[s], one_splat(2.0f), 40 << s, 30 << s);
        f[s].splats->mean[0] = 0.31f;
        f[s].splats->mean[1] = -0.17f;
        assert_int_equal(draw(&f[s], NULL), RT_OK);
        double sum = 0.0;
        for (size_t i = 0; i < f[s].n_px; i++) {
            size_t width = (size_t)40 << s;
            centre[s][0] += (double)f[s].alpha[i] * ((double)(i % width) + 0.5);
            centre[s][1] += (double)f[s].alpha[i] * ((double)(i / width) + 0.5);
            sum += (double)f[s].alpha[i];
        }
        centre[s][0] /= sum;
        centre[s][1] /= sum;
    }
    assert_true(fabs(centre[1][0] - 2 * centre[0][0]) < 0.1);
    assert_true(fabs(centre[1][1] - 2 * centre[0][1]) < 0.1);
    finish(&f[0]);
    finish(&f[1]);
}

/* Moving a layer and the camera together changes nothing, view-dependent colour included. */
static void a_layer_turns_with_its_colour(void **state) {
    (void)state;
    struct fixture f[2];
    struct pose turn = pose_make(quat_normalised(quat_make(0.7f, 0.1f, 0.6f, -0.3f)),
                                 vec3_make(1.0f, -2.0f, 0.5f));
    for (int i = 0; i < 2; i++) prepare(&f[i], cloud(60, 3, 0.2f), 48, 36);
    f[1].layer.T_world_node = turn;
    f[1].frame.sensor.T_world_sensor_start = turn;
    f[1].frame.sensor.T_world_sensor_end = turn;
    assert_int_equal(draw(&f[0], NULL), RT_OK);
    assert_int_equal(draw(&f[1], NULL), RT_OK);
    double sum = 0.0;
    for (size_t i = 0; i < 3 * f[0].n_px; i++) sum += fabs((double)(f[0].rgb[i] - f[1].rgb[i]));
    assert_true(sum / (double)(3 * f[0].n_px) < 1e-5);
    finish(&f[0]);
    finish(&f[1]);
}

static void stops_when_asked(void **state) {
    (void)state;
    struct fixture f;
    prepare(&f, cloud(100, 0, 0.2f), 64, 64);
    atomic_bool cancel = true;
    f.frame.cancel = &cancel;
    assert_int_equal(draw(&f, NULL), RT_CANCELLED);
    f.frame.cancel = NULL;
    f.frame.deadline_ns = rt_now_ns() - 1;
    assert_int_equal(draw(&f, NULL), RT_DEADLINE);
    f.frame.deadline_ns = 0;
    assert_int_equal(draw(&f, NULL), RT_OK); /* and works again */
    finish(&f);
}

static void refuses_what_it_does_not_render(void **state) {
    (void)state;
    struct fixture f;
    prepare(&f, one_splat(2.0f), 16, 16);
    struct rt_error err;
    f.frame.sensor.camera.model = CAMERA_FISHEYE;
    assert_int_equal(draw(&f, &err), RT_UNSUPPORTED);
    assert_non_null(strstr(err.message, "fisheye"));
    f.frame.sensor.camera.model = CAMERA_PINHOLE;
    f.frame.sensor.camera.radial_k[0] = 0.1f;
    assert_int_equal(draw(&f, &err), RT_UNSUPPORTED);
    f.frame.sensor.camera.radial_k[0] = 0.0f;
    f.frame.sensor.camera.shutter = SHUTTER_ROLLING_TOP_TO_BOTTOM;
    assert_int_equal(draw(&f, NULL), RT_OK); /* nothing moves */
    f.frame.sensor.T_world_sensor_end.t.x = 1.0f;
    assert_int_equal(draw(&f, &err), RT_UNSUPPORTED);
    struct renderer *renderer;
    assert_int_equal(render_create(&renderer, &(struct render_options){.backend = "cuda"}, &err),
                     RT_UNSUPPORTED);
    assert_non_null(strstr(err.message, "this build has no CUDA backend"));
    assert_int_equal(render_create(&renderer, &(struct render_options){.backend = "gpu"}, &err),
                     RT_INVALID);
    finish(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_01_no_splats),
        cmocka_unit_test(case_02_one_pair),
        cmocka_unit_test(case_03_not_finite),
        cmocka_unit_test(case_04_too_many_pairs),
        cmocka_unit_test(case_08_more_tiles_than_16_bits),
        cmocka_unit_test(case_09_any_size),
        cmocka_unit_test(case_11_behind_the_camera),
        cmocka_unit_test(case_14_zero_quaternion_is_identity),
        cmocka_unit_test(case_15_flat_splat),
        cmocka_unit_test(case_20_every_sh_degree),
        cmocka_unit_test(same_bits_for_any_thread_count),
        cmocka_unit_test(clamped_opacity_has_no_gradient),
        cmocka_unit_test(a_million_identical_splats),
        cmocka_unit_test(scaling_by_two_keeps_the_place),
        cmocka_unit_test(a_layer_turns_with_its_colour),
        cmocka_unit_test(stops_when_asked),
        cmocka_unit_test(refuses_what_it_does_not_render),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
