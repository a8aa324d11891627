#include "api/picture_encode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/colormap.h"

/* The part of the drawn picture that was asked for. */
struct window {
    const struct engine_picture *picture;
    int32_t x, y, width, height;
};

static struct window window_of(const struct engine_picture *picture, const struct view *view) {
    struct window w = {picture, 0, 0, picture->width_px, picture->height_px};
    if (view->crop_px[2] > 0) {
        w = (struct window){picture, view->crop_px[0], view->crop_px[1], view->crop_px[2],
                            view->crop_px[3]};
    }
    return w;
}

static size_t pixel_at(const struct window *w, int32_t x, int32_t y) {
    return (size_t)(w->y + y) * (size_t)w->picture->width_px + (size_t)(w->x + x);
}

static float scalar_at(const struct window *w, enum view_output output, size_t i) {
    if (output == VIEW_ALPHA) return w->picture->alpha[i];
    if (output == VIEW_DEPTH) return w->picture->depth[i];
    return (float)w->picture->splat_count[i];
}

/* -- pictures of 8 and 16 bits -------------------------------------------------------------------
 */

/* Saturating and branch-free enough for the compiler; the same rule as image_quantise. */
static inline uint8_t to_u8(float value) {
    float scaled = value * 255.0f + 0.5f;
    if (!(scaled > 0.0f)) return 0; /* NaN too */
    return scaled >= 255.0f ? 255 : (uint8_t)scaled;
}

static void fill_rgb(const struct window *w, const struct image *out, bool with_alpha) {
    uint8_t *to = image_u8(out);
    for (int32_t y = 0; y < w->height; y++) {
        const float *from = w->picture->rgb + 3 * pixel_at(w, 0, y);
        for (int32_t x = 0; x < w->width; x++, from += 3) {
            for (int c = 0; c < 3; c++) *to++ = to_u8(from[c]);
            if (with_alpha) *to++ = to_u8(w->picture->alpha[pixel_at(w, x, y)]);
        }
    }
}

/* Straight colour: the picture holds colour times alpha plus background times the rest; the file
 * wants the colour alone, as viewers composite it again. */
static void fill_rgba(const struct window *w, const struct view *view, const struct image *out) {
    fill_rgb(w, out, true);
    uint8_t *to = image_u8(out);
    for (int32_t y = 0; y < w->height; y++) {
        for (int32_t x = 0; x < w->width; x++, to += 4) {
            size_t i = pixel_at(w, x, y);
            float alpha = w->picture->alpha[i];
            for (int c = 0; c < 3 && alpha > 1e-3f; c++) {
                float over = view->background[c] * (1.0f - alpha);
                to[c] = to_u8((w->picture->rgb[3 * i + (size_t)c] - over) / alpha);
            }
        }
    }
}

static uint16_t to_u16(float value, double scale) {
    double scaled = (double)value * scale + 0.5;
    if (!(scaled > 0.0)) return 0; /* NaN: no depth */
    return scaled >= 65535.0 ? 65535 : (uint16_t)scaled;
}

static void fill_scalar_integer(const struct window *w, const struct view *view,
                                enum view_output output, const struct image *out) {
    double scale = output == VIEW_DEPTH ? view->depth_per_m : 1.0;
    size_t n = 0;
    for (int32_t y = 0; y < w->height; y++) {
        for (int32_t x = 0; x < w->width; x++, n++) {
            float value = scalar_at(w, output, pixel_at(w, x, y));
            if (out->type == IMAGE_U8) {
                image_u8(out)[n] = to_u8(value);
            } else {
                image_u16(out)[n] = to_u16(value, scale);
            }
        }
    }
}

static void fill_visual(const struct window *w, const struct view *view, enum view_output output,
                        const struct image *out) {
    double low = view->visual_min, high = view->visual_max;
    if (view->visual_log) {
        low = log(low);
        high = log(high);
    }
    uint8_t *to = image_u8(out);
    for (int32_t y = 0; y < w->height; y++) {
        for (int32_t x = 0; x < w->width; x++, to += 3) {
            double value = (double)scalar_at(w, output, pixel_at(w, x, y));
            if (view->visual_log) value = log(value);
            colormap_at((enum colormap)view->colormap, (float)((value - low) / (high - low)), to);
        }
    }
}

