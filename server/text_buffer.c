#include "server/text_buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct text_buffer *out, size_t n_more) {
    if (out->failed) return false;
    size_t needed = out->n_bytes + n_more + 1;
    if (needed <= out->capacity) return true;
    size_t capacity = out->capacity ? out->capacity * 2 : 256;
    if (capacity < needed) capacity = needed;
    char *grown = realloc(out->text, capacity);
    if (!grown) {
        out->failed = true;
        return false;
    }
    out->text = grown;
    out->capacity = capacity;
    return true;
}

void text_add_bytes(struct text_buffer *out, const char *bytes, size_t n_bytes) {
    if (!reserve(out, n_bytes)) return;
    memcpy(out->text + out->n_bytes, bytes, n_bytes);
    out->n_bytes += n_bytes;
    out->text[out->n_bytes] = 0;
}

void text_add(struct text_buffer *out, const char *text) {
    text_add_bytes(out, text, strlen(text));
}

void text_printf(struct text_buffer *out, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n >= 0 && reserve(out, (size_t)n)) {
        vsnprintf(out->text + out->n_bytes, (size_t)n + 1, format, again);
        out->n_bytes += (size_t)n;
    }
    va_end(again);
}

char *text_take(struct text_buffer *out, size_t *n_bytes) {
    char *text = out->failed ? NULL : out->text;
    if (out->failed) free(out->text);
    if (n_bytes) *n_bytes = out->n_bytes;
    memset(out, 0, sizeof *out);
    return text;
}
