/* recording.json written here: cameras, poses, stamps, masks, points, what is carried. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/recon/recording_fixture.h"

#define HEAD "{\"format\":\"retake-recording\",\"version\":[1,0],"
#define LENS                                                                               \
    "\"camera\":{\"model\":\"pinhole\",\"width_px\":8,\"height_px\":6,\"focal_px\":[9,9]," \
    "\"principal_px\":[4,3]%s}"
#define POSE "\"T_world_sensor\":{\"t\":[1,2,3]}"

/* The rig drives along x at 10 m/s and turns by 90 degrees about z over 1 s. */
#define DRIVE                                                                                      \
    "\"trajectories\":[{\"sequence\":\"drive\",\"T_world_rig\":{\"t_us\":[0,1000000],\"t\":[[0,0," \
    "0],"                                                                                          \
    "[10,0,0]],\"q_wxyz\":[[1,0,0,0],[0.70710678,0,0,0.70710678]]}}]"

static void write_recording(const char *members) {
    char text[4096];
    snprintf(text, sizeof text, HEAD "%s}", members);
    write_text("recording.json", text);
}

static void write_one_camera(const char *camera_members, const char *frames, const char *root) {
    char text[4000];
    snprintf(text, sizeof text, "%s\"cameras\":[{\"id\":\"front\"," LENS "%s,\"frames\":[%s]}]",
             root, "", camera_members, frames);
    write_recording(text);
}

static void test_pose_from_trajectory(void **state) {
    (void)state;
    write_picture("a.png", 8, 6, 3);
    write_one_camera(
        ",\"shutter_us\":200000,\"T_rig_camera\":{\"t\":[1,0,2],"
        "\"q_wxyz\":[0.5,-0.5,0.5,-0.5]}",
        "{\"file\":\"a.png\",\"t_us\":400000}", DRIVE ",");
    struct recording *recording = open_it();
    const struct recording_camera *camera = &recording->cameras[0];
    assert_false(recording->is_static);
    assert_string_equal(camera->id, "front");
    assert_int_equal(camera->frames[0].t_us, 400000);
    assert_int_equal(camera->frames[0].t_end_us, 600000);
    assert_int_equal(camera->shutter_us, 200000);
    /* At 0.4 s the rig is at x = 4, turned by 36 degrees; the camera sits 1 m ahead of it. */
    struct pose start = camera->frames[0].T_world_sensor_start;
    assert_float_equal(start.t.x, 4.0f + 0.809017f, 1e-5f);
    assert_float_equal(start.t.y, 0.587785f, 1e-5f);
    assert_float_equal(start.t.z, 2.0f, 1e-5f);
    vec3 forward = quat_rotate(start.q, vec3_make(0, 0, 1));
    assert_float_equal(forward.x, 0.809017f, 1e-5f);
    struct pose end = camera->frames[0].T_world_sensor_end;
    assert_float_equal(end.t.x, 6.0f + 0.587785f, 1e-5f);
    assert_non_null(recording->carried_json);
    assert_non_null(strstr(recording->carried_json, "drive"));
    recording_close(&recording);
}

static void test_cover_and_extrapolation(void **state) {
    (void)state;
    write_picture("a.png", 8, 6, 3);
    write_one_camera("", "{\"file\":\"a.png\",\"t_us\":1100000}", DRIVE ",");
    struct recording *recording = open_it();
    assert_true(has_finding(recording, "extrapolated"));
    assert_float_equal(recording->cameras[0].frames[0].T_world_sensor_start.t.x, 11.0f, 1e-4f);
    recording_close(&recording);
    write_one_camera("", "{\"file\":\"a.png\",\"t_us\":1300000}", DRIVE ",");
    refuse_it("bad-value", "no trajectory covers 1300000 us");
    write_one_camera("", "{\"file\":\"a.png\",\"t_us\":0}", "");
    refuse_it("bad-value", "cameras[0].frames[0]: no pose");
}

static void test_frame_pose_wins_and_stamps(void **state) {
    (void)state;
    write_picture("a.png", 8, 6, 3);
    write_picture("b.png", 8, 6, 3);
    write_one_camera(
        ",\"shutter_us\":20000,\"stamp\":\"middle\",\"time_offset_us\":5",
        "{\"file\":\"b.png\",\"t_us\":500000,\"T_world_sensor\":{\"start\":{\"t\":[1,2,3]},"
        "\"end\":{\"t\":[4,5,6]}},\"holdout\":true},"
        "{\"file\":\"a.png\",\"t_us\":300000," POSE "}",
        DRIVE ",");
    struct recording *recording = open_it();
    const struct recording_frame *frames = recording->cameras[0].frames;
    assert_string_equal(frames[0].file, "a.png");
    assert_int_equal(frames[0].t_us, 290005);
    assert_int_equal(frames[0].t_end_us, 310005);
    assert_float_equal(frames[1].T_world_sensor_start.t.x, 1.0f, 0);
    assert_float_equal(frames[1].T_world_sensor_end.t.z, 6.0f, 0);
    assert_true(frames[1].holdout);
    assert_true(recording->has_declared_holdout);
    recording_close(&recording);
}

