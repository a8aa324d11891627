/* What `retake synth` writes is a recording that opens, with the exact poses, and equal runs give
 * equal files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <omp.h>

#include "recon/synth.h"
#include "recon/synth_plan.h"
#include "tests/unit/recon/recording_fixture.h"

static struct synth_options small(bool is_static) {
    struct synth_options options = synth_options_default(is_static);
    options.n_photos = 9;
    options.duration_s = 0.3f;
    options.width_px = 64;
    options.height_px = 36;
    return options;
}

static void path_of(char out[256], const char *name) { snprintf(out, 256, "%s/%s", folder, name); }

static void photos_open_as_a_recording_with_exact_poses(void **state) {
    (void)state;
    struct synth_options options = small(true);
    struct synth_report report;
    MUST(synth_record(folder, &options, &report, &err));
    assert_int_equal(report.n_pictures, 9);
    struct recording *recording;
    MUST(recording_open(folder, &recording, &err));
    assert_true(recording->is_static && recording->metric);
    assert_int_equal(recording->n_findings, 0);
    assert_int_equal(recording->n_cameras, 1);
    assert_int_equal(recording->cameras[0].n_frames, 9);
    assert_int_equal(recording->points.n_points, report.n_points);
    assert_true(report.n_points > 10000);
    assert_true(recording->has_declared_holdout);

    struct synth_settings settings = {.seed = 1, .is_static = true};
    struct synth_world *world;
    struct synth_plan plan;
    MUST(synth_world_create(&settings, &world, &err));
    MUST(synth_plan_create(&options, world, &plan, &err));
    for (int32_t i = 0; i < 9; i++) {
        const struct recording_frame *frame = &recording->cameras[0].frames[i];
        struct pose wanted = plan.sensors[i].T_world_sensor_start;
        struct pose read = frame->T_world_sensor_start;
        assert_true(vec3_length(vec3_sub(read.t, wanted.t)) < 1e-5f);
        assert_true(fabsf(read.q.w - wanted.q.w) + fabsf(read.q.x - wanted.q.x) +
                        fabsf(read.q.y - wanted.q.y) + fabsf(read.q.z - wanted.q.z) <
                    1e-6f);
        assert_int_equal(frame->holdout, i % 8 == 0);
    }
    struct image drawn = {0};
    struct recording_picture picture = {0};
    MUST(synth_render_camera(world, &plan.sensors[4], &drawn, &err));
    MUST(recording_load_picture(recording, 0, 4, 1.0f, &picture, &err));
    double sum = 0.0;
    for (int32_t i = 0; i < 64 * 36 * 3; i++) {
        sum += abs(image_u8(&drawn)[i] - image_u8(&picture.rgb)[i]);
    }
    assert_true(sum / (64 * 36 * 3) < 3.0); /* JPEG of quality 95 */
    image_destroy(&drawn);
    recording_picture_free(&picture);
    recording_close(&recording);
    synth_plan_free(&plan);
    synth_world_destroy(&world);
}

/* Points lie on surfaces: the nearest photo's ray through the point ends there. */
static void points_lie_on_surfaces(void **state) {
    (void)state;
    struct synth_options options = small(true);
    MUST(synth_record(folder, &options, NULL, &err));
    struct recording *recording;
    MUST(recording_open(folder, &recording, &err));
    struct synth_settings settings = {.seed = 1, .is_static = true};
    struct synth_world *world;
    MUST(synth_world_create(&settings, &world, &err));
    struct synth_instant none = {.n_actors = 0};
    int32_t n_on = 0, n_tried = 0;
    for (int32_t i = 0; i < recording->points.n_points; i += 37, n_tried++) {
        vec3 p = vec3_load(recording->points.xyz + 3 * i);
        bool on = false;
        for (int32_t k = 0; k < 9 && !on; k++) {
            vec3 o = recording->cameras[0].frames[k].T_world_sensor_start.t;
            float distance = vec3_length(vec3_sub(p, o));
            struct synth_ray ray = {o, vec3_scale(vec3_sub(p, o), 1.0f / distance), 500.0f};
            struct synth_hit hit;
            on = synth_cast(world, &none, &ray, &hit) && fabsf(hit.distance - distance) < 0.01f;
        }
        n_on += on;
    }
    assert_true(recording->points.n_points < 40000); /* the cap cut nothing off */
    assert_true(n_on >= n_tried * 98 / 100);         /* silhouettes flip on float rounding */
    synth_world_destroy(&world);
    recording_close(&recording);
}

