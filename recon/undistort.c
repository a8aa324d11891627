#include "recon/undistort.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "render/core/camera_pinhole.h"

static float sample(const struct image *image, size_t i) {
    return image->type == IMAGE_U16 ? (float)image_u16(image)[i] / 65535.0f
                                    : (float)image_u8(image)[i] / 255.0f;
}

enum rt_status picture_to_rgb(const struct image *source, const float background[3],
                              struct image *out, struct rt_error *err) {
    RT_TRY(image_create(out, source->width_px, source->height_px, 3, IMAGE_U8, err));
    const size_t n_pixels = (size_t)source->width_px * (size_t)source->height_px;
    const size_t n = (size_t)source->n_channels;
    uint8_t *pixels = image_u8(out);
    if (n == 3 && source->type == IMAGE_U8) {
        memcpy(pixels, source->pixels, 3 * n_pixels);
        return RT_OK;
    }
    const bool has_alpha = n == 2 || n == 4;
    const size_t step = n >= 3 ? 1 : 0; /* grey repeats its one channel */
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n_pixels; i++) {
        float alpha = has_alpha ? sample(source, i * n + n - 1) : 1.0f;
        for (size_t k = 0; k < 3; k++) {
            float value = sample(source, i * n + k * step);
            pixels[3 * i + k] = image_quantise(alpha * value + (1.0f - alpha) * background[k]);
        }
    }
    return RT_OK;
}

enum rt_status picture_to_mask(const struct image *source, struct image *out,
                               struct rt_error *err) {
    RT_TRY(image_create(out, source->width_px, source->height_px, 1, IMAGE_U8, err));
    const size_t n_pixels = (size_t)source->width_px * (size_t)source->height_px;
    for (size_t i = 0; i < n_pixels; i++) {
        image_u8(out)[i] = sample(source, i * (size_t)source->n_channels) > 0.0f ? 255 : 0;
    }
    return RT_OK;
}

static int32_t clamped(int32_t value, int32_t high) {
    return value < 0 ? 0 : value > high ? high : value;
}

/* Bilinear between pixel centres at `at` (corner origin, inside the picture); edge pixels extend to
 * the border. Returns 255, or 0 when a pixel used is masked. */
static uint8_t sample_bilinear(const struct undistort_args *args, vec2 at, uint8_t *rgb) {
    const int32_t right_end = args->rgb->width_px - 1;
    const int32_t low_end = args->rgb->height_px - 1;
    /* at >= 0, so that truncation rounds down; floorf() is a call on plain x86-64. */
    const int32_t left = (int32_t)(at.x + 0.5f) - 1;
    const int32_t top = (int32_t)(at.y + 0.5f) - 1;
    const float part_x = at.x - 0.5f - (float)left;
    const float part_y = at.y - 0.5f - (float)top;
    const size_t columns[2] = {(size_t)clamped(left, right_end),
                               (size_t)clamped(left + 1, right_end)};
    const size_t rows[2] = {(size_t)clamped(top, low_end) * (size_t)args->rgb->width_px,
                            (size_t)clamped(top + 1, low_end) * (size_t)args->rgb->width_px};
    const size_t at_pixel[4] = {rows[0] + columns[0], rows[0] + columns[1], rows[1] + columns[0],
                                rows[1] + columns[1]};
    const float weights[4] = {(1.0f - part_x) * (1.0f - part_y), part_x * (1.0f - part_y),
                              (1.0f - part_x) * part_y, part_x * part_y};
    const uint8_t *pixels = image_u8(args->rgb);
    for (size_t k = 0; k < 3; k++) {
        float upper = weights[0] * (float)pixels[3 * at_pixel[0] + k] +
                      weights[1] * (float)pixels[3 * at_pixel[1] + k];
        float lower = weights[2] * (float)pixels[3 * at_pixel[2] + k] +
                      weights[3] * (float)pixels[3 * at_pixel[3] + k];
        rgb[k] = (uint8_t)(upper + lower + 0.5f);
    }
    for (int i = 0; args->mask->pixels && i < 4; i++) {
        if (weights[i] > 0.0f && image_u8(args->mask)[at_pixel[i]] == 0) return 0;
    }
    return 255;
}

static void undistort_row(const struct undistort_args *args, float r_max, int32_t y,
                          struct image *rgb_out, struct image *mask_out) {
    const struct camera *lens = args->lens;
    const int32_t width = args->rgb->width_px;
    for (int32_t x = 0; x < width; x++) {
        size_t i = (size_t)y * (size_t)width + (size_t)x;
        vec2 ab = vec2_make(((float)x + 0.5f - lens->principal_px[0]) / lens->focal_px[0],
                            ((float)y + 0.5f - lens->principal_px[1]) / lens->focal_px[1]);
        if (ab.x * ab.x + ab.y * ab.y > r_max * r_max) continue; /* stays 0, masked */
        vec2 at = pinhole_project(lens, vec3_make(ab.x, ab.y, 1.0f));
        bool inside = at.x >= 0.0f && at.x <= (float)width && at.y >= 0.0f &&
                      at.y <= (float)args->rgb->height_px;
        if (!inside) continue;
        image_u8(mask_out)[i] = sample_bilinear(args, at, image_u8(rgb_out) + 3 * i);
    }
}

