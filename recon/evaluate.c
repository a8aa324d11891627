#include "recon/evaluate.h"

#include <math.h>
#include <string.h>

#include "recon/backend.h"
#include "recon/loss.h"

static void clamp(float *values, size_t n) {
    for (size_t i = 0; i < n; i++) values[i] = fminf(fmaxf(values[i], 0.0f), 1.0f);
}

enum rt_status evaluate_picture(const struct evaluate_args *a, struct picture_quality *out,
                                struct rt_error *err) {
    const struct recon_ops *ops = NULL;
    RT_TRY(recon_backend(render_backend_name(a->renderer), &ops, err));
    struct picture_level level;
    RT_TRY(picture_at_level(a->picture, 1.0f, a->buffer, &level, err));
    size_t plane = (size_t)level.width_px * (size_t)level.height_px * 3;
    size_t padded = (plane + 15) / 16 * 16;
    size_t scratch = loss_scratch_floats(level.width_px, level.height_px);
    RT_TRY(rt_buffer_reserve(a->buffer, padded + scratch, sizeof(float), err));
    float *rgb = a->buffer->bytes;

    const struct render_layer layer = {.gaussians = a->gaussians, .T_world_node = pose_identity()};
    struct render_frame frame = picture_frame(a->picture, &level);
    frame.layers = &layer;
    frame.n_layers = 1;
    frame.near_m = a->near_m;
    frame.sh_degree = a->sh_degree;
    memcpy(frame.background, a->background, sizeof frame.background);
    RT_TRY(render_camera(a->renderer, &frame, &(struct render_target){.rgb = rgb}, err));
    clamp(rgb, plane);

    struct loss_values values;
    ops->loss(&(struct loss_args){.prediction = rgb,
                                  .target = level.rgb,
                                  .mask = level.mask,
                                  .width_px = level.width_px,
                                  .height_px = level.height_px,
                                  .ssim_weight = 1.0f,
                                  .scratch = rgb + padded},
              &values);
    out->psnr_db = values.n_valid_px > 0 ? loss_psnr_db(values.mse) : (double)NAN;
    out->ssim = values.n_valid_px > 0 ? values.ssim : (double)NAN;
    return RT_OK;
}

void quality_add(struct quality_sum *sum, const struct picture_quality *quality) {
    if (isnan(quality->psnr_db)) return;
    sum->psnr_db += quality->psnr_db;
    sum->ssim += quality->ssim;
    sum->n++;
}

struct picture_quality quality_mean(const struct quality_sum *sum) {
    if (sum->n == 0) return (struct picture_quality){(double)NAN, (double)NAN};
    return (struct picture_quality){sum->psnr_db / sum->n, sum->ssim / sum->n};
}
