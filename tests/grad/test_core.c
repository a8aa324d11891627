/* Central differences for every derivative of render/core: one test per _vjp, named after it.
 * The functions are float32, so a step of 1e-2...1e-3 of the value and a tolerance of a few 1e-3
 * balance truncation against rounding; a wrong term is off by tens of percent. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "render/core/blend.h"
#include "render/core/camera_pinhole.h"
#include "render/core/covariance.h"
#include "render/core/pose.h"
#include "render/core/project_ewa.h"
#include "render/core/sh.h"

enum { MAX_NUMBERS = 16 };

/* y = f(x) over plain arrays; context selects what stays constant. */
typedef void (*array_function)(const float *x, float *y, const void *context);

static const float upstream[MAX_NUMBERS] = {0.7f,  -0.4f, 0.9f, 0.3f, -0.8f, 0.5f, -0.2f, 0.6f,
                                            -0.9f, 0.1f,  0.4f, 0.8f, -0.6f, 0.2f, -0.5f, 1.0f};

struct comparison {
    array_function f;
    const void *context;
    const float *x;
    int n_x, n_y;
    float step;
    double tolerance; /* of the largest component */
};

/* Compares v_x with central differences of <f(x), upstream>. */
static void compare(struct comparison c, const float *v_x) {
    double scale = 1e-6;
    for (int i = 0; i < c.n_x; i++) scale = fmax(scale, fabs((double)v_x[i]));
    for (int i = 0; i < c.n_x; i++) {
        float moved[MAX_NUMBERS], low[MAX_NUMBERS], high[MAX_NUMBERS];
        memcpy(moved, c.x, (size_t)c.n_x * sizeof(float));
        moved[i] = c.x[i] + c.step;
        double reach = (double)moved[i];
        c.f(moved, high, c.context);
        moved[i] = c.x[i] - c.step;
        reach -= (double)moved[i];
        c.f(moved, low, c.context);
        double difference = 0.0;
        for (int k = 0; k < c.n_y; k++)
            difference += ((double)high[k] - (double)low[k]) * (double)upstream[k];
        double error = fabs(difference / reach - (double)v_x[i]) / scale;
        if (error > c.tolerance) {
            print_message("number %d: %g by differences, %g by vjp\n", i, difference / reach,
                          (double)v_x[i]);
        }
        assert_true(error <= c.tolerance);
    }
}

static struct camera lens(void) {
    return (struct camera){.width_px = 640,
                           .height_px = 480,
                           .focal_px = {1.3f, 1.1f}, /* small, so that differences keep digits */
                           .principal_px = {0.1f, -0.2f},
                           .radial_k = {-0.21f, 0.08f, -0.02f, 0.05f, 0.02f, 0.01f},
                           .tangential_p = {0.011f, -0.013f},
                           .thin_prism_s = {0.012f, -0.004f, 0.009f, 0.006f}};
}

static void f_distort(const float *x, float *y, const void *context) {
    vec2 r = pinhole_distort(context, vec2_make(x[0], x[1]));
    y[0] = r.x;
    y[1] = r.y;
}

static void test_pinhole_distort_vjp(void **state) {
    (void)state;
    struct camera camera = lens();
    const float x[2] = {0.4f, -0.3f};
    vec2 v =
        pinhole_distort_vjp(&camera, vec2_make(x[0], x[1]), vec2_make(upstream[0], upstream[1]));
    compare((struct comparison){f_distort, &camera, x, 2, 2, 0.01f, 1e-3}, (float[]){v.x, v.y});
}

static void f_project(const float *x, float *y, const void *context) {
    vec2 r = pinhole_project(context, vec3_load(x));
    y[0] = r.x;
    y[1] = r.y;
}

static void test_pinhole_project_vjp(void **state) {
    (void)state;
    struct camera camera = lens();
    const float x[3] = {0.6f, -0.5f, 1.7f};
    float v[3];
    vec3_store(v, pinhole_project_vjp(&camera, vec3_load(x), vec2_make(upstream[0], upstream[1])));
    compare((struct comparison){f_project, &camera, x, 3, 2, 0.01f, 1e-3}, v);
}

static void f_unit(const float *x, float *y, const void *context) {
    (void)context;
    quat_store(y, quat_normalised(quat_load(x)));
}

