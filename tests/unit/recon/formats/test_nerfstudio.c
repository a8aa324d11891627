/* transforms.json on the shared sets fox and chair, and on folders made here. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/recon/recording_fixture.h"

#define IDENTITY "\"transform_matrix\":[[1,0,0,1],[0,1,0,2],[0,0,1,3],[0,0,0,1]]"

static void test_fox(void **state) {
    (void)state;
    const char *path = data_folder("fox");
    if (!path) skip();
    struct recording *recording = NULL;
    MUST(recording_open(path, &recording, &err));
    assert_string_equal(recording->format, "nerfstudio");
    assert_int_equal(recording->n_cameras, 1);
    const struct recording_camera *camera = &recording->cameras[0];
    assert_int_equal(camera->n_frames, 43);
    assert_int_equal(recording->n_frames_missing, 24);
    assert_true(has_finding(recording, "no such file"));
    assert_true(recording->is_static);
    assert_false(recording->has_background);
    assert_false(recording->has_declared_holdout);
    assert_int_equal(camera->camera.width_px, 1080);
    assert_int_equal(camera->camera.height_px, 1920);
    assert_float_equal(camera->camera.focal_px[0], 1375.52f, 1e-3f);
    assert_float_equal(camera->camera.focal_px[1], 1374.49f, 1e-3f);
    assert_float_equal(camera->camera.principal_px[0], 554.558f, 1e-3f);
    assert_float_equal(camera->camera.radial_k[1], -0.0805099f, 1e-7f);
    assert_false(camera_is_distorted(&camera->camera_stored));
    for (int32_t i = 0; i < 43; i++) {
        assert_int_equal(camera->frames[i].t_us, 100000 * i);
        if (i) assert_true(strcmp(camera->frames[i - 1].file, camera->frames[i].file) < 0);
    }
    /* First picture that exists: position kept, viewing direction = minus the third column. */
    assert_string_equal(camera->frames[0].file, "images/0002.jpg");
    struct pose pose = camera->frames[0].T_world_sensor_start;
    assert_float_equal(pose.t.x, 3.102411f, 1e-5f);
    assert_float_equal(pose.t.z, -0.985797f, 1e-5f);
    vec3 forward = quat_rotate(pose.q, vec3_make(0, 0, 1));
    assert_float_equal(forward.x, -0.443518f, 1e-5f);
    assert_float_equal(forward.y, 0.893621f, 1e-5f);
    vec3 down = quat_rotate(pose.q, vec3_make(0, 1, 0));
    assert_float_equal(down.z, -0.995587f, 1e-5f);

    struct recording_picture picture;
    MUST(recording_load_picture(recording, 0, 0, 0.25f, &picture, &err));
    assert_int_equal(picture.rgb.width_px, 270);
    assert_int_equal(picture.rgb.height_px, 480);
    assert_float_equal(picture.camera.focal_px[0], 1375.52f / 4, 1e-3f);
    assert_false(camera_is_distorted(&picture.camera));
    assert_non_null(picture.mask.pixels);
    int32_t n_valid = 0;
    for (int32_t i = 0; i < 270 * 480; i++) n_valid += image_u8(&picture.mask)[i] == 255;
    assert_true(n_valid > 270 * 480 * 95 / 100 && n_valid < 270 * 480);
    assert_int_equal(image_u8(&picture.mask)[240 * 270 + 135], 255);
    recording_picture_free(&picture);
    recording_close(&recording);
}

static void test_chair(void **state) {
    (void)state;
    const char *path = data_folder("nerf_chair_400");
    if (!path) skip();
    struct recording *recording = NULL;
    MUST(recording_open(path, &recording, &err));
    const struct recording_camera *camera = &recording->cameras[0];
    int32_t n_holdout = 0;
    for (int32_t i = 0; i < camera->n_frames; i++) n_holdout += camera->frames[i].holdout;
    assert_int_equal(recording->n_cameras, 1);
    assert_int_equal(camera->n_frames, 120);
    assert_int_equal(n_holdout, 20);
    assert_true(recording->has_declared_holdout);
    assert_true(recording->has_background);
    assert_true(has_finding(recording, "white"));
    /* 0.5 * 400 / tan(0.5 * 0.6911112) */
    assert_float_equal(camera->camera.focal_px[0], 555.5555f, 1e-2f);
    assert_float_equal(camera->camera.focal_px[1], 555.5555f, 1e-2f);
    assert_float_equal(camera->camera.principal_px[0], 200.0f, 0);
    struct recording_picture picture;
    MUST(recording_load_picture(recording, 0, 0, 1.0f, &picture, &err));
    assert_null(picture.mask.pixels);
    for (int k = 0; k < 3; k++) assert_int_equal(image_u8(&picture.rgb)[k], 255);
    recording_picture_free(&picture);
    recording_close(&recording);
}

