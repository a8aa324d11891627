/* The guard and the router over arbitrary heads. Input: lines; the first is method, target and
 * version divided by blanks, the others are "name: value" fields. What passes must hold the
 * promises that the rest of the server builds on. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/guard.h"
#include "server/range.h"
#include "server/router.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static const struct http_route routes[] = {
    {.method = "GET", .pattern = "/v1/scenes/{id}"},
    {.method = "GET", .pattern = "/v1/scenes/{id}/frames/{sensor}/{at}.{ext}"},
    {.method = "POST", .pattern = "/v1/scenes/{id}/load"},
    {.method = "GET", .pattern = "/js/{rest*}"},
    {0}};

static char *cut(char **rest, char mark) {
    char *begin = *rest;
    char *end = strchr(begin, mark);
    if (end) *end = 0;
    *rest = end ? end + 1 : begin + strlen(begin);
    return begin;
}

static void check_path(const char *target, const char *method) {
    size_t length;
    struct route_match match;
    const char *raw = guard_path(target, &length);
    char *path = malloc(length + 1);
    if (!path) return;
    assert(router_decode(raw, length, false, path));
    assert(path[0] == '/' && strlen(path) <= length);
    assert(!strchr(path, '\\') && !strstr(path, "/../") && !strstr(path, "/./"));
    if (router_find(routes, method, path, &match) == ROUTE_FOUND) {
        for (int32_t i = 0; i < match.n_params; i++) {
            assert(match.params[i].length > 0);
            assert(match.params[i].at + match.params[i].length <= strlen(path));
        }
    }
    free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    char *text = malloc(n_bytes + 1);
    if (!text) return 0;
    memcpy(text, bytes, n_bytes);
    text[n_bytes] = 0;
    char *rest = text, *line = cut(&rest, '\n');
    struct guard_field fields[GUARD_MAX_FIELDS + 1];
    struct guard_head head = {.fields = fields, .head_bytes = n_bytes};
    head.method = cut(&line, ' ');
    head.target = cut(&line, ' ');
    head.version = line;
    while (*rest && head.n_fields <= GUARD_MAX_FIELDS) {
        line = cut(&rest, '\n');
        struct guard_field *field = &fields[head.n_fields++];
        field->name = cut(&line, ':');
        field->value = line + strspn(line, " \t");
    }
    struct guard_framing framing;
    struct guard_refusal refusal = {0};
    struct guard_policy policy = {0};
    if (guard_check(&head, &policy, &framing, &refusal)) {
        check_path(head.target, head.method);
        assert(!framing.chunked || framing.content_length == 0);
        assert(!framing.has_body || strcmp(head.method, "GET") != 0);
    } else {
        assert(refusal.detail);
    }
    uint64_t begin, n;
    if (range_parse(text, 1000, &begin, &n) == RANGE_PART) assert(n > 0 && begin + n <= 1000);
    accepts_coding(text, "gzip");
    free(text);
    return 0;
}
