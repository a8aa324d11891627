#include "api/wire_json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/wire_choose.h"
#include "render/io/json_parse.h"

static int precedence(enum problem_type type) {
    return type == PROBLEM_MALFORMED_JSON ? 2 : type == PROBLEM_INVALID_REQUEST ? 1 : 0;
}

static void note(struct wire_faults *faults, enum problem_type type, const char *at,
                 const char *name, const char *message) {
    if (faults->n_faults == 0 || precedence(type) > precedence(faults->type)) faults->type = type;
    if (faults->n_faults < WIRE_MAX_FAULTS) {
        struct wire_fault *fault = &faults->items[faults->n_faults];
        snprintf(fault->pointer, sizeof fault->pointer, "%s%s%s", at, name != NULL ? "/" : "",
                 name != NULL ? name : "");
        snprintf(fault->message, sizeof fault->message, "%s", message);
    }
    faults->n_faults++;
}

#define FORMAT_MESSAGE(message, format)                    \
    char message[WIRE_MESSAGE_BYTES];                      \
    va_list arguments;                                     \
    va_start(arguments, format);                           \
    vsnprintf(message, sizeof message, format, arguments); \
    va_end(arguments)

void wire_fault(struct wire_faults *faults, const char *at, const char *name, const char *format,
                ...) {
    FORMAT_MESSAGE(message, format);
    note(faults, PROBLEM_INVALID_REQUEST, at, name, message);
}

void wire_unsupported(struct wire_faults *faults, const char *at, const char *name,
                      const char *capability, const char *format, ...) {
    FORMAT_MESSAGE(message, format);
    if (faults->capability[0] == '\0') {
        snprintf(faults->capability, sizeof faults->capability, "%s", capability);
    }
    note(faults, PROBLEM_UNSUPPORTED_FEATURE, at, name, message);
}

void wire_refuse(struct wire_faults *faults, enum problem_type type, const char *at,
                 const char *name, const char *format, ...) {
    FORMAT_MESSAGE(message, format);
    note(faults, type, at, name, message);
}

void wire_reply_faults(struct api *api, struct http_exchange *x, const struct wire_faults *faults) {
    int32_t n = faults->n_faults < WIRE_MAX_FAULTS ? faults->n_faults : WIRE_MAX_FAULTS;
    json_t *errors = json_array();
    for (int32_t i = 0; i < n; i++) {
        json_t *item = json_pack("{s:s, s:s}", "pointer", faults->items[i].pointer, "message",
                                 faults->items[i].message);
        json_array_append_new(errors, item);
    }
    json_t *members = json_pack("{s:o}", "errors", errors);
    if (faults->type == PROBLEM_MALFORMED_JSON) {
        json_object_set_new(members, "offset", json_integer((json_int_t)faults->offset));
    }
    if (faults->type == PROBLEM_UNSUPPORTED_FEATURE) {
        json_object_set_new(members, "capability", json_string(faults->capability));
    }
    const struct wire_fault *first = &faults->items[0];
    const char *where = first->pointer[0] == '/' ? first->pointer + 1 : first->pointer;
    problem_reply(api, x, faults->type, members, "%s%s%s%s", where, where[0] != '\0' ? ": " : "",
                  first->message, faults->n_faults > 1 ? " (and more, see errors)" : "");
}

json_t *wire_parse(const void *text, size_t n_bytes, bool large, struct wire_faults *faults) {
    const struct json_limits limits = json_limits_body(large);
    struct rt_error err;
    rt_error_clear(&err);
    json_t *root = NULL;
    if (text == NULL || n_bytes == 0) {
        note(faults, PROBLEM_MALFORMED_JSON, "", NULL, "the body is empty");
        return NULL;
    }
    if (json_parse(text, n_bytes, &limits, &root, &err) != RT_OK) {
        faults->offset = err.offset >= 0 ? err.offset : 0;
        note(faults, PROBLEM_MALFORMED_JSON, "", NULL, err.message);
        return NULL;
    }
    if (!json_is_object(root)) {
        note(faults, PROBLEM_MALFORMED_JSON, "", NULL, "the body must be one JSON object");
        json_decref(root);
        return NULL;
    }
    return root;
}

