/* How the street is furnished: used by synth_world_create() alone, in this order. */
#ifndef RETAKE_RECON_SYNTH_BUILD_H
#define RETAKE_RECON_SYNTH_BUILD_H

#include "recon/synth_world.h"

/* A growing list of solids; `failed` once memory ran out, checked at the end. */
struct solid_list {
    struct synth_solid *solids; /* owned [n] */
    int32_t n, capacity;
    bool failed;
};
void solid_list_add(struct solid_list *list, const struct synth_solid *solid);
/* Adds `n` solids of an object frame, placed in the world as object `i_object`. */
void solid_list_place(struct solid_list *list, const struct synth_solid *solids, int32_t n,
                      const struct synth_placement *placement, int32_t i_object);

enum { SYNTH_MAX_OBJECT_SOLIDS = 12 };
/* Solids of one object in its box frame; returns how many (at most SYNTH_MAX_OBJECT_SOLIDS). */
int32_t synth_model_car(vec3 size, uint32_t seed, struct synth_solid *out);
int32_t synth_model_cyclist(uint32_t seed, struct synth_solid *out);
int32_t synth_model_pedestrian(uint32_t seed, struct synth_solid *out);

/* Fills solids and n_objects with buildings, trees, lamps, parked cars. */
enum rt_status synth_build_street(struct synth_world *world, struct rt_error *err);
/* Fills actors and actor_solids. */
enum rt_status synth_build_actors(struct synth_world *world, struct rt_error *err);
/* Bounding-box tree over the solids, which are put into the order of its leaves. */
enum rt_status synth_build_tree(struct synth_world *world, struct rt_error *err);

#endif
