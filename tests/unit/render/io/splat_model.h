/* An asymmetric model for round trips: three arms of different length, shape and colour, harmonics
 * that brighten towards one direction, and comparisons by what is seen: covariance, not quaternion;
 * colour by direction, not coefficient. */
#ifndef RETAKE_TESTS_SPLAT_MODEL_H
#define RETAKE_TESTS_SPLAT_MODEL_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/core/gaussians.h"
#include "render/core/pose.h"
#include "render/core/sh.h"

enum { MODEL_ARM = 5, MODEL_SPLATS = 3 * MODEL_ARM };

static inline struct gaussians *model_create(int32_t sh_degree) {
    static const float reach[3] = {0.8f, 0.5f, 0.3f};
    struct gaussians *model = NULL;
    struct rt_error err;
    assert_int_equal(gaussians_create(&model, MODEL_SPLATS, MODEL_SPLATS, sh_degree, &err), RT_OK);
    size_t n_sh = 3 * (size_t)sh_count(sh_degree);
    for (size_t i = 0; i < MODEL_SPLATS; i++) {
        size_t arm = i / MODEL_ARM;
        size_t step = i % MODEL_ARM;
        float *q = model->quat + 4 * i;
        model->mean[3 * i + arm] = reach[arm] * (float)(step + 1);
        for (size_t k = 0; k < 3; k++) {
            model->log_scale[3 * i + k] = k == arm ? -1.5f : -2.5f - 0.25f * (float)k;
            model->sh[n_sh * i + k] = k == arm ? 0.9f : -0.4f;
        }
        q[0] = 0.9f;
        q[1 + arm] = 0.3f + 0.05f * (float)step;
        q[1 + (arm + 1) % 3] = -0.2f;
        model->logit_opacity[i] = -1.0f + 0.5f * (float)step;
        for (size_t j = 3; j < n_sh; j++) {
            model->sh[n_sh * i + j] = 0.03f * (float)((j * 7 + i * 3) % 11) - 0.15f;
        }
    }
    return model;
}

/* Covariance as a full 3x3 matrix, row-major. */
static inline void model_covariance(const struct gaussians *splats, size_t i, float out[9]) {
    mat3 R = quat_to_mat3(quat_normalised(quat_load(splats->quat + 4 * i)));
    for (int a = 0; a < 3; a++) {
        for (int b = 0; b < 3; b++) {
            float sum = 0.0f;
            for (int k = 0; k < 3; k++) {
                sum += R.m[a][k] * R.m[b][k] * expf(2.0f * splats->log_scale[3 * i + (size_t)k]);
            }
            out[3 * a + b] = sum;
        }
    }
}

static inline vec3 model_colour(const struct gaussians *splats, size_t i, vec3 d) {
    float basis[RT_SH_MAX];
    int n = sh_count(splats->sh_degree);
    sh_basis(splats->sh_degree, d, basis);
    return sh_colour(n, basis, splats->sh + (size_t)n * 3 * i);
}

struct model_tolerance {
    float mean, covariance /* relative to the largest entry */, opacity, colour;
};

static inline void assert_near(float a, float b, float tolerance) {
    if (!(fabsf(a - b) <= tolerance)) {
        fail_msg("%g and %g differ by more than %g", (double)a, (double)b, (double)tolerance);
    }
}

/* Splat i of `b` must be splat i of `a` moved by T, seen from six directions. */
static inline void assert_same_splat(const struct gaussians *a, const struct gaussians *b, size_t i,
                                     struct pose T, const struct model_tolerance *tolerance) {
    static const float directions[6][3] = {
        {1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, 0.6f, 0.8f}, {0.6f, 0, -0.8f}, {0.48f, -0.6f, 0.64f}};
    vec3 moved = pose_apply(T, vec3_load(a->mean + 3 * i));
    assert_near(b->mean[3 * i], moved.x, tolerance->mean);
    assert_near(b->mean[3 * i + 1], moved.y, tolerance->mean);
    assert_near(b->mean[3 * i + 2], moved.z, tolerance->mean);
    mat3 R = quat_to_mat3(T.q);
    float ca[9];
    float cb[9];
    float largest = 0.0f;
    model_covariance(a, i, ca);
    model_covariance(b, i, cb);
    for (int k = 0; k < 9; k++) largest = fmaxf(largest, fabsf(ca[k]));
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++) {
            float turned = 0.0f;
            for (int k = 0; k < 9; k++) turned += R.m[r][k / 3] * ca[k] * R.m[c][k % 3];
            assert_near(cb[3 * r + c], turned, tolerance->covariance * largest);
        }
    }
    assert_near(1.0f / (1.0f + expf(-b->logit_opacity[i])),
                1.0f / (1.0f + expf(-a->logit_opacity[i])), tolerance->opacity);
    for (int k = 0; k < 6; k++) {
        vec3 d = vec3_load(directions[k]);
        vec3 before = model_colour(a, i, mat3_mul_vec_transposed(R, d));
        vec3 after = model_colour(b, i, d);
        assert_near(after.x, before.x, tolerance->colour);
        assert_near(after.y, before.y, tolerance->colour);
        assert_near(after.z, before.z, tolerance->colour);
    }
}

#endif
