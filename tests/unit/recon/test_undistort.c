/* Pixel origin, scaling and undistortion of pictures. */
#include "recon/undistort.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "render/core/camera_pinhole.h"

static struct camera phone(void) {
    /* A real phone lens (fox), at a fifth of its size. */
    struct camera lens = {.width_px = 216,
                          .height_px = 384,
                          .focal_px = {275.104f, 274.898f},
                          .principal_px = {110.9116f, 193.0536f},
                          .radial_k = {0.0578421f, -0.0805099f},
                          .tangential_p = {-0.000980296f, 0.00015575f}};
    return lens;
}

/* The map used for undistortion and the lens inverse agree to 1e-3 px everywhere. */
static void test_round_trip(void **state) {
    (void)state;
    struct camera lens = phone();
    float worst = 0.0f;
    for (int y = 0; y <= lens.height_px; y += 8) {
        for (int x = 0; x <= lens.width_px; x += 8) {
            vec2 at = vec2_make((float)x, (float)y);
            vec3 ray;
            assert_true(pinhole_ray(&lens, at, pinhole_r_max(&lens), &ray));
            vec2 back = pinhole_project(&lens, ray);
            worst = fmaxf(worst, hypotf(back.x - at.x, back.y - at.y));
        }
    }
    assert_true(worst < 1e-3f);
}

/* A picture whose value is its own x (or y) position must, undistorted, hold at each pixel the
 * lens-side position of that pixel: this catches a half pixel anywhere. */
static void test_values_are_positions(void **state) {
    (void)state;
    struct camera lens = phone();
    lens.width_px = 200;
    lens.height_px = 200;
    lens.principal_px[1] = 100.0f;
    struct image rgb = {0};
    struct image none = {0};
    struct image out = {0};
    struct image mask = {0};
    assert_int_equal(image_create(&rgb, 200, 200, 3, IMAGE_U8, NULL), RT_OK);
    for (int i = 0; i < 200 * 200; i++) {
        image_u8(&rgb)[3 * i] = (uint8_t)(i % 200);
        image_u8(&rgb)[3 * i + 1] = (uint8_t)(i / 200);
    }
    const struct undistort_args args = {.lens = &lens, .rgb = &rgb, .mask = &none};
    assert_int_equal(picture_undistort(&args, &out, &mask, NULL), RT_OK);
    for (int y = 5; y < 195; y += 5) {
        for (int x = 5; x < 195; x += 5) {
            vec3 ray = vec3_make(((float)x + 0.5f - lens.principal_px[0]) / lens.focal_px[0],
                                 ((float)y + 0.5f - lens.principal_px[1]) / lens.focal_px[1], 1.0f);
            vec2 at = pinhole_project(&lens, ray);
            int i = y * 200 + x;
            assert_int_equal(image_u8(&mask)[i], 255);
            /* Value k stands at k + 0.5; rounding to 8 bits allows 0.5. */
            assert_float_equal((float)image_u8(&out)[3 * i], at.x - 0.5f, 0.51f);
            assert_float_equal((float)image_u8(&out)[3 * i + 1], at.y - 0.5f, 0.51f);
        }
    }
    image_destroy(&out);
    image_destroy(&mask);
    /* Without distortion nothing moves. */
    memset(lens.radial_k, 0, sizeof lens.radial_k);
    memset(lens.tangential_p, 0, sizeof lens.tangential_p);
    assert_int_equal(picture_undistort(&args, &out, &mask, NULL), RT_OK);
    assert_memory_equal(out.pixels, rgb.pixels, image_bytes(&rgb));
    image_destroy(&out);
    image_destroy(&mask);
    image_destroy(&rgb);
}

