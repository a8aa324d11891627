/* Camera requests: JSON -> view, faults with pointers, resolution against a scene. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "api/view.h"
#include "api/wire_view.h"

static struct wire_faults parse(const char *text, struct view *view) {
    struct wire_faults faults = {0};
    *view = view_defaults();
    json_t *body = wire_parse(text, strlen(text), false, &faults);
    if (body != NULL) wire_view_from_json(&faults, body, view);
    json_decref(body);
    return faults;
}

static void test_members(void **state) {
    (void)state;
    struct view view;
    struct wire_faults faults = parse(
        "{\"fov_y_deg\":50,\"size_px\":[640,360],\"t_us\":9007199254740991,\"outputs\":[\"depth\","
        "\"rgb\"],\"depth\":\"median\",\"format\":\"npy\",\"background\":[1,0.5,0]}",
        &view);
    assert_int_equal(faults.n_faults, 0);
    assert_int_equal(view.size_px[0], 640);
    assert_true(view.t_us == 9007199254740991);
    assert_int_equal(view.outputs[0], VIEW_DEPTH);
    assert_int_equal(view.outputs[1], VIEW_RGB);
    assert_true(view.depth_median && view.has_background);
    assert_int_equal(view.format, VIEW_NPY);
}

static void test_fault_types(void **state) {
    (void)state;
    struct view view;
    struct wire_faults faults = parse("{\"fov_y_deg\":50,\"size_px\":[640.0,360]}", &view);
    assert_int_equal(faults.type, PROBLEM_INVALID_REQUEST);
    assert_string_equal(faults.items[0].pointer, "/size_px/0");
    assert_non_null(strstr(faults.items[0].message, "integer"));
    /* Wrong by itself wins over not served. */
    faults = parse("{\"fov_y_deg\":50,\"ego_mask\":\"auto\",\"near_m\":-1}", &view);
    assert_int_equal(faults.type, PROBLEM_INVALID_REQUEST);
    assert_int_equal(faults.n_faults, 2);
    faults = parse("{\"fov_y_deg\":50,\"ego_mask\":\"auto\"}", &view);
    assert_int_equal(faults.type, PROBLEM_UNSUPPORTED_FEATURE);
    assert_string_equal(faults.capability, "ego_mask");
    faults = parse("{\"fov_y_deg\":50", &view);
    assert_int_equal(faults.type, PROBLEM_MALFORMED_JSON);
    faults = parse("{}", &view);
    assert_int_equal(faults.type, PROBLEM_INVALID_REQUEST);
}

static void test_many_faults_keep_counting(void **state) {
    (void)state;
    struct view view;
    char text[2048] = "{\"fov_y_deg\":50";
    for (int i = 0; i < 40; i++) {
        char member[24];
        snprintf(member, sizeof member, ",\"zzzzzz%d\":1", i);
        strcat(text, member);
    }
    strcat(text, "}");
    struct wire_faults faults = parse(text, &view);
    assert_int_equal(faults.n_faults, 40);
}

static void test_negotiation(void **state) {
    (void)state;
    enum view_format format;
    assert_true(wire_negotiate(NULL, &format) && format == VIEW_PNG);
    assert_true(wire_negotiate("application/json", &format) && format == VIEW_PNG);
    assert_true(wire_negotiate("image/*", &format) && format == VIEW_PNG);
    assert_true(wire_negotiate("image/png;q=0.2,image/jpeg;q=0.9", &format) && format == VIEW_JPEG);
    assert_false(wire_negotiate("text/html", &format));
    assert_false(wire_negotiate("image/png;q=0", &format));
}

static struct scene *make_scene(void) {
    struct scene *scene = NULL;
    struct scene_camera *camera = NULL;
    assert_int_equal(scene_create(&scene, NULL), RT_OK);
    assert_int_equal(scene_add_camera(scene, "front", 3, &camera, NULL), RT_OK);
    camera->camera = camera_ideal(200, 100, 50.0f);
    camera->T_rig_camera = pose_make(quat_make(0.5f, -0.5f, 0.5f, -0.5f), vec3_make(1, 0, 1.5f));
    for (int32_t i = 0; i < 3; i++) {
        camera->frames.t_us[i] = 100000 * i;
        camera->frames.t_end_us[i] = 100000 * i + 1;
        struct pose T_world_rig = pose_make(quat_identity(), vec3_make(10.0f * (float)i, 0, 0));
        struct pose pose = pose_mul(T_world_rig, camera->T_rig_camera);
        camera->frames.T_world_sensor_start[i] = pose;
        camera->frames.T_world_sensor_end[i] = pose;
    }
    scene->t_end_us = 300000;
    scene->is_static = false;
    scene->default_view = pose_identity();
    return scene;
}

