/* SPZ against the files of other writers, against the same model as PLY, and against itself. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <zlib.h>

#include "render/io/splat_format.h"

static const char *data_path(const char *name) {
    static char path[4096];
    const char *folder = getenv("RETAKE_TEST_DATA");
    snprintf(path, sizeof path, "%s/splats/%s", folder ? folder : "../shared/data", name);
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fclose(file);
    return path;
}

static struct splat_file read_data(const char *name) {
    struct splat_file file;
    struct rt_error err;
    const char *path = data_path(name);
    if (!path) fail_msg("%s is missing", name);
    if (splat_file_read(path, NULL, &file, &err) != RT_OK) fail_msg("%s", err.message);
    return file;
}

static void check_entry(const char *name, const json_t *entry) {
    const char *path = data_path(name);
    struct splat_file file;
    struct rt_error err;
    if (!path) fail_msg("%s is missing", name);
    enum rt_status status = splat_file_read(path, NULL, &file, &err);
    if (json_object_get(entry, "refuse")) {
        assert_int_equal(status, RT_BAD_FILE);
        return;
    }
    if (status != RT_OK) fail_msg("%s: %s", name, err.message);
    assert_string_equal(file.format, json_string_value(json_object_get(entry, "format")));
    assert_int_equal(file.gaussians->n_gaussians,
                     json_integer_value(json_object_get(entry, "splats")));
    assert_int_equal(file.gaussians->sh_degree,
                     json_integer_value(json_object_get(entry, "sh_degree")));
    assert_string_equal(file.axes, "rub");
    splat_file_free(&file);
}

static void test_manifest(void **state) {
    (void)state;
    const char *path = data_path("manifest.json");
    if (!path) skip();
    json_t *manifest = json_load_file(path, 0, NULL);
    const char *name;
    json_t *entry;
    int n = 0;
    json_object_foreach(manifest, name, entry) {
        if (!strstr(name, ".spz")) continue;
        check_entry(name, entry);
        n++;
    }
    assert_true(n >= 8);
    json_decref(manifest);
}

static float opacity(float logit) { return 1.0f / (1.0f + expf(-logit)); }

/* R s^2 R^T, row by row: quaternions of one ellipsoid are not unique, this is. */
static void covariance(const struct gaussians *g, size_t i, double out[9]) {
    const float *p = g->quat + 4 * i;
    double n = sqrt((double)(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]));
    double w = (double)p[0] / n, x = (double)p[1] / n, y = (double)p[2] / n, z = (double)p[3] / n;
    double r[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                   2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                   2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    for (int a = 0; a < 9; a++) {
        out[a] = 0;
        for (int k = 0; k < 3; k++) {
            double s2 = exp(2 * (double)g->log_scale[3 * i + (size_t)k]);
            out[a] += r[a / 3 * 3 + k] * s2 * r[a % 3 * 3 + k];
        }
    }
}

/* |A - F B F| / |B| with F = diag(1, -1, -1). */
static double covariance_error(const struct gaussians *a, const struct gaussians *b, size_t i) {
    double A[9], B[9], difference = 0, size = 0;
    covariance(a, i, A);
    covariance(b, i, B);
    for (int k = 0; k < 9; k++) {
        double sign = (k / 3 == 0) == (k % 3 == 0) ? 1 : -1;
        difference += (A[k] - sign * B[k]) * (A[k] - sign * B[k]);
        size += B[k] * B[k];
    }
    return sqrt(difference / size);
}

