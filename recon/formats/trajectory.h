/* Poses in time of a rig: keys, and the pose between them (sensors.md section 2).
 *
 *     struct trajectories all = {0};
 *     RT_TRY(trajectories_from_json(array, &all, err));
 *     double beyond_s;
 *     if (trajectories_at(&all, t_us, &T_world_rig, &beyond_s)) ...
 *     trajectories_free(&all); */
#ifndef RETAKE_RECON_FORMATS_TRAJECTORY_H
#define RETAKE_RECON_FORMATS_TRAJECTORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "render/core/pose.h"
#include "render/core/status.h"

struct trajectory {
    int32_t n_keys;
    int64_t *t_us;            /* owned [n_keys], strictly increasing */
    struct pose *T_world_rig; /* owned [n_keys] */
};

struct trajectories {
    struct trajectory *items; /* owned [n] */
    int32_t n;
};

/* [{"sequence", "T_world_rig": {"t_us": [], "t": [[x,y,z]], "q_wxyz": [[w,x,y,z]]}}]; NULL = none.
 * RT_BAD_FILE "bad-value" or "limit"; *out is freed on failure. */
enum rt_status trajectories_from_json(const json_t *array, struct trajectories *out,
                                      struct rt_error *err);
void trajectories_free(struct trajectories *trajectories);

/* Pose at a time from the trajectory that covers it, or that comes nearest within 0.2 s: then the
 * motion of its last two keys goes on and *beyond_s says for how long. False when none does. */
bool trajectories_at(const struct trajectories *trajectories, int64_t t_us, struct pose *out,
                     double *beyond_s);

#endif
