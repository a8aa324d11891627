/* L1 + SSIM: values against a plain double implementation, gradients by central differences, masks,
 * pictures smaller than the kernel and wider than a chunk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recon/cpu/ops_cpu.h"
#include "recon/loss.h"
#include "render/core/rng.h"

struct picture_pair {
    int32_t w, h;
    float *x;      /* [h][w][3] */
    uint8_t *y;    /* [h][w][3] */
    uint8_t *mask; /* [h][w] or NULL */
    float *v;      /* [h][w][3] */
    float *scratch;
};

static struct picture_pair make_pair(int32_t w, int32_t h, bool masked) {
    size_t n = (size_t)w * (size_t)h * 3;
    struct picture_pair p = {.w = w, .h = h};
    p.x = malloc(n * sizeof(float));
    p.y = malloc(n);
    p.v = malloc(n * sizeof(float));
    p.scratch = aligned_alloc(64, (loss_scratch_floats(w, h) * sizeof(float) + 63) / 64 * 64);
    p.mask = masked ? malloc(n / 3) : NULL;
    for (size_t i = 0; i < n; i++) {
        struct rng_bits bits = rng_draw(5, 0, (uint32_t)w, i);
        float wave = 0.5f + 0.3f * sinf((float)i * 0.05f);
        p.x[i] = wave + 0.3f * (rng_uniform(bits, 0) - 0.5f);
        p.y[i] = (uint8_t)(255.0f * (wave + 0.2f * (rng_uniform(bits, 1) - 0.5f)));
        if (masked && i % 3 == 0) p.mask[i / 3] = rng_uniform(bits, 2) < 0.3f ? 0 : 255;
    }
    return p;
}

static void free_pair(struct picture_pair *p) {
    free(p->x);
    free(p->y);
    free(p->v);
    free(p->mask);
    free(p->scratch);
}

static struct loss_values loss_of(const struct picture_pair *p, float weight, float *v) {
    struct loss_values values;
    cpu_loss(&(struct loss_args){.prediction = p->x,
                                 .target = p->y,
                                 .mask = p->mask,
                                 .width_px = p->w,
                                 .height_px = p->h,
                                 .ssim_weight = weight,
                                 .v_prediction = v,
                                 .scratch = p->scratch},
             &values);
    return values;
}

/* One pixel of S in double, straight from the definition. The target under the mask is `held`, the
 * prediction before a perturbation, because the gradient treats it as a constant. */
static double ssim_double(const struct picture_pair *p, const float *held, int32_t at_x,
                          int32_t at_y, int32_t c) {
    static const double taps[6] = {.2660117249, .2130055377, .1093606895,
                                   .0360007721, .0075987581, .0010283801};
    double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
    for (int32_t j = -5; j <= 5; j++) {
        for (int32_t i = -5; i <= 5; i++) {
            if (at_y + j < 0 || at_y + j >= p->h || at_x + i < 0 || at_x + i >= p->w) continue;
            size_t px = (size_t)((at_y + j) * p->w + at_x + i);
            double weight = taps[abs(i)] * taps[abs(j)];
            double x = (double)p->x[3 * px + (size_t)c];
            bool hidden = p->mask && p->mask[px] == 0;
            double y = hidden ? (double)held[3 * px + (size_t)c] : p->y[3 * px + (size_t)c] / 255.0;
            mx += weight * x;
            my += weight * y;
            xx += weight * x * x;
            yy += weight * y * y;
            xy += weight * x * y;
        }
    }
    double sx = xx - mx * mx, sy = yy - my * my, sxy = xy - mx * my;
    return (2 * mx * my + 1e-4) * (2 * sxy + 9e-4) /
           ((mx * mx + my * my + 1e-4) * (sx + sy + 9e-4));
}

/* The loss restricted to what value `at` can change, in double. */
static double local_loss(const struct picture_pair *p, const float *held, double weight,
                         size_t at) {
    double n = 3.0 * p->w * p->h;
    int32_t c = (int32_t)(at % 3), x = (int32_t)(at / 3) % p->w, y = (int32_t)(at / 3) / p->w;
    double loss = (1 - weight) * fabs((double)p->x[at] - p->y[at] / 255.0) / n;
    for (int32_t j = y - 5; j <= y + 5; j++) {
        for (int32_t i = x - 5; i <= x + 5; i++) {
            if (i < 0 || j < 0 || i >= p->w || j >= p->h) continue;
            loss -= weight * ssim_double(p, held, i, j, c) / n;
        }
    }
    return loss;
}