static void test_missing_is_skipped_all_missing_is_an_error(void **state) {
    (void)state;
    write_picture("b.png", 8, 6, 3);
    write_text("transforms.json", "{\"fl_x\":10,\"frames\":[{\"file_path\":\"./gone.png\"," IDENTITY
                                  "},{\"file_path\":\"./b.png\"," IDENTITY "}]}");
    struct recording *recording = open_it();
    assert_int_equal(recording->n_frames_missing, 1);
    assert_int_equal(recording->cameras[0].n_frames, 1);
    assert_true(has_finding(recording, "gone.png"));
    assert_int_equal(recording->cameras[0].camera.width_px, 8);
    assert_float_equal(recording->cameras[0].camera.focal_px[1], 10.0f, 0);
    recording_close(&recording);
    char path[256];
    snprintf(path, sizeof path, "%s/b.png", folder);
    unlink(path);
    refuse_it("missing-file", "gone.png");
}

/* promises.md case 27 and the rule of formats.md section 5. */
static void case_27_size_against_camera(void **state) {
    (void)state;
    static const char text[] =
        "{\"fl_x\":100,\"fl_y\":80,\"cx\":21,\"cy\":29,\"w\":40.0,\"h\":60.0,"
        "\"frames\":[{\"file_path\":\"a.png\"," IDENTITY "}]}";
    write_text("transforms.json", text);
    write_picture("a.png", 20, 30, 3);
    struct recording *recording = open_it();
    const struct camera *lens = &recording->cameras[0].camera;
    assert_int_equal(lens->width_px, 20);
    assert_float_equal(lens->focal_px[0], 50.0f, 1e-6f);
    assert_float_equal(lens->focal_px[1], 40.0f, 1e-6f);
    assert_float_equal(lens->principal_px[0], 10.5f, 1e-6f);
    assert_float_equal(lens->principal_px[1], 14.5f, 1e-6f);
    recording_close(&recording);
    write_picture("a.png", 20, 31, 3); /* one pixel of rounding */
    recording = open_it();
    recording_close(&recording);
    write_picture("a.png", 20, 33, 3);
    refuse_it("bad-value", "a.png is 20 x 33 px, its camera 40 x 60 px");
    write_picture("a.png", 60, 40, 3);
    refuse_it("bad-value", "EXIF");
}

static void test_refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *members, *code, *part;
    } cases[] = {
        {"\"camera_model\":\"OPENCV_FISHEYE\"", "unsupported-camera", "OPENCV_FISHEYE"},
        {"\"is_fisheye\":true", "unsupported-camera", "FISHEYE"},
        {"\"camera_model\":\"EQUIRECTANGULAR\"", "unsupported-camera", "EQUIRECTANGULAR"},
        {"\"k4\":0.001", "unsupported-camera", "r^8"},
        {"\"ftheta_p0\":1", "unsupported-camera", "ftheta_p0"},
        {"\"fl_x\":-3", "bad-value", "focal"},
        {"\"fl_x\":\"12\"", "bad-value", "fl_x must be a number"},
        {"\"w\":1e9", "bad-value", "size w x h"},
    };
    write_picture("a.png", 8, 8, 3);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "{\"frames\":[{\"fl_y\":20,%s,\"file_path\":\"a.png\"," IDENTITY "}]}",
                 cases[i].members);
        write_text("transforms.json", text);
        refuse_it(cases[i].code, cases[i].part);
    }
}

