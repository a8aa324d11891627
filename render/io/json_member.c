#include "render/io/json_member.h"

#include <math.h>
#include <stdio.h>

static const double NUMBER_MAX = 1e15;

static enum rt_status must_be(const struct json_at *at, const char *key, const char *what,
                              struct rt_error *err) {
    return rt_fail_file(err, "bad-value", -1, "%s: %s must be %s", at->where, key, what);
}

const json_t *json_member(const struct json_at *at, const char *key) {
    const json_t *value = json_object_get(at->object, key);
    return json_is_null(value) ? NULL : value;
}

static bool to_number(const json_t *node, double *value) {
    if (!json_is_number(node)) return false;
    double number = json_number_value(node);
    if (!(fabs(number) <= NUMBER_MAX)) return false;
    *value = number;
    return true;
}

enum rt_status json_number(const struct json_at *at, const char *key, double *value,
                           struct rt_error *err) {
    const json_t *node = json_member(at, key);
    if (!node || to_number(node, value)) return RT_OK;
    return must_be(at, key, "a number of size <= 1e15", err);
}

enum rt_status json_flag(const struct json_at *at, const char *key, bool *value,
                         struct rt_error *err) {
    const json_t *node = json_member(at, key);
    if (!node) return RT_OK;
    if (!json_is_boolean(node)) return must_be(at, key, "true or false", err);
    *value = json_is_true(node);
    return RT_OK;
}

enum rt_status json_int64(const struct json_at *at, const char *key, int64_t *value,
                          struct rt_error *err) {
    const json_t *node = json_member(at, key);
    if (!node) return RT_OK;
    if (!json_is_integer(node) || json_integer_value(node) > 4000000000000000LL ||
        json_integer_value(node) < -4000000000000000LL) {
        return must_be(at, key, "an integer of size <= 4e15", err);
    }
    *value = (int64_t)json_integer_value(node);
    return RT_OK;
}

enum rt_status json_text(const struct json_at *at, const char *key, const char **value,
                         struct rt_error *err) {
    const json_t *node = json_member(at, key);
    if (!node) return RT_OK;
    if (!json_is_string(node)) return must_be(at, key, "a string", err);
    *value = json_string_value(node);
    return RT_OK;
}

enum rt_status json_array_numbers(const json_t *array, const char *where, int32_t n, double *values,
                                  struct rt_error *err) {
    bool good = json_is_array(array) && json_array_size(array) == (size_t)n;
    for (int32_t i = 0; good && i < n; i++) {
        good = to_number(json_array_get(array, (size_t)i), &values[i]);
    }
    if (good) return RT_OK;
    return rt_fail_file(err, "bad-value", -1, "%s must be an array of %d finite numbers", where, n);
}

enum rt_status json_numbers(const struct json_at *at, const char *key, int32_t n, double *values,
                            bool *present, struct rt_error *err) {
    const json_t *node = json_member(at, key);
    if (present) *present = node != NULL;
    if (!node) return RT_OK;
    char where[160];
    snprintf(where, sizeof where, "%s: %s", at->where, key);
    return json_array_numbers(node, where, n, values, err);
}

enum rt_status json_object_member(const struct json_at *at, const char *key, const json_t **value,
                                  struct rt_error *err) {
    *value = json_member(at, key);
    if (!*value || json_is_object(*value)) return RT_OK;
    return must_be(at, key, "an object", err);
}

enum rt_status json_array_member(const struct json_at *at, const char *key, const json_t **value,
                                 struct rt_error *err) {
    *value = json_member(at, key);
    if (!*value || json_is_array(*value)) return RT_OK;
    return must_be(at, key, "an array", err);
}
