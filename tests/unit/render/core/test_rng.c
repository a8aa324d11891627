/* The counter generator: published answers of Philox4x32-10, ranges and moments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/core/rng.h"

/* Known answers of the authors' reference implementation (Random123, kat_vectors). */
static void test_published_answers(void **state) {
    (void)state;
    static const uint32_t cases[3][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
         0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1},
    };
    for (int i = 0; i < 3; i++) {
        const uint32_t *c = cases[i];
        struct rng_bits bits = rng_philox((struct rng_bits){{c[0], c[1], c[2], c[3]}}, c[4], c[5]);
        for (int k = 0; k < 4; k++) assert_int_equal(bits.word[k], c[6 + k]);
    }
}

static void test_moments(void **state) {
    (void)state;
    enum { N = 20000 };
    double sum_u = 0, sum_n = 0, sum_n2 = 0;
    for (uint64_t i = 0; i < N; i++) {
        struct rng_bits bits = rng_draw(42, 1, 7, i);
        float u = rng_uniform(bits, 3);
        double d = rng_uniform_double(bits);
        assert_true(u >= 0.0f && u < 1.0f && d >= 0.0 && d < 1.0);
        float n = rng_normal(bits, 0);
        sum_u += u;
        sum_n += n;
        sum_n2 += n * n;
    }
    assert_true(fabs(sum_u / N - 0.5) < 0.01);
    assert_true(fabs(sum_n / N) < 0.03);
    assert_true(fabs(sum_n2 / N - 1.0) < 0.05);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_answers),
        cmocka_unit_test(test_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
