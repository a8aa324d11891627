/* Splat files: the shared files decode to what their manifest says, our own survive every format,
 * and damaged ones are refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#include <jansson.h>

#include "render/io/image_file.h"
#include "render/io/ply_points.h"
#include "render/io/splat_file.h"
#include "tests/unit/render/io/splat_model.h"

static const char *data_path(const char *name, char path[512]) {
    const char *root = getenv("RETAKE_TEST_DATA");
    if (!root) return NULL;
    snprintf(path, 512, "%s/splats/%s", root, name);
    return access(path, R_OK) == 0 ? path : NULL;
}

static bool holds(const char *text, const char *part) {
    for (size_t n = strlen(part); *text; text++) {
        if (strncasecmp(text, part, n) == 0) return true;
    }
    return false;
}

static bool is_one_of(const char *code, const char *a, const char *b, const char *c) {
    return strcmp(code, a) == 0 || strcmp(code, b) == 0 || strcmp(code, c) == 0;
}

/* The manifest's wording: a finding code and a word of the message, or one of a few sentences. */
static bool is_refused_as(const char *wording, const struct rt_error *err) {
    const char *code = err->code ? err->code : "";
    if (holds(wording, "bare SPZ")) return holds(err->message, "bare SPZ");
    if (holds(wording, "not a splat file")) {
        return is_one_of(code, "missing-property", "bad-header", "empty");
    }
    if (holds(wording, " or ")) return is_one_of(code, "bad-header", "empty", "truncated");
    size_t n = strcspn(wording, " ");
    if (strlen(code) != n || strncmp(code, wording, n) != 0) return false;
    char word[32] = "";
    sscanf(wording + n, " %31s", word);
    return holds(err->message, word);
}

static void check_entry(const char *name, const json_t *entry) {
    char path[512];
    struct splat_file file;
    struct rt_error err;
    const char *refuse = json_string_value(json_object_get(entry, "refuse"));
    assert_non_null(data_path(name, path));
    enum rt_status status = splat_file_read(path, NULL, &file, &err);
    if (refuse) {
        if (status == RT_OK || !is_refused_as(refuse, &err)) {
            fail_msg("%s: must be refused as \"%s\", is %s: %s", name, refuse,
                     status == RT_OK || !err.code ? "accepted" : err.code, err.message);
        }
        assert_null(file.gaussians);
        return;
    }
    if (status != RT_OK) fail_msg("%s: %s", name, err.message);
    assert_string_equal(file.format, json_string_value(json_object_get(entry, "format")));
    assert_int_equal(file.gaussians->n_gaussians,
                     json_integer_value(json_object_get(entry, "splats")));
    assert_int_equal(file.gaussians->sh_degree,
                     json_integer_value(json_object_get(entry, "sh_degree")));
    splat_file_free(&file);
}

static void manifest_is_kept(void **state) {
    (void)state;
    char path[512];
    if (!data_path("manifest.json", path)) skip();
    json_t *manifest = json_load_file(path, 0, NULL);
    const char *name;
    json_t *entry;
    assert_true(json_object_size(manifest) > 40);
    json_object_foreach(manifest, name, entry) { check_entry(name, entry); }
    json_decref(manifest);
}

static struct splat_file read_shared(const char *name) {
    char path[512];
    struct splat_file file = {0};
    struct rt_error err;
    if (data_path(name, path)) assert_int_equal(splat_file_read(path, NULL, &file, &err), RT_OK);
    return file;
}

static size_t nearest(const struct gaussians *splats, const float *mean, float *distance) {
    size_t best = 0;
    float best2 = INFINITY;
    for (size_t i = 0; i < (size_t)splats->n_gaussians; i++) {
        vec3 d = vec3_sub(vec3_load(splats->mean + 3 * i), vec3_load(mean));
        float d2 = vec3_dot(d, d);
        if (d2 >= best2) continue;
        best2 = d2;
        best = i;
    }
    *distance = sqrtf(best2);
    return best;
}