static int compare_double(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Signs of degree 1 and 2 for axes (1, -1, -1): y z x | xy yz 1 xz 1. */
static double sh_rms(const struct gaussians *a, const struct gaussians *b) {
    static const int sign[9] = {1, -1, -1, 1, -1, 1, 1, -1, 1};
    double sum = 0;
    for (size_t i = 0; i < 27 * (size_t)a->n_gaussians; i++) {
        if (i % 27 < 3) continue;
        double d = (double)a->sh[i] - sign[i % 27 / 3] * (double)b->sh[i];
        sum += d * d;
    }
    return sqrt(sum / (24.0 * a->n_gaussians));
}

static void compare_models(const char *spz_name) {
    struct splat_file spz = read_data(spz_name);
    struct splat_file ply = read_data("derived_playbot/playbot6_sh2_native.ply");
    const struct gaussians *a = spz.gaussians, *b = ply.gaussians;
    size_t n = (size_t)b->n_gaussians;
    assert_int_equal(a->n_gaussians, b->n_gaussians);
    float most_mean = 0, most_scale = 0, most_opacity = 0;
    double *errors = malloc(n * sizeof *errors);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < 3; k++) {
            float mean = b->mean[3 * i + k] * (k == 0 ? 1.0f : -1.0f);
            most_mean = fmaxf(most_mean, fabsf(a->mean[3 * i + k] - mean));
            float scale = fabsf(a->log_scale[3 * i + k] - b->log_scale[3 * i + k]);
            most_scale = fmaxf(most_scale, scale);
        }
        float difference = opacity(a->logit_opacity[i]) - opacity(b->logit_opacity[i]);
        most_opacity = fmaxf(most_opacity, fabsf(difference));
        errors[i] = covariance_error(a, b, i);
    }
    qsort(errors, n, sizeof *errors, compare_double);
    print_message("%s: mean %.2g, log scale %.3f, opacity %.4f, covariance %.4f, SH rms %.4f\n",
                  spz_name, (double)most_mean, (double)most_scale, (double)most_opacity,
                  errors[n / 2], sh_rms(a, b));
    assert_true(most_mean <= 1.2f * 2.0e-4f);
    assert_true(most_scale <= 1.2f * 0.031f);
    assert_true(most_opacity <= 1.2f * 0.004f);
    assert_true(errors[n / 2] <= 1.2 * 0.033);
    assert_true(sh_rms(a, b) <= 1.2 * 0.030);
    free(errors);
    splat_file_free(&spz);
    splat_file_free(&ply);
}

static void test_agrees_with_ply(void **state) {
    (void)state;
    if (!data_path("manifest.json")) skip();
    compare_models("derived_playbot/playbot6_sh2_v3.spz");
    compare_models("derived_playbot/playbot6_sh2_v4.spz");
}

static float between(uint64_t *seed, float low, float high) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (float)(*seed >> 40) / 16777216.0f;
}

static struct gaussians *make_splats(int32_t n, int32_t degree) {
    struct gaussians *g;
    uint64_t seed = 7;
    assert_int_equal(gaussians_create(&g, n, n, degree, NULL), RT_OK);
    size_t count = (size_t)n;
    for (size_t i = 0; i < 3 * count; i++) g->mean[i] = between(&seed, -100, 100);
    for (size_t i = 0; i < 3 * count; i++) g->log_scale[i] = between(&seed, -9, 2);
    for (size_t i = 0; i < 4 * count; i++) g->quat[i] = between(&seed, -1, 1);
    for (size_t i = 0; i < count; i++) g->logit_opacity[i] = between(&seed, -4, 4);
    size_t n_sh = 3 * (size_t)sh_count(degree);
    for (size_t i = 0; i < n_sh * count; i++) g->sh[i] = between(&seed, -0.8f, 0.8f);
    return g;
}

static struct rt_bytes encode(const struct splat_write *what) {
    struct rt_bytes bytes;
    struct rt_error err;
    if (splat_spz_encode(what, &bytes, &err) != RT_OK) fail_msg("%s", err.message);
    return bytes;
}

static struct splat_file parse(const struct rt_bytes *bytes) {
    struct splat_file file;
    struct rt_error err;
    if (splat_file_parse(bytes->bytes, bytes->n_bytes, "", NULL, &file, &err) != RT_OK) {
        fail_msg("%s", err.message);
    }
    return file;
}

static void expect_close(const float *a, const float *b, size_t n, float tolerance) {
    for (size_t i = 0; i < n; i++) {
        if (!(fabsf(a[i] - b[i]) <= tolerance)) {
            fail_msg("value %zu: %g and %g", i, (double)a[i], (double)b[i]);
        }
    }
}

static void expect_same_turns(const struct gaussians *a, const struct gaussians *b) {
    for (size_t i = 0; i < (size_t)a->n_gaussians; i++) {
        float dot = 0, aa = 0, bb = 0;
        for (size_t k = 4 * i; k < 4 * i + 4; k++) {
            dot += a->quat[k] * b->quat[k];
            aa += a->quat[k] * a->quat[k];
            bb += b->quat[k] * b->quat[k];
        }
        assert_true(fabsf(dot) >= 0.99999f * sqrtf(aa * bb));
    }
}

static void expect_sh(const struct gaussians *a, const struct gaussians *b, int32_t sh_bits) {
    size_t n_sh = 3 * (size_t)sh_count(a->sh_degree);
    for (size_t i = 0; i < n_sh * (size_t)a->n_gaussians; i++) {
        size_t k = i % n_sh;
        int32_t n_bits = sh_bits > 0 ? sh_bits : k < 12 ? 5 : 4;
        float step = k < 3 ? 1.0f / 255.0f / 0.15f : (float)(1 << (8 - n_bits)) / 128.0f;
        expect_close(a->sh + i, b->sh + i, 1, 0.5001f * step);
    }
}

