/* Scene files: what is written reads back to the byte, unknown members live on, damaged and hostile
 * archives are refused, and the model keeps place, shape and colour through every format. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zip.h>

#include "render/io/image_file.h"
#include "render/io/scene_file.h"
#include "render/io/scene_parse.h"
#include "render/io/splat_file.h"
#include "tests/unit/render/io/splat_model.h"

struct place {
    char folder[64], a[96], b[96];
};

static int set_up(void **state) {
    struct place *place = calloc(1, sizeof *place);
    snprintf(place->folder, sizeof place->folder, "/tmp/retake-test-XXXXXX");
    *state = place;
    return mkdtemp(place->folder) ? 0 : -1;
}

static void remove_tree(const char *folder) {
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[512];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (unlink(path) != 0) remove_tree(path);
    }
    if (dir) closedir(dir);
    rmdir(folder);
}

static int tear_down(void **state) {
    struct place *place = *state;
    remove_tree(place->folder);
    free(place);
    return 0;
}

static const char *path_a(struct place *place, const char *name) {
    snprintf(place->a, sizeof place->a, "%.60s/%.30s", place->folder, name);
    return place->a;
}

static const char *path_b(struct place *place, const char *name) {
    snprintf(place->b, sizeof place->b, "%.60s/%.30s", place->folder, name);
    return place->b;
}

static void fill_camera(struct scene *scene) {
    struct scene_camera *camera = NULL;
    struct rt_error err;
    assert_int_equal(scene_add_camera(scene, "front", 2, &camera, &err), RT_OK);
    camera->camera = camera_ideal(640, 360, 50.0f);
    camera->camera.radial_k[0] = 0.1f;
    camera->shutter_us = 16000;
    for (int i = 0; i < 2; i++) {
        camera->frames.t_us[i] = 100000 * i;
        camera->frames.t_end_us[i] = 100000 * i + 16000;
        camera->frames.T_world_sensor_start[i] =
            pose_make(quat_make(0.5f, -0.5f, 0.5f, -0.5f), vec3_make((float)i, 0.1f, 1.6f));
        camera->frames.T_world_sensor_end[i] = camera->frames.T_world_sensor_start[i];
        camera->frames.T_world_sensor_end[i].t.x += 0.3f;
    }
    camera->frames.holdout[1] = 1;
    assert_int_equal(scene_set_text(&camera->frames.file[0], "recorded/front/0.jpg", &err), RT_OK);
    camera->frames.camera = calloc(2, sizeof *camera->frames.camera);
    camera->frames.camera[0] = camera_ideal(640, 360, 50.0f);
    camera->frames.camera[1] = camera_ideal(640, 360, 51.0f);
}

static struct scene *make_scene(void) {
    struct scene *scene = NULL;
    struct rt_error err;
    assert_int_equal(scene_create(&scene, &err), RT_OK);
    struct gaussians *actor = model_create(0);
    assert_int_equal(scene_add_node(scene, "background", NODE_BACKGROUND, model_create(2), &err),
                     RT_OK);
    scene->nodes[0].antialiased = true;
    assert_int_equal(axes_to_pose("rdf", &scene->nodes[0].T_world_node, &err), RT_OK);
    assert_int_equal(scene_add_node(scene, "actor/car_1", NODE_ACTOR, actor, &err), RT_OK);
    assert_int_equal(scene_set_text(&scene->nodes[1].track_id, "car_1", &err), RT_OK);
    fill_camera(scene);
    scene->is_static = false;
    scene->t_end_us = 200000;
    scene->metric = true;
    scene->sky = SKY_COLOUR;
    scene->sky_rgb[0] = 0.25f;
    scene->default_view = scene->cameras[0].frames.T_world_sensor_end[1];
    assert_int_equal(scene_set_text(&scene->name,
                                    "Stra\xc3\x9f"
                                    "e \"5\"",
                                    &err),
                     RT_OK);
    assert_int_equal(scene_set_text(&scene->recording_id, "drive05", &err), RT_OK);
    assert_int_equal(scene_set_text(&scene->provenance_json, "{\"config\":{\"steps\":7}}", &err),
                     RT_OK);
    assert_int_equal(
        scene_set_text(&scene->carried_json,
                       "{\"world\":{\"geo\":{\"lat_deg\":49.0112}},\"tracks\":[{\"track_id\":"
                       "\"car_1\"}],\"new_thing\":[1,{\"a\":null}]}",
                       &err),
        RT_OK);
    return scene;
}

static struct rt_bytes bytes_of(const char *path) {
    struct rt_bytes bytes = {0};
    struct rt_error err;
    assert_int_equal(file_read(path, 1 << 24, &bytes, &err), RT_OK);
    return bytes;
}

static void assert_same_bytes(const char *a, const char *b) {
    struct rt_bytes x = bytes_of(a);
    struct rt_bytes y = bytes_of(b);
    assert_int_equal(x.n_bytes, y.n_bytes);
    assert_memory_equal(x.bytes, y.bytes, x.n_bytes);
    rt_bytes_free(&x);
    rt_bytes_free(&y);
}

static struct scene *read_scene(const char *path) {
    struct scene *scene = NULL;
    struct rt_error err;
    if (scene_read(path, NULL, &scene, &err) != RT_OK) fail_msg("%s", err.message);
    return scene;
}

static void round_trip_keeps_every_byte(void **state) {
    struct place *place = *state;
    struct rt_error err;
    struct scene *scene = make_scene();
    assert_int_equal(scene_write(path_a(place, "a.retake"), scene, &err), RT_OK);
    struct scene *back = read_scene(place->a);
    assert_int_equal(scene_write(path_b(place, "b.retake"), back, &err), RT_OK);
    assert_same_bytes(place->a, place->b);
    assert_int_equal(scene_write(path_b(place, "folder"), back, &err), RT_OK);
    struct scene *third = read_scene(place->b);
    assert_int_equal(scene_write(path_b(place, "c.retake"), third, &err), RT_OK);
    assert_same_bytes(place->a, place->b);
    scene_release(&scene);
    scene_release(&back);
    scene_release(&third);
}

static void members_survive(void **state) {
    struct place *place = *state;
    struct rt_error err;
    struct scene *scene = make_scene();
    assert_int_equal(scene_write(path_a(place, "a.retake"), scene, &err), RT_OK);
    struct scene *back = read_scene(place->a);
    assert_string_equal(back->name, scene->name);
    assert_int_equal(back->n_nodes, 2);
    assert_true(back->nodes[0].antialiased);
    assert_memory_equal(&back->nodes[0].T_world_node, &scene->nodes[0].T_world_node,
                        sizeof(struct pose));
    assert_string_equal(back->nodes[1].track_id, "car_1");
    assert_int_equal(back->cameras[0].frames.n_frames, 2);
    assert_int_equal(back->cameras[0].frames.holdout[1], 1);
    assert_string_equal(back->cameras[0].frames.file[0], "recorded/front/0.jpg");
    assert_null(back->cameras[0].frames.file[1]);
    assert_memory_equal(back->cameras[0].frames.T_world_sensor_end,
                        scene->cameras[0].frames.T_world_sensor_end, 2 * sizeof(struct pose));
    assert_near(back->cameras[0].frames.camera[1].focal_px[0],
                scene->cameras[0].frames.camera[1].focal_px[0], 0.0f);
    assert_near(back->cameras[0].camera.radial_k[0], 0.1f, 0.0f);
    assert_memory_equal(&back->default_view, &scene->default_view, sizeof(struct pose));
    assert_near(back->sky_rgb[0], 0.25f, 0.0f);
    assert_int_equal(back->sky, SKY_COLOUR);
    assert_int_equal(back->t_end_us, 200000);
    assert_non_null(strstr(back->carried_json, "\"new_thing\":[1,{\"a\":null}]"));
    assert_non_null(strstr(back->carried_json, "lat_deg"));
    assert_string_equal(back->provenance_json, "{\"config\":{\"steps\":7}}");
    assert_int_equal(back->n_warnings, 0);
    scene_release(&scene);
    scene_release(&back);
}

static void summary_agrees(void **state) {
    struct place *place = *state;
    struct rt_error err;
    struct scene_summary summary;
    struct scene *scene = make_scene();
    assert_int_equal(scene_write(path_a(place, "a.retake"), scene, &err), RT_OK);
    assert_int_equal(scene_peek(place->a, &summary, &err), RT_OK);
    assert_string_equal(summary.format, "retake");
    assert_int_equal(summary.n_gaussians, 2 * MODEL_SPLATS);
    assert_int_equal(summary.sh_degree, 2);
    assert_int_equal(summary.n_cameras, 1);
    assert_int_equal(summary.n_actors, 1);
    assert_int_equal(summary.t_end_us, 200000);
    scene_release(&scene);
}

static void empty_background_is_a_scene(void **state) {
    struct place *place = *state;
    struct rt_error err;
    struct scene *scene = NULL;
    struct gaussians *none = NULL;
    assert_int_equal(scene_create(&scene, &err), RT_OK);
    assert_int_equal(gaussians_create(&none, 0, 1, 1, &err), RT_OK);
    assert_int_equal(scene_add_node(scene, "background", NODE_BACKGROUND, none, &err), RT_OK);
    assert_int_equal(scene_write(path_a(place, "a.retake"), scene, &err), RT_OK);
    struct scene *back = read_scene(place->a);
    assert_int_equal(scene_n_gaussians(back), 0);
    assert_int_equal(scene_sh_degree(back), 1);
    scene_release(&scene);
    scene_release(&back);
}

static void non_finite_scenes_are_not_written(void **state) {
    struct place *place = *state;
    struct rt_error err;
    struct scene *scene = make_scene();
    scene->nodes[1].gaussians->mean[4] = NAN;
    assert_int_equal(scene_write(path_a(place, "a.retake"), scene, &err), RT_DIVERGED);
    assert_int_not_equal(access(place->a, F_OK), 0);
    scene->nodes[0].gaussians->quat[4] = INFINITY;
    assert_int_equal(scene_export(path_a(place, "a.ply"), "ply", scene, NULL, &err), RT_DIVERGED);
    assert_int_not_equal(access(place->a, F_OK), 0);
    scene_release(&scene);
}

static void other_folders_are_not_overwritten(void **state) {
    struct place *place = *state;
    struct rt_error err;
    struct scene *scene = make_scene();
    assert_int_equal(mkdir(path_a(place, "photos"), 0700), 0);
    assert_int_equal(scene_write(place->a, scene, &err), RT_EXISTS);
    scene_release(&scene);
}

/* Every format and every pair of axes: the same splats in the same place of the world. */
static void exports_stay_in_place(void **state) {
    static const char *const formats[] = {"ply", "spz", "splat"};
    static const char *const axes[] = {"rdf", "rub", "luf", "flu"};
    static const struct model_tolerance exact = {2e-6f, 1e-5f, 1e-6f, 2e-5f};
    /* SPZ: position 1/4096, scale 1/32 of log, 8-bit colour, 4-bit harmonics; worst 0.13. */
    static const struct model_tolerance packed = {2e-4f, 0.09f, 0.004f, 0.26f};
    struct place *place = *state;
    struct scene *scene = make_scene();
    const struct gaussians *model = scene->nodes[0].gaussians;
    for (int f = 0; f < 3; f++) {
        for (int a = 0; a < (f == 0 ? 4 : f == 1 ? 3 : 1); a++) {
            char name[16];
            struct rt_error err;
            snprintf(name, sizeof name, "x.%s", formats[f]);
            assert_int_equal(scene_export(path_a(place, name), formats[f], scene, axes[a], &err),
                             RT_OK);
            struct scene *back = read_scene(place->a);
            assert_string_equal(back->axes, axes[a]);
            struct pose T =
                pose_mul(pose_inverse(back->nodes[0].T_world_node), scene->nodes[0].T_world_node);
            for (size_t i = 0; i < MODEL_SPLATS && f < 2; i++) {
                assert_same_splat(model, back->nodes[0].gaussians, i, T, f ? &packed : &exact);
            }
            assert_int_equal(scene_n_gaussians(back), MODEL_SPLATS);
            scene_release(&back);
        }
    }
    scene_release(&scene);
}