/* Outside the picture, beyond the invertible radius, or under a mask: not valid. */
static void test_mask(void **state) {
    (void)state;
    /* Pincushion: the corners of the ideal picture lie outside the recorded one. */
    struct camera lens = {.width_px = 100,
                          .height_px = 100,
                          .focal_px = {60, 60},
                          .principal_px = {50, 50},
                          .radial_k = {0.1f}};
    struct image rgb = {0};
    struct image mask_in = {0};
    struct image out = {0};
    struct image mask = {0};
    assert_int_equal(image_create(&rgb, 100, 100, 3, IMAGE_U8, NULL), RT_OK);
    assert_int_equal(image_create(&mask_in, 100, 100, 1, IMAGE_U8, NULL), RT_OK);
    memset(mask_in.pixels, 255, 100 * 100);
    image_u8(&mask_in)[50 * 100 + 50] = 0;
    const struct undistort_args args = {.lens = &lens, .rgb = &rgb, .mask = &mask_in};
    assert_int_equal(picture_undistort(&args, &out, &mask, NULL), RT_OK);
    assert_int_equal(image_u8(&mask)[0], 0);
    assert_int_equal(image_u8(&mask)[50 * 100 + 50], 0);
    assert_int_equal(image_u8(&mask)[50 * 100 + 40], 255);
    image_destroy(&out);
    image_destroy(&mask);
    /* Barrel, r_max = 1/sqrt(1.5): a radius beyond folds back into the picture. */
    lens.radial_k[0] = -0.5f;
    assert_true(pinhole_r_max(&lens) < 0.82f);
    assert_int_equal(picture_undistort(&args, &out, &mask, NULL), RT_OK);
    assert_int_equal(image_u8(&mask)[50 * 100], 0);       /* r = 0.825 > 0.816 */
    assert_int_equal(image_u8(&mask)[50 * 100 + 3], 255); /* r = 0.78 */
    image_destroy(&out);
    image_destroy(&mask);
    image_destroy(&rgb);
    image_destroy(&mask_in);
}

static void test_shrink_is_the_area_average(void **state) {
    (void)state;
    struct image rgb = {0};
    struct image mask_in = {0};
    struct image mask = {0};
    assert_int_equal(image_create(&rgb, 5, 4, 3, IMAGE_U8, NULL), RT_OK);
    for (int i = 0; i < 20; i++) image_u8(&rgb)[3 * i] = (uint8_t)(10 * (i % 5));
    struct image out = {.width_px = 2, .height_px = 2};
    assert_int_equal(picture_shrink(&rgb, &mask_in, &out, &mask, NULL), RT_OK);
    /* (0 + 10 + 20/2) / 2.5 and (20/2 + 30 + 40) / 2.5 */
    assert_int_equal(image_u8(&out)[0], 8);
    assert_int_equal(image_u8(&out)[3], 32);
    assert_null(mask.pixels);
    image_destroy(&out);
    /* Masked pixels give no colour and make the result invalid. */
    assert_int_equal(image_create(&mask_in, 5, 4, 1, IMAGE_U8, NULL), RT_OK);
    memset(mask_in.pixels, 255, 20);
    image_u8(&mask_in)[0] = image_u8(&mask_in)[5] = 0;
    out = (struct image){.width_px = 2, .height_px = 2};
    assert_int_equal(picture_shrink(&rgb, &mask_in, &out, &mask, NULL), RT_OK);
    assert_int_equal(image_u8(&out)[0], 13); /* (10 + 20/2) / 1.5 */
    assert_int_equal(image_u8(&mask)[0], 0);
    assert_int_equal(image_u8(&mask)[1], 255);
    assert_int_equal(image_u8(&mask)[2], 255);
    image_destroy(&out);
    image_destroy(&mask);
    image_destroy(&mask_in);
    image_destroy(&rgb);
}

static void test_to_rgb(void **state) {
    (void)state;
    static const float background[3] = {0.0f, 0.5f, 1.0f};
    struct image source = {0};
    struct image out = {0};
    for (int32_t n = 1; n <= 4; n++) {
        assert_int_equal(image_create(&source, 1, 1, n, IMAGE_U16, NULL), RT_OK);
        for (int k = 0; k < n; k++) image_u16(&source)[k] = (uint16_t)(257 * (200 - 50 * k));
        if (n % 2 == 0) image_u16(&source)[n - 1] = 65535 / 5 * 2; /* alpha 0.4 */
        assert_int_equal(picture_to_rgb(&source, background, &out, NULL), RT_OK);
        static const uint8_t expected[5][3] = {{0, 0, 0},
                                               {200, 200, 200},
                                               {80, 157, 233}, /* 0.4 * 200 + 0.6 * b */
                                               {200, 150, 100},
                                               {80, 137, 193}};
        for (int k = 0; k < 3; k++) {
            assert_in_range(image_u8(&out)[k], expected[n][k] - (expected[n][k] > 0),
                            expected[n][k] + 1);
        }
        image_destroy(&source);
        image_destroy(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_values_are_positions),
        cmocka_unit_test(test_mask),       cmocka_unit_test(test_shrink_is_the_area_average),
        cmocka_unit_test(test_to_rgb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
