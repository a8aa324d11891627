/* Patterns of routes, percent decoding, ranges, codings: pure functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "server/range.h"
#include "server/router.h"

static const struct http_route routes[] = {
    {.method = "GET", .pattern = "/v1/scenes"},
    {.method = "GET", .pattern = "/v1/scenes/{id}"},
    {.method = "PUT", .pattern = "/v1/scenes/{id}"},
    {.method = "GET", .pattern = "/v1/scenes/schema"}, /* behind the capture on purpose */
    {.method = "GET", .pattern = "/v1/scenes/{id}/frames/{sensor}/{at}.{ext}"},
    {.method = "GET", .pattern = "/v1/scenes/{id}/export.{ext}"},
    {.method = "GET", .pattern = "/v1/scenes/{id}/{mask}.png"},
    {.method = "POST", .pattern = "/v1/scenes/{id}/load"},
    {.method = "GET", .pattern = "/problems/{name}"},
    {.method = "GET", .pattern = "/js/{rest*}"},
    {0}};

static const char *found(const char *method, const char *path, char *params, size_t n_bytes) {
    struct route_match match;
    params[0] = 0;
    enum route_result result = router_find(routes, method, path, &match);
    if (result == ROUTE_NONE) return "none";
    if (result == ROUTE_OTHER_METHOD) return "method";
    for (int32_t i = 0; i < match.n_params; i++) {
        size_t used = strlen(params);
        snprintf(params + used, n_bytes - used, "%.*s=%.*s;", (int)match.params[i].name_length,
                 match.params[i].name, (int)match.params[i].length, path + match.params[i].at);
    }
    return match.route->pattern;
}

static void expect(const char *method, const char *path, const char *pattern, const char *params) {
    char text[256];
    assert_string_equal(found(method, path, text, sizeof text), pattern);
    assert_string_equal(text, params);
}

static void test_patterns(void **state) {
    (void)state;
    expect("GET", "/v1/scenes", "/v1/scenes", "");
    expect("GET", "/v1/scenes/", "none", "");
    expect("GET", "/v1/scenes/demo", "/v1/scenes/{id}", "id=demo;");
    expect("GET", "/v1/scenes/schema", "/v1/scenes/schema", "");
    expect("PUT", "/v1/scenes/schema", "/v1/scenes/{id}", "id=schema;");
    expect("HEAD", "/v1/scenes/demo", "/v1/scenes/{id}", "id=demo;");
    expect("get", "/v1/scenes/demo", "method", "");
    expect("DELETE", "/v1/scenes/demo", "method", "");
    expect("GET", "/v1/scenes/demo/load", "method", "");
    expect("GET", "/v1/scenes/demo/", "none", "");
    expect("GET", "//v1/scenes", "none", "");
    expect("GET", "/", "none", "");
    expect("GET", "/v1/scenes/a/b/c", "none", "");
}

static void test_captures(void **state) {
    (void)state;
    expect("GET", "/v1/scenes/d/frames/front:1/f0.jpg",
           "/v1/scenes/{id}/frames/{sensor}/{at}.{ext}", "id=d;sensor=front:1;at=f0;ext=jpg;");
    expect("GET", "/v1/scenes/d/frames/s/1.5.png", "/v1/scenes/{id}/frames/{sensor}/{at}.{ext}",
           "id=d;sensor=s;at=1.5;ext=png;");
    expect("GET", "/v1/scenes/d/frames/s/noext", "none", "");
    expect("GET", "/v1/scenes/d/frames/s/.png", "none", "");
    expect("GET", "/v1/scenes/d/frames/s/a.", "none", "");
    expect("GET", "/v1/scenes/d/export.ply", "/v1/scenes/{id}/export.{ext}", "id=d;ext=ply;");
    expect("GET", "/v1/scenes/d/export.", "none", "");
    expect("GET", "/v1/scenes/d/front.png", "/v1/scenes/{id}/{mask}.png", "id=d;mask=front;");
    expect("GET", "/js/a/b.js", "/js/{rest*}", "rest=a/b.js;");
    expect("GET", "/js/", "none", "");
}

