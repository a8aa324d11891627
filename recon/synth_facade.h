/* The layout of a facade, shared by the solids in front of it and the texture on it. */
#ifndef RETAKE_RECON_SYNTH_FACADE_H
#define RETAKE_RECON_SYNTH_FACADE_H

#include "recon/synth_texture.h"
#include "recon/synth_world.h"

enum facade_ground { FACADE_WINDOW, FACADE_DOOR, FACADE_SHOP };

struct facade_layout {
    int32_t n_bays, n_storeys;
    float bay_m;
};

static inline struct facade_layout facade_layout_of(vec3 half) {
    int32_t n_bays = (int32_t)(2.0f * half.x / 2.6f);
    if (n_bays < 1) n_bays = 1;
    return (struct facade_layout){.n_bays = n_bays,
                                  .n_storeys = (int32_t)(2.0f * half.z / STREET_STOREY_M),
                                  .bay_m = 2.0f * half.x / (float)n_bays};
}

static inline uint32_t facade_hash(uint32_t seed, int32_t i, uint32_t what) {
    return texture_hash((uint32_t)i, what, seed);
}

/* What the ground floor holds in a bay. */
static inline enum facade_ground facade_ground_of(uint32_t seed, int32_t i_bay) {
    uint32_t draw = facade_hash(seed, i_bay, 1) % 5u;
    return draw < 2 ? FACADE_SHOP : draw == 2 ? FACADE_DOOR : FACADE_WINDOW;
}

/* Albedo of the facade at local coordinates (front, other walls, top). */
struct synth_hit;
vec3 facade_albedo(const struct synth_hit *hit, float footprint);

#endif
