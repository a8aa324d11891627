#include "render/io/json_scan.h"

#include <stdbool.h>

enum { KIB = 1024, MIB = 1024 * 1024 };

struct json_limits json_limits_recording(void) {
    return (struct json_limits){.max_bytes = 16 * MIB,
                                .max_depth = 32,
                                .max_values = 1000000,
                                .max_number_bytes = 40,
                                .max_string_bytes = 64 * KIB};
}

struct json_limits json_limits_small_file(void) {
    struct json_limits limits = json_limits_recording();
    limits.max_bytes = 4 * MIB;
    limits.max_values = 131072;
    return limits;
}

struct json_limits json_limits_body(int large) {
    struct json_limits limits = json_limits_recording();
    limits.max_bytes = large ? 4 * MIB : 256 * KIB;
    limits.max_values = large ? 131072 : 16384;
    limits.max_depth = 64;
    return limits;
}

struct scan {
    const char *text;
    size_t n_bytes;
    size_t at;
    const struct json_limits *limits;
    int32_t depth;
    int32_t n_values;
    bool after_string; /* the previous token was a string: a colon makes it a key */
};

static enum rt_status count_value(struct scan *scan, struct rt_error *err) {
    if (scan->n_values++ < scan->limits->max_values) return RT_OK;
    return rt_fail_file(err, "limit", (int64_t)scan->at, "JSON with more than %d values",
                        scan->limits->max_values);
}

static enum rt_status scan_string(struct scan *scan, struct rt_error *err) {
    size_t start = ++scan->at;
    for (; scan->at < scan->n_bytes; scan->at++) {
        char c = scan->text[scan->at];
        if (scan->at - start > (size_t)scan->limits->max_string_bytes) {
            return rt_fail_file(err, "limit", (int64_t)start,
                                "JSON string longer than %d bytes at byte %zu",
                                scan->limits->max_string_bytes, start);
        }
        if (c == '\\') {
            scan->at++;
        } else if (c == '"') {
            scan->at++;
            scan->after_string = true;
            return count_value(scan, err);
        }
    }
    return rt_fail_file(err, "truncated", (int64_t)start,
                        "JSON ends inside the string that begins at byte %zu", start);
}

static bool ends_token(char c) {
    return c == ',' || c == ':' || c == ']' || c == '}' || c == '[' || c == '{' || c == '"' ||
           c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* A number or a literal; its form is the parser's business. */
static enum rt_status scan_word(struct scan *scan, struct rt_error *err) {
    size_t start = scan->at;
    while (scan->at < scan->n_bytes && !ends_token(scan->text[scan->at])) scan->at++;
    if (scan->at - start > (size_t)scan->limits->max_number_bytes) {
        return rt_fail_file(err, "limit", (int64_t)start,
                            "JSON number longer than %d characters at byte %zu",
                            scan->limits->max_number_bytes, start);
    }
    return count_value(scan, err);
}

static enum rt_status scan_open(struct scan *scan, struct rt_error *err) {
    if (++scan->depth > scan->limits->max_depth) {
        return rt_fail_file(err, "limit", (int64_t)scan->at,
                            "JSON nested deeper than %d at byte %zu", scan->limits->max_depth,
                            scan->at);
    }
    scan->at++;
    return count_value(scan, err);
}

static enum rt_status scan_token(struct scan *scan, struct rt_error *err) {
    char c = scan->text[scan->at];
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
        scan->at++;
        return RT_OK;
    }
    bool after_string = scan->after_string;
    scan->after_string = false;
    switch (c) {
        case '"':
            return scan_string(scan, err);
        case '[':
        case '{':
            return scan_open(scan, err);
        case ']':
        case '}':
            /* A stray closer must not buy depth for later openers. */
            if (scan->depth > 0) scan->depth--;
            break;
        case ':':
            if (after_string) scan->n_values--;
            break;
        case ',':
            break;
        default:
            return scan_word(scan, err);
    }
    scan->at++;
    return RT_OK;
}

enum rt_status json_scan(const char *text, size_t n_bytes, const struct json_limits *limits,
                         struct rt_error *err) {
    if (n_bytes > limits->max_bytes) {
        return rt_fail_file(err, "limit", (int64_t)limits->max_bytes,
                            "JSON of %zu bytes: at most %zu are read", n_bytes, limits->max_bytes);
    }
    struct scan scan = {.text = text, .n_bytes = n_bytes, .limits = limits};
    while (scan.at < n_bytes) RT_TRY(scan_token(&scan, err));
    if (scan.depth == 0) return RT_OK;
    return rt_fail_file(err, "truncated", (int64_t)n_bytes,
                        "JSON ends inside %d open container%s: the file is cut short", scan.depth,
                        scan.depth == 1 ? "" : "s");
}