/* -- hostile archives -------------------------------------------------------------------------- */

static const char good_json[] =
    "{\"format\":\"retake-scene\",\"version\":[1,0],\"nodes\":[{\"id\":\"b\",\"kind\":"
    "\"background\","
    "\"file\":\"b.ply\",\"splats\":0}]}";

static enum rt_status parse_zip(const struct rt_bytes *bytes, struct rt_error *err) {
    struct scene_source *source = NULL;
    struct scene *scene = NULL;
    RT_TRY(scene_source_open_zip(bytes->bytes, bytes->n_bytes, &source, err));
    enum rt_status status = scene_parse(source, &scene, err);
    scene_source_close(&source);
    if (scene) scene_release(&scene);
    return status;
}

static enum rt_status parse_json(const char *json, struct rt_error *err) {
    struct zip_entry entry = {"scene.json", json, strlen(json)};
    struct rt_bytes bytes = {0};
    RT_TRY(zip_encode(&entry, 1, &bytes, err));
    enum rt_status status = parse_zip(&bytes, err);
    rt_bytes_free(&bytes);
    return status;
}

static void names_that_lead_out_are_refused(void **state) {
    (void)state;
    static const char *const names[] = {"../x",       "/etc/passwd", "a/../b",  "a\\b",
                                        "c:x",        "a//b",        "./a",     "a/.",
                                        "SCENE.JSON", "n.zip",       "n.retake"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct zip_entry entries[] = {{"scene.json", good_json, strlen(good_json)},
                                      {names[i], "x", 1}};
        struct rt_bytes bytes = {0};
        struct rt_error err;
        assert_int_equal(zip_encode(entries, 2, &bytes, &err), RT_OK);
        assert_int_equal(parse_zip(&bytes, &err), RT_BAD_FILE);
        assert_string_equal(err.code, "bad-value");
        rt_bytes_free(&bytes);
    }
}