static void test_masks_multiply(void **state) {
    (void)state;
    struct image mask = {0};
    char path[256];
    write_picture("a.png", 8, 6, 3);
    for (int m = 0; m < 2; m++) {
        MUST(image_create(&mask, 8, 6, 1, IMAGE_U8, &err));
        memset(mask.pixels, 1, image_bytes(&mask)); /* any value but 0 is valid */
        image_u8(&mask)[m] = 0;
        snprintf(path, sizeof path, "%s/mask%d.png", folder, m);
        MUST(image_write(path, &mask, &err));
        image_destroy(&mask);
    }
    write_one_camera(",\"ego_mask\":\"mask0.png\"",
                     "{\"file\":\"a.png\",\"t_us\":0,\"mask\":\"mask1.png\"," POSE "}", "");
    struct recording *recording = open_it();
    struct recording_picture picture;
    MUST(recording_load_picture(recording, 0, 0, 1.0f, &picture, &err));
    const uint8_t *valid = image_u8(&picture.mask);
    assert_int_equal(valid[0], 0);
    assert_int_equal(valid[1], 0);
    assert_int_equal(valid[2], 255);
    recording_picture_free(&picture);
    /* Halved: the pixel that holds a masked one is not valid, its colour comes from the others. */
    MUST(recording_load_picture(recording, 0, 0, 0.5f, &picture, &err));
    assert_int_equal(picture.rgb.width_px, 4);
    assert_int_equal(image_u8(&picture.mask)[0], 0);
    assert_int_equal(image_u8(&picture.mask)[1], 255);
    assert_int_equal(image_u8(&picture.rgb)[1], 1); /* both left are in row 1 */
    recording_picture_free(&picture);
    recording_close(&recording);
}

static void test_background_alpha_and_points(void **state) {
    (void)state;
    write_picture("a.png", 8, 6, 4);
    write_text("p.ply",
               "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float "
               "y\nproperty float z\nproperty uchar red\nproperty uchar green\nproperty "
               "uchar blue\nend_header\n1 2 3 4 5 6\n-1 0 0 7 8 9\n");
    write_one_camera("", "{\"file\":\"a.png\"," POSE "}",
                     "\"time\":{\"static\":true},\"background\":[0,1,0],\"world\":{\"up\":[0,0,2],"
                     "\"metric\":true},\"points\":[{\"file\":\"p.ply\",\"kind\":\"sfm\"}],");
    struct recording *recording = open_it();
    assert_true(recording->is_static);
    assert_true(recording->metric);
    assert_float_equal(recording->up[2], 1.0f, 0);
    assert_int_equal(recording->points.n_points, 2);
    assert_float_equal(recording->points.xyz[1], 2.0f, 0);
    assert_int_equal(recording->points.rgb[5], 9);
    struct recording_picture picture;
    MUST(recording_load_picture(recording, 0, 0, 1.0f, &picture, &err));
    assert_int_equal(image_u8(&picture.rgb)[1], 127); /* 0 * 128/255 + 255 * 127/255 */
    recording_picture_free(&picture);
    recording_close(&recording);
    write_one_camera("", "{\"file\":\"a.png\",\"t_us\":0," POSE "}", "");
    recording = open_it();
    assert_true(has_finding(recording, "black"));
    recording_close(&recording);
}

static void test_lidars_and_tracks_are_carried(void **state) {
    (void)state;
    write_picture("a.png", 8, 6, 3);
    write_one_camera(
        "", "{\"file\":\"a.png\",\"t_us\":0," POSE "}",
        "\"lidars\":[{\"id\":\"top\",\"lidar\":\"hdl64e\",\"sweeps\":[{\"file\":\"x\"}]}"
        "],\"tracks\":[{\"track_id\":\"car_12\"},{\"track_id\":\"car_13\"}],");
    struct recording *recording = open_it();
    assert_int_equal(recording->n_lidars, 1);
    assert_int_equal(recording->n_tracks, 2);
    assert_non_null(strstr(recording->carried_json, "car_13"));
    assert_non_null(strstr(recording->carried_json, "hdl64e"));
    assert_null(strstr(recording->carried_json, "sweeps"));
    recording_close(&recording);
}