static void test_quat_normalised_vjp(void **state) {
    (void)state;
    const float x[4] = {0.9f, -0.7f, 0.4f, 1.1f};
    float v[4];
    quat_store(v, quat_normalised_vjp(quat_load(x), quat_load(upstream)));
    compare((struct comparison){f_unit, NULL, x, 4, 4, 0.01f, 1e-3}, v);
    quat zero = quat_normalised_vjp(quat_make(0, 0, 0, 0), quat_load(upstream));
    assert_float_equal(quat_dot(zero, zero), 0.0f, 0.0f);
}

static void f_mat3(const float *x, float *y, const void *context) {
    (void)context;
    mat3 r = quat_to_mat3(quat_load(x));
    memcpy(y, r.m, sizeof r.m);
}

static void test_quat_to_mat3_vjp(void **state) {
    (void)state;
    const float x[4] = {0.5f, -0.5f, 0.3f, 0.64f};
    mat3 v_r;
    memcpy(v_r.m, upstream, sizeof v_r.m);
    float v[4];
    quat_store(v, quat_to_mat3_vjp(quat_load(x), v_r));
    compare((struct comparison){f_mat3, NULL, x, 4, 9, 0.01f, 1e-3}, v);
}

static void f_product(const float *x, float *y, const void *context) {
    (void)context;
    quat_store(y, quat_mul(quat_load(x), quat_load(x + 4)));
}

static void test_quat_mul_vjp(void **state) {
    (void)state;
    const float x[8] = {0.5f, -0.5f, 0.3f, 0.64f, 0.2f, 0.9f, -0.1f, 0.4f};
    float v[8];
    quat_store(v, quat_mul_vjp_left(quat_load(x + 4), quat_load(upstream)));
    quat_store(v + 4, quat_mul_vjp_right(quat_load(x), quat_load(upstream)));
    compare((struct comparison){f_product, NULL, x, 8, 4, 0.01f, 1e-3}, v);
}

static void f_slerp(const float *x, float *y, const void *context) {
    quat_store(y, quat_slerp(quat_load(x), quat_load(x + 4), *(const float *)context));
}

/* The angle enters through the dot product alone, so the keys are free numbers here. */
static void test_quat_slerp_vjp(void **state) {
    (void)state;
    const float u = 0.3f;
    quat a = quat_normalised(quat_make(0.8f, -0.5f, 0.3f, 0.4f));
    for (int flip = 0; flip < 2; flip++) {
        quat b = quat_normalised(quat_make(0.3f, 0.4f, 0.7f, 0.2f));
        if (flip) b = quat_scale(b, -1.0f);
        float x[8], v[8];
        quat v_a, v_b;
        quat_store(x, a);
        quat_store(x + 4, b);
        quat_slerp_vjp(a, b, u, quat_load(upstream), &v_a, &v_b);
        quat_store(v, v_a);
        quat_store(v + 4, v_b);
        compare((struct comparison){f_slerp, &u, x, 8, 4, 0.01f, 2e-3}, v);
    }
}

static void f_pose(const float *x, float *y, const void *context) {
    vec3_store(y, pose_apply(*(const struct pose *)context, vec3_load(x)));
}

static void test_pose_apply_vjp(void **state) {
    (void)state;
    struct pose pose = {quat_normalised(quat_make(1, 2, -3, 4)), {1, 2, 3}};
    const float x[3] = {0.3f, -0.6f, 0.9f};
    float v[3];
    vec3_store(v, pose_apply_vjp(pose, vec3_load(upstream)));
    compare((struct comparison){f_pose, &pose, x, 3, 3, 0.01f, 1e-3}, v);
}

/* A world point as the corrected sensor sees it. */
static void f_correct(const float *x, float *y, const void *context) {
    struct pose T = pose_correct(pose_identity(), vec3_load(x), vec3_load(x + 3));
    vec3_store(y, pose_apply(pose_inverse(T), vec3_load(context)));
}

static void test_pose_correct_vjp(void **state) {
    (void)state;
    const float p[3] = {0.4f, -0.7f, 1.2f};
    const float x[6] = {0};
    float v[6];
    vec3 v_rho, v_w;
    pose_correct_vjp(vec3_load(p), vec3_load(upstream), &v_rho, &v_w);
    vec3_store(v, v_rho);
    vec3_store(v + 3, v_w);
    compare((struct comparison){f_correct, p, x, 6, 3, 0.01f, 1e-3}, v);
}

static void f_covariance(const float *x, float *y, const void *context) {
    (void)context;
    mat3 rotation = quat_to_mat3(quat_normalised(quat_load(x)));
    sym3 r = covariance(rotation, vec3_make(expf(x[4]), expf(x[5]), expf(x[6])));
    memcpy(y, &r, sizeof r);
}

