/* Pictures to bytes: halves, crops, straight alpha, colour maps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/colormap.h"
#include "api/picture_encode.h"

static void test_halves(void **state) {
    (void)state;
    /* IEEE 754-2008 binary16, worked out by hand. */
    assert_int_equal(half_from_float(0.0f), 0x0000);
    assert_int_equal(half_from_float(-2.0f), 0xc000);
    assert_int_equal(half_from_float(1.0f), 0x3c00);
    assert_int_equal(half_from_float(65504.0f), 0x7bff);
    assert_int_equal(half_from_float(65520.0f), 0x7c00); /* the first that rounds to infinity */
    assert_int_equal(half_from_float(65519.0f), 0x7bff);
    assert_int_equal(half_from_float(5.9604645e-8f), 0x0001);         /* smallest subnormal */
    assert_int_equal(half_from_float(1.0f + 1.0f / 2048.0f), 0x3c00); /* a tie goes to even */
    assert_int_equal(half_from_float(1.0f + 3.0f / 2048.0f), 0x3c02);
    assert_true((half_from_float(NAN) & 0x7fff) > 0x7c00);
}

static struct engine_picture make_picture(float rgb[12], float alpha[4], float depth[4]) {
    return (struct engine_picture){
        .width_px = 2, .height_px = 2, .rgb = rgb, .alpha = alpha, .depth = depth};
}

static void test_raw_and_crop(void **state) {
    (void)state;
    float rgb[12] = {0, 0.5f, 1, 2, -1, NAN, 0.25f, 0, 0, 1, 1, 1}, depth[4] = {1, 2, NAN, 4};
    struct engine_picture picture = make_picture(rgb, NULL, depth);
    struct view view = view_defaults();
    struct encoded encoded;
    view.format = VIEW_RAW;
    assert_int_equal(picture_encode(&picture, &view, &encoded, NULL), RT_OK);
    const uint8_t expected[12] = {0, 128, 255, 255, 0, 0, 64, 0, 0, 255, 255, 255};
    assert_int_equal(encoded.bytes.n_bytes, 12);
    assert_memory_equal(encoded.bytes.bytes, expected, 12);
    assert_string_equal(encoded.shape, "2,2,3");
    rt_bytes_free(&encoded.bytes);
    view.outputs[0] = VIEW_DEPTH;
    const int32_t crop[4] = {1, 0, 1, 2};
    memcpy(view.crop_px, crop, sizeof crop);
    assert_int_equal(picture_encode(&picture, &view, &encoded, NULL), RT_OK);
    const float column[2] = {2, 4};
    assert_int_equal(encoded.bytes.n_bytes, sizeof column);
    assert_memory_equal(encoded.bytes.bytes, column, sizeof column);
    assert_string_equal(encoded.dtype, "f32");
    rt_bytes_free(&encoded.bytes);
}

static void test_straight_alpha(void **state) {
    (void)state;
    /* Half covered by (0.8, 0.2, 0) over a white background. */
    float rgb[12] = {0.9f, 0.6f, 0.5f}, alpha[4] = {0.5f};
    struct engine_picture picture = make_picture(rgb, alpha, NULL);
    struct view view = view_defaults();
    view.n_outputs = 2;
    view.outputs[1] = VIEW_ALPHA;
    for (int c = 0; c < 3; c++) view.background[c] = 1.0f;
    struct encoded encoded;
    assert_int_equal(picture_encode(&picture, &view, &encoded, NULL), RT_OK);
    struct image image = {0};
    assert_int_equal(image_decode(encoded.bytes.bytes, encoded.bytes.n_bytes, &image, NULL), RT_OK);
    assert_int_equal(image.n_channels, 4);
    const uint8_t expected[4] = {204, 51, 0, 128};
    assert_memory_equal(image.pixels, expected, 4);
    image_destroy(&image);
    rt_bytes_free(&encoded.bytes);
}

static void test_png_depth(void **state) {
    (void)state;
    float depth[4] = {1, 255.99609375f, NAN, 1000};
    struct engine_picture picture = make_picture(NULL, NULL, depth);
    struct view view = view_defaults();
    view.outputs[0] = VIEW_DEPTH;
    struct encoded encoded;
    assert_int_equal(picture_encode(&picture, &view, &encoded, NULL), RT_OK);
    struct image image = {0};
    assert_int_equal(image_decode(encoded.bytes.bytes, encoded.bytes.n_bytes, &image, NULL), RT_OK);
    const uint16_t expected[4] = {256, 65535, 0, 65535};
    assert_memory_equal(image.pixels, expected, sizeof expected);
    image_destroy(&image);
    rt_bytes_free(&encoded.bytes);
}

static void test_colormap_ends(void **state) {
    (void)state;
    uint8_t rgb[3];
    colormap_at(COLORMAP_VIRIDIS, 0.0f, rgb);
    assert_memory_equal(rgb, ((uint8_t[3]){0x44, 0x01, 0x54}), 3);
    colormap_at(COLORMAP_VIRIDIS, 7.0f, rgb);
    assert_memory_equal(rgb, ((uint8_t[3]){0xfd, 0xe7, 0x25}), 3);
    colormap_at(COLORMAP_TURBO, 0.5f, rgb); /* green leads in the middle */
    assert_true(rgb[1] > 230 && rgb[1] > rgb[0] && rgb[0] > rgb[2]);
    colormap_at(COLORMAP_GRAY, NAN, rgb);
    assert_int_equal(rgb[0] + rgb[1] + rgb[2], 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halves),         cmocka_unit_test(test_raw_and_crop),
        cmocka_unit_test(test_straight_alpha), cmocka_unit_test(test_png_depth),
        cmocka_unit_test(test_colormap_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
