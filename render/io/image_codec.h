/* The codecs behind image_file.h, one file each; internal to render/io. Each decoder takes the
 * whole file and checks sizes before it allocates; with `header_only` it fills the shape and leaves
 * `pixels` NULL. */
#ifndef RETAKE_RENDER_IO_IMAGE_CODEC_H
#define RETAKE_RENDER_IO_IMAGE_CODEC_H

#include <stdbool.h>

#include "render/io/image_file.h"

struct byte_span {
    const unsigned char *bytes; /* borrowed */
    size_t n_bytes;
};

bool image_is_png(struct byte_span source);
bool image_is_jpeg(struct byte_span source);
enum rt_status image_decode_png(struct byte_span source, bool header_only, struct image *out,
                                struct rt_error *err);
enum rt_status image_decode_jpeg(struct byte_span source, bool header_only, struct image *out,
                                 struct rt_error *err);

/* Sides and pixels within limits.h, else RT_BAD_FILE "limit". */
enum rt_status image_check_size(const char *format, int64_t width_px, int64_t height_px,
                                struct rt_error *err);

#endif
