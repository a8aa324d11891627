/* The Prometheus text: values, labels, buckets, the standard process metrics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/metrics.h"

static char *text;

static void expect_line(const char *line) {
    size_t n = strlen(line);
    for (const char *at = text; (at = strstr(at, line)); at += n) {
        if ((at == text || at[-1] == '\n') && at[n] == '\n') return;
    }
    fail_msg("no line \"%s\" in\n%s", line, text);
}

static double value_of(const char *name) {
    char start[128];
    snprintf(start, sizeof start, "\n%s ", name);
    const char *at = strstr(text, start);
    if (!at) fail_msg("no %s", name);
    return at ? strtod(at + strlen(start), NULL) : 0;
}

static void test_text(void **state) {
    (void)state;
    struct metrics *m = NULL;
    size_t n;
    assert_int_equal(metrics_create(&m, NULL), RT_OK);
    struct metric *requests = metrics_counter(m, "x_total", "Requests", "route,code");
    metric_add(requests, 1, (const char *const[]){"/a", "200"});
    metric_add(requests, 2, (const char *const[]){"/a", "200"});
    metric_add(requests, 1, (const char *const[]){"q\"b\\\n", "500"});
    struct metric *gauge = metrics_gauge(m, "x_bytes", "Bytes", "");
    metric_set(gauge, 1.5e10, NULL);
    metric_set(metrics_gauge(m, "x_nan", "No number", ""), NAN, NULL);
    metric_set(metrics_gauge(m, "x_inf", "No number", ""), -INFINITY, NULL);
    struct metric *seconds = metrics_histogram(m, "x_seconds", "Time", "kind");
    metric_observe(seconds, 0.002, (const char *const[]){"a"});
    metric_observe(seconds, 0.01, (const char *const[]){"a"}); /* on a bound: counts within */
    metric_observe(seconds, 100, (const char *const[]){"a"});
    assert_ptr_equal(metrics_gauge(m, "x_bytes", "Bytes", ""), gauge);
    metric_add(NULL, 1, NULL);
    assert_int_equal(metrics_text(m, &text, &n, NULL), RT_OK);
    assert_int_equal(strlen(text), n);
    expect_line("# TYPE x_total counter");
    expect_line("x_total{route=\"/a\",code=\"200\"} 3");
    expect_line("x_total{route=\"q\\\"b\\\\\\n\",code=\"500\"} 1");
    expect_line("x_bytes 15000000000");
    expect_line("x_nan NaN");
    expect_line("x_inf -Inf");
    expect_line("x_seconds_bucket{kind=\"a\",le=\"0.001\"} 0");
    expect_line("x_seconds_bucket{kind=\"a\",le=\"0.0025\"} 1");
    expect_line("x_seconds_bucket{kind=\"a\",le=\"0.01\"} 2");
    expect_line("x_seconds_bucket{kind=\"a\",le=\"60\"} 2");
    expect_line("x_seconds_bucket{kind=\"a\",le=\"+Inf\"} 3");
    expect_line("x_seconds_count{kind=\"a\"} 3");
    free(text);
    metrics_destroy(&m);
}

static void test_process(void **state) {
    (void)state;
    struct metrics *m = NULL;
    size_t n;
    assert_int_equal(metrics_create(&m, NULL), RT_OK);
    assert_int_equal(metrics_text(m, &text, &n, NULL), RT_OK);
    assert_true(value_of("process_resident_memory_bytes") > 1e5);
    assert_true(value_of("process_open_fds") >= 3);
    assert_true(value_of("process_start_time_seconds") > 1.6e9);
    assert_true(value_of("process_threads") >= 1);
    assert_true(value_of("process_cpu_seconds_total") >= 0);
    free(text);
    metrics_destroy(&m);
}

/* A label that never repeats must not eat the memory. */
static void test_series_are_bounded(void **state) {
    (void)state;
    struct metrics *m = NULL;
    size_t n;
    char label[16];
    assert_int_equal(metrics_create(&m, NULL), RT_OK);
    struct metric *counter = metrics_counter(m, "x", "x", "l");
    for (int i = 0; i < 6000; i++) {
        snprintf(label, sizeof label, "%d", i);
        metric_add(counter, 1, (const char *const[]){label});
    }
    assert_int_equal(metrics_text(m, &text, &n, NULL), RT_OK);
    assert_true(n < 4200 * 20);
    free(text);
    metrics_destroy(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_process),
        cmocka_unit_test(test_series_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