static void test_lens_per_frame_and_rolling_shutter(void **state) {
    (void)state;
    write_picture("a.png", 8, 6, 3);
    write_picture("b.png", 8, 6, 3);
    char text[2000];
    snprintf(text, sizeof text,
             "\"cameras\":[{\"id\":\"front\"," LENS
             ",\"frames\":[{\"file\":\"a.png\",\"t_us\":0," POSE
             "},{\"file\":\"b.png\",\"t_us\":9," POSE
             ",\"camera\":{\"width_px\":16,\"height_px\":12,\"focal_px\":[30,30],\"radial_k\":[0.1]"
             "}}]}]",
             ",\"shutter\":\"rolling_top_to_bottom\"");
    write_recording(text);
    struct recording *recording = open_it();
    assert_true(has_finding(recording, "rolling shutter is treated as global"));
    const struct recording_frame *frame = &recording->cameras[0].frames[1];
    assert_float_equal(frame->camera->focal_px[0], 15.0f, 0);
    struct recording_picture picture;
    MUST(recording_load_picture(recording, 0, 1, 1.0f, &picture, &err));
    assert_float_equal(picture.camera.focal_px[0], 15.0f, 0);
    assert_float_equal(picture.camera.radial_k[0], 0.0f, 0);
    assert_non_null(picture.mask.pixels);
    recording_picture_free(&picture);
    recording_close(&recording);
}

static void test_faults(void **state) {
    (void)state;
    write_picture("a.png", 8, 6, 3);
    static const struct {
        const char *text, *code, *part;
    } cases[] = {
        {"[]", "bad-header", "object"},
        {"{}", "bad-header", "retake-recording"},
        {"{\"format\":\"retake-recording\",\"version\":[2,0]}", "unsupported-version", "2.0"},
        {HEAD "\"cameras\":[{}]}", "bad-value", "cameras[0]: id is missing"},
        {HEAD "\"cameras\":[{\"id\":\"a b\"}]}", "bad-value", "a b"},
        {HEAD "\"cameras\":[{\"id\":\"x\",\"camera\":{\"model\":\"fisheye\"}}]}",
         "unsupported-camera", "fisheye"},
        {HEAD "\"cameras\":[]}", "empty", "no frames"},
        {HEAD "\"background\":[0,0,2]}", "bad-value", "background[2] = 2"},
        {HEAD "\"world\":{\"up\":[0,0,0]}}", "bad-value", "up"},
        {HEAD "\"trajectories\":[{\"T_world_rig\":{\"t_us\":[5,5],\"t\":[[0,0,0],[0,0,0]],"
              "\"q_wxyz\":[[1,0,0,0],[1,0,0,0]]}}]}",
         "bad-value", "key 1"},
        {"{\"format\":\"retake-recording\",", "truncated", "recording.json"},
        {"{\"format\":1,\"format\":2}", "bad-value", "duplicate"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_text("recording.json", cases[i].text);
        refuse_it(cases[i].code, cases[i].part);
    }
    write_one_camera("", "{\"file\":\"a.png\"," POSE "}", "");
    refuse_it("bad-value", "t_us is missing");
    write_one_camera("", "{\"file\":\"a.png\",\"t_us\":1.0," POSE "}", "");
    refuse_it("bad-value", "t_us must be an integer");
    write_one_camera(
        "", "{\"file\":\"a.png\",\"t_us\":1," POSE "},{\"file\":\"a.png\",\"t_us\":1," POSE "}",
        "");
    refuse_it("bad-value", "same time");
}

/* Decoding finds what headers do not show. */
static void test_deep_check(void **state) {
    (void)state;
    write_picture("a.png", 8, 6, 3);
    write_picture("b.png", 8, 6, 3);
    write_picture("mask.png", 7, 6, 1);
    write_one_camera("",
                     "{\"file\":\"a.png\",\"t_us\":0,\"mask\":\"mask.png\"," POSE
                     "},{\"file\":\"b.png\",\"t_us\":1," POSE "}",
                     "");
    char path[256];
    snprintf(path, sizeof path, "%s/b.png", folder);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size - 20), 0);
    struct recording *recording = open_it();
    assert_int_equal(recording->n_findings, 0);
    MUST(recording_check_deep(recording, &err));
    assert_int_equal(recording->n_findings, 2);
    assert_string_equal(recording->findings[0].file, "mask.png");
    assert_int_equal(recording->findings[0].severity, FINDING_ERROR);
    assert_string_equal(recording->findings[1].file, "b.png");
    assert_string_equal(recording->findings[1].code, "truncated");
    struct recording_picture picture;
    rt_error_clear(&err);
    assert_int_not_equal(recording_load_picture(recording, 0, 1, 1.0f, &picture, &err), RT_OK);
    assert_non_null(strstr(err.message, "b.png"));
    recording_close(&recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_pose_from_trajectory),
        IN_FOLDER(test_cover_and_extrapolation),
        IN_FOLDER(test_frame_pose_wins_and_stamps),
        IN_FOLDER(test_masks_multiply),
        IN_FOLDER(test_background_alpha_and_points),
        IN_FOLDER(test_lidars_and_tracks_are_carried),
        IN_FOLDER(test_lens_per_frame_and_rolling_shutter),
        IN_FOLDER(test_faults),
        IN_FOLDER(test_deep_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
