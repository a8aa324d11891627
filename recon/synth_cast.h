/* Rays against the street: boxes, ellipsoids, cylinders and a ground of two levels.
 *
 *     struct synth_ray ray = {origin, direction, 200.0f};
 *     struct synth_hit hit;
 *     if (synth_cast(world, &instant, &ray, &hit)) ... hit.distance ...
 *
 * Directions have length 1. Source: slab test [Kay, Kajiya 1986]; the tree is that of synth_tree.c.
 */
#ifndef RETAKE_RECON_SYNTH_CAST_H
#define RETAKE_RECON_SYNTH_CAST_H

#include "recon/synth_world.h"

struct synth_ray {
    vec3 origin;
    vec3 direction; /* unit */
    float distance_max;
};

struct synth_hit {
    float distance;
    vec3 position; /* world */
    vec3 normal;   /* world, unit, outwards */
    vec3 local;    /* in the frame of the solid, m; on the ground (x, lateral, 0) */
    vec3 local_normal;
    const struct synth_solid *solid; /* borrowed from the world; NULL on the ground */
    enum synth_surface surface;
    int32_t i_object;
};

/* Nearest surface in front of the origin and nearer than distance_max. */
bool synth_cast(const struct synth_world *world, const struct synth_instant *instant,
                const struct synth_ray *ray, struct synth_hit *out);
/* Whether anything lies between the origin and distance_max (shadow rays). */
bool synth_is_blocked(const struct synth_world *world, const struct synth_instant *instant,
                      const struct synth_ray *ray);

#endif
