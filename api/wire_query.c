#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/wire_choose.h"
#include "api/wire_json.h"

static void pointer_of(char pointer[WIRE_POINTER_BYTES], const char *name) {
    snprintf(pointer, WIRE_POINTER_BYTES, "?%.60s", name);
}

void wire_query_members(struct wire_faults *faults, struct http_exchange *x,
                        const char *const *known) {
    const char *name;
    for (int32_t i = 0; (name = http_query_name(x, i)) != NULL; i++) {
        char pointer[WIRE_POINTER_BYTES];
        pointer_of(pointer, name);
        bool is_known = false, is_repeated = false;
        for (int32_t k = 0; known[k] != NULL; k++) is_known |= strcmp(known[k], name) == 0;
        for (int32_t k = 0; k < i; k++) {
            is_repeated |= strcmp(http_query_name(x, k), name) == 0;
        }
        if (is_repeated) wire_fault(faults, pointer, NULL, "is given twice");
        if (is_known) continue;
        const char *nearest = wire_nearest(name, known);
        wire_fault(faults, pointer, NULL, "unknown parameter%s%s%s",
                   nearest != NULL ? "; did you mean \"" : "", nearest != NULL ? nearest : "",
                   nearest != NULL ? "\"?" : "");
    }
}

bool wire_query_int(struct wire_faults *faults, struct http_exchange *x, const char *name,
                    int64_t minimum, int64_t maximum, int64_t *out) {
    const char *text = http_query(x, name);
    if (text == NULL) return false;
    char pointer[WIRE_POINTER_BYTES], *end;
    pointer_of(pointer, name);
    errno = 0;
    long long value = strtoll(text, &end, 10);
    bool is_plain = text[0] == '-' || (text[0] >= '0' && text[0] <= '9');
    if (!is_plain || *end != '\0' || end == text || errno != 0) {
        wire_fault(faults, pointer, NULL, "\"%.40s\" is not an integer", text);
        return false;
    }
    if (value < minimum || value > maximum) {
        wire_fault(faults, pointer, NULL, "%lld is outside %lld...%lld", value, (long long)minimum,
                   (long long)maximum);
        return false;
    }
    *out = value;
    return true;
}

bool wire_query_number(struct wire_faults *faults, struct http_exchange *x, const char *name,
                       double minimum, double maximum, double *out) {
    const char *text = http_query(x, name);
    if (text == NULL) return false;
    char pointer[WIRE_POINTER_BYTES], *end;
    pointer_of(pointer, name);
    size_t n_plain = strspn(text, "0123456789+-.eE"); /* no hex, inf, nan */
    double value = strtod(text, &end);
    if (text[0] == '\0' || text[n_plain] != '\0' || *end != '\0') {
        wire_fault(faults, pointer, NULL, "\"%.40s\" is not a number", text);
        return false;
    }
    if (!(value >= minimum && value <= maximum)) {
        wire_fault(faults, pointer, NULL, "%g is outside %g...%g", value, minimum, maximum);
        return false;
    }
    *out = value;
    return true;
}

bool wire_query_bool(struct wire_faults *faults, struct http_exchange *x, const char *name,
                     bool *out) {
    static const char *const names[] = {"false", "true", NULL};
    int32_t choice;
    if (!wire_query_choice(faults, x, name, names, &choice)) return false;
    *out = choice == 1;
    return true;
}

bool wire_query_choice(struct wire_faults *faults, struct http_exchange *x, const char *name,
                       const char *const *names, int32_t *out) {
    const char *text = http_query(x, name);
    if (text == NULL) return false;
    char pointer[WIRE_POINTER_BYTES];
    pointer_of(pointer, name);
    int32_t i = wire_choose(faults, pointer, NULL, names, text);
    if (i < 0) return false;
    *out = i;
    return true;
}
