#include "server/router.h"

#include <stdio.h>
#include <string.h>

/* One segment of a pattern: prefix {first} middle {second} suffix; absent captures have no name. */
struct segment {
    const char *prefix, *first, *middle, *second, *suffix;
    size_t n_prefix, n_first, n_middle, n_second, n_suffix;
    bool rest;
};

static void segment_parse(const char *text, size_t length, struct segment *out) {
    memset(out, 0, sizeof *out);
    const char *end = text + length;
    const char *open = memchr(text, '{', length);
    out->prefix = text;
    out->n_prefix = open ? (size_t)(open - text) : length;
    if (!open) return;
    const char *close = memchr(open, '}', (size_t)(end - open));
    if (!close) return;
    out->first = open + 1;
    out->n_first = (size_t)(close - open - 1);
    if (out->n_first > 0 && close[-1] == '*') {
        out->rest = true;
        out->n_first--;
    }
    const char *again = memchr(close, '{', (size_t)(end - close));
    out->middle = close + 1;
    out->n_middle = (size_t)((again ? again : end) - close - 1);
    if (!again) {
        out->suffix = out->middle;
        out->n_suffix = out->n_middle;
        out->middle = NULL;
        out->n_middle = 0;
        return;
    }
    const char *last = memchr(again, '}', (size_t)(end - again));
    if (!last) return;
    out->second = again + 1;
    out->n_second = (size_t)(last - again - 1);
    out->suffix = last + 1;
    out->n_suffix = (size_t)(end - last - 1);
}

static bool param_add(struct route_match *match, const char *name, size_t name_length, size_t at,
                      size_t length) {
    if (length == 0 || match->n_params == ROUTER_MAX_PARAMS) return false;
    match->params[match->n_params++] =
        (struct route_param){.name = name, .name_length = name_length, .at = at, .length = length};
    return true;
}

/* Last place of `middle` in path[begin, end) that leaves both sides non-empty. */
static bool find_last(const char *path, size_t begin, size_t end, const struct segment *segment,
                      size_t *at) {
    for (size_t i = end; i-- > begin + 1;) {
        if (i + segment->n_middle < end && segment->n_middle > 0 &&
            memcmp(path + i, segment->middle, segment->n_middle) == 0) {
            *at = i;
            return true;
        }
    }
    return false;
}

static bool segment_match(const struct segment *segment, const char *path, size_t begin, size_t end,
                          struct route_match *match) {
    size_t length = end - begin;
    if (!segment->first) {
        return length == segment->n_prefix && memcmp(path + begin, segment->prefix, length) == 0;
    }
    if (length <= segment->n_prefix + segment->n_suffix) return false;
    if (memcmp(path + begin, segment->prefix, segment->n_prefix) != 0) return false;
    if (memcmp(path + end - segment->n_suffix, segment->suffix, segment->n_suffix) != 0) {
        return false;
    }
    begin += segment->n_prefix;
    end -= segment->n_suffix;
    if (!segment->second) {
        return param_add(match, segment->first, segment->n_first, begin, end - begin);
    }
    size_t at = 0;
    if (!find_last(path, begin, end, segment, &at)) return false;
    return param_add(match, segment->first, segment->n_first, begin, at - begin) &&
           param_add(match, segment->second, segment->n_second, at + segment->n_middle,
                     end - at - segment->n_middle);
}

static size_t segment_end(const char *text, size_t begin) {
    return begin + strcspn(text + begin, "/");
}

/* Two bits per segment, the first segments in the highest: literal 3, mixed 2, capture 1, rest 0,
 * so that the larger number is the more specific pattern. */
static bool pattern_match(const char *pattern, const char *path, struct route_match *match,
                          uint64_t *rank) {
    size_t p = 1, s = 1; /* both begin with '/' */
    match->n_params = 0;
    *rank = 0;
    if (pattern[0] != '/' || path[0] != '/') return false;
    for (int shift = 62; shift >= 0; shift -= 2) {
        size_t p_end = segment_end(pattern, p), s_end = segment_end(path, s);
        struct segment segment;
        segment_parse(pattern + p, p_end - p, &segment);
        if (segment.rest) {
            return param_add(match, segment.first, segment.n_first, s, strlen(path + s));
        }
        if (!segment_match(&segment, path, s, s_end, match)) return false;
        uint64_t kind = !segment.first                                              ? 3
                        : segment.n_prefix + segment.n_suffix > 0 || segment.second ? 2
                                                                                    : 1;
        *rank |= kind << shift;
        if (!pattern[p_end] || !path[s_end]) return !pattern[p_end] && !path[s_end];
        p = p_end + 1;
        s = s_end + 1;
    }
    return false;
}

static bool method_serves(const char *have, const char *wanted) {
    return strcmp(have, wanted) == 0 || (strcmp(wanted, "HEAD") == 0 && strcmp(have, "GET") == 0);
}

enum route_result router_find(const struct http_route *routes, const char *method, const char *path,
                              struct route_match *match) {
    enum route_result result = ROUTE_NONE;
    uint64_t best = 0;
    memset(match, 0, sizeof *match);
    for (const struct http_route *route = routes; route && route->pattern; route++) {
        struct route_match found = {.route = route};
        uint64_t rank;
        if (!pattern_match(route->pattern, path, &found, &rank)) continue;
        if (!method_serves(route->method, method)) {
            if (result == ROUTE_NONE) result = ROUTE_OTHER_METHOD;
            continue;
        }
        if (result == ROUTE_FOUND && rank <= best) continue;
        result = ROUTE_FOUND;
        best = rank;
        *match = found;
    }
    return result;
}

static void allow_add(char *text, size_t n_bytes, const char *method) {
    size_t length = strlen(method);
    for (const char *at = text; (at = strstr(at, method)); at += length) {
        bool begins = at == text || at[-1] == ' ';
        if (begins && (at[length] == 0 || at[length] == ',')) return;
    }
    size_t used = strlen(text);
    if (used + length + 3 > n_bytes) return;
    snprintf(text + used, n_bytes - used, "%s%s", used ? ", " : "", method);
}

void router_allow(const struct http_route *routes, const char *path, char *text, size_t n_bytes) {
    if (n_bytes == 0) return;
    text[0] = 0;
    for (const struct http_route *route = routes; route && route->pattern; route++) {
        struct route_match found;
        uint64_t rank;
        if (!pattern_match(route->pattern, path, &found, &rank)) continue;
        allow_add(text, n_bytes, route->method);
        if (strcmp(route->method, "GET") == 0) allow_add(text, n_bytes, "HEAD");
    }
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool router_decode(const char *text, size_t length, bool plus, char *out) {
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '%') {
            int high = i + 2 < length ? hex_digit(text[i + 1]) : -1;
            int low = i + 2 < length ? hex_digit(text[i + 2]) : -1;
            if (high < 0 || low < 0) return false;
            out[n++] = (char)(high * 16 + low);
            i += 2;
        } else {
            out[n++] = plus && text[i] == '+' ? ' ' : text[i];
        }
    }
    out[n] = 0;
    return true;
}