static int compare_floats(const void *a, const void *b) {
    float x = *(const float *)a;
    float y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Largest relative entry of the difference of covariances. */
static float covariance_error(const struct gaussians *a, size_t i, const struct gaussians *b,
                              size_t j) {
    float ca[9];
    float cb[9];
    float largest = 0.0f;
    float off = 0.0f;
    model_covariance(a, i, ca);
    model_covariance(b, j, cb);
    for (int k = 0; k < 9; k++) {
        largest = fmaxf(largest, fabsf(ca[k]));
        off = fmaxf(off, fabsf(ca[k] - cb[k]));
    }
    return off / largest;
}

/* formats.md 3.7: bars are its measured figures times 1.2. */
static void compressed_ply_agrees_with_ply(void **state) {
    (void)state;
    struct splat_file plain = read_shared("derived_playbot/playbot6_sh2_native.ply");
    struct splat_file packed = read_shared("derived_playbot/playbot6_sh2.compressed.ply");
    if (!plain.gaussians) skip();
    const struct gaussians *a = plain.gaussians;
    const struct gaussians *b = packed.gaussians;
    size_t n = (size_t)a->n_gaussians;
    float *errors = malloc(n * sizeof *errors);
    double sh2 = 0.0;
    for (size_t i = 0; i < n; i++) {
        float distance;
        size_t j = nearest(b, a->mean + 3 * i, &distance);
        assert_true(distance <= 6.3e-4f * 1.2f);
        errors[i] = covariance_error(a, i, b, j);
        float oa = 1.0f / (1.0f + expf(-a->logit_opacity[i]));
        float ob = 1.0f / (1.0f + expf(-b->logit_opacity[j]));
        assert_near(oa, ob, 0.004f * 1.2f);
        for (size_t k = 3; k < 27; k++) {
            double d = (double)(a->sh[27 * i + k] - b->sh[27 * j + k]);
            sh2 += d * d;
        }
    }
    qsort(errors, n, sizeof *errors, compare_floats);
    assert_true(errors[n / 2] <= 0.0028f * 1.2f);
    assert_true(sqrt(sh2 / (double)(24 * n)) <= 0.009 * 1.2);
    free(errors);
    splat_file_free(&plain);
    splat_file_free(&packed);
}

static void opaque_splats_are_kept(void **state) {
    (void)state;
    struct splat_file file = read_shared("pc_engine/biker.compressed.ply");
    if (!file.gaussians) skip();
    int n = 0;
    for (int32_t i = 0; i < file.gaussians->n_gaussians; i++) {
        n += file.gaussians->logit_opacity[i] == 20.0f;
    }
    assert_int_equal(n, 198);
    assert_int_equal(file.report.n_dropped, 0);
    assert_int_equal(file.n_warnings, 1);
    splat_file_free(&file);
}

/* Same values in ascii, big-endian, with CRLF and without normals. */
static void quirks_hold_the_same_numbers(void **state) {
    (void)state;
    static const char *const names[] = {"ascii.ply", "big_endian.ply", "crlf_header.ply",
                                        "no_normals.ply"};
    struct splat_file base = read_shared("ply_quirks_derived/baseline.ply");
    if (!base.gaussians) skip();
    for (size_t i = 0; i < 4; i++) {
        char name[64];
        snprintf(name, sizeof name, "ply_quirks_derived/%s", names[i]);
        struct splat_file other = read_shared(name);
        size_t n = (size_t)base.gaussians->n_gaussians;
        for (size_t k = 0; k < 48 * n; k++) {
            assert_near(other.gaussians->sh[k], base.gaussians->sh[k], 1e-6f);
        }
        for (size_t k = 0; k < 3 * n; k++) {
            assert_near(other.gaussians->mean[k], base.gaussians->mean[k], 1e-6f);
        }
        splat_file_free(&other);
    }
    struct splat_file one = read_shared("ply_quirks_derived/sh1.ply");
    for (size_t k = 0; k < 12; k++) assert_near(one.gaussians->sh[k], base.gaussians->sh[k], 1e-6f);
    struct splat_file broken = read_shared("ply_quirks_derived/nonfinite.ply");
    assert_int_equal(broken.report.n_dropped, 2);
    assert_int_equal(broken.report.n_zero_quat, 1);
    splat_file_free(&one);
    splat_file_free(&base);
    splat_file_free(&broken);
}

static struct rt_bytes write_model(const char *format, const char *axes, int32_t sh_degree) {
    char path[] = "/tmp/retake-test-XXXXXX";
    struct gaussians *model = model_create(sh_degree);
    struct splat_write what = {.gaussians = model, .axes = axes, .antialiased = true};
    struct rt_bytes bytes = {0};
    struct rt_error err;
    char lossy[RT_MESSAGE_BYTES];
    close(mkstemp(path));
    assert_int_equal(splat_file_write(path, format, &what, lossy, &err), RT_OK);
    assert_int_equal(lossy[0] != '\0', strcmp(format, "ply") != 0);
    assert_int_equal(file_read(path, 1 << 20, &bytes, &err), RT_OK);
    unlink(path);
    gaussians_destroy(&model);
    return bytes;
}

static void ply_keeps_everything(void **state) {
    (void)state;
    for (int32_t degree = 0; degree <= 3; degree++) {
        struct rt_bytes bytes = write_model("ply", "luf", degree);
        struct gaussians *model = model_create(degree);
        struct splat_file file;
        struct rt_error err;
        assert_int_equal(splat_file_parse(bytes.bytes, bytes.n_bytes, "a.ply", NULL, &file, &err),
                         RT_OK);
        assert_string_equal(file.axes, "luf");
        assert_true(file.antialiased);
        assert_int_equal(file.gaussians->sh_degree, degree);
        size_t n = MODEL_SPLATS * 3 * sizeof(float);
        assert_memory_equal(file.gaussians->mean, model->mean, n);
        assert_memory_equal(file.gaussians->log_scale, model->log_scale, n);
        assert_memory_equal(file.gaussians->sh, model->sh, n * (size_t)sh_count(degree));
        assert_memory_equal(file.gaussians->quat, model->quat, MODEL_SPLATS * 16);
        assert_memory_equal(file.gaussians->logit_opacity, model->logit_opacity, MODEL_SPLATS * 4);
        splat_file_free(&file);
        gaussians_destroy(&model);
        rt_bytes_free(&bytes);
    }
}

static float weight_of(const struct gaussians *splats, size_t i) {
    const float *s = splats->log_scale + 3 * i;
    return expf(s[0] + s[1] + s[2]) / (1.0f + expf(-splats->logit_opacity[i]));
}

/* .splat is sorted by weight, so its splats are found again by place. */
static void antimatter_keeps_what_it_can(void **state) {
    (void)state;
    struct rt_bytes bytes = write_model("splat", "rdf", 2);
    struct gaussians *model = model_create(2);
    struct splat_file file;
    struct rt_error err;
    assert_int_equal(bytes.n_bytes, MODEL_SPLATS * 32);
    assert_int_equal(splat_file_parse(bytes.bytes, bytes.n_bytes, "a.SPLAT", NULL, &file, &err),
                     RT_OK);
    for (size_t i = 0; i < MODEL_SPLATS; i++) {
        float distance;
        size_t j = nearest(file.gaussians, model->mean + 3 * i, &distance);
        assert_true(distance < 1e-6f);
        assert_true(covariance_error(model, i, file.gaussians, j) < 0.03f); /* worst 0.012 */
        for (size_t k = 0; k < 3; k++) {
            assert_near(file.gaussians->sh[3 * j + k], model->sh[27 * i + k], 0.5f / 255 / 0.28f);
        }
    }
    assert_true(weight_of(file.gaussians, 0) > weight_of(file.gaussians, MODEL_SPLATS - 1));
    splat_file_free(&file);
    gaussians_destroy(&model);
    rt_bytes_free(&bytes);
}

static void cut_files_are_refused(void **state) {
    (void)state;
    static const char *const formats[] = {"ply", "spz", "splat"};
    for (int f = 0; f < 3; f++) {
        struct rt_bytes bytes = write_model(formats[f], f == 1 ? "rub" : "rdf", 2);
        char name[16];
        snprintf(name, sizeof name, "a.%s", formats[f]);
        for (size_t n = 0; n < bytes.n_bytes; n++) {
            if (f == 2 && n > 0 && n % 32 == 0) continue; /* a whole, shorter file */
            unsigned char *copy = malloc(n > 0 ? n : 1);
            struct splat_file file;
            struct rt_error err;
            memcpy(copy, bytes.bytes, n);
            assert_int_not_equal(splat_file_parse(copy, n, name, NULL, &file, &err), RT_OK);
            assert_null(file.gaussians);
            assert_non_null(err.code);
            free(copy);
        }
        rt_bytes_free(&bytes);
    }
}

static enum rt_status parse_text(const char *text, struct rt_error *err) {
    struct splat_file file;
    enum rt_status status = splat_file_parse(text, strlen(text), "a.ply", NULL, &file, err);
    if (status == RT_OK) splat_file_free(&file);
    return status;
}

static void headers_that_lie_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *code;
    } cases[] = {
        {"ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\nproperty float x\n"
         "end_header\n",
         "count-too-large"},
        {"ply\nformat binary_little_endian 1.0\nelement vertex 99999999999999999999999\n"
         "property float x\nend_header\n",
         "count-too-large"},
        {"ply\nformat ascii 1.0\nelement vertex 90000000\nproperty float x\nend_header\n1 2\n",
         "truncated"},
        {"ply\nformat ascii 1.0\nelement vertex 1\nproperty list uchar int x\nend_header\n1 2\n",
         "bad-header"},
        {"ply\nformat ascii 1.0\nelement face 4000000000\nproperty list uchar int i\n"
         "element vertex 1\nproperty float x\nend_header\n1 2\n",
         "truncated"},
        {"ply\nformat ascii 2.0\nend_header\n", "unsupported-version"},
        {"ply\nformat ascii 1.0\nelement vertex 0\nend_header\n", "missing-property"},
        {"ply\nelement vertex 1\nproperty float x\nend_header\n1\n", "bad-header"},
        {"ply\nformat ascii 1.0\nelement vertex -1\nend_header\n", "bad-header"},
        {"plx\n", "bad-magic"},
        {"ply\nformat ascii 1.0\n", "truncated"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rt_error err;
        assert_int_equal(parse_text(cases[i].text, &err), RT_BAD_FILE);
        assert_string_equal(err.code, cases[i].code);
    }
}

