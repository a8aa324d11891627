/* Where and when a synthetic recording looks. */
#ifndef RETAKE_RECON_SYNTH_PLAN_H
#define RETAKE_RECON_SYNTH_PLAN_H

#include "recon/synth.h"

enum { SYNTH_HOLDOUT_EVERY = 8, SYNTH_SWEEP_US = 100000 };

struct synth_plan_camera {
    const char *id; /* static string */
    struct pose T_rig_camera;
};

/* Pictures of all cameras, those of one camera together and in the order of time. */
struct synth_plan {
    struct camera camera; /* one lens for all */
    struct synth_plan_camera cameras[SYNTH_MAX_CAMERAS];
    int32_t n_cameras;
    int32_t n_frames;       /* of each camera */
    struct sensor *sensors; /* owned [n_cameras][n_frames] */
    int32_t n_sweeps;
    int64_t t_end_us; /* of the drive */
};

/* The world must be that of the same options. RT_NO_MEMORY. */
enum rt_status synth_plan_create(const struct synth_options *options,
                                 const struct synth_world *world, struct synth_plan *out,
                                 struct rt_error *err);
void synth_plan_free(struct synth_plan *plan);

/* File of a picture relative to the recording's folder. */
void synth_plan_file(const struct synth_plan *plan, int32_t i_picture, bool png, char out[64]);

/* recording.json (formats.md section 5) into the folder, atomically. */
enum rt_status synth_json_write(const char *folder, const struct synth_options *options,
                                const struct synth_world *world, const struct synth_plan *plan,
                                struct rt_error *err);
/* points.ply: surfaces seen from the pictures, one point a voxel, coloured as lit. */
enum rt_status synth_points_write(const char *folder, const struct synth_world *world,
                                  const struct synth_plan *plan, int32_t *n_points,
                                  struct rt_error *err);

#endif
