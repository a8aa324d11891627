/* How well a scene reproduces a picture: PSNR and SSIM of the rendered floats, clamped to [0, 1],
 * against the 8-bit picture at the training resolution. Masked pixels do not count (in SSIM they
 * equal the picture, as in training).
 *
 *     RT_TRY(evaluate_picture(&args, &quality, err));
 *
 * Threading: as the renderer. */
#ifndef RETAKE_RECON_EVALUATE_H
#define RETAKE_RECON_EVALUATE_H

#include "recon/pictures.h"
#include "recon/stages.h"

struct evaluate_args {
    struct renderer *renderer;              /* borrowed */
    const struct gaussians *gaussians;      /* borrowed */
    const struct training_picture *picture; /* loaded */
    struct rt_buffer *buffer;               /* grown as needed; contents are lost */
    float background[3];
    float near_m;
    int32_t sh_degree;
};

struct picture_quality {
    double psnr_db; /* NaN when every pixel is masked */
    double ssim;
};

/* Errors of rendering, RT_LIMIT and RT_NO_MEMORY. */
enum rt_status evaluate_picture(const struct evaluate_args *args, struct picture_quality *out,
                                struct rt_error *err);

/* Means over pictures that have a value. */
struct quality_sum {
    double psnr_db, ssim;
    int32_t n;
};
void quality_add(struct quality_sum *sum, const struct picture_quality *quality);
/* NaN when nothing was added. */
struct picture_quality quality_mean(const struct quality_sum *sum);

#endif
