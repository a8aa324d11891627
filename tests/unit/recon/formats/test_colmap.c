/* COLMAP models written here in both encodings from one table. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recon/formats/colmap.h"
#include "tests/unit/recon/recording_fixture.h"

/* One model: an OPENCV and a SIMPLE_PINHOLE camera, three images (a name with blanks, one without
 * points), two points. */
static const char cameras_txt[] =
    "# Camera list\n#   CAMERA_ID, MODEL, WIDTH, HEIGHT, PARAMS[]\n"
    "1 OPENCV 40 30 50.5 51 20.25 15 0.1 -0.05 0.001 -0.002\r\n"
    "7 SIMPLE_PINHOLE 40 30 45 20 15\n";
static const char images_txt[] =
    "# Image list\n\n"
    "1 0.9238795325112867 0 0.3826834323650898 0 1 2 3 1 a b.png\n"
    "1.5 2.5 -1 3.5 4.5 1\n"
    "2 1 0 0 0 0.5 0 0 7 c.png\n"
    "\n"
    "5 1 0 0 0 0 0 4 1 sub/d.png\n"
    "10 11 2\n";
static const char points_txt[] =
    "# 3D point list\n1 1 2 3 255 0 10 0.5 1 0 5 0\n"
    "2 -1 0.5 8 1 2 3 0.25\n";

struct writer {
    unsigned char bytes[2048];
    size_t n;
};

static void put(struct writer *writer, const void *bytes, size_t n) {
    memcpy(writer->bytes + writer->n, bytes, n);
    writer->n += n;
}
static void put_u32(struct writer *writer, uint32_t value) { put(writer, &value, 4); }
static void put_u64(struct writer *writer, uint64_t value) { put(writer, &value, 8); }
static void put_f64(struct writer *writer, const double *values, size_t n) {
    put(writer, values, 8 * n);
}

static struct writer cameras_bin(void) {
    struct writer w = {.n = 0};
    put_u64(&w, 2);
    put_u32(&w, 1);
    put_u32(&w, 4);
    put_u64(&w, 40);
    put_u64(&w, 30);
    put_f64(&w, (const double[]){50.5, 51, 20.25, 15, 0.1, -0.05, 0.001, -0.002}, 8);
    put_u32(&w, 7);
    put_u32(&w, 0);
    put_u64(&w, 40);
    put_u64(&w, 30);
    put_f64(&w, (const double[]){45, 20, 15}, 3);
    return w;
}

static void put_image(struct writer *w, uint32_t id, const double pose[7], uint32_t camera,
                      const char *name) {
    put_u32(w, id);
    put_f64(w, pose, 7);
    put_u32(w, camera);
    put(w, name, strlen(name) + 1);
}

static struct writer images_bin(void) {
    struct writer w = {.n = 0};
    put_u64(&w, 3);
    put_image(&w, 1, (const double[]){0.9238795325112867, 0, 0.3826834323650898, 0, 1, 2, 3}, 1,
              "a b.png");
    put_u64(&w, 2);
    put_f64(&w, (const double[]){1.5, 2.5}, 2);
    put_u64(&w, UINT64_MAX);
    put_f64(&w, (const double[]){3.5, 4.5}, 2);
    put_u64(&w, 1);
    put_image(&w, 2, (const double[]){1, 0, 0, 0, 0.5, 0, 0}, 7, "c.png");
    put_u64(&w, 0);
    put_image(&w, 5, (const double[]){1, 0, 0, 0, 0, 0, 4}, 1, "sub/d.png");
    put_u64(&w, 1);
    put_f64(&w, (const double[]){10, 11}, 2);
    put_u64(&w, 2);
    return w;
}

static struct writer points_bin(void) {
    struct writer w = {.n = 0};
    put_u64(&w, 2);
    put_u64(&w, 1);
    put_f64(&w, (const double[]){1, 2, 3}, 3);
    put(&w, (const uint8_t[]){255, 0, 10}, 3);
    put_f64(&w, (const double[]){0.5}, 1);
    put_u64(&w, 2);
    for (uint32_t i = 0; i < 4; i++) put_u32(&w, i);
    put_u64(&w, 2);
    put_f64(&w, (const double[]){-1, 0.5, 8}, 3);
    put(&w, (const uint8_t[]){1, 2, 3}, 3);
    put_f64(&w, (const double[]){0.25}, 1);
    put_u64(&w, 0);
    return w;
}

