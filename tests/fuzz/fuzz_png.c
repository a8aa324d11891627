/* Pictures that look like PNG, by content and by header alone. */
#include <stdint.h>

#include "render/io/image_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    struct byte_span source = {.bytes = bytes, .n_bytes = n_bytes};
    struct image image;
    struct rt_error err;
    if (!image_is_png(source)) return 0;
    if (image_decode_png(source, true, &image, &err) != RT_OK) return 0;
    /* Large pictures are legal and slow: they would hide everything else. */
    if ((int64_t)image.width_px * image.height_px > 1 << 20) return 0;
    if (image_decode_png(source, false, &image, &err) == RT_OK) image_destroy(&image);
    return 0;
}