static void test_covariance_vjp(void **state) {
    (void)state;
    const float x[7] = {0.9f, -0.7f, 0.4f, 1.1f, -0.3f, 0.2f, -1.1f};
    sym3 v_sigma;
    memcpy(&v_sigma, upstream, sizeof v_sigma);
    quat q = quat_load(x);
    mat3 rotation = quat_to_mat3(quat_normalised(q));
    mat3 v_rotation;
    vec3 v_log_scale;
    covariance_vjp(rotation, vec3_make(expf(x[4]), expf(x[5]), expf(x[6])), v_sigma, &v_rotation,
                   &v_log_scale);
    float v[7];
    quat_store(v, quat_normalised_vjp(q, quat_to_mat3_vjp(quat_normalised(q), v_rotation)));
    vec3_store(v + 4, v_log_scale);
    compare((struct comparison){f_covariance, NULL, x, 7, 6, 0.01f, 1e-3}, v);
}

struct ewa_context {
    struct ewa_camera camera;
    mat3 rotation;
};

static void f_ewa(const float *x, float *y, const void *context) {
    const struct ewa_context *c = context;
    struct ewa_splat splat;
    sym3 sigma;
    memcpy(&sigma, x + 3, sizeof sigma);
    project_ewa(&c->camera, c->rotation, vec3_load(x), sigma, &splat);
    y[0] = splat.mean_px.x;
    y[1] = splat.mean_px.y;
    y[2] = splat.conic.xx;
    y[3] = splat.conic.xy;
    y[4] = splat.conic.yy;
    y[5] = x[2];
    y[6] = splat.chi;
}

/* In the middle and past both clamps of the Jacobian. */
static void test_project_ewa_vjp(void **state) {
    (void)state;
    struct camera camera = {
        .width_px = 4, .height_px = 3, .focal_px = {3.0f, 2.5f}, .principal_px = {2.1f, 1.4f}};
    struct ewa_context context = {
        ewa_camera_make(&camera, 0.3f),
        quat_to_mat3(quat_normalised(quat_make(0.9f, 0.2f, -0.3f, 0.1f)))};
    const float places[3][2] = {{0.3f, -0.4f}, {3.0f, 0.2f}, {-2.9f, 2.8f}};
    for (int i = 0; i < 3; i++) {
        const float x[9] = {places[i][0], places[i][1], 1.6f,  0.5f, 0.1f,
                            -0.05f,       0.4f,         0.08f, 0.6f};
        sym3 sigma;
        memcpy(&sigma, x + 3, sizeof sigma);
        struct ewa_splat splat;
        assert_true(project_ewa(&context.camera, context.rotation, vec3_load(x), sigma, &splat));
        struct ewa_splat_gradient v_out = {.v_mean_px = {upstream[0], upstream[1]},
                                           .v_conic = {upstream[2], upstream[3], upstream[4]},
                                           .v_depth = upstream[5],
                                           .v_chi = upstream[6]};
        struct ewa_input_gradient v_in =
            project_ewa_vjp(&context.camera, context.rotation, vec3_load(x), sigma, &splat, &v_out);
        float v[9];
        vec3_store(v, v_in.v_p);
        memcpy(v + 3, &v_in.v_sigma, sizeof v_in.v_sigma);
        compare((struct comparison){f_ewa, &context, x, 9, 7, 4e-3f, 2e-3}, v);
    }
}

static void f_basis(const float *x, float *y, const void *context) {
    memset(y, 0, RT_SH_MAX * sizeof(float));
    sh_basis(*(const int *)context, vec3_load(x), y);
}

static void test_sh_basis_vjp(void **state) {
    (void)state;
    const float x[3] = {0.48f, -0.6f, 0.64f};
    for (int degree = 0; degree <= 3; degree++) {
        float v[3];
        vec3_store(v, sh_basis_vjp(degree, vec3_load(x), upstream));
        compare((struct comparison){f_basis, &degree, x, 3, RT_SH_MAX, 0.01f, 2e-3}, v);
    }
}

static void f_colour(const float *x, float *y, const void *context) {
    vec3_store(y, sh_colour(4, x, context));
}

static void test_sh_colour_vjp(void **state) {
    (void)state;
    const float basis[4] = {0.28f, -0.3f, 0.2f, 0.45f};
    float v_f[12] = {0};
    float v_basis[4];
    sh_colour_vjp(4, basis, upstream, vec3_load(upstream), v_f, v_basis);
    compare((struct comparison){f_colour, upstream, basis, 4, 3, 0.01f, 1e-3}, v_basis);
    for (int k = 0; k < 12; k++) {
        assert_float_equal(v_f[k], basis[k / 3] * upstream[k % 3], 1e-6f);
    }
}