static void a_drive_has_sweeps_and_tracks_in_order(void **state) {
    (void)state;
    struct synth_options options = small(false);
    struct synth_report report;
    MUST(synth_record(folder, &options, &report, &err));
    assert_int_equal(report.n_pictures, 9);
    assert_int_equal(report.n_sweeps, 3);
    assert_true(report.n_tracks > 0);
    struct recording *recording;
    MUST(recording_open(folder, &recording, &err));
    assert_false(recording->is_static);
    assert_int_equal(recording->n_cameras, 3);
    assert_int_equal(recording->n_lidars, 1);
    assert_int_equal(recording->n_tracks, report.n_tracks);
    assert_int_equal(recording->n_findings, 0);
    recording_close(&recording);

    char path[256];
    path_of(path, "recording.json");
    json_t *root = json_load_file(path, 0, NULL);
    size_t i_track, i_key;
    json_t *track, *key;
    json_array_foreach(json_object_get(root, "tracks"), i_track, track) {
        json_t *keys = json_object_get(json_object_get(track, "T_world_object"), "t_us");
        json_int_t last_us = -1;
        assert_true(json_array_size(keys) >= 2);
        json_array_foreach(keys, i_key, key) {
            assert_true(json_integer_value(key) > last_us);
            last_us = json_integer_value(key);
        }
        assert_true(last_us == json_integer_value(json_object_get(track, "t_end_us")));
    }
    json_decref(root);
    struct rt_bytes sweep = {0};
    path_of(path, "lidar/top/000002.bin");
    MUST(file_read(path, 1 << 26, &sweep, &err));
    assert_int_equal(sweep.n_bytes % (6 * sizeof(float)), 0);
    rt_bytes_free(&sweep);
}

static void equal_options_give_equal_files(void **state) {
    (void)state;
    static const char *const names[] = {"recording.json", "points.ply", "images/front/000001.jpg",
                                        "lidar/top/000001.bin"};
    struct rt_bytes first[4] = {{0}}, second = {0};
    struct synth_options options = small(false);
    char path[256];
    omp_set_num_threads(1);
    MUST(synth_record(folder, &options, NULL, &err));
    for (int i = 0; i < 4; i++) {
        path_of(path, names[i]);
        MUST(file_read(path, 1 << 26, &first[i], &err));
    }
    omp_set_num_threads(3);
    MUST(synth_record(folder, &options, NULL, &err));
    for (int i = 0; i < 4; i++) {
        path_of(path, names[i]);
        MUST(file_read(path, 1 << 26, &second, &err));
        assert_int_equal(first[i].n_bytes, second.n_bytes);
        assert_memory_equal(first[i].bytes, second.bytes, second.n_bytes);
        rt_bytes_free(&second);
        rt_bytes_free(&first[i]);
    }
}

static void wrong_options_are_named(void **state) {
    (void)state;
    struct synth_options options = small(false);
    options.n_cameras = 7;
    assert_int_equal(synth_record(folder, &options, NULL, &err), RT_INVALID);
    assert_non_null(strstr(err.message, "7 cameras"));
    options = small(false);
    options.duration_s = NAN;
    assert_int_equal(synth_record(folder, &options, NULL, &err), RT_INVALID);
    assert_non_null(strstr(err.message, "duration"));
    options = small(true);
    options.width_px = 5000;
    assert_int_equal(synth_record(folder, &options, NULL, &err), RT_INVALID);
    assert_non_null(strstr(err.message, "5000"));
}

/* A run that fails half way leaves no recording.json, not even that of an earlier run. */
static void a_failed_run_leaves_no_recording(void **state) {
    (void)state;
    struct synth_options options = small(true);
    char path[256];
    MUST(synth_record(folder, &options, NULL, &err));
    path_of(path, "images/photo/000005.jpg");
    assert_int_equal(remove(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_not_equal(synth_record(folder, &options, NULL, &err), RT_OK);
    assert_non_null(strstr(err.message, "000005.jpg"));
    path_of(path, "recording.json");
    assert_int_not_equal(access(path, F_OK), 0);
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(photos_open_as_a_recording_with_exact_poses),
        IN_A_FOLDER(points_lie_on_surfaces),
        IN_A_FOLDER(a_drive_has_sweeps_and_tracks_in_order),
        IN_A_FOLDER(equal_options_give_equal_files),
        IN_A_FOLDER(wrong_options_are_named),
        IN_A_FOLDER(a_failed_run_leaves_no_recording),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
