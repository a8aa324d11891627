/* Drawn pictures -> bytes of an answer (api.md section 4.3): one output is a bare file, several are
 * a stored zip of {output}.{ext}. */
#ifndef RETAKE_API_PICTURE_ENCODE_H
#define RETAKE_API_PICTURE_ENCODE_H

#include "api/engine.h"
#include "api/view.h"
#include "render/io/image_file.h"

struct encoded {
    struct rt_bytes bytes;    /* owned */
    const char *content_type; /* static */
    char shape[48];           /* "540,960,3" of the first output */
    const char *dtype;        /* u8 u16 f32 f16 */
    const char *layout;       /* HW HWC CHW */
};

/* Cuts to the view's crop and encodes. RT_INVALID for combinations that the wires refuse. */
enum rt_status picture_encode(const struct engine_picture *picture, const struct view *view,
                              struct encoded *out, struct rt_error *err);

/* IEEE 754 binary16 of a float, round to nearest even; overflow becomes infinity. */
uint16_t half_from_float(float value);

#endif