static void test_bad_poses_and_paths(void **state) {
    (void)state;
    static const struct {
        const char *frame, *part;
    } cases[] = {
        {"\"file_path\":\"../a.png\"," IDENTITY, ".."},
        {"\"file_path\":\"/etc/passwd\"," IDENTITY, "absolute"},
        {"\"file_path\":\"x/../../a.png\"," IDENTITY, ".."},
        {"\"file_path\":\"x\\\\a.png\"," IDENTITY, "backslash"},
        {"\"file_path\":\"C:/a.png\"," IDENTITY, "drive"},
        {"\"file_path\":\"link.png\"," IDENTITY, "symbolic link"},
        {"\"file_path\":\"linked/a.png\"," IDENTITY, "symbolic link"},
        {"\"file_path\":\"fifo.png\"," IDENTITY, "not a regular file"},
        {"\"file_path\":\"a.png\"", "transform_matrix"},
        {"\"file_path\":\"a.png\",\"transform_matrix\":[[1,0,0],[0,1,0],[0,0,1]]", "4 finite"},
        {"\"file_path\":\"a.png\",\"transform_matrix\":[[2,0,0,0],[0,2,0,0],[0,0,2,0]]",
         "no rotation"},
        {"\"file_path\":\"a.png\",\"transform_matrix\":[[-1,0,0,0],[0,1,0,0],[0,0,1,0]]",
         "mirrors"},
        {IDENTITY, "file_path"},
    };
    char path[256];
    write_picture("a.png", 8, 8, 3);
    snprintf(path, sizeof path, "%s/link.png", folder);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    snprintf(path, sizeof path, "%s/linked", folder);
    assert_int_equal(symlink("/tmp", path), 0);
    snprintf(path, sizeof path, "%s/fifo.png", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, "{\"fl_x\":10,\"frames\":[{%s}]}", cases[i].frame);
        write_text("transforms.json", text);
        refuse_it("bad-value", cases[i].part);
    }
}

static void test_time_and_filenames(void **state) {
    (void)state;
    write_picture("a.png", 8, 8, 3);
    write_picture("b.png", 8, 8, 3);
    write_text("transforms.json",
               "{\"camera_angle_x\":0.5,\"test_filenames\":[\"b.png\"],\"frames\":["
               "{\"file_path\":\"a.png\",\"time\":0.75," IDENTITY
               "},"
               "{\"file_path\":\"b.png\",\"time\":0.25,\"fl_x\":33," IDENTITY "}]}");
    struct recording *recording = open_it();
    const struct recording_camera *camera = &recording->cameras[0];
    assert_false(recording->is_static);
    assert_string_equal(camera->frames[0].file, "b.png");
    assert_int_equal(camera->frames[0].t_us, 250000);
    assert_true(camera->frames[0].holdout);
    assert_false(camera->frames[1].holdout);
    /* The lens of the first frame is the camera's; the other keeps its own. */
    assert_float_equal(camera->camera.focal_px[0], 33.0f, 0);
    assert_null(camera->frames[0].camera);
    assert_float_equal(camera->frames[1].camera->focal_px[0], 4.0f / tanf(0.25f), 1e-4f);
    recording_close(&recording);
}

static void test_alpha_is_composited_on_white(void **state) {
    (void)state;
    write_picture("r_0.png", 8, 8, 4);
    write_text("transforms_train.json",
               "{\"camera_angle_x\":0.5,\"frames\":[{\"file_path\":\"./r_0\"," IDENTITY "}]}");
    struct recording *recording = open_it();
    struct recording_picture picture;
    MUST(recording_load_picture(recording, 0, 0, 1.0f, &picture, &err));
    /* 100 * 128/255 + 255 * 127/255 = 177.2 */
    assert_int_equal(image_u8(&picture.rgb)[2], 177);
    recording_picture_free(&picture);
    recording_close(&recording);
}

static void test_photos_without_poses(void **state) {
    (void)state;
    char path[256];
    refuse_it("unsupported-format", "recording.json");
    snprintf(path, sizeof path, "%s/images", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    write_picture("images/a.png", 8, 8, 3);
    refuse_it("missing-file", "Bring your own photos");
    snprintf(path, sizeof path, "%s/nothing_here", folder);
    struct recording *recording = NULL;
    assert_int_equal(recording_open(path, &recording, &err), RT_NOT_FOUND);
}

static void test_looks_one_level_down(void **state) {
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s/top", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    write_picture("top/a.png", 8, 8, 3);
    write_text("top/transforms.json",
               "{\"fl_x\":10,\"frames\":[{\"file_path\":\"a.png\"," IDENTITY "}]}");
    write_text(".DS_Store", "");
    struct recording *recording = open_it();
    assert_string_equal(recording->name, "top");
    recording_close(&recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fox),
        cmocka_unit_test(test_chair),
        IN_FOLDER(test_missing_is_skipped_all_missing_is_an_error),
        IN_FOLDER(case_27_size_against_camera),
        IN_FOLDER(test_refused_by_name),
        IN_FOLDER(test_bad_poses_and_paths),
        IN_FOLDER(test_time_and_filenames),
        IN_FOLDER(test_alpha_is_composited_on_white),
        IN_FOLDER(test_photos_without_poses),
        IN_FOLDER(test_looks_one_level_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
