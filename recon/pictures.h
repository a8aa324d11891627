/* The pictures of one reconstruction: which are held out, and their 8-bit pixels at the training
 * resolution, decoded once. Lower levels of the resolution schedule are averaged when they are
 * used, which is cheap beside rendering and needs no second copy.
 *
 *     struct picture_set set = {0};
 *     RT_TRY(pictures_plan(&set, recording, &config, err));
 *     for (int32_t i = 0; i < set.n_pictures; i++) RT_TRY(pictures_load(&set, i, err));
 *     pictures_free(&set);
 *
 * Threading: one thread. */
#ifndef RETAKE_RECON_PICTURES_H
#define RETAKE_RECON_PICTURES_H

#include <stdbool.h>

#include "recon/config.h"
#include "recon/recording.h"
#include "render/core/arena.h"
#include "render/render.h"

struct training_picture {
    int32_t i_camera, i_frame; /* in the recording */
    bool holdout;
    struct pose T_world_sensor;
    struct camera camera; /* of the loaded pixels */
    struct image rgb;     /* U8, 3 channels; empty before it is loaded */
    struct image mask;    /* U8, 1 channel, 0 = ignored; empty when every pixel counts */
};

struct picture_set {
    const struct recording *recording; /* borrowed until pictures_free */
    struct training_picture *pictures; /* owned [n_pictures], cameras in order, frames in order */
    int32_t *training;                 /* owned [n_training] indices of those not held out */
    int32_t n_pictures, n_training, n_holdout;
    float scale; /* size of the pixels x recorded size */
};

/* Lists the pictures and splits them: as the recording declares, else every holdout_every-th of
 * each camera from the first one. Errors: RT_INVALID when none is left to train on, RT_LIMIT when
 * the pixels would need more than half of this machine's memory, RT_NO_MEMORY. */
enum rt_status pictures_plan(struct picture_set *set, const struct recording *recording,
                             const struct recon_config *config, struct rt_error *err);
/* Decodes picture `index`; errors of recording_load_picture, with the file's name in front. */
enum rt_status pictures_load(struct picture_set *set, int32_t index, struct rt_error *err);
void pictures_free(struct picture_set *set);

/* A picture at one level. */
struct picture_level {
    int32_t width_px, height_px;
    const uint8_t *rgb;  /* [h][w][3] */
    const uint8_t *mask; /* [h][w] or NULL */
};

/* Pixels of `picture` at `scale` in (0, 1] of its own size, averaged over area; masked pixels have
 * no say in the average, and a pixel counts when at least half of its area does. At 1 the pixels
 * themselves; else `buffer` holds them until the next call. Errors: those of rt_buffer_reserve. */
enum rt_status picture_at_level(const struct training_picture *picture, float scale,
                                struct rt_buffer *buffer, struct picture_level *out,
                                struct rt_error *err);

/* The frame that renders this picture at the size of a level; the caller adds layers, background,
 * near_m and sh_degree. */
struct render_frame picture_frame(const struct training_picture *picture,
                                  const struct picture_level *level);

/* max(1, round(scale x side)). */
int32_t scaled_side(int32_t side_px, float scale);

#endif
