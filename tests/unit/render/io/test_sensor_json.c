#include "render/io/sensor_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_camera_round_trip(void **state) {
    (void)state;
    struct camera camera = {.width_px = 1242,
                            .height_px = 375,
                            .shutter = SHUTTER_ROLLING_BOTTOM_TO_TOP,
                            .focal_px = {721.54f, 0.1f},
                            .principal_px = {609.56f, -172.85f},
                            .radial_k = {0.1f, -0.2f, 0, 0, 1e-9f, 0.3f},
                            .thin_prism_s = {0, 0, 0, 3e-5f}};
    json_t *node = camera_to_json(&camera);
    assert_non_null(node);
    assert_null(json_object_get(node, "tangential_p"));
    struct camera read;
    assert_int_equal(camera_from_json(node, "camera", &read, NULL), RT_OK);
    assert_memory_equal(&read, &camera, sizeof camera);
    char *text = json_dumps(json_object_get(node, "focal_px"), JSON_COMPACT);
    assert_string_equal(text, "[721.53999999999996,0.10000000000000001]"); /* jansson's 17 digits */
    free(text);
    json_decref(node);
}

static void refuse_camera(const char *text, const char *code, const char *part) {
    struct rt_error err;
    struct camera camera;
    json_t *node = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(node);
    rt_error_clear(&err);
    assert_int_equal(camera_from_json(node, "camera \"front\"", &camera, &err), RT_BAD_FILE);
    assert_string_equal(err.code, code);
    if (!strstr(err.message, part)) fail_msg("%s", err.message);
    json_decref(node);
}

#define SIZE "\"width_px\":8,\"height_px\":6"

static void test_camera_faults(void **state) {
    (void)state;
    refuse_camera("3", "bad-value", "camera \"front\" must be a camera");
    refuse_camera("{\"model\":\"fisheye\"}", "unsupported-camera", "fisheye");
    refuse_camera("{\"model\":\"ftheta\"}", "unsupported-camera", "ftheta");
    refuse_camera("{\"windshield\":{}," SIZE "}", "unsupported-camera", "windshield");
    refuse_camera("{\"focal_px\":[5,5]}", "bad-value", "width_px");
    refuse_camera("{\"width_px\":8.0,\"height_px\":6}", "bad-value", "width_px must be an integer");
    refuse_camera("{" SIZE "}", "bad-value", "focal_px [fx, fy] is missing");
    refuse_camera("{" SIZE ",\"focal_px\":[5]}", "bad-value", "array of 2");
    refuse_camera("{" SIZE ",\"focal_px\":[5,-5]}", "bad-value", "focal_px[1] = -5");
    refuse_camera("{" SIZE ",\"focal_px\":[5,5],\"radial_k\":[1,2,3,4,5,6,7]}", "bad-value",
                  "7 entries");
    refuse_camera("{" SIZE ",\"focal_px\":[5,5],\"shutter\":\"leaf\"}", "bad-value", "leaf");
}

static void test_pose(void **state) {
    (void)state;
    struct pose pose;
    struct rt_error err;
    json_t *node = json_loads("{\"t\":[1,2,3],\"q_wxyz\":[2,0,0,2]}", 0, NULL);
    assert_int_equal(pose_from_json(node, "pose", &pose, &err), RT_OK);
    assert_float_equal(pose.q.z, 0.70710678f, 1e-6f);
    json_t *again = pose_to_json(pose);
    struct pose read;
    assert_int_equal(pose_from_json(again, "pose", &read, &err), RT_OK);
    assert_memory_equal(&read.t, &pose.t, sizeof pose.t);
    assert_float_equal(read.q.w, pose.q.w, 1e-7f);
    json_decref(again);
    json_object_set_new(node, "q_wxyz", json_loads("[0,0,0,0]", 0, NULL));
    assert_int_equal(pose_from_json(node, "pose", &pose, &err), RT_BAD_FILE);
    json_decref(node);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_camera_round_trip),
        cmocka_unit_test(test_camera_faults),
        cmocka_unit_test(test_pose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
