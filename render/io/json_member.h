/* Members of JSON objects with their faults named: "frames[3]: fl_x must be a finite number".
 *
 *     struct json_at at = {frame, "frames[3]"};
 *     double fl_x = 0.0;                                   // stays when the member is absent
 *     RT_TRY(json_number(&at, "fl_x", &fl_x, err));
 *
 * Absent and null are the same. Errors are RT_BAD_FILE with code "bad-value". */
#ifndef RETAKE_RENDER_IO_JSON_MEMBER_H
#define RETAKE_RENDER_IO_JSON_MEMBER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "render/core/status.h"

struct json_at {
    const json_t *object; /* borrowed */
    const char *where;    /* borrowed */
};

/* NULL when absent or null. */
const json_t *json_member(const struct json_at *at, const char *key);

/* Integer or real, finite, |value| <= 1e15. */
enum rt_status json_number(const struct json_at *at, const char *key, double *value,
                           struct rt_error *err);
enum rt_status json_flag(const struct json_at *at, const char *key, bool *value,
                         struct rt_error *err);
/* Integers only: a time of `1.0` is refused. */
enum rt_status json_int64(const struct json_at *at, const char *key, int64_t *value,
                          struct rt_error *err);
/* Borrowed from the tree. */
enum rt_status json_text(const struct json_at *at, const char *key, const char **value,
                         struct rt_error *err);
/* Exactly n numbers; *present says whether the member was there. */
enum rt_status json_numbers(const struct json_at *at, const char *key, int32_t n, double *values,
                            bool *present, struct rt_error *err);
/* An object, or an array, or absent (*value NULL). */
enum rt_status json_object_member(const struct json_at *at, const char *key, const json_t **value,
                                  struct rt_error *err);
enum rt_status json_array_member(const struct json_at *at, const char *key, const json_t **value,
                                 struct rt_error *err);

/* Numbers of an array node itself. */
enum rt_status json_array_numbers(const json_t *array, const char *where, int32_t n, double *values,
                                  struct rt_error *err);

#endif