static void damage_is_refused(void **state) {
    (void)state;
    struct zip_entry entries[] = {{"scene.json", good_json, strlen(good_json)},
                                  {"frames.json", "{}", 2}};
    struct rt_bytes bytes = {0};
    struct rt_error err;
    assert_int_equal(zip_encode(entries, 2, &bytes, &err), RT_OK);
    assert_int_equal(parse_zip(&bytes, &err), RT_OK);
    for (size_t n = 0; n < bytes.n_bytes; n++) {
        struct rt_bytes cut = {.bytes = malloc(n > 0 ? n : 1), .n_bytes = n};
        memcpy(cut.bytes, bytes.bytes, n);
        assert_int_not_equal(parse_zip(&cut, &err), RT_OK);
        rt_bytes_free(&cut);
    }
    ((char *)bytes.bytes)[30 + 10 + 5] ^= 1; /* a letter of scene.json */
    assert_int_equal(parse_zip(&bytes, &err), RT_BAD_FILE);
    assert_string_equal(err.code, "digest");
    rt_bytes_free(&bytes);
}

/* 16 MiB of zeros deflate about 1000 times. */
static void bombs_are_refused(void **state) {
    struct place *place = *state;
    size_t n = (size_t)16 << 20;
    void *zeros = calloc(1, n);
    int code;
    struct rt_error err;
    struct scene *scene = NULL;
    zip_t *archive = zip_open(path_a(place, "bomb.retake"), ZIP_CREATE, &code);
    zip_file_add(archive, "scene.json", zip_source_buffer(archive, zeros, n, 0), 0);
    assert_int_equal(zip_close(archive), 0);
    assert_int_equal(scene_read(place->a, NULL, &scene, &err), RT_BAD_FILE);
    assert_string_equal(err.code, "limit");
    free(zeros);
}