static void test_allow(void **state) {
    (void)state;
    char text[64];
    router_allow(routes, "/v1/scenes/demo", text, sizeof text);
    assert_string_equal(text, "GET, HEAD, PUT");
    router_allow(routes, "/v1/scenes/demo/load", text, sizeof text);
    assert_string_equal(text, "POST");
    router_allow(routes, "/nothing", text, sizeof text);
    assert_string_equal(text, "");
}

static void test_decode(void **state) {
    (void)state;
    char out[32];
    assert_true(router_decode("a%20b+c%2B", 10, true, out));
    assert_string_equal(out, "a b c+");
    assert_true(router_decode("a+b", 3, false, out));
    assert_string_equal(out, "a+b");
    assert_false(router_decode("%4", 2, true, out));
    assert_false(router_decode("%", 1, true, out));
    assert_false(router_decode("%4x", 3, true, out));
    assert_true(router_decode("%41%42", 3, true, out)); /* stops at the length given */
    assert_string_equal(out, "A");
}

static void expect_range(const char *text, uint64_t size, enum range_result result, uint64_t begin,
                         uint64_t n_bytes) {
    uint64_t b, n;
    if (range_parse(text, size, &b, &n) != result) fail_msg("%s: other kind", text);
    if (result != RANGE_UNSATISFIABLE && (b != begin || n != n_bytes)) {
        fail_msg("%s: %llu + %llu", text, (unsigned long long)b, (unsigned long long)n);
    }
}

static void test_ranges(void **state) {
    (void)state;
    expect_range("bytes=0-0", 10, RANGE_PART, 0, 1);
    expect_range("bytes=0-", 10, RANGE_PART, 0, 10);
    expect_range("bytes=9-", 10, RANGE_PART, 9, 1);
    expect_range("bytes=5-100", 10, RANGE_PART, 5, 5);
    expect_range("bytes=-3", 10, RANGE_PART, 7, 3);
    expect_range("bytes=-30", 10, RANGE_PART, 0, 10);
    expect_range("bytes=10-", 10, RANGE_UNSATISFIABLE, 0, 0);
    expect_range("bytes=-0", 10, RANGE_UNSATISFIABLE, 0, 0);
    expect_range("bytes=0-", 0, RANGE_UNSATISFIABLE, 0, 0);
    expect_range("bytes=99999999999999999999-", 10, RANGE_UNSATISFIABLE, 0, 0);
    expect_range("bytes=0-99999999999999999999", 10, RANGE_PART, 0, 10);
    expect_range("bytes=5-4", 10, RANGE_WHOLE, 0, 10);
    expect_range("bytes=0-1,3-4", 10, RANGE_WHOLE, 0, 10);
    expect_range("bytes=-", 10, RANGE_WHOLE, 0, 10);
    expect_range("bytes=", 10, RANGE_WHOLE, 0, 10);
    expect_range("bytes=a-b", 10, RANGE_WHOLE, 0, 10);
    expect_range("lines=0-1", 10, RANGE_WHOLE, 0, 10);
    expect_range(NULL, 10, RANGE_WHOLE, 0, 10);
}

static void test_codings(void **state) {
    (void)state;
    assert_true(accepts_coding("gzip", "gzip"));
    assert_true(accepts_coding("br, GZIP;q=0.5", "gzip"));
    assert_true(accepts_coding("*", "gzip"));
    assert_false(accepts_coding("gzip;q=0", "gzip"));
    assert_false(accepts_coding("gzip;q=0.000, *", "gzip"));
    assert_false(accepts_coding("x-gzip, gzipped", "gzip"));
    assert_false(accepts_coding("", "gzip"));
    assert_false(accepts_coding(NULL, "gzip"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns), cmocka_unit_test(test_captures),
        cmocka_unit_test(test_allow),    cmocka_unit_test(test_decode),
        cmocka_unit_test(test_ranges),   cmocka_unit_test(test_codings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
