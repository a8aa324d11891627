/* Layout carving and grow-only buffers.
 *
 * Carving: one allocation per object. A layout function runs twice, first with base NULL to
 * measure, then to hand out pieces:
 *
 *     static void layout(struct rt_carver *c, struct thing *t) {
 *         t->mean = rt_carve(c, n * 3, sizeof(float));
 *     }
 *
 * Pieces are aligned to 64 bytes. Overflow of the size sets `overflow`, checked by the caller once.
 * Buffers: `rt_buffer` keeps its capacity between frames and never exceeds `max_bytes`. */
#ifndef RETAKE_RENDER_CORE_ARENA_H
#define RETAKE_RENDER_CORE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "render/core/status.h"

RT_C_BEGIN

struct rt_carver {
    unsigned char *base; /* NULL while measuring */
    size_t used_bytes;
    bool overflow;
};

/* Next piece of n elements; NULL while measuring. */
void *rt_carve(struct rt_carver *carver, size_t n, size_t element_bytes);

struct rt_buffer {
    void *bytes; /* owned, 64-byte aligned */
    size_t capacity_bytes;
    size_t max_bytes; /* 0 = no maximum was set: every growth is refused */
};

/* Makes room for n elements; contents are lost when it grows. RT_LIMIT above max_bytes,
 * RT_NO_MEMORY when the system refuses (the old memory is kept then). */
enum rt_status rt_buffer_reserve(struct rt_buffer *buffer, size_t n, size_t element_bytes,
                                 struct rt_error *err);
void rt_buffer_free(struct rt_buffer *buffer);

/* a*b and a+b of sizes; false on overflow. */
bool rt_mul(size_t a, size_t b, size_t *out);
bool rt_add(size_t a, size_t b, size_t *out);

RT_C_END

#endif
