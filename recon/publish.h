/* The scene of a training: gaussians, the cameras of the recording with all their frames, the plain
 * background as sky, and where it came from.
 *
 *     RT_TRY(publish_scene(&args, &scene, err)); */
#ifndef RETAKE_RECON_PUBLISH_H
#define RETAKE_RECON_PUBLISH_H

#include "recon/pictures.h"
#include "render/core/scene.h"

struct publish_args {
    const struct picture_set *pictures; /* borrowed */
    const struct gaussians *gaussians;  /* borrowed, copied */
    const char *name;                   /* NULL = that of the recording */
    const char *recording_id;           /* or NULL */
    const char *provenance_json;        /* or NULL */
};

/* One reference. RT_NO_MEMORY. */
enum rt_status publish_scene(const struct publish_args *args, struct scene **out,
                             struct rt_error *err);

#endif
