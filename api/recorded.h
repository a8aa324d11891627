/* view=recorded: the original picture of a frame, scaled to the asked-for size. */
#ifndef RETAKE_API_RECORDED_H
#define RETAKE_API_RECORDED_H

#include "api/drawing.h"

/* Defers x and answers it later; the caller returns. */
void recorded_start(struct api *api, struct http_exchange *x,
                    const struct drawing_request *request);

/* Mean of the source pixels under each target pixel; U8. */
enum rt_status image_shrink(const struct image *source, int32_t width_px, int32_t height_px,
                            struct image *out, struct rt_error *err);

#endif
