/* Band-limited procedural patterns. Every pattern is averaged over a footprint w (metres on the
 * surface that one sample covers), so that distant texture fades to its mean instead of aliasing.
 *
 * Source: box-filtered step and pulse train [Apodaca, Gritz: Advanced RenderMan, 1999, chapter
 * 11]; lattice hash pcg3d [Jarzynski, Olano: Hash Functions for GPU Rendering, JCGT 2020]. */
#ifndef RETAKE_RECON_SYNTH_TEXTURE_H
#define RETAKE_RECON_SYNTH_TEXTURE_H

#include <math.h>
#include <stdint.h>

#include "render/core/vec.h"

/* First word of pcg3d. */
static inline uint32_t texture_hash(uint32_t x, uint32_t y, uint32_t z) {
    x = x * 1664525u + 1013904223u;
    y = y * 1664525u + 1013904223u;
    z = z * 1664525u + 1013904223u;
    x += y * z;
    y += z * x;
    z += x * y;
    x ^= x >> 16;
    y ^= y >> 16;
    z ^= z >> 16;
    return x + y * z;
}

static inline float texture_unit(uint32_t hash) {
    return (float)(hash >> 8) * (1.0f / 16777216.0f);
}

/* Hash of a lattice cell as a number in [0, 1). */
static inline float texture_cell(float x, float y, uint32_t seed) {
    return texture_unit(texture_hash((uint32_t)(int32_t)x, (uint32_t)(int32_t)y, seed));
}

static inline float clamp01(float x) { return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x; }

static inline float mix1(float a, float b, float u) { return a + (b - a) * u; }

static inline vec3 mix3(vec3 a, vec3 b, float u) {
    return vec3_make(mix1(a.x, b.x, u), mix1(a.y, b.y, u), mix1(a.z, b.z, u));
}

/* Share of [x - w/2, x + w/2] that lies above `edge`. */
static inline float step_filtered(float edge, float x, float w) {
    return clamp01((x - edge) / fmaxf(w, 1e-4f) + 0.5f);
}

static inline float band_filtered(float low, float high, float x, float w) {
    return clamp01(step_filtered(low, x, w) - step_filtered(high, x, w));
}

/* Share of the footprint covered by lines of width `width` at every multiple of `period`. */
static inline float lines_filtered(float x, float period, float width, float w) {
    float a = (x - 0.5f * w) / period, b = (x + fmaxf(0.5f * w, 1e-4f)) / period;
    float on = width / period;
    float covered_a = floorf(a) * on + fminf(a - floorf(a), on);
    float covered_b = floorf(b) * on + fminf(b - floorf(b), on);
    return clamp01((covered_b - covered_a) / (b - a));
}

/* Weight of detail of a wavelength under a footprint: 1 when well resolved, 0 when not. */
static inline float detail_weight(float wavelength, float w) {
    return clamp01(wavelength / fmaxf(w, 1e-5f) - 1.0f);
}

/* Value noise in [0, 1] with octaves of halving wavelength, mean 1/2, unresolved ones left out. */
float noise2_filtered(vec2 p, float wavelength, uint32_t seed, float w);
float noise3_filtered(vec3 p, float wavelength, uint32_t seed, float w);

#endif