static void round_trip(int32_t degree, int32_t sh_bits, const char *axes, bool antialiased) {
    struct gaussians *g = make_splats(200, degree);
    struct splat_write what = {
        .gaussians = g, .axes = axes, .antialiased = antialiased, .spz_sh_bits = sh_bits};
    struct rt_bytes bytes = encode(&what);
    struct splat_file file = parse(&bytes);
    assert_string_equal(file.format, "spz v4");
    assert_string_equal(file.axes, axes);
    assert_int_equal(file.antialiased, antialiased);
    assert_int_equal(file.n_warnings, 0);
    assert_int_equal(file.gaussians->n_gaussians, 200);
    assert_int_equal(file.gaussians->sh_degree, degree);
    expect_close(file.gaussians->mean, g->mean, 600, 0.501f / 4096);
    expect_close(file.gaussians->log_scale, g->log_scale, 600, 0.501f / 16);
    for (size_t i = 0; i < 200; i++) {
        float a = opacity(file.gaussians->logit_opacity[i]), b = opacity(g->logit_opacity[i]);
        expect_close(&a, &b, 1, 0.501f / 255);
    }
    expect_same_turns(file.gaussians, g);
    expect_sh(file.gaussians, g, sh_bits);
    splat_file_free(&file);
    rt_bytes_free(&bytes);
    gaussians_destroy(&g);
}

static void test_round_trip(void **state) {
    (void)state;
    round_trip(0, 0, "rub", false);
    round_trip(1, 0, "rdf", true);
    round_trip(2, 8, "luf", false);
    round_trip(3, 0, "rub", true);
    round_trip(3, 8, "rdf", true);
}

static void test_far_positions(void **state) {
    (void)state;
    struct gaussians *g = make_splats(2, 0);
    struct splat_write what = {.gaussians = g, .axes = "rub"};
    g->mean[0] = -5000.25f; /* beyond 2,048 m: 10 fractional bits */
    struct rt_bytes bytes = encode(&what);
    assert_int_equal(((unsigned char *)bytes.bytes)[13], 10);
    struct splat_file file = parse(&bytes);
    assert_float_equal(file.gaussians->mean[0], -5000.25f, 1e-3f);
    splat_file_free(&file);
    rt_bytes_free(&bytes);
    g->mean[0] = 9e6f;
    assert_int_equal(splat_spz_encode(&what, &bytes, NULL), RT_INVALID);
    what.axes = "flu";
    assert_int_equal(splat_spz_encode(&what, &bytes, NULL), RT_INVALID);
    gaussians_destroy(&g);
}

/* Axes 1 = left, down, back: half a turn about z, which we read as right, up, back. */
static void test_other_axes(void **state) {
    (void)state;
    struct gaussians *g = make_splats(20, 2);
    struct splat_write what = {.gaussians = g, .axes = "rdf", .spz_sh_bits = 8};
    struct rt_bytes bytes = encode(&what);
    struct splat_file plain = parse(&bytes), turned;
    unsigned char *value = (unsigned char *)bytes.bytes + 40;
    assert_int_equal(*value, 6);
    *value = 1;
    turned = parse(&bytes);
    assert_string_equal(turned.axes, "rub");
    static const float mean_sign[3] = {-1, -1, 1}, quat_sign[4] = {1, -1, -1, 1};
    static const float sh_sign[9] = {1, -1, 1, -1, 1, -1, 1, -1, 1};
    for (size_t i = 0; i < 20 * 27; i++) {
        float expected = plain.gaussians->sh[i] * sh_sign[i % 27 / 3];
        expect_close(turned.gaussians->sh + i, &expected, 1, 0);
        if (i < 60) {
            expected = plain.gaussians->mean[i] * mean_sign[i % 3];
            expect_close(turned.gaussians->mean + i, &expected, 1, 0);
        }
        if (i < 80) {
            expected = plain.gaussians->quat[i] * quat_sign[i % 4];
            expect_close(turned.gaussians->quat + i, &expected, 1, 0);
        }
    }
    struct splat_file file;
    struct rt_error err;
    *value = 9;
    assert_int_equal(splat_file_parse(bytes.bytes, bytes.n_bytes, "", NULL, &file, &err),
                     RT_UNSUPPORTED);
    *value = 17;
    assert_int_equal(splat_file_parse(bytes.bytes, bytes.n_bytes, "", NULL, &file, &err),
                     RT_BAD_FILE);
    splat_file_free(&plain);
    splat_file_free(&turned);
    rt_bytes_free(&bytes);
    gaussians_destroy(&g);
}