static void check_gradients(int32_t w, int32_t h, bool masked, float weight) {
    struct picture_pair p = make_pair(w, h, masked);
    size_t n = (size_t)w * (size_t)h * 3;
    float *held = malloc(n * sizeof(float));
    memcpy(held, p.x, n * sizeof(float));
    loss_of(&p, weight, p.v);
    size_t stride = n < 300 ? 1 : n / 97;
    for (size_t at = 0; at < n; at += stride) {
        if (p.mask && p.mask[at / 3] == 0) {
            assert_true(p.v[at] == 0.0f);
            continue;
        }
        if (fabsf(p.x[at] - (float)p.y[at] / 255.0f) < 2e-3f) continue; /* the kink of L1 */
        const float step = 1e-3f;
        p.x[at] = held[at] + step;
        double above = local_loss(&p, held, (double)weight, at);
        p.x[at] = held[at] - step;
        double below = local_loss(&p, held, (double)weight, at);
        p.x[at] = held[at];
        double expected = (above - below) / (2.0 * (double)step);
        double scale = 1.0 / (double)n;
        /* worst measured 2.3e-3 of 1/n (differences of second order), allowed 5e-3 */
        if (fabs(expected - (double)p.v[at]) > 5e-3 * scale + 2e-3 * fabs(expected)) {
            fail_msg("%dx%d at %zu: %g, expected %g", w, h, at, (double)p.v[at], expected);
        }
    }
    free(held);
    free_pair(&p);
}

static void test_gradients(void **state) {
    (void)state;
    check_gradients(7, 5, false, 0.2f);    /* smaller than the kernel */
    check_gradients(40, 30, false, 1.0f);  /* SSIM alone */
    check_gradients(40, 30, false, 0.0f);  /* L1 alone */
    check_gradients(40, 30, true, 0.2f);   /* masked */
    check_gradients(337, 12, true, 0.2f);  /* three chunks, the last a short one */
    check_gradients(160, 12, false, 0.5f); /* exactly one chunk */
    check_gradients(1, 1, false, 0.2f);
}

static void test_values(void **state) {
    (void)state;
    struct picture_pair p = make_pair(170, 23, true);
    struct loss_values values = loss_of(&p, 0.2f, NULL);
    double l1 = 0, squares = 0, ssim = 0;
    int64_t n_valid = 0;
    for (int32_t i = 0; i < p.w * p.h; i++) {
        for (int32_t c = 0; c < 3; c++) ssim += ssim_double(&p, p.x, i % p.w, i / p.w, c);
        if (p.mask[i] == 0) continue;
        n_valid++;
        for (int32_t c = 0; c < 3; c++) {
            double d = (double)p.x[3 * i + c] - p.y[3 * i + c] / 255.0;
            l1 += fabs(d);
            squares += d * d;
        }
    }
    double n = 3.0 * p.w * p.h;
    assert_int_equal(values.n_valid_px, n_valid);
    assert_true(fabs(values.l1 - l1 / n) < 1e-6);
    assert_true(fabs(values.mse - squares / (3.0 * (double)n_valid)) < 1e-7);
    assert_true(fabs(values.ssim - ssim / n) < 1e-5);
    assert_true(fabs(values.loss - (0.8 * values.l1 + 0.2 * (1 - values.ssim))) < 1e-9);
    free_pair(&p);
}

/* What lies under the mask has no say, whatever it is. */
static void test_masked_targets_do_not_matter(void **state) {
    (void)state;
    struct picture_pair p = make_pair(50, 20, true);
    struct loss_values before = loss_of(&p, 0.2f, p.v);
    for (int32_t i = 0; i < p.w * p.h; i++) {
        if (p.mask[i] == 0) memset(p.y + 3 * i, 255 - p.y[3 * i], 3);
    }
    float *v = malloc(50 * 20 * 3 * sizeof(float));
    struct loss_values after = loss_of(&p, 0.2f, v);
    assert_memory_equal(&before, &after, sizeof before);
    assert_memory_equal(v, p.v, 50 * 20 * 3 * sizeof(float));
    free(v);
    memset(p.mask, 0, 50 * 20);
    after = loss_of(&p, 0.2f, p.v);
    assert_true(after.loss < 1e-6 && after.n_valid_px == 0);
    free_pair(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_masked_targets_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
