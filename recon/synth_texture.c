#include "recon/synth_texture.h"

enum { N_OCTAVES = 3 };

static float smooth(float u) { return u * u * (3.0f - 2.0f * u); }

static float lattice2(float x, float y, uint32_t seed) {
    float x0 = floorf(x), y0 = floorf(y);
    float u = smooth(x - x0), v = smooth(y - y0);
    float low = mix1(texture_cell(x0, y0, seed), texture_cell(x0 + 1.0f, y0, seed), u);
    float high =
        mix1(texture_cell(x0, y0 + 1.0f, seed), texture_cell(x0 + 1.0f, y0 + 1.0f, seed), u);
    return mix1(low, high, v);
}

float noise2_filtered(vec2 p, float wavelength, uint32_t seed, float w) {
    float sum = 0.5f, amplitude = 0.6f;
    for (uint32_t i = 0; i < N_OCTAVES; i++) {
        float weight = detail_weight(wavelength, w);
        if (weight <= 0.0f) break;
        float value = lattice2(p.x / wavelength, p.y / wavelength, seed + i);
        sum += amplitude * weight * (value - 0.5f);
        amplitude *= 0.6f;
        wavelength *= 0.47f;
    }
    return clamp01(sum);
}

float noise3_filtered(vec3 p, float wavelength, uint32_t seed, float w) {
    float sum = 0.5f, amplitude = 0.7f;
    for (uint32_t i = 0; i < N_OCTAVES; i++) {
        float weight = detail_weight(wavelength, w);
        if (weight <= 0.0f) break;
        float z = p.z / wavelength, z0 = floorf(z);
        uint32_t layer = seed + i + 7919u * (uint32_t)(int32_t)z0;
        float low = lattice2(p.x / wavelength, p.y / wavelength, layer);
        float high = lattice2(p.x / wavelength, p.y / wavelength, layer + 7919u);
        sum += amplitude * weight * (mix1(low, high, smooth(z - z0)) - 0.5f);
        amplitude *= 0.6f;
        wavelength *= 0.47f;
    }
    return clamp01(sum);
}