/* One gzip member of `n_bytes`. */
static struct rt_bytes gzip(const unsigned char *from, size_t n_bytes) {
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY), Z_OK);
    size_t most = deflateBound(&stream, n_bytes);
    struct rt_bytes out = {.bytes = malloc(most)};
    unsigned char *copy = malloc(n_bytes);
    memcpy(copy, from, n_bytes);
    stream.next_in = copy;
    stream.avail_in = (uInt)n_bytes;
    stream.next_out = out.bytes;
    stream.avail_out = (uInt)most;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out.n_bytes = stream.total_out;
    deflateEnd(&stream);
    free(copy);
    return out;
}

/* SPZ v1-v3 of degree 0 with splat 0 at (1, 2, -0.5), half opaque, and `n_more` bytes after it. */
static struct rt_bytes old_spz(uint32_t version, uint32_t n, unsigned char flags, size_t n_more) {
    unsigned char raw[256] = "NGSP";
    unsigned char *bytes = calloc(1, sizeof raw + n_more);
    raw[4] = (unsigned char)version;
    for (int k = 0; k < 4; k++) raw[8 + k] = (unsigned char)(n >> (8 * k));
    raw[13] = 12;
    raw[14] = flags;
    static const unsigned char half[6] = {0x00, 0x3c, 0x00, 0x40, 0x00, 0xb8};
    static const unsigned char fixed[9] = {0, 0x10, 0, 0, 0x20, 0, 0, 0xf8, 0xff};
    size_t at = 16, n_position = version == 1 ? 6 : 9;
    memcpy(raw + at, version == 1 ? half : fixed, n_position);
    at += n_position;
    raw[at++] = 51; /* 0.2 */
    for (int k = 0; k < 6; k++) raw[at++] = 160;
    for (int k = 0; k < (version == 3 ? 4 : 3); k++) raw[at++] = 0xff;
    memcpy(bytes, raw, at);
    struct rt_bytes packed = gzip(bytes, at + n_more);
    free(bytes);
    return packed;
}

static void test_old_versions(void **state) {
    (void)state;
    for (uint32_t version = 1; version <= 3; version++) {
        struct rt_bytes bytes = old_spz(version, 1, 1, version == 3 ? 5 : 0);
        struct splat_file file = parse(&bytes);
        static const float mean[3] = {1, 2, -0.5f};
        expect_close(file.gaussians->mean, mean, 3, 0);
        assert_float_equal(file.gaussians->logit_opacity[0], logf(0.25f), 1e-5f);
        assert_float_equal(file.gaussians->log_scale[1], 0, 0);
        assert_float_equal(file.gaussians->sh[2], (160 / 255.0f - 0.5f) / 0.15f, 1e-6f);
        float x = file.gaussians->quat[1], w = file.gaussians->quat[0];
        assert_float_equal(x, version == 3 ? -0.70710678f : 1.0f, 1e-6f);
        assert_float_equal(w, 0.0f, 1e-3f);
        assert_true(file.antialiased);
        assert_int_equal(file.n_warnings, version == 3 ? 1 : 0); /* bytes after the splats */
        splat_file_free(&file);
        rt_bytes_free(&bytes);
    }
}

static void refuse(const void *bytes, size_t n_bytes, const char *code) {
    struct splat_file file;
    struct rt_error err;
    rt_error_clear(&err);
    unsigned char *exact = malloc(n_bytes > 0 ? n_bytes : 1); /* so that asan sees the end */
    memcpy(exact, bytes, n_bytes);
    enum rt_status status = splat_file_parse(exact, n_bytes, "", NULL, &file, &err);
    free(exact);
    if (status != RT_BAD_FILE) fail_msg("%zu bytes: %s", n_bytes, rt_status_name(status));
    if (code && strcmp(err.code, code) != 0) fail_msg("%s: %s", err.code, err.message);
}

static void test_truncation(void **state) {
    (void)state;
    struct gaussians *g = make_splats(3, 1);
    struct splat_write what = {.gaussians = g, .axes = "rdf"};
    struct rt_bytes v4 = encode(&what), v3 = old_spz(3, 1, 0, 0);
    for (size_t n = 0; n < v4.n_bytes; n++) {
        refuse(v4.bytes, n, n == 0 ? "empty" : n < 4 ? "bad-magic" : "truncated");
    }
    for (size_t n = 0; n < v3.n_bytes; n++) {
        refuse(v3.bytes, n, n == 0 ? "empty" : n < 2 ? "bad-magic" : "truncated");
    }
    rt_bytes_free(&v3);
    rt_bytes_free(&v4);
    gaussians_destroy(&g);
}

