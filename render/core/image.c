#include "render/core/image.h"

#include <stdlib.h>
#include <string.h>

#include "render/core/limits.h"

size_t image_element_bytes(enum image_type type) {
    return type == IMAGE_U8 ? 1 : type == IMAGE_U16 ? 2 : 4;
}

size_t image_bytes(const struct image *image) {
    return (size_t)image->width_px * (size_t)image->height_px * (size_t)image->n_channels *
           image_element_bytes(image->type);
}

enum rt_status image_create(struct image *out, int32_t width_px, int32_t height_px,
                            int32_t n_channels, enum image_type type, struct rt_error *err) {
    memset(out, 0, sizeof *out);
    if (width_px < 1 || height_px < 1 || width_px > RT_MAX_SIDE_PX || height_px > RT_MAX_SIDE_PX ||
        (int64_t)width_px * height_px > RT_MAX_PIXELS) {
        return rt_fail(err, RT_LIMIT,
                       "picture of %d x %d px: sides must be 1...%d and %d px in all", width_px,
                       height_px, RT_MAX_SIDE_PX, RT_MAX_PIXELS);
    }
    if (n_channels < 1 || n_channels > 4) {
        return rt_fail(err, RT_INVALID, "picture with %d channels: must be 1...4", n_channels);
    }
    struct image image = {
        .width_px = width_px, .height_px = height_px, .n_channels = n_channels, .type = type};
    image.pixels = calloc(1, image_bytes(&image));
    if (!image.pixels) {
        return rt_fail(err, RT_NO_MEMORY, "picture of %d x %d px: out of memory", width_px,
                       height_px);
    }
    *out = image;
    return RT_OK;
}

void image_destroy(struct image *image) {
    free(image->pixels);
    memset(image, 0, sizeof *image);
}

uint8_t image_quantise(float value) {
    if (!(value > 0.0f)) return 0;
    return value >= 1.0f ? 255 : (uint8_t)(value * 255.0f + 0.5f);
}
