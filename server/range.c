#include "server/range.h"

#include <string.h>
#include <strings.h>

/* Digits at *text as a number, saturated; false when there are none. */
static bool number(const char **text, uint64_t *value) {
    const char *at = *text;
    *value = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        *value = *value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : *value * 10 + digit;
    }
    bool any = at != *text;
    *text = at;
    return any;
}

enum range_result range_parse(const char *text, uint64_t size, uint64_t *begin, uint64_t *n_bytes) {
    *begin = 0;
    *n_bytes = size;
    if (!text || strncasecmp(text, "bytes=", 6) != 0) return RANGE_WHOLE;
    text += 6;
    text += strspn(text, " \t");
    uint64_t first, last;
    bool has_first = number(&text, &first);
    if (*text++ != '-') return RANGE_WHOLE;
    bool has_last = number(&text, &last);
    text += strspn(text, " \t");
    if (*text || (!has_first && !has_last)) return RANGE_WHOLE;
    if (!has_first) { /* the last bytes */
        if (last == 0 || size == 0) return RANGE_UNSATISFIABLE;
        *n_bytes = last < size ? last : size;
        *begin = size - *n_bytes;
        return RANGE_PART;
    }
    if (has_last && last < first) return RANGE_WHOLE;
    if (first >= size) return RANGE_UNSATISFIABLE;
    if (!has_last || last >= size) last = size - 1;
    *begin = first;
    *n_bytes = last - first + 1;
    return RANGE_PART;
}

/* ";q=0", ";q=0.00" and so on. */
static bool quality_is_zero(const char *parameters, const char *end) {
    const char *at = memchr(parameters, 'q', (size_t)(end - parameters));
    if (!at || at + 2 >= end || at[1] != '=' || at[2] != '0') return false;
    for (at += 3; at < end && *at != ' '; at++) {
        if (*at != '.' && *at != '0') return false;
    }
    return true;
}

bool accepts_coding(const char *header, const char *coding) {
    bool any = false;
    if (!header) return false;
    while (*header) {
        header += strspn(header, " \t,");
        const char *end = header + strcspn(header, ",");
        size_t n = strcspn(header, " \t,;");
        bool wanted = !quality_is_zero(header + n, end);
        if (n == strlen(coding) && strncasecmp(header, coding, n) == 0) return wanted;
        if (n == 1 && *header == '*') any = wanted;
        header = end;
    }
    return any;
}