static void f_direction(const float *x, float *y, const void *context) {
    (void)context;
    vec3_store(y, direction(vec3_load(x)));
}

static void test_direction_vjp(void **state) {
    (void)state;
    const float x[3] = {1.5f, -0.6f, 0.9f};
    float v[3];
    vec3_store(v, direction_vjp(vec3_load(x), vec3_load(upstream)));
    compare((struct comparison){f_direction, NULL, x, 3, 3, 0.01f, 1e-3}, v);
}

/* Two splats and a background; alpha of the first. */
static void f_blend(const float *x, float *y, const void *context) {
    (void)context;
    float weight;
    float t = blend_advance(1.0f, x[0], 1, 0.0f, &weight);
    y[0] = weight * 0.3f;
    t = blend_advance(t, 0.5f, 1, 0.0f, &weight);
    y[0] = (y[0] + weight * 0.9f + t * 0.2f) / upstream[0]; /* compare() weights it back */
}

static void test_blend_alpha_vjp(void **state) {
    (void)state;
    const float x[1] = {0.4f};
    float behind = 0.6f * 0.5f * 0.9f + 0.6f * 0.5f * 0.2f;
    const float v[1] = {blend_alpha_vjp(1.0f, x[0], 0.3f, behind)};
    compare((struct comparison){f_blend, NULL, x, 1, 1, 0.01f, 1e-3}, v);
}

static void blend_exp_equals_libm(void **state) {
    (void)state;
    for (int i = 0; i <= 20000; i++) {
        float x = -(float)i * 4e-3f;
        double wanted = exp((double)x);
        /* worst measured 1.6e-7 above -6; without a fused multiply 4.2e-6 at -80, from n ln 2 */
        assert_true(fabs((double)blend_exp(x) - wanted) <=
                    wanted * (4e-7 + 2e-7 * fabs((double)x)));
    }
    assert_float_equal(blend_exp(0.0f), 1.0f, 0.0f);
    assert_true(blend_exp(-1e30f) >= 0.0f && blend_exp(-1e30f) < 1e-37f);
}

static void slerp_meets_its_keys(void **state) {
    (void)state;
    struct pose a = {quat_normalised(quat_make(1, 2, 3, 4)), {1, 2, 3}};
    struct pose b = {quat_normalised(quat_make(-2, 1, 0.5f, 1)), {4, 5, 7}};
    assert_true(pose_equal(pose_interpolate(a, b, 0.0f), a));
    assert_true(pose_equal(pose_interpolate(a, b, 1.0f), b));
    struct pose mirrored = {quat_scale(a.q, -1.0f), a.t}; /* q and -q give no motion */
    struct pose middle = pose_interpolate(a, mirrored, 0.5f);
    assert_true(fabsf(quat_dot(middle.q, a.q)) > 1.0f - 1e-6f);
}

static void log_inverts_exp(void **state) {
    (void)state;
    const float sizes[] = {0.0f, 1e-6f, 1e-3f, 0.5f, 3.0f};
    for (int i = 0; i < 5; i++) {
        vec3 w = vec3_scale(vec3_make(0.48f, -0.6f, 0.64f), sizes[i]);
        vec3 back = quat_log(quat_exp(w));
        assert_true(vec3_length(vec3_sub(back, w)) <= 1e-6f * (1.0f + sizes[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pinhole_distort_vjp), cmocka_unit_test(test_pinhole_project_vjp),
        cmocka_unit_test(test_quat_normalised_vjp), cmocka_unit_test(test_quat_to_mat3_vjp),
        cmocka_unit_test(test_quat_mul_vjp),        cmocka_unit_test(test_quat_slerp_vjp),
        cmocka_unit_test(test_pose_apply_vjp),      cmocka_unit_test(test_pose_correct_vjp),
        cmocka_unit_test(test_covariance_vjp),      cmocka_unit_test(test_project_ewa_vjp),
        cmocka_unit_test(test_sh_basis_vjp),        cmocka_unit_test(test_sh_colour_vjp),
        cmocka_unit_test(test_direction_vjp),       cmocka_unit_test(test_blend_alpha_vjp),
        cmocka_unit_test(blend_exp_equals_libm),    cmocka_unit_test(slerp_meets_its_keys),
        cmocka_unit_test(log_inverts_exp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