static void links_are_refused(void **state) {
    struct place *place = *state;
    int code;
    struct rt_error err;
    struct scene *scene = NULL;
    zip_t *archive = zip_open(path_a(place, "link.retake"), ZIP_CREATE, &code);
    zip_file_add(archive, "scene.json", zip_source_buffer(archive, good_json, strlen(good_json), 0),
                 0);
    zip_int64_t i = zip_file_add(archive, "x", zip_source_buffer(archive, "/etc/passwd", 11, 0), 0);
    zip_file_set_external_attributes(archive, (zip_uint64_t)i, 0, ZIP_OPSYS_UNIX, 0120777u << 16);
    assert_int_equal(zip_close(archive), 0);
    assert_int_equal(scene_read(place->a, NULL, &scene, &err), RT_BAD_FILE);
    assert_non_null(strstr(err.message, "link"));
    /* In a folder a link is not followed either. */
    assert_int_equal(mkdir(path_a(place, "folder"), 0700), 0);
    assert_int_equal(
        file_write_atomic(path_b(place, "outside"), good_json, strlen(good_json), &err), RT_OK);
    assert_int_equal(symlink(place->b, path_a(place, "folder/scene.json")), 0);
    assert_int_not_equal(scene_read(path_a(place, "folder"), NULL, &scene, &err), RT_OK);
}

