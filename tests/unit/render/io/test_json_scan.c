#include "render/io/json_scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/io/json_parse.h"

static const char *code_of(const char *text, const struct json_limits *limits) {
    struct rt_error err;
    rt_error_clear(&err);
    return json_scan(text, strlen(text), limits, &err) == RT_OK ? "ok" : err.code;
}

static struct json_limits tiny(void) {
    return (struct json_limits){.max_bytes = 200,
                                .max_depth = 3,
                                .max_values = 4,
                                .max_number_bytes = 5,
                                .max_string_bytes = 6};
}

/* Both sides of every limit. */
static void test_limits(void **state) {
    (void)state;
    struct json_limits limits = tiny();
    assert_string_equal(code_of("[[[]]]", &limits), "ok");
    assert_string_equal(code_of("[[[[]]]]", &limits), "limit");
    assert_string_equal(code_of("[1,2,3]", &limits), "ok");
    assert_string_equal(code_of("[1,2,3,4]", &limits), "limit");
    assert_string_equal(code_of("12345", &limits), "ok");
    assert_string_equal(code_of("123456", &limits), "limit");
    assert_string_equal(code_of("\"123456\"", &limits), "ok");
    assert_string_equal(code_of("\"1234567\"", &limits), "limit");
    limits.max_bytes = 3;
    assert_string_equal(code_of("[ ]", &limits), "ok");
    assert_string_equal(code_of("[  ]", &limits), "limit");
}

static void test_keys_do_not_count_but_colons_buy_nothing(void **state) {
    (void)state;
    struct json_limits limits = tiny();
    assert_string_equal(code_of("{\"a\":1,\"b\" : 2,\"c\":3}", &limits), "ok");
    assert_string_equal(code_of("{\"a\":1,\"b\":2,\"c\":3,\"d\":4}", &limits), "limit");
    assert_string_equal(code_of("[:::::1,2,3,4]", &limits), "limit");
    assert_string_equal(code_of("]]]][[[[", &limits), "limit");
}

static void test_strings_hide_brackets(void **state) {
    (void)state;
    struct json_limits limits = tiny();
    assert_string_equal(code_of("\"[[[[[\"", &limits), "ok");
    assert_string_equal(code_of("\"\\\"[[[\"", &limits), "ok");
    assert_string_equal(code_of("\"abc", &limits), "truncated");
    assert_string_equal(code_of("\"abc\\", &limits), "truncated");
    assert_string_equal(code_of("[[1]", &limits), "truncated");
}

/* promises.md case 41: 60,000 brackets must not reach a recursive parser. */
static void case_41_brackets_and_fragments(void **state) {
    (void)state;
    struct json_limits limits = json_limits_body(0);
    char *text = malloc(60001);
    memset(text, '[', 60000);
    text[60000] = 0;
    assert_string_equal(code_of(text, &limits), "limit");
    free(text);
    static const char *const bad[] = {
        "{:",  "{",   "",        "{\"a\":}", "[1,]", "{\"a\":1,\"a\":2}", "[\"\\u0000\"]",
        "1 2", "nul", "[1e400]", "\xff"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        json_t *root = NULL;
        struct rt_error err;
        rt_error_clear(&err);
        assert_int_equal(json_parse(bad[i], strlen(bad[i]), &limits, &root, &err), RT_BAD_FILE);
        assert_null(root);
        assert_non_null(err.code);
    }
    json_t *root = NULL;
    assert_int_equal(json_parse("{\"a\":null}", 10, &limits, &root, NULL), RT_OK);
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_keys_do_not_count_but_colons_buy_nothing),
        cmocka_unit_test(test_strings_hide_brackets),
        cmocka_unit_test(case_41_brackets_and_fragments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
