#include "api/wire_scan.h"

#include <string.h>

enum { MAX_STRING_BYTES = 65536, MAX_NUMBER_BYTES = 40 };

const struct wire_limits wire_limits_default = {256 * 1024, 64, 16384};
const struct wire_limits wire_limits_large = {4 * 1024 * 1024, 64, 131072};

struct scan {
    const char *text;
    size_t n_bytes, at;
    int32_t depth, n_values;
};

/* From the opening quote to behind the closing one. */
static const char *scan_string(struct scan *s) {
    size_t begin = ++s->at;
    while (s->at < s->n_bytes && s->text[s->at] != '"') {
        s->at += s->text[s->at] == '\\' ? 2 : 1;
        if (s->at - begin > MAX_STRING_BYTES) return "a string is longer than 64 KiB";
    }
    if (s->at >= s->n_bytes) return "a string does not end";
    s->at++;
    return NULL;
}

static const char *scan_number(struct scan *s) {
    size_t begin = s->at;
    while (s->at < s->n_bytes && s->text[s->at] != '\0' &&
           strchr("0123456789+-.eE", s->text[s->at]) != NULL) {
        s->at++;
        if (s->at - begin > MAX_NUMBER_BYTES) return "a number has more than 40 characters";
    }
    return NULL;
}

const char *wire_scan(const char *text, size_t n_bytes, const struct wire_limits *limits,
                      int64_t *offset) {
    struct scan s = {text, n_bytes, 0, 0, 0};
    const char *problem = NULL;
    if (text == NULL || n_bytes == 0) return "the body is empty";
    if (n_bytes > limits->max_bytes) return "the body is too large";
    while (s.at < n_bytes && problem == NULL) {
        char c = text[s.at];
        *offset = (int64_t)s.at;
        if (c == '\0') return "a NUL byte is not allowed";
        bool is_number = c == '-' || (c >= '0' && c <= '9');
        bool opens = c == '{' || c == '[';
        if (is_number || opens || strchr("\"tfn", c) != NULL) s.n_values++;
        if (s.n_values > limits->max_values) return "there are too many values";
        if (opens && ++s.depth > limits->max_depth) return "it is nested too deeply";
        if (c == '}' || c == ']') s.depth--;
        if (c == '"') {
            problem = scan_string(&s);
        } else if (is_number) {
            problem = scan_number(&s);
        } else if (c >= 'a' && c <= 'z') {
            while (s.at < n_bytes && text[s.at] >= 'a' && text[s.at] <= 'z') s.at++;
        } else {
            s.at++;
        }
    }
    return problem;
}