static void fill_float(const struct window *w, enum view_output output, const struct image *out) {
    float *to = image_f32(out);
    for (int32_t y = 0; y < w->height; y++) {
        for (int32_t x = 0; x < w->width; x++) {
            size_t i = pixel_at(w, x, y);
            if (output != VIEW_RGB) {
                *to++ = scalar_at(w, output, i);
                continue;
            }
            for (size_t c = 0; c < 3; c++) {
                float value = w->picture->rgb[3 * i + c];
                *to++ = value < 0.0f ? 0.0f : value > 1.0f ? 1.0f : value;
            }
        }
    }
}

/* What one output is as pixels in the asked-for format; the caller destroys *out. */
static enum rt_status make_image(const struct window *w, const struct view *view,
                                 enum view_output output, struct image *out, struct rt_error *err) {
    bool is_visual = output != VIEW_RGB && view->colormap >= 0;
    bool is_colour = output == VIEW_RGB || is_visual;
    bool is_float = view->format >= VIEW_NPY || (view->format >= VIEW_RAW && !is_colour);
    enum image_type type = is_float                            ? IMAGE_F32
                           : is_colour || output == VIEW_ALPHA ? IMAGE_U8
                                                               : IMAGE_U16;
    RT_TRY(image_create(out, w->width, w->height, is_colour ? 3 : 1, type, err));
    if (is_float) {
        fill_float(w, output, out);
    } else if (is_visual) {
        fill_visual(w, view, output, out);
    } else if (output == VIEW_RGB) {
        fill_rgb(w, out, false);
    } else {
        fill_scalar_integer(w, view, output, out);
    }
    return RT_OK;
}

/* -- files ----------------------------------------------------------------------------------------
 */

uint16_t half_from_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = (bits >> 16) & 0x8000u, rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);  /* NaN */
    if (rest >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* rounds beyond 65504 */
    if (rest < 0x38800000u) {                                   /* subnormal or zero */
        float magnitude;
        memcpy(&magnitude, &rest, sizeof magnitude);
        return (uint16_t)(sign | (uint32_t)lrintf(magnitude * 16777216.0f)); /* 2^24 */
    }
    uint32_t odd = (rest >> 13) & 1u;
    return (uint16_t)(sign | ((rest - 0x38000000u + 0xfffu + odd) >> 13));
}

/* NPY 1.0 with '<f2' (numpy/lib/format: header padded to a multiple of 64). */
static enum rt_status encode_npy_half(const struct image *image, struct rt_bytes *out,
                                      struct rt_error *err) {
    enum { HEADER_BYTES = 128 };
    size_t n = image_bytes(image) / sizeof(float);
    uint8_t *bytes = malloc(HEADER_BYTES + 2 * n);
    if (bytes == NULL) return rt_fail(err, RT_NO_MEMORY, "no memory for the answer");
    char shape[64];
    if (image->n_channels == 1) {
        snprintf(shape, sizeof shape, "(%d, %d)", image->height_px, image->width_px);
    } else {
        snprintf(shape, sizeof shape, "(%d, %d, %d)", image->height_px, image->width_px,
                 image->n_channels);
    }
    static const uint8_t magic[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, HEADER_BYTES - 10, 0};
    char text[HEADER_BYTES - 10];
    memset(bytes, ' ', HEADER_BYTES);
    memcpy(bytes, magic, sizeof magic);
    int n_text = snprintf(text, sizeof text,
                          "{'descr': '<f2', 'fortran_order': False, 'shape': %s, }", shape);
    memcpy(bytes + 10, text, (size_t)n_text);
    bytes[HEADER_BYTES - 1] = '\n';
    for (size_t i = 0; i < n; i++) {
        uint16_t half = half_from_float(image_f32(image)[i]);
        bytes[HEADER_BYTES + 2 * i] = (uint8_t)half;
        bytes[HEADER_BYTES + 2 * i + 1] = (uint8_t)(half >> 8);
    }
    *out = (struct rt_bytes){bytes, HEADER_BYTES + 2 * n};
    return RT_OK;
}

/* Raw pixels: [H][W][C] as they are, or channel planes. */
static enum rt_status encode_raw(const struct image *image, bool planar, struct rt_bytes *out,
                                 struct rt_error *err) {
    size_t n_bytes = image_bytes(image), element = image_element_bytes(image->type);
    size_t n_pixels = (size_t)image->width_px * (size_t)image->height_px;
    size_t n_channels = (size_t)image->n_channels;
    char *bytes = malloc(n_bytes);
    if (bytes == NULL) return rt_fail(err, RT_NO_MEMORY, "no memory for the answer");
    if (!planar || n_channels == 1) {
        memcpy(bytes, image->pixels, n_bytes);
    } else {
        for (size_t c = 0; c < n_channels; c++) {
            for (size_t i = 0; i < n_pixels; i++) {
                memcpy(bytes + (c * n_pixels + i) * element,
                       (const char *)image->pixels + (i * n_channels + c) * element, element);
            }
        }
    }
    out->bytes = bytes;
    out->n_bytes = n_bytes;
    return RT_OK;
}

