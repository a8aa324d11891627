/* Pictures made ready for training: composited, undistorted to the ideal pinhole of the same focal
 * length, shrunk by area average. Plain functions of pictures, parallel over rows.
 *
 *     RT_TRY(picture_to_rgb(&decoded, background, &rgb, err));
 *     RT_TRY(picture_undistort(&lens, &rgb, &undistorted, &mask, err));
 *     RT_TRY(picture_shrink(&undistorted, &mask, &small, &small_mask, err));
 *
 * Masks are U8, one channel, 255 = valid, 0 = not. Outputs are owned by the caller. */
#ifndef RETAKE_RECON_UNDISTORT_H
#define RETAKE_RECON_UNDISTORT_H

#include "render/core/image.h"
#include "render/core/sensor.h"

/* 1...4 channels of 8 or 16 bits to 8-bit RGB; straight alpha is composited on `background` in
 * display space. */
enum rt_status picture_to_rgb(const struct image *source, const float background[3],
                              struct image *out, struct rt_error *err);

/* Any mask picture to 0 and 255: 0 where its first channel is 0. */
enum rt_status picture_to_mask(const struct image *source, struct image *out, struct rt_error *err);

/* Resamples rgb (and `mask`, which may be empty) from the lens of the file to the ideal pinhole,
 * bilinearly. mask_out is 0 where the lens-side position lies outside the picture or beyond the
 * radius to which the lens is invertible, or where one of the four pixels is masked. */
struct undistort_args {
    const struct camera *lens; /* borrowed */
    const struct image *rgb;   /* borrowed */
    const struct image *mask;  /* borrowed; pixels NULL = all valid */
};
enum rt_status picture_undistort(const struct undistort_args *args, struct image *rgb_out,
                                 struct image *mask_out, struct rt_error *err);

/* Area average over valid pixels to the size that stands in rgb_out->width_px and height_px on
 * entry (each <= the source's). A pixel of the result is valid when everything under it is. */
enum rt_status picture_shrink(const struct image *rgb, const struct image *mask,
                              struct image *rgb_out, struct image *mask_out, struct rt_error *err);

#endif