static void set_byte(struct rt_bytes *bytes, size_t at, int value) {
    ((unsigned char *)bytes->bytes)[at] = (unsigned char)value;
}

static void test_faults_v4(void **state) {
    (void)state;
    static const struct {
        size_t at;
        int value;
        const char *code;
    } faults[] = {{4, 5, "unsupported-version"}, {12, 5, "bad-header"},     {12, 0, "bad-header"},
                  {13, 32, "bad-header"},        {15, 5, "bad-header"},     {16, 31, "bad-header"},
                  {18, 1, "truncated"},          {8, 0, "empty"},           {8, 4, "bad-header"},
                  {11, 0xee, "count-too-large"}, {10, 9, "count-too-large"}};
    struct gaussians *g = make_splats(3, 1);
    struct splat_write what = {.gaussians = g, .axes = "rub"};
    for (size_t k = 0; k < sizeof faults / sizeof faults[0]; k++) {
        struct rt_bytes bytes = encode(&what);
        set_byte(&bytes, faults[k].at, faults[k].value);
        refuse(bytes.bytes, bytes.n_bytes, faults[k].code);
        rt_bytes_free(&bytes);
    }
    struct rt_bytes bytes = encode(&what);
    unsigned char *longer = malloc(bytes.n_bytes + 1);
    memcpy(longer, bytes.bytes, bytes.n_bytes);
    longer[bytes.n_bytes] = 0;
    refuse(longer, bytes.n_bytes + 1, "bad-header");
    longer[bytes.n_bytes - 1] ^= 1; /* may still be a frame: must not crash */
    struct splat_file file;
    splat_file_parse(longer, bytes.n_bytes, "", NULL, &file, NULL);
    splat_file_free(&file);
    free(longer);
    rt_bytes_free(&bytes);
    gaussians_destroy(&g);
}

static void test_bombs(void **state) {
    (void)state;
    static const uint32_t counts[] = {0, 4000000000u, 2147483648u, 90000000u, 1000000u};
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        struct rt_bytes bytes = old_spz(3, counts[k], 0, 0);
        refuse(bytes.bytes, bytes.n_bytes, counts[k] ? "count-too-large" : "empty");
        rt_bytes_free(&bytes);
    }
    struct rt_bytes bomb = old_spz(3, 1, 0, 64 << 20); /* 1,029 times its size */
    refuse(bomb.bytes, bomb.n_bytes, "limit");
    rt_bytes_free(&bomb);
    bomb = old_spz(4, 1, 0, 0);
    refuse(bomb.bytes, bomb.n_bytes, "unsupported-version");
    rt_bytes_free(&bomb);
    bomb = gzip((const unsigned char *)"nothing of ours", 16);
    refuse(bomb.bytes, bomb.n_bytes, "bad-magic");
    rt_bytes_free(&bomb);
}

static void test_cut_degree_4(void **state) {
    (void)state;
    enum { SH_AT = 16 + 2 * 20 };
    unsigned char raw[SH_AT + 2 * 72] = "NGSP";
    raw[4] = 3;
    raw[8] = 2;
    raw[12] = 4;
    for (int k = 0; k < 2 * 72; k++) raw[SH_AT + k] = (unsigned char)(56 + k);
    struct rt_bytes bytes = gzip(raw, sizeof raw);
    struct splat_file file = parse(&bytes);
    assert_int_equal(file.gaussians->sh_degree, 3);
    for (int k = 0; k < 45; k++) {
        assert_float_equal(file.gaussians->sh[3 + k], (float)(k - 72) / 128.0f, 0);
        assert_float_equal(file.gaussians->sh[48 + 3 + k], (float)k / 128.0f, 0);
    }
    assert_true(file.n_warnings >= 1);
    splat_file_free(&file);
    rt_bytes_free(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_manifest),   cmocka_unit_test(test_agrees_with_ply),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_far_positions),
        cmocka_unit_test(test_other_axes), cmocka_unit_test(test_old_versions),
        cmocka_unit_test(test_truncation), cmocka_unit_test(test_faults_v4),
        cmocka_unit_test(test_bombs),      cmocka_unit_test(test_cut_degree_4),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
