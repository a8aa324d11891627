/* The pinhole lens: inverse, validity radius and refusal of lenses that fold inside the picture. */
#include "render/core/camera_pinhole.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The colour cameras of KITTI's raw recordings (Geiger et al. 2013), the strongest common lens. */
static struct camera kitti_raw(void) {
    return (struct camera){.model = CAMERA_PINHOLE,
                           .width_px = 1392,
                           .height_px = 512,
                           .focal_px = {959.791f, 956.9251f},
                           .principal_px = {696.0217f, 224.1806f},
                           .radial_k = {-0.3691481f, 0.1968681f, -0.06770705f},
                           .tangential_p = {0.001353473f, 0.0005677587f}};
}

static void undistortion_round_trip(void **state) {
    (void)state;
    struct camera camera = kitti_raw();
    float r_max = pinhole_r_max(&camera);
    float worst_px = 0.0f;
    for (int y = 0; y <= camera.height_px; y += 16) {
        for (int x = 0; x <= camera.width_px; x += 16) {
            vec2 at_px = vec2_make((float)x + 0.5f, (float)y + 0.5f);
            vec3 ray;
            assert_true(pinhole_ray(&camera, at_px, r_max, &ray));
            vec2 back = pinhole_project(&camera, vec3_make(3 * ray.x, 3 * ray.y, 3 * ray.z));
            worst_px = fmaxf(worst_px, hypotf(back.x - at_px.x, back.y - at_px.y));
        }
    }
    assert_true(worst_px < 1e-3f);
}

static void radius_of_validity(void **state) {
    (void)state;
    struct camera camera = kitti_raw();
    assert_true(fabsf(pinhole_r_max(&camera) - 1.21f) < 0.01f); /* sensors.md section 3 */
    assert_int_equal(pinhole_check(&camera, NULL), RT_OK);
    camera = camera_ideal(640, 480, 60.0f);
    assert_true(isinf(pinhole_r_max(&camera)));
    assert_int_equal(pinhole_check(&camera, NULL), RT_OK);
    camera.radial_k[0] = -1.0f; /* r(1 - r2) turns at r = 1/sqrt(3) */
    assert_true(fabsf(pinhole_r_max(&camera) - 0.57735f) < 1e-4f);
    camera.radial_k[0] = 0.0f;
    camera.radial_k[3] = -2.0f; /* pole of 1/(1 - 2 r2) */
    assert_true(fabsf(pinhole_r_max(&camera) - 0.70711f) < 1e-4f);
}

static void folded_lens_is_refused(void **state) {
    (void)state;
    struct camera camera = camera_ideal(640, 480, 90.0f);
    camera.radial_k[0] = -1.0f;
    struct rt_error err;
    assert_int_equal(pinhole_check(&camera, &err), RT_CALIBRATION);
    vec3 ray;
    assert_false(pinhole_ray(&camera, vec2_make(0.5f, 0.5f), pinhole_r_max(&camera), &ray));
}

/* A corner-origin camera scales without half-pixel terms (sensors.md section 17). */
static void scaling_keeps_the_place(void **state) {
    (void)state;
    struct camera camera = camera_ideal(2, 2, 90.0f);
    vec3 ray;
    assert_true(pinhole_ray(&camera, vec2_make(0.5f, 0.5f), INFINITY, &ray));
    assert_true(fabsf(ray.x + 0.5f) < 1e-6f && fabsf(ray.y + 0.5f) < 1e-6f);
    struct camera twice = camera_scaled(&camera, 4, 4);
    vec2 at_px = pinhole_project(&twice, ray);
    assert_true(fabsf(at_px.x - 1.0f) < 1e-6f && fabsf(at_px.y - 1.0f) < 1e-6f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undistortion_round_trip),
        cmocka_unit_test(radius_of_validity),
        cmocka_unit_test(folded_lens_is_refused),
        cmocka_unit_test(scaling_keeps_the_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
