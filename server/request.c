/* What handlers read of a request: path, captures, query, headers, id. */
#define _GNU_SOURCE /* POLLRDHUP */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/exchange.h"

/* -- parsing ---------------------------------------------------------------------------------- */

static bool id_is_valid(const char *id) {
    size_t length = id ? strnlen(id, REQUEST_ID_BYTES) : 0;
    if (length == 0 || length >= REQUEST_ID_BYTES) return false;
    for (; *id; id++) {
        if (!isalnum((unsigned char)*id) && !strchr("._-", *id)) return false;
    }
    return true;
}

/* splitmix64: ids need to differ, not to be secret. */
static uint64_t mix(uint64_t value) {
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

static void id_set(struct http_exchange *x) {
    const char *sent = http_header(x, "X-Request-Id");
    if (id_is_valid(sent)) {
        snprintf(x->request_id, sizeof x->request_id, "%s", sent);
        return;
    }
    uint64_t count = atomic_fetch_add(&x->server->n_ids, 1);
    snprintf(x->request_id, sizeof x->request_id, "%016llx",
             (unsigned long long)mix(x->server->id_seed + count));
}

/* Pairs beyond QUERY_MAX cannot come from an honest client; they are refused. */
static enum rt_status query_parse(struct http_exchange *x, const char *text) {
    char *out = x->query_text;
    while (*text) {
        size_t length = strcspn(text, "&");
        size_t n_name = strcspn(text, "=&");
        if (length > 0) {
            if (x->n_query == QUERY_MAX) return RT_LIMIT;
            struct http_pair *pair = &x->query[x->n_query++];
            pair->name = out;
            if (!router_decode(text, n_name, true, out)) return RT_INVALID;
            out += strlen(out) + 1;
            pair->value = out;
            size_t skip = n_name < length ? n_name + 1 : length;
            if (!router_decode(text + skip, length - skip, true, out)) return RT_INVALID;
            out += strlen(out) + 1;
        }
        text += length;
        if (*text == '&') text++;
    }
    return RT_OK;
}

enum rt_status request_parse(struct http_exchange *x) {
    id_set(x);
    size_t length;
    const char *path = guard_path(x->target, &length);
    const char *query = path[length] == '?' ? path + length + 1 : "";
    x->path = malloc(length + 1);
    x->query_text = malloc(2 * strlen(query) + 2); /* "a&b" has a terminator and a value each */
    if (!x->path || !x->query_text) return RT_NO_MEMORY;
    if (!router_decode(path, length, false, x->path)) return RT_INVALID;
    return query_parse(x, query);
}

void request_bind(struct http_exchange *x) {
    size_t n_bytes = 1;
    for (int32_t i = 0; i < x->match.n_params; i++) n_bytes += x->match.params[i].length + 1;
    x->param_text = malloc(n_bytes);
    if (!x->param_text) return; /* http_param then finds nothing; handlers answer 404 */
    char *out = x->param_text;
    for (int32_t i = 0; i < x->match.n_params; i++) {
        const struct route_param *param = &x->match.params[i];
        memcpy(out, x->path + param->at, param->length);
        out[param->length] = 0;
        x->params[i] = out;
        out += param->length + 1;
    }
}

/* -- accessors -------------------------------------------------------------------------------- */

const char *http_method(const struct http_exchange *x) { return x->method; }
const char *http_path(const struct http_exchange *x) { return x->path ? x->path : ""; }
const char *http_request_id(const struct http_exchange *x) { return x->request_id; }
int64_t http_start_ns(const struct http_exchange *x) { return x->start_ns; }

const char *http_route_pattern(const struct http_exchange *x) {
    return x->match.route ? x->match.route->pattern : "";
}

const char *http_param(const struct http_exchange *x, const char *name) {
    for (int32_t i = 0; i < x->match.n_params; i++) {
        const struct route_param *param = &x->match.params[i];
        if (strlen(name) == param->name_length &&
            memcmp(name, param->name, param->name_length) == 0) {
            return x->params[i];
        }
    }
    return NULL;
}

const char *http_query(const struct http_exchange *x, const char *name) {
    for (int32_t i = 0; i < x->n_query; i++) {
        if (strcmp(x->query[i].name, name) == 0) return x->query[i].value;
    }
    return NULL;
}

const char *http_query_name(const struct http_exchange *x, int32_t index) {
    return index >= 0 && index < x->n_query ? x->query[index].name : NULL;
}

const char *http_header(const struct http_exchange *x, const char *name) {
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

const void *http_body(const struct http_exchange *x, size_t *n_bytes) {
    if (n_bytes) *n_bytes = x->n_body;
    return x->body ? x->body : "";
}

bool http_client_gone(const struct http_exchange *x) {
    struct pollfd polled = {.fd = x->link ? x->link->fd : -1, .events = POLLRDHUP};
    if (polled.fd < 0) return true;
    return poll(&polled, 1, 0) > 0 && (polled.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

bool http_etag_matches(const struct http_exchange *x, const char *etag) {
    const char *list = http_header(x, "If-None-Match");
    size_t length = strlen(etag);
    while (list && *list) {
        list += strspn(list, " \t,");
        if (*list == '*') return true;
        if (strncmp(list, "W/", 2) == 0) list += 2; /* weak comparison, RFC 9110 section 13.1.2 */
        if (*list != '"') return false;
        size_t n = strcspn(list + 1, "\"") + 2;
        if (n == length && strncmp(list, etag, length) == 0) return true;
        list += strnlen(list, n);
    }
    return false;
}
