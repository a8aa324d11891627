/* Growing text. Errors (no memory) are kept and reported once, by text_take returning NULL.
 *
 *     struct text_buffer out = {0};
 *     text_printf(&out, "%d items\n", n);
 *     char *text = text_take(&out, &n_bytes);       // owned by the caller; out is empty again
 *
 * Threading: none; one owner. */
#ifndef RETAKE_SERVER_TEXT_BUFFER_H
#define RETAKE_SERVER_TEXT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct text_buffer {
    char *text; /* owned, terminated */
    size_t n_bytes, capacity;
    bool failed;
};

void text_add(struct text_buffer *out, const char *text);
void text_add_bytes(struct text_buffer *out, const char *bytes, size_t n_bytes);
void text_printf(struct text_buffer *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *text_take(struct text_buffer *out, size_t *n_bytes); /* n_bytes may be NULL */

#endif
