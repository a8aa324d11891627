/* Pictures in memory: rows from the top, channels interleaved, no padding.
 *
 *     struct image picture = {0};
 *     RT_TRY(image_create(&picture, 640, 360, 3, IMAGE_U8, err));
 *     image_u8(&picture)[(y * 640 + x) * 3 + c]
 *     image_destroy(&picture);
 *
 * Ownership: `pixels` is owned. Threading: a value, no shared state. */
#ifndef RETAKE_RENDER_CORE_IMAGE_H
#define RETAKE_RENDER_CORE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "render/core/status.h"

RT_C_BEGIN

enum image_type { IMAGE_U8, IMAGE_U16, IMAGE_F32 };

struct image {
    int32_t width_px;
    int32_t height_px;
    int32_t n_channels; /* 1, 2, 3 or 4 */
    enum image_type type;
    void *pixels; /* owned; [height][width][n_channels] */
};

/* Zero-filled picture. RT_LIMIT beyond RT_MAX_SIDE_PX or RT_MAX_PIXELS, RT_NO_MEMORY. */
enum rt_status image_create(struct image *out, int32_t width_px, int32_t height_px,
                            int32_t n_channels, enum image_type type, struct rt_error *err);
/* Frees the pixels and zeroes the struct; accepts a zeroed one. */
void image_destroy(struct image *image);

size_t image_element_bytes(enum image_type type);
size_t image_bytes(const struct image *image);

static inline uint8_t *image_u8(const struct image *image) { return (uint8_t *)image->pixels; }
static inline uint16_t *image_u16(const struct image *image) { return (uint16_t *)image->pixels; }
static inline float *image_f32(const struct image *image) { return (float *)image->pixels; }

/* Linear float in 0...1 to 8 bits: clamp, times 255, round half up; NaN becomes 0. */
uint8_t image_quantise(float value);

RT_C_END

#endif
