/* Rotated harmonics: colour(d) after is colour(R^T d) before, for any rotation and degree. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "render/core/sh.h"
#include "render/core/sh_rotate.h"

static void fill(float sh[48]) {
    for (int i = 0; i < 48; i++) sh[i] = 0.07f * (float)((i * 13) % 17) - 0.5f;
}

static void colours_turn_with_the_frame(void **state) {
    (void)state;
    static const float turns[4][4] = {
        {1, 0, 0, 0}, {0.5f, -0.5f, 0.5f, -0.5f}, {0, 0, 1, 0}, {0.3f, -0.7f, 0.2f, 0.6f}};
    for (int t = 0; t < 4; t++) {
        quat q = quat_normalised(quat_load(turns[t]));
        struct sh_rotation rotation = sh_rotation_make(q);
        for (int degree = 0; degree <= 3; degree++) {
            int n = (degree + 1) * (degree + 1);
            float before[48];
            float after[48];
            fill(before);
            memcpy(after, before, sizeof after);
            sh_rotate(&rotation, degree, after);
            for (int k = 0; k < 40; k++) {
                vec3 d = direction(vec3_make(sinf(3.1f * (float)k), cosf(1.7f * (float)k),
                                             sinf(0.9f * (float)k + 1.0f)));
                float at_d[RT_SH_MAX];
                float at_turned[RT_SH_MAX];
                sh_basis(degree, d, at_d);
                sh_basis(degree, mat3_mul_vec_transposed(quat_to_mat3(q), d), at_turned);
                vec3 a = sh_colour(n, at_d, after);
                vec3 b = sh_colour(n, at_turned, before);
                /* worst measured 2e-6 (float), allowed 1e-5 */
                assert_true(fabsf(a.x - b.x) < 1e-5f);
                assert_true(fabsf(a.y - b.y) < 1e-5f);
                assert_true(fabsf(a.z - b.z) < 1e-5f);
            }
            assert_memory_equal(after + 3 * n, before + 3 * n, (size_t)(48 - 3 * n) * 4);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(colours_turn_with_the_frame)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