static void faults_of_scene_json_are_named(void **state) {
    (void)state;
    static const struct {
        const char *json, *code, *word;
    } cases[] = {
        {"[]", "bad-magic", "object"},
        {"{\"format\":\"x\"}", "bad-magic", "retake-scene"},
        {"{\"format\":\"retake-scene\"}", "bad-value", "version"},
        {"{\"format\":\"retake-scene\",\"version\":[2,0]}", "unsupported-version", "2"},
        {"{\"format\":\"retake-scene\",\"version\":[1,0]}", "empty", "nodes"},
        {"{\"format\":\"retake-scene\",\"version\":[1,0],\"nodes\":[{\"id\":\"b\",\"kind\":"
         "\"background\",\"file\":\"../x.ply\"}]}",
         "bad-value", "../x.ply"},
        {"{\"format\":\"retake-scene\",\"version\":[1,0],\"nodes\":[{\"id\":\"b\",\"kind\":"
         "\"background\",\"file\":\"b.ply\",\"splats\":4000000000}]}",
         "count-too-large", "4000000000"},
        {"{\"format\":\"retake-scene\",\"version\":[1,0],\"nodes\":[{\"id\":\"b\",\"kind\":"
         "\"actor\",\"track_id\":\"t\",\"file\":\"b.ply\",\"splats\":0}]}",
         "bad-value", "background"},
        {"{\"format\":\"retake-scene\",\"version\":[1,0],\"nodes\":[{\"id\":\"b\",\"kind\":"
         "\"background\",\"file\":\"b.ply\",\"splats\":1}]}",
         "missing-file", "b.ply"},
        {"{\"format\":\"retake-scene\",\"version\":[1,0],\"world\":{\"up\":[0,0]}}", "bad-value",
         "up"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rt_error err = {0};
        assert_int_not_equal(parse_json(cases[i].json, &err), RT_OK);
        if (!err.code || strcmp(err.code, cases[i].code) != 0 ||
            !strstr(err.message, cases[i].word)) {
            fail_msg("case %zu: %s: %s", i, err.code ? err.code : "-", err.message);
        }
    }
}

static void splat_files_become_scenes(void **state) {
    struct place *place = *state;
    struct rt_error err;
    struct gaussians *model = model_create(1);
    struct splat_write what = {.gaussians = model, .axes = "rdf"};
    struct scene_read_options options = {.axes = "luf"};
    struct scene *scene = NULL;
    struct pose expected;
    assert_int_equal(splat_file_write(path_a(place, "toy.ply"), "ply", &what, NULL, &err), RT_OK);
    assert_int_equal(scene_read(place->a, &options, &scene, &err), RT_OK);
    assert_string_equal(scene->name, "toy");
    assert_string_equal(scene->axes, "luf"); /* the request wins over the comment */
    assert_int_equal(axes_to_pose("luf", &expected, &err), RT_OK);
    assert_memory_equal(&scene->nodes[0].T_world_node, &expected, sizeof expected);
    expected = scene_overview(scene);
    assert_memory_equal(&scene->default_view, &expected, sizeof expected);
    scene_release(&scene);
    options.axes = "abc";
    assert_int_equal(scene_read(place->a, &options, &scene, &err), RT_INVALID);
    assert_int_equal(scene_read(path_a(place, "none.ply"), NULL, &scene, &err), RT_NOT_FOUND);
    assert_int_equal(scene_read(place->folder, NULL, &scene, &err), RT_BAD_FILE);
    assert_string_equal(err.code, "missing-file");
    gaussians_destroy(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(round_trip_keeps_every_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(members_survive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(summary_agrees, set_up, tear_down),
        cmocka_unit_test_setup_teardown(empty_background_is_a_scene, set_up, tear_down),
        cmocka_unit_test_setup_teardown(non_finite_scenes_are_not_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_folders_are_not_overwritten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exports_stay_in_place, set_up, tear_down),
        cmocka_unit_test(names_that_lead_out_are_refused),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test_setup_teardown(bombs_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(links_are_refused, set_up, tear_down),
        cmocka_unit_test(faults_of_scene_json_are_named),
        cmocka_unit_test_setup_teardown(splat_files_become_scenes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