static int32_t edit_distance(const char *a, const char *b) {
    enum { MAX = 40 };
    size_t n_a = strlen(a), n_b = strlen(b);
    if (n_a >= MAX || n_b >= MAX) return MAX;
    int32_t row[MAX + 1];
    for (size_t j = 0; j <= n_b; j++) row[j] = (int32_t)j;
    for (size_t i = 1; i <= n_a; i++) {
        int32_t diagonal = row[0];
        row[0] = (int32_t)i;
        for (size_t j = 1; j <= n_b; j++) {
            int32_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[n_b];
}

const char *wire_nearest(const char *name, const char *const *known) {
    const char *nearest = NULL;
    int32_t best = 4;
    for (; *known != NULL; known++) {
        int32_t distance = edit_distance(name, *known);
        if (distance < best && distance < (int32_t)strlen(name)) {
            best = distance;
            nearest = *known;
        }
    }
    return nearest;
}

static bool is_known(const char *name, const char *const *known) {
    for (; *known != NULL; known++) {
        if (strcmp(name, *known) == 0) return true;
    }
    return false;
}

bool wire_members(struct wire_faults *faults, const json_t *object, const char *at,
                  const char *const *known) {
    if (!json_is_object(object)) {
        wire_fault(faults, at, NULL, "must be an object");
        return false;
    }
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value) {
        if (is_known(name, known)) continue;
        const char *nearest = wire_nearest(name, known);
        char shown[64];
        snprintf(shown, sizeof shown, "%.60s", name);
        if (nearest != NULL) {
            wire_fault(faults, at, shown, "unknown member; did you mean \"%s\"?", nearest);
        } else {
            wire_fault(faults, at, shown, "unknown member");
        }
    }
    return true;
}

/* The member, or NULL when absent or null. */
static const json_t *member(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    return json_is_null(value) ? NULL : value;
}

bool wire_bool(struct wire_faults *faults, const json_t *object, const char *at, const char *name,
               bool *out) {
    const json_t *value = member(object, name);
    if (value == NULL) return false;
    if (!json_is_boolean(value)) {
        wire_fault(faults, at, name, "must be true or false");
        return false;
    }
    *out = json_is_true(value);
    return true;
}

bool wire_int(struct wire_faults *faults, const json_t *object, const char *at, const char *name,
              struct wire_range range, int64_t *out) {
    const json_t *value = member(object, name);
    if (value == NULL) return false;
    if (json_is_real(value)) {
        wire_fault(faults, at, name, "must be an integer; %g is written as a real number",
                   json_real_value(value));
        return false;
    }
    if (!json_is_integer(value)) {
        wire_fault(faults, at, name, "must be an integer");
        return false;
    }
    json_int_t number = json_integer_value(value);
    if ((double)number < range.minimum || (double)number > range.maximum) {
        wire_fault(faults, at, name, "%lld is outside %lld...%lld", (long long)number,
                   (long long)range.minimum, (long long)range.maximum);
        return false;
    }
    *out = number;
    return true;
}

static bool check_number(struct wire_faults *faults, const json_t *value, const char *at,
                         const char *name, struct wire_range range, double *out) {
    if (!json_is_number(value)) {
        wire_fault(faults, at, name, "must be a number");
        return false;
    }
    double number = json_number_value(value);
    if (!(number >= range.minimum && number <= range.maximum)) {
        wire_fault(faults, at, name, "%g is outside %g...%g", number, range.minimum, range.maximum);
        return false;
    }
    *out = number;
    return true;
}

bool wire_number(struct wire_faults *faults, const json_t *object, const char *at, const char *name,
                 struct wire_range range, double *out) {
    const json_t *value = member(object, name);
    if (value == NULL) return false;
    return check_number(faults, value, at, name, range, out);
}

bool wire_numbers(struct wire_faults *faults, const json_t *object, const char *at,
                  const char *name, struct wire_range range, double *out) {
    const json_t *value = member(object, name);
    if (value == NULL) return false;
    if (!json_is_array(value) || json_array_size(value) != (size_t)range.n) {
        wire_fault(faults, at, name, "must be an array of %d numbers", range.n);
        return false;
    }
    char inner[WIRE_POINTER_BYTES];
    snprintf(inner, sizeof inner, "%s/%s", at, name);
    bool is_right = true;
    for (int32_t i = 0; i < range.n; i++) {
        char index[16];
        snprintf(index, sizeof index, "%d", i);
        is_right &=
            check_number(faults, json_array_get(value, (size_t)i), inner, index, range, &out[i]);
    }
    return is_right;
}

bool wire_string(struct wire_faults *faults, const json_t *object, const char *at, const char *name,
                 size_t max_bytes, const char **out) {
    const json_t *value = member(object, name);
    if (value == NULL) return false;
    if (!json_is_string(value)) {
        wire_fault(faults, at, name, "must be a string");
        return false;
    }
    if (json_string_length(value) > max_bytes) {
        wire_fault(faults, at, name, "is longer than %zu bytes", max_bytes);
        return false;
    }
    *out = json_string_value(value);
    return true;
}

int32_t wire_choose(struct wire_faults *faults, const char *at, const char *name,
                    const char *const *names, const char *text) {
    char list[WIRE_MESSAGE_BYTES] = "";
    size_t used = 0;
    for (int32_t i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], text) == 0) return i;
        int n = snprintf(list + used, sizeof list - used, " %s", names[i]);
        used = n > 0 && used + (size_t)n < sizeof list ? used + (size_t)n : used;
    }
    wire_fault(faults, at, name, "\"%.40s\" is not one of:%s", text, list);
    return -1;
}

bool wire_choice(struct wire_faults *faults, const json_t *object, const char *at, const char *name,
                 const char *const *names, int32_t *out) {
    const char *text;
    if (!wire_string(faults, object, at, name, 256, &text)) return false;
    int32_t i = wire_choose(faults, at, name, names, text);
    if (i < 0) return false;
    *out = i;
    return true;
}
