/* One table of options: precedence, kinds, bounds, messages, help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "server/options.h"

static const struct option table[] = {
    {"listen", OPTION_TEXT, "127.0.0.1:8080", "HOST:PORT", "address to serve on", 0, 0, false},
    {"max-uploads", OPTION_INTEGER, "8", "N", "uploads at once", 1, 64, false},
    {"memory-bytes", OPTION_BYTES, NULL, "BYTES", "budget for scenes", 0, 0, false},
    {"scale", OPTION_NUMBER, "0.5", "X", "a factor", 0, 1, false},
    {"demo", OPTION_FLAG, "false", NULL, "with a synthetic scene", 0, 0, false},
    {"public-host", OPTION_LIST, NULL, "NAME", "further host name", 0, 0, false},
    {"token-file", OPTION_TEXT, NULL, "FILE", "access tokens", 0, 0, true},
    {0}};

static const struct options_spec spec = {.command = "retake test",
                                         .arguments = "FOLDER",
                                         .text = "Tests.",
                                         .table = table,
                                         .max_arguments = 1};

static struct rt_error err;

static enum rt_status parse(struct options **out, const char *line) {
    char text[512], *argv[32] = {(char[]){"test"}};
    int argc = 1;
    snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
    memset(&err, 0, sizeof err);
    *out = NULL;
    enum rt_status status = options_parse(out, &spec, argc, argv, &err);
    /* positional arguments point into argv: copy what is looked at here */
    if (status == RT_OK && options_argument(*out, 0)) {
        assert_string_equal(options_argument(*out, 0), "folder");
    }
    return status;
}

static void test_flag_beats_environment_beats_default(void **state) {
    (void)state;
    struct options *o;
    setenv("RETAKE_MAX_UPLOADS", "3", 1);
    setenv("RETAKE_LISTEN", "[::1]:1", 1);
    assert_int_equal(parse(&o, "--listen=127.0.0.2:9 folder --demo"), RT_OK);
    assert_string_equal(options_text(o, "listen"), "127.0.0.2:9");
    assert_int_equal(options_integer(o, "max-uploads"), 3);
    assert_true(options_flag(o, "demo"));
    assert_true(options_number(o, "scale") == 0.5);
    assert_null(options_text(o, "memory-bytes"));
    assert_int_equal(options_n_arguments(o), 1);
    const char *value;
    enum option_origin origin;
    assert_string_equal(options_report(o, 1, &value, &origin), "max-uploads");
    assert_string_equal(option_origin_name(origin), "environment");
    assert_string_equal(options_report(o, 0, &value, &origin), "listen");
    assert_string_equal(option_origin_name(origin), "flag");
    assert_null(options_report(o, 7, &value, &origin));
    options_free(&o);
    unsetenv("RETAKE_MAX_UPLOADS");
    unsetenv("RETAKE_LISTEN");
}

static void test_kinds(void **state) {
    (void)state;
    struct options *o;
    const char *value;
    enum option_origin origin;
    assert_int_equal(
        parse(&o, "--memory-bytes 4GiB --public-host a --public-host b --no-demo --token-file x"),
        RT_OK);
    assert_true(options_integer(o, "memory-bytes") == 4ll << 30);
    assert_string_equal(options_list(o, "public-host")[0], "a");
    assert_string_equal(options_list(o, "public-host")[1], "b");
    assert_null(options_list(o, "public-host")[2]);
    assert_false(options_flag(o, "demo"));
    options_report(o, 6, &value, &origin);
    assert_string_equal(value, "set"); /* a secret is never shown */
    options_free(&o);
    setenv("RETAKE_PUBLIC_HOST", "c,d", 1);
    assert_int_equal(parse(&o, ""), RT_OK);
    assert_string_equal(options_list(o, "public-host")[1], "d");
    options_free(&o);
    assert_int_equal(parse(&o, "--public-host e"), RT_OK); /* replaces the environment */
    assert_string_equal(options_list(o, "public-host")[0], "e");
    assert_null(options_list(o, "public-host")[1]);
    options_free(&o);
    unsetenv("RETAKE_PUBLIC_HOST");
}

static void expect_message(const char *line, const char *part) {
    struct options *o;
    assert_int_equal(parse(&o, line), RT_INVALID);
    assert_null(o);
    if (!strstr(err.message, part)) fail_msg("\"%s\" does not say \"%s\"", err.message, part);
}

static void test_messages(void **state) {
    (void)state;
    expect_message("--max-upload 3", "did you mean --max-uploads?");
    expect_message("--lissen x", "did you mean --listen?");
    expect_message("--quantum", "unknown option --quantum; see retake test --help");
    expect_message("--max-uploads 65", "--max-uploads: \"65\" is not an integer from 1 to 64");
    expect_message("--max-uploads 3x", "\"3x\"");
    expect_message("--max-uploads", "--max-uploads needs a value: --max-uploads N");
    expect_message("--listen --demo", "--listen needs a value");
    expect_message("--memory-bytes 9999999999TiB", "number of bytes");
    expect_message("--memory-bytes -1", "number of bytes");
    expect_message("--scale nan", "a number from 0 to 1");
    expect_message("--demo=perhaps", "true or false");
    expect_message("folder more", "unexpected argument \"more\"");
    expect_message("-x", "two dashes");
    expect_message("--no-listen", "unknown option");
    setenv("RETAKE_MAX_UPLOADS", "many", 1);
    expect_message("", "RETAKE_MAX_UPLOADS: \"many\"");
    unsetenv("RETAKE_MAX_UPLOADS");
}

static void test_help_lists_every_option(void **state) {
    (void)state;
    struct options *o;
    char text[4096] = "";
    assert_int_equal(parse(&o, "--nonsense --help"), RT_OK);
    assert_true(options_help_wanted(o));
    options_free(&o);
    FILE *out = fmemopen(text, sizeof text, "w");
    options_print_help(&spec, out);
    fclose(out);
    for (const struct option *option = table; option->name; option++) {
        assert_non_null(strstr(text, option->name));
        assert_non_null(strstr(text, option->text));
    }
    assert_non_null(strstr(text, "usage: retake test FOLDER [OPTIONS]"));
    assert_non_null(strstr(text, "[127.0.0.1:8080]"));
    assert_non_null(strstr(text, "RETAKE_LISTEN"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flag_beats_environment_beats_default),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_help_lists_every_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
