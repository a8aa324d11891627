/* What a hit looks like: albedo for the cameras, reflectance for the lidar. */
#ifndef RETAKE_RECON_SYNTH_SURFACE_H
#define RETAKE_RECON_SYNTH_SURFACE_H

#include "recon/synth_cast.h"

/* Linear albedo, averaged over `footprint` metres. */
vec3 synth_albedo(const struct synth_hit *hit, float footprint);

/* Linear radiance towards the ray's origin: sun with a hard shadow, sky and bounced light.
 * `to_sun` is the direction of this sample to the sun's disc. */
struct synth_light {
    const struct synth_world *world;     /* borrowed */
    const struct synth_instant *instant; /* borrowed */
    vec3 to_sun;
};
vec3 synth_radiance(const struct synth_light *light, const struct synth_hit *hit, float footprint);

/* sRGB transfer function of IEC 61966-2-1, linear 0...1 to 0...1, clamped. */
float synth_srgb(float linear);

/* Linear radiance of the sky in a direction, the sun's disc included. */
vec3 synth_sky(const struct synth_world *world, vec3 direction);

#endif