/* A count of 10^8 in a small file costs no memory: refused under 64 MiB of address space. */
static void counts_are_checked_before_memory(void **state) {
    (void)state;
    struct rt_error err;
    struct rlimit old;
    getrlimit(RLIMIT_DATA, &old);
#if !defined(__SANITIZE_ADDRESS__)
    struct rlimit low = {.rlim_cur = 64u << 20, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_DATA, &low), 0);
#endif
    const char *text =
        "ply\nformat binary_little_endian 1.0\nelement vertex 100000000\n"
        "property float x\nproperty float y\nproperty float z\nend_header\nabc";
    assert_int_equal(parse_text(text, &err), RT_BAD_FILE);
    setrlimit(RLIMIT_DATA, &old);
    assert_string_equal(err.code, "truncated");
}

static void elements_before_and_after_are_walked(void **state) {
    (void)state;
    static const char text[] =
        "ply\nformat ascii 1.0\ncomment retake_axes FLU\nobj_info anything\nelement camera 2\n"
        "property list uchar int ids\nproperty float f\nelement vertex 1\nproperty float x\n"
        "property float y\nproperty double z\nproperty float f_dc_0\nproperty float f_dc_1\n"
        "property float f_dc_2\nproperty float opacity\nproperty float scale_0\n"
        "property float scale_1\nproperty float rot_0\nproperty float rot_1\nproperty float rot_2\n"
        "property float rot_3\nelement face 1\nproperty list uchar int i\nend_header\n"
        "3 7 8 9 1.5\n0 2.5\n1 2 3 .1 .2 .3 inf -1 -inf 1 0 0 0\n3 0 0 0\n";
    struct splat_file file;
    struct rt_error err;
    assert_int_equal(splat_file_parse(text, sizeof text - 1, "a.ply", NULL, &file, &err), RT_OK);
    assert_string_equal(file.axes, "flu");
    assert_near(file.gaussians->mean[2], 3.0f, 0.0f);
    assert_near(file.gaussians->logit_opacity[0], 20.0f, 0.0f);
    assert_near(file.gaussians->log_scale[1], -20.0f, 0.0f); /* -Inf: flat, kept */
    assert_near(file.gaussians->log_scale[2], -20.0f, 0.0f); /* scale_2 absent: 2-D splats */
    splat_file_free(&file);
}