static void write_pictures(void) {
    make_subfolder("images");
    make_subfolder("images/sub");
    write_picture("images/a b.png", 40, 30, 3);
    write_picture("images/c.png", 40, 30, 3);
    write_picture("images/sub/d.png", 40, 30, 3);
}

static void write_text_model(const char *images) {
    make_subfolder("sparse");
    make_subfolder("sparse/0");
    write_text("sparse/0/cameras.txt", cameras_txt);
    write_text("sparse/0/images.txt", images);
    write_text("sparse/0/points3D.txt", points_txt);
}

static void write_binary_model(void) {
    struct writer w = cameras_bin();
    write_bytes("sparse/0/cameras.bin", w.bytes, w.n);
    w = images_bin();
    write_bytes("sparse/0/images.bin", w.bytes, w.n);
    w = points_bin();
    write_bytes("sparse/0/points3D.bin", w.bytes, w.n);
}

static void check_model(const struct recording *recording) {
    assert_string_equal(recording->format, "colmap");
    assert_true(recording->is_static);
    assert_int_equal(recording->n_cameras, 2);
    const struct recording_camera *first = &recording->cameras[0];
    const struct recording_camera *second = &recording->cameras[1];
    assert_string_equal(first->id, "cam1");
    assert_string_equal(second->id, "cam7");
    assert_int_equal(first->n_frames, 2);
    assert_string_equal(first->frames[0].file, "images/a b.png");
    assert_string_equal(second->frames[0].file, "images/c.png");
    assert_string_equal(first->frames[1].file, "images/sub/d.png");
    /* Numbered by name over all cameras. */
    assert_int_equal(first->frames[0].t_us, 0);
    assert_int_equal(second->frames[0].t_us, 100000);
    assert_int_equal(first->frames[1].t_us, 200000);
    assert_float_equal(first->camera.focal_px[1], 51.0f, 0);
    assert_float_equal(first->camera.principal_px[0], 20.25f, 0);
    assert_float_equal(first->camera.radial_k[1], -0.05f, 0);
    assert_float_equal(first->camera.tangential_p[1], -0.002f, 0);
    assert_float_equal(second->camera.focal_px[1], 45.0f, 0);
    /* c.png: at (-0.5, 0, 0) of the right-down-forward world, which is (0, 0.5, 0) here, looking
     * along +x with the picture's down along -z. */
    struct pose pose = second->frames[0].T_world_sensor_start;
    assert_float_equal(pose.t.x, 0.0f, 1e-6f);
    assert_float_equal(pose.t.y, 0.5f, 1e-6f);
    vec3 forward = quat_rotate(pose.q, vec3_make(0, 0, 1));
    vec3 down = quat_rotate(pose.q, vec3_make(0, 1, 0));
    assert_float_equal(forward.x, 1.0f, 1e-6f);
    assert_float_equal(down.z, -1.0f, 1e-6f);
    /* a b.png: turned by 45 degrees about y; centre -R't. */
    pose = first->frames[0].T_world_sensor_start;
    const float h = sqrtf(0.5f);
    assert_float_equal(pose.t.x, -(h * 1 + h * 3), 1e-5f); /* source z = -(h tx + h tz) */
    assert_float_equal(pose.t.y, h * 1 - h * 3, 1e-5f);    /* minus source x */
    assert_float_equal(pose.t.z, 2.0f, 1e-5f);             /* minus source y */
    forward = quat_rotate(pose.q, vec3_make(0, 0, 1));
    assert_float_equal(forward.x, h, 1e-5f);
    assert_float_equal(forward.y, h, 1e-5f);
    assert_float_equal(recording->up[2], 1.0f, 1e-5f);
    assert_int_equal(recording->points.n_points, 2);
    assert_float_equal(recording->points.xyz[0], 3.0f, 0);
    assert_float_equal(recording->points.xyz[1], -1.0f, 0);
    assert_float_equal(recording->points.xyz[2], -2.0f, 0);
    assert_int_equal(recording->points.rgb[2], 10);
    /* T_source_world takes the first point back to where the file has it. */
    vec3 source = pose_apply(recording->T_source_world, vec3_load(recording->points.xyz));
    assert_float_equal(source.x, 1.0f, 1e-5f);
    assert_float_equal(source.y, 2.0f, 1e-5f);
    assert_float_equal(source.z, 3.0f, 1e-5f);
}

