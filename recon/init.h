/* The first gaussians. With points: at the points, coloured as they are. Without: uniform in a cube
 * of half side 1.5 x the mean camera distance around the point nearest all optical axes, grey.
 * Size: init_scale x the mean distance to the 3 nearest neighbours.
 *
 *     struct gaussians *first;
 *     RT_TRY(init_gaussians(&pictures, &config, &first, err));
 *
 * Deterministic for a seed. */
#ifndef RETAKE_RECON_INIT_H
#define RETAKE_RECON_INIT_H

#include <stdbool.h>

#include "recon/config.h"
#include "recon/pictures.h"
#include "render/core/gaussians.h"

/* What the cameras look at. */
struct scene_frame {
    vec3 centre;    /* nearest to all optical axes; ahead of the cameras when these are parallel */
    float distance; /* mean distance of the cameras from it */
    float extent;   /* 1.1 x largest distance of a camera from their mean, the unit of lr_mean */
};

struct scene_frame init_scene_frame(const struct picture_set *pictures);

/* True when the first gaussians stand anywhere: asked for, or the recording has no points. */
bool init_is_random(const struct picture_set *pictures, const struct recon_config *config);

/* A set with room for all growth of the configuration. RT_INVALID when init = sfm and the recording
 * has no points; RT_NO_MEMORY. */
enum rt_status init_gaussians(const struct picture_set *pictures, const struct recon_config *config,
                              struct gaussians **out, struct rt_error *err);

/* Mean distance of each point to its 3 nearest others (fewer when there are fewer); 0 for a single
 * point. xyz [n][3], distance [n]. k-d tree [Bentley 1975], O(n log n) whatever the outliers. */
enum rt_status neighbour_distances(const float *xyz, int32_t n, float *distance,
                                   struct rt_error *err);

#endif