enum rt_status picture_undistort(const struct undistort_args *args, struct image *rgb_out,
                                 struct image *mask_out, struct rt_error *err) {
    const int32_t width = args->rgb->width_px;
    const int32_t height = args->rgb->height_px;
    memset(mask_out, 0, sizeof *mask_out);
    RT_TRY(image_create(rgb_out, width, height, 3, IMAGE_U8, err));
    enum rt_status status = image_create(mask_out, width, height, 1, IMAGE_U8, err);
    if (status != RT_OK) {
        image_destroy(rgb_out);
        return status;
    }
    const float r_max = pinhole_r_max(args->lens);
#pragma omp parallel for schedule(static)
    for (int32_t y = 0; y < height; y++) undistort_row(args, r_max, y, rgb_out, mask_out);
    return RT_OK;
}

/* Source pixels [first, last] under output pixel i and the weights of the two ends. */
struct span {
    int32_t first, last;
    float first_weight, last_weight;
};

static struct span span_of(int32_t i, int32_t n_out, int32_t n_in) {
    /* Whole numbers avoid a sliver of a neighbour from rounding: the edges are i*n_in/n_out. */
    int64_t low = (int64_t)i * n_in;
    int64_t high = low + n_in;
    struct span span;
    span.first = (int32_t)(low / n_out);
    span.last = (int32_t)((high - 1) / n_out);
    int64_t first_end = ((int64_t)span.first + 1) * n_out;
    span.first_weight = (float)((first_end < high ? first_end : high) - low) / (float)n_out;
    span.last_weight = (float)(high - (int64_t)span.last * n_out) / (float)n_out;
    return span;
}

static float span_weight(const struct span *span, int32_t i) {
    return i == span->first ? span->first_weight : i == span->last ? span->last_weight : 1.0f;
}

struct shrink_args {
    const struct image *rgb, *mask;
    struct image *rgb_out, *mask_out;
};

static void shrink_pixel(const struct shrink_args *args, const struct span *rows, int32_t x,
                         size_t i_out) {
    const struct span columns = span_of(x, args->rgb_out->width_px, args->rgb->width_px);
    float sum[3] = {0.0f, 0.0f, 0.0f};
    float total = 0.0f;
    uint8_t valid = 255;
    for (int32_t v = rows->first; v <= rows->last; v++) {
        for (int32_t u = columns.first; u <= columns.last; u++) {
            size_t i = (size_t)v * (size_t)args->rgb->width_px + (size_t)u;
            if (args->mask->pixels && image_u8(args->mask)[i] == 0) {
                valid = 0;
                continue;
            }
            float weight = span_weight(rows, v) * span_weight(&columns, u);
            total += weight;
            const uint8_t *pixel = image_u8(args->rgb) + 3 * i;
            for (int k = 0; k < 3; k++) sum[k] += weight * (float)pixel[k];
        }
    }
    uint8_t *out = image_u8(args->rgb_out) + 3 * i_out;
    for (int k = 0; k < 3; k++) out[k] = total > 0.0f ? (uint8_t)(sum[k] / total + 0.5f) : 0;
    if (args->mask_out->pixels) image_u8(args->mask_out)[i_out] = valid;
}

enum rt_status picture_shrink(const struct image *rgb, const struct image *mask,
                              struct image *rgb_out, struct image *mask_out, struct rt_error *err) {
    const struct shrink_args args = {rgb, mask, rgb_out, mask_out};
    const int32_t width = rgb_out->width_px;
    const int32_t height = rgb_out->height_px;
    memset(mask_out, 0, sizeof *mask_out);
    RT_TRY(image_create(rgb_out, width, height, 3, IMAGE_U8, err));
    if (mask->pixels) {
        enum rt_status status = image_create(mask_out, width, height, 1, IMAGE_U8, err);
        if (status != RT_OK) {
            image_destroy(rgb_out);
            return status;
        }
    }
#pragma omp parallel for schedule(static)
    for (int32_t y = 0; y < height; y++) {
        const struct span rows = span_of(y, height, rgb->height_px);
        for (int32_t x = 0; x < width; x++) {
            shrink_pixel(&args, &rows, x, (size_t)y * (size_t)width + (size_t)x);
        }
    }
    return RT_OK;
}