static void test_text_and_binary_agree(void **state) {
    (void)state;
    write_pictures();
    write_text_model(images_txt);
    struct recording *recording = open_it();
    check_model(recording);
    recording_close(&recording);
    write_binary_model();
    write_text("sparse/0/images.txt", "broken: the binary model comes first");
    recording = open_it();
    check_model(recording);
    struct recording_picture picture;
    MUST(recording_load_picture(recording, 0, 0, 1.0f, &picture, &err));
    assert_non_null(picture.mask.pixels); /* distorted */
    recording_picture_free(&picture);
    MUST(recording_load_picture(recording, 1, 0, 1.0f, &picture, &err));
    assert_null(picture.mask.pixels);
    recording_picture_free(&picture);
    recording_close(&recording);
}

static void test_missing_images_and_scaled_folders(void **state) {
    (void)state;
    write_text_model(images_txt);
    refuse_it("missing-file", "a b.png");
    make_subfolder("images_2");
    write_picture("images_2/a b.png", 20, 15, 3);
    struct recording *recording = open_it();
    assert_int_equal(recording->n_cameras, 1);
    assert_int_equal(recording->n_frames_missing, 2);
    assert_float_equal(recording->cameras[0].camera.focal_px[0], 25.25f, 1e-5f);
    assert_float_equal(recording->cameras[0].camera.principal_px[0], 10.125f, 1e-5f);
    recording_close(&recording);
}

static void test_text_faults_name_the_line(void **state) {
    (void)state;
    write_pictures();
    /* Without the empty second lines every second image would vanish silently. */
    write_text_model("1 1 0 0 0 1 2 3 1 a b.png\n2 1 0 0 0 0.5 0 0 7 c.png\n");
    refuse_it("bad-value", "line 2: expected the points");
    write_text("sparse/0/images.txt", "1 1 0 0 0 1 2 3 1 a b.png\n1.5 2.5\n");
    refuse_it("bad-value", "line 2: expected the points");
    write_text("sparse/0/images.txt", "1 1 0 0 zero 1 2 3 1 a b.png\n\n");
    refuse_it("bad-value", "line 1: expected IMAGE_ID");
    write_text("sparse/0/images.txt", "1 1 0 0 0 1 2 3 9 a b.png\n\n");
    refuse_it("bad-value", "camera 9 is not in the model");
    write_text("sparse/0/images.txt", "1 1 0 0 0 1 2 3 1 ../../a b.png\n\n");
    refuse_it("bad-value", "..");
    write_text("sparse/0/images.txt", "1 0 0 0 0 1 2 3 1 a b.png\n\n");
    refuse_it("bad-value", "length 0");
    write_text("sparse/0/images.txt", "# none\n");
    refuse_it("empty", "no frames");
    write_text("sparse/0/images.txt", images_txt);
    write_text("sparse/0/points3D.txt", "1 1 2 3 256 0 0 1\n");
    refuse_it("bad-value", "line 1: expected POINT3D_ID");
}

static void test_models_refused_by_name(void **state) {
    (void)state;
    static const char *const lines[] = {
        "1 OPENCV_FISHEYE 40 30 1 1 1 1 0 0 0 0",
        "1 FOV 40 30 1 1 1 1 0.5",
        "1 EQUIRECTANGULAR 40 30 1 1",
        "1 THIN_PRISM_FISHEYE 40 30 1 1 1 1 0 0 0 0 0 0 0 0",
        "1 BROWN 40 30 1 1 1",
    };
    write_pictures();
    write_text_model(images_txt);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        write_text("sparse/0/cameras.txt", lines[i]);
        char name[40];
        sscanf(lines[i], "1 %39s", name);
        refuse_it("unsupported-camera", name);
    }
    write_text("sparse/0/cameras.txt", "1 PINHOLE 40 30 1 1 1\n");
    refuse_it("bad-value", "line 1: expected all parameters");
    write_text("sparse/0/cameras.txt", "1 PINHOLE 40 30 -1 1 1 1\n");
    refuse_it("bad-value", "focal_px[0] = -1");
}

/* FULL_OPENCV: k3...k6 come after p1 p2. */
static void test_full_opencv(void **state) {
    (void)state;
    write_pictures();
    write_text_model(images_txt);
    write_text("sparse/0/cameras.txt",
               "1 FULL_OPENCV 40 30 50 50 20 15 .01 .02 .03 .04 .05 .06 .07 "
               ".08\n7 RADIAL 40 30 50 20 15 .1 .2\n");
    struct recording *recording = open_it();
    const struct camera *lens = &recording->cameras[0].camera;
    static const float k[6] = {.01f, .02f, .05f, .06f, .07f, .08f};
    for (int i = 0; i < 6; i++) assert_float_equal(lens->radial_k[i], k[i], 0);
    assert_float_equal(lens->tangential_p[0], .03f, 0);
    assert_float_equal(recording->cameras[1].camera.radial_k[1], .2f, 0);
    recording_close(&recording);
}

