/* JSON text into trees, behind the limits of json_scan.h.
 *
 *     json_t *root = NULL;
 *     struct json_limits limits = json_limits_body(0);
 *     RT_TRY(json_parse(body, n_bytes, &limits, &root, err));
 *     json_decref(root);
 *
 * Duplicate keys, NUL in strings and anything after the value are refused; integers stay integers
 * (`1.0` is a real). Threading: no shared state. */
#ifndef RETAKE_RENDER_IO_JSON_PARSE_H
#define RETAKE_RENDER_IO_JSON_PARSE_H

#include <jansson.h>

#include "render/io/json_scan.h"

/* The caller owns *out. RT_BAD_FILE with the codes of json_scan, or "bad-value" with line, column
 * and the parser's sentence. RT_NO_MEMORY. */
enum rt_status json_parse(const char *text, size_t n_bytes, const struct json_limits *limits,
                          json_t **out, struct rt_error *err);

#endif