/* 24 coefficients per channel are cut to 15 by channel, not by the first 45 properties. */
static void degree_4_is_cut_by_channel(void **state) {
    (void)state;
    char text[8192];
    int n = snprintf(text, sizeof text, "ply\nformat ascii 1.0\nelement vertex 1\n");
    static const char *const names[] = {"x",      "y",       "z",       "f_dc_0", "f_dc_1",
                                        "f_dc_2", "opacity", "rot_0",   "rot_1",  "rot_2",
                                        "rot_3",  "scale_0", "scale_1", "scale_2"};
    for (int i = 0; i < 14; i++) {
        n += snprintf(text + n, sizeof text - (size_t)n, "property float %s\n", names[i]);
    }
    for (int i = 0; i < 72; i++) {
        n += snprintf(text + n, sizeof text - (size_t)n, "property float f_rest_%d\n", i);
    }
    n += snprintf(text + n, sizeof text - (size_t)n, "end_header\n0 0 0 0 0 0 0 1 0 0 0 -1 -1 -1");
    for (int i = 0; i < 72; i++) n += snprintf(text + n, sizeof text - (size_t)n, " %d", i);
    struct splat_file file;
    struct rt_error err;
    assert_int_equal(splat_file_parse(text, (size_t)n, "a.ply", NULL, &file, &err), RT_OK);
    assert_int_equal(file.gaussians->sh_degree, 3);
    assert_near(file.gaussians->sh[3], 0.0f, 0.0f);
    assert_near(file.gaussians->sh[4], 24.0f, 0.0f);
    assert_near(file.gaussians->sh[3 * 15 + 2], 48.0f + 14.0f, 0.0f);
    assert_int_equal(file.n_warnings, 1);
    splat_file_free(&file);
}