static enum rt_status parse_cut(colmap_parser parse, const void *bytes, size_t n_bytes,
                                bool with_cameras) {
    struct recording *recording = calloc(1, sizeof *recording);
    struct recording_folder none = {.fd = -1};
    struct reader reader;
    struct colmap colmap;
    reader_begin(&reader, recording, &none);
    colmap_begin(&colmap, &reader, "");
    struct writer cameras = cameras_bin();
    if (with_cameras) MUST(colmap_cameras_bin(&colmap, cameras.bytes, cameras.n, &err));
    void *exact = malloc(n_bytes ? n_bytes : 1); /* so that a sanitizer sees a read beyond it */
    memcpy(exact, bytes, n_bytes);
    enum rt_status status = parse(&colmap, exact, n_bytes, &err);
    free(exact);
    colmap_end(&colmap);
    recording_close(&recording);
    return status;
}

static void test_truncation_at_every_byte(void **state) {
    (void)state;
    rt_error_clear(&err);
    struct writer files[3] = {cameras_bin(), images_bin(), points_bin()};
    const colmap_parser parsers[3] = {colmap_cameras_bin, colmap_images_bin, colmap_points_bin};
    for (int f = 0; f < 3; f++) {
        for (size_t n = 0; n < files[f].n; n++) {
            assert_int_equal(parse_cut(parsers[f], files[f].bytes, n, f == 1), RT_BAD_FILE);
        }
        assert_int_equal(parse_cut(parsers[f], files[f].bytes, files[f].n, f == 1), RT_OK);
        assert_int_equal(parse_cut(parsers[f], files[f].bytes, files[f].n + 1, f == 1),
                         RT_BAD_FILE);
    }
}

/* promises.md case 25: a count beyond the file is refused before memory is asked for. */
static void case_25_counts_against_bytes(void **state) {
    (void)state;
    rt_error_clear(&err);
    struct writer files[3] = {cameras_bin(), images_bin(), points_bin()};
    const colmap_parser parsers[3] = {colmap_cameras_bin, colmap_images_bin, colmap_points_bin};
    static const uint64_t counts[] = {4000000000ULL, UINT64_MAX, UINT64_MAX / 8, 1ULL << 61};
    for (int f = 0; f < 3; f++) {
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            memcpy(files[f].bytes, &counts[i], 8);
            assert_int_equal(parse_cut(parsers[f], files[f].bytes, files[f].n, f == 1),
                             RT_BAD_FILE);
            assert_string_equal(err.code, "count-too-large");
        }
    }
}

/* Surveyed sets in map coordinates: float32 would lose centimetres without an origin. */
static void test_far_world_gets_an_origin(void **state) {
    (void)state;
    write_pictures();
    write_text_model(
        "1 1 0 0 0 -500000.25 0 -4000000.5 1 a b.png\n\n"
        "2 1 0 0 0 -500001.25 0 -4000000.5 7 c.png\n\n");
    write_text("sparse/0/points3D.txt", "1 500002.25 0 4000000.5 1 2 3 0\n");
    struct recording *recording = open_it();
    vec3 first = recording->cameras[0].frames[0].T_world_sensor_start.t;
    vec3 second = recording->cameras[1].frames[0].T_world_sensor_start.t;
    assert_float_equal(second.y - first.y, -1.0f, 1e-4f);
    assert_true(vec3_length(first) < 2000.0f);
    assert_float_equal(recording->points.xyz[1] - second.y, -1.0f, 1e-4f);
    assert_true(fabsf(recording->T_source_world.t.z - 4000000.5f) < 1024.0f);
    recording_close(&recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_text_and_binary_agree),
        IN_FOLDER(test_missing_images_and_scaled_folders),
        IN_FOLDER(test_text_faults_name_the_line),
        IN_FOLDER(test_models_refused_by_name),
        IN_FOLDER(test_full_opencv),
        IN_FOLDER(test_far_world_gets_an_origin),
        cmocka_unit_test(test_truncation_at_every_byte),
        cmocka_unit_test(case_25_counts_against_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
