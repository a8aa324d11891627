#include "render/core/arena.h"

#include <stdint.h>
#include <stdlib.h>

enum { ALIGNMENT = 64 };

bool rt_mul(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }

bool rt_add(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }

void *rt_carve(struct rt_carver *carver, size_t n, size_t element_bytes) {
    size_t bytes = 0;
    size_t end = 0;
    if (!rt_mul(n, element_bytes, &bytes) || !rt_add(bytes, ALIGNMENT - 1, &bytes) ||
        !rt_add(carver->used_bytes, bytes / ALIGNMENT * ALIGNMENT, &end)) {
        carver->overflow = true;
        return NULL;
    }
    void *piece = carver->base ? carver->base + carver->used_bytes : NULL;
    carver->used_bytes = end;
    return piece;
}

enum rt_status rt_buffer_reserve(struct rt_buffer *buffer, size_t n, size_t element_bytes,
                                 struct rt_error *err) {
    size_t bytes = 0;
    if (!rt_mul(n, element_bytes, &bytes) || bytes > buffer->max_bytes) {
        return rt_fail(err, RT_LIMIT, "workspace of %zu x %zu bytes exceeds its maximum of %zu", n,
                       element_bytes, buffer->max_bytes);
    }
    if (bytes <= buffer->capacity_bytes) return RT_OK;
    /* A quarter of slack keeps a slowly growing scene from reallocating every frame. */
    size_t wanted = bytes + bytes / 4;
    if (wanted > buffer->max_bytes || wanted < bytes) wanted = buffer->max_bytes;
    wanted = wanted / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    void *fresh = aligned_alloc(ALIGNMENT, wanted);
    if (!fresh) return rt_fail(err, RT_NO_MEMORY, "workspace of %zu bytes: out of memory", wanted);
    free(buffer->bytes);
    buffer->bytes = fresh;
    buffer->capacity_bytes = wanted;
    return RT_OK;
}

void rt_buffer_free(struct rt_buffer *buffer) {
    free(buffer->bytes);
    buffer->bytes = NULL;
    buffer->capacity_bytes = 0;
}
