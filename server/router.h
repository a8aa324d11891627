/* Finds the row of a route table for a method and a decoded path. Pure functions, no state.
 *
 *     struct route_match match;
 *     switch (router_find(routes, "GET", "/v1/scenes/demo", &match)) ...
 *
 * A pattern segment is literal text with at most two captures: {name}, export.{ext}, {at}.{ext}
 * (split at the last dot). A trailing {rest*} captures what remains. Literal segments win over
 * captures whatever the order of the rows; captures are never empty. */
#ifndef RETAKE_SERVER_ROUTER_H
#define RETAKE_SERVER_ROUTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/http.h"

enum { ROUTER_MAX_PARAMS = 8 };

struct route_param {
    const char *name; /* borrowed from the pattern, not terminated */
    size_t name_length;
    size_t at, length; /* of the value, within the path */
};

struct route_match {
    const struct http_route *route;
    int32_t n_params;
    struct route_param params[ROUTER_MAX_PARAMS];
};

enum route_result { ROUTE_FOUND, ROUTE_OTHER_METHOD, ROUTE_NONE };

/* `routes` ends with a zeroed row. HEAD finds GET rows when it has none of its own. */
enum route_result router_find(const struct http_route *routes, const char *method, const char *path,
                              struct route_match *match);

/* Writes the methods that `path` has ("GET, HEAD, PUT"), cut at `n_bytes`. */
void router_allow(const struct http_route *routes, const char *path, char *text, size_t n_bytes);

/* Decodes %XX in place of `text` into `out` (at least strlen + 1 bytes); '+' becomes a blank when
 * `plus` is set. False at an escape that is not two hex digits. */
bool router_decode(const char *text, size_t length, bool plus, char *out);

#endif