static enum rt_status encode_image(const struct image *image, const struct view *view,
                                   struct rt_bytes *out, struct rt_error *err) {
    switch (view->format) {
        case VIEW_PNG:
            return image_encode_png(image, out, err);
        case VIEW_JPEG:
            return image_encode_jpeg(image, view->quality, out, err);
        case VIEW_NPY:
            return image_encode_npy(image, out, err);
        case VIEW_NPY_F16:
            return encode_npy_half(image, out, err);
        default:
            return encode_raw(image, view->format == VIEW_RAW_PLANAR, out, err);
    }
}

static void describe(const struct image *image, const struct view *view, struct encoded *out) {
    static const char *const dtypes[] = {
        [IMAGE_U8] = "u8", [IMAGE_U16] = "u16", [IMAGE_F32] = "f32"};
    out->dtype = view->format == VIEW_NPY_F16 ? "f16" : dtypes[image->type];
    bool is_planar = view->format == VIEW_RAW_PLANAR && image->n_channels > 1;
    out->layout = image->n_channels == 1 ? "HW" : is_planar ? "CHW" : "HWC";
    const int32_t w = image->width_px, h = image->height_px, n = image->n_channels;
    if (n == 1) {
        snprintf(out->shape, sizeof out->shape, "%d,%d", h, w);
    } else if (is_planar) {
        snprintf(out->shape, sizeof out->shape, "%d,%d,%d", n, h, w);
    } else {
        snprintf(out->shape, sizeof out->shape, "%d,%d,%d", h, w, n);
    }
}

static bool is_one_rgba(const struct view *view) {
    return view->format == VIEW_PNG && view->n_outputs == 2 && view->colormap < 0 &&
           view->outputs[0] == VIEW_RGB && view->outputs[1] == VIEW_ALPHA;
}

static enum rt_status encode_archive(const struct window *w, const struct view *view,
                                     struct encoded *out, struct rt_error *err) {
    struct rt_bytes files[VIEW_N_OUTPUTS] = {0};
    struct zip_entry entries[VIEW_N_OUTPUTS];
    char names[VIEW_N_OUTPUTS][24];
    enum rt_status status = RT_OK;
    for (int32_t i = 0; i < view->n_outputs && status == RT_OK; i++) {
        struct image image = {0};
        status = make_image(w, view, view->outputs[i], &image, err);
        if (status == RT_OK) status = encode_image(&image, view, &files[i], err);
        if (status == RT_OK && i == 0) describe(&image, view, out);
        image_destroy(&image);
        snprintf(names[i], sizeof names[i], "%s.%s", view_output_names[view->outputs[i]],
                 view_format_extension(view->format));
        entries[i] = (struct zip_entry){names[i], files[i].bytes, files[i].n_bytes};
    }
    if (status == RT_OK) status = zip_encode(entries, view->n_outputs, &out->bytes, err);
    for (int32_t i = 0; i < view->n_outputs; i++) rt_bytes_free(&files[i]);
    out->content_type = "application/zip";
    return status;
}

enum rt_status picture_encode(const struct engine_picture *picture, const struct view *view,
                              struct encoded *out, struct rt_error *err) {
    static const char *const types[] = {"image/png",
                                        "image/jpeg",
                                        "application/octet-stream",
                                        "application/octet-stream",
                                        "application/x-npy",
                                        "application/x-npy"};
    const struct window w = window_of(picture, view);
    *out = (struct encoded){0};
    if (view->n_outputs > 1 && !is_one_rgba(view)) return encode_archive(&w, view, out, err);
    struct image image = {0};
    enum rt_status status;
    if (is_one_rgba(view)) {
        status = image_create(&image, w.width, w.height, 4, IMAGE_U8, err);
        if (status == RT_OK) fill_rgba(&w, view, &image);
    } else {
        status = make_image(&w, view, view->outputs[0], &image, err);
    }
    if (status == RT_OK) describe(&image, view, out);
    if (status == RT_OK) status = encode_image(&image, view, &out->bytes, err);
    image_destroy(&image);
    out->content_type = types[view->format];
    return status;
}