static void writers_refuse_the_unusable(void **state) {
    (void)state;
    struct gaussians *model = model_create(1);
    struct splat_write what = {.gaussians = model, .axes = "rdf"};
    struct rt_error err;
    model->sh[5] = NAN;
    assert_int_equal(splat_file_write("/tmp/never.ply", "ply", &what, NULL, &err), RT_DIVERGED);
    model->sh[5] = 0.0f;
    assert_int_equal(splat_file_write("/tmp/never.sog", "sog", &what, NULL, &err), RT_UNSUPPORTED);
    what.axes = "xyz";
    assert_int_equal(splat_file_write("/tmp/never.ply", "ply", &what, NULL, &err), RT_INVALID);
    assert_int_not_equal(access("/tmp/never.ply", F_OK), 0);
    gaussians_destroy(&model);
}

static void point_clouds(void **state) {
    (void)state;
    static const char text[] =
        "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
        "property float z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\n"
        "end_header\n1 2 3 255 0 7\nnan 0 0 1 1 1\n4 5 6 1 2 3\n";
    struct ply_points points;
    struct rt_error err;
    assert_int_equal(ply_points_parse(text, sizeof text - 1, &points, &err), RT_OK);
    assert_int_equal(points.n_points, 2);
    assert_int_equal(points.n_dropped, 1);
    assert_near(points.xyz[5], 6.0f, 0.0f);
    assert_int_equal(points.rgb[0], 255);
    assert_int_equal(points.rgb[5], 3);
    ply_points_free(&points);
    assert_int_equal(parse_text(text, &err), RT_BAD_FILE);
    assert_string_equal(err.code, "missing-property");
    assert_non_null(strstr(err.message, "point cloud"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(manifest_is_kept),
        cmocka_unit_test(compressed_ply_agrees_with_ply),
        cmocka_unit_test(opaque_splats_are_kept),
        cmocka_unit_test(quirks_hold_the_same_numbers),
        cmocka_unit_test(ply_keeps_everything),
        cmocka_unit_test(antimatter_keeps_what_it_can),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(headers_that_lie_are_refused),
        cmocka_unit_test(counts_are_checked_before_memory),
        cmocka_unit_test(elements_before_and_after_are_walked),
        cmocka_unit_test(degree_4_is_cut_by_channel),
        cmocka_unit_test(writers_refuse_the_unusable),
        cmocka_unit_test(point_clouds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