static void test_frames_and_offsets(void **state) {
    (void)state;
    struct scene *scene = make_scene();
    struct view view = view_defaults();
    struct engine_render render;
    struct rt_error err;
    strcpy(view.sensor, "front");
    view.i_frame = 2;
    view.has_offset = true; /* 2 m to the left of the rig, turned by 90 degrees to the left */
    float h = sqrtf(0.5f);
    view.rig_offset = pose_make(quat_make(h, 0, 0, h), vec3_make(0, 2, 0));
    assert_int_equal(view_resolve(&view, scene, &render, &err), RT_OK);
    struct pose pose = render.sensor.T_world_sensor_start;
    /* The mounting (1, 0, 1.5) turns with the rig: x 20 + 0, y 2 + 1. */
    assert_true(fabsf(pose.t.x - 20) < 1e-5f && fabsf(pose.t.y - 3) < 1e-5f);
    vec3 forward = quat_rotate(pose.q, vec3_make(0, 0, 1));
    assert_true(fabsf(forward.y - 1) < 1e-5f);
    view.i_frame = -1;
    view.has_t_us = true;
    view.t_us = 149999; /* nearest is frame 1 */
    view.has_offset = false;
    assert_int_equal(view_resolve(&view, scene, &render, &err), RT_OK);
    assert_true(fabsf(render.sensor.T_world_sensor_start.t.x - 11) < 1e-5f);
    view.t_us = 150001;
    assert_int_equal(view_resolve(&view, scene, &render, &err), RT_OK);
    assert_true(fabsf(render.sensor.T_world_sensor_start.t.x - 21) < 1e-5f);
    view.t_us = 300000; /* half-open */
    assert_int_equal(view_resolve(&view, scene, &render, &err), RT_TIME_RANGE);
    strcpy(view.sensor, "rear");
    assert_int_equal(view_resolve(&view, scene, &render, &err), RT_NOT_FOUND);
    scene_release(&scene);
}

static void test_sizes(void **state) {
    (void)state;
    struct scene *scene = make_scene();
    struct view view = view_defaults();
    struct engine_render render;
    struct rt_error err;
    strcpy(view.sensor, "front");
    view.size_px[0] = 50;
    assert_int_equal(view_resolve(&view, scene, &render, &err), RT_OK);
    assert_int_equal(render.sensor.camera.height_px, 25);
    assert_true(fabsf(render.sensor.camera.principal_px[0] - 25) < 1e-5f);
    view.size_px[0] = 16384;
    view.size_px[1] = 16384;
    assert_int_equal(view_resolve(&view, scene, &render, &err), RT_LIMIT);
    scene_release(&scene);
}

static void test_canonical_tells_views_apart(void **state) {
    (void)state;
    struct view a = view_defaults(), b = view_defaults();
    char text_a[VIEW_CANONICAL_BYTES], text_b[VIEW_CANONICAL_BYTES];
    view_canonical(&a, text_a);
    view_canonical(&b, text_b);
    assert_string_equal(text_a, text_b);
    b.has_t_us = true; /* time 0 is not "no time" */
    view_canonical(&b, text_b);
    assert_string_not_equal(text_a, text_b);
    b = a;
    b.T_given_start.t.x = 1.0f; /* without a given pose this does not matter */
    view_canonical(&b, text_b);
    assert_string_equal(text_a, text_b);
    b.pose = VIEW_POSE_RIG;
    view_canonical(&b, text_b);
    a = b;
    a.T_given_start.t.x = nextafterf(1.0f, 2.0f);
    view_canonical(&a, text_a);
    assert_string_not_equal(text_a, text_b);
}

static void test_longest_canonical_fits(void **state) {
    (void)state;
    struct view view = view_defaults();
    memset(view.sensor, 'x', 64);
    view.has_camera = view.has_t_us = view.has_offset = view.has_background = true;
    view.pose = VIEW_POSE_SENSOR;
    view.t_us = -9007199254740991;
    view.n_outputs = VIEW_N_OUTPUTS;
    view.colormap = 0;
    float odd = 0.123456789f;
    struct pose pose = pose_make(quat_make(odd, odd, odd, odd), vec3_make(odd, odd, odd));
    view.T_given_start = view.T_given_end = view.rig_offset = pose;
    view.visual_min = 0.1;
    char text[VIEW_CANONICAL_BYTES];
    view_canonical(&view, text);
    assert_non_null(strstr(text, "sh=3;")); /* the last part is there */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_fault_types),
        cmocka_unit_test(test_many_faults_keep_counting),
        cmocka_unit_test(test_negotiation),
        cmocka_unit_test(test_frames_and_offsets),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_canonical_tells_views_apart),
        cmocka_unit_test(test_longest_canonical_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
