#include "recon/synth_surface.h"

#include "recon/synth_facade.h"
#include "recon/synth_texture.h"

enum { SEED_ROAD = 101, SEED_PAVEMENT = 211, SEED_PATCH = 307 };

/* Asphalt with repairs, drain covers, lane lines, parking bays and crossings. */
static vec3 road(float x, float lateral, float w) {
    vec2 p = vec2_make(x, lateral);
    float tone = noise2_filtered(p, 2.3f, SEED_ROAD, w);
    float grain = noise2_filtered(p, 0.07f, SEED_ROAD + 9, w);
    float wear = 1.0f - fabsf(fabsf(fabsf(lateral) - 1.6f) - 0.75f); /* two wheel paths a lane */
    vec3 base = vec3_scale(vec3_make(.135f, .132f, .13f),
                           0.25f + 0.7f * tone + 0.75f * grain + 0.08f * clamp01(wear));
    float cell = floorf(x / 5.5f), lane = floorf(lateral / 2.7f);
    if (texture_cell(cell, lane, SEED_PATCH) < 0.22f) {
        float u = x - cell * 5.5f, v = lateral - lane * 2.7f;
        float patch = band_filtered(0.7f, 3.9f, u, w) * band_filtered(0.5f, 2.1f, v, w);
        base = mix3(base, vec3_make(.06f, .06f, .065f), 0.75f * patch);
    }
    float along = x - floorf(x / 17.0f) * 17.0f - 6.0f;
    float radius = sqrtf(along * along + (lateral - 0.9f) * (lateral - 0.9f));
    base = mix3(base, vec3_make(.05f, .045f, .04f), 1.0f - step_filtered(0.34f, radius, w));
    vec3 paint = vec3_scale(vec3_make(.72f, .72f, .69f),
                            0.7f + 0.5f * noise2_filtered(p, 0.3f, SEED_ROAD + 5, w));
    float dash = lines_filtered(x, 6.0f, 3.0f, w) * band_filtered(-0.07f, 0.07f, lateral, w);
    float edge = band_filtered(STREET_LANE_M, STREET_LANE_M + 0.12f, fabsf(lateral), w);
    float bay = lines_filtered(x, 6.3f, 0.1f, w) *
                band_filtered(STREET_LANE_M, STREET_KERB_M, fabsf(lateral), w);
    float block = x - floorf(x / 48.0f) * 48.0f;
    float zebra =
        band_filtered(4.0f, 7.2f, block, w) * lines_filtered(lateral + 9.0f, 1.0f, 0.5f, w);
    return mix3(base, paint, 0.92f * fmaxf(fmaxf(dash, edge), fmaxf(bay, zebra)));
}

static vec3 pavement(float x, float lateral, float w) {
    const float slab_m = 0.6f;
    float side = fabsf(lateral), row = floorf(side / slab_m);
    float shift = ((int32_t)row & 1) ? 0.3f : 0.0f;
    float slab = floorf((x + shift) / slab_m);
    uint32_t seed = lateral > 0.0f ? SEED_PAVEMENT : SEED_PAVEMENT + 1;
    float tone = (texture_cell(slab, row, seed) - 0.5f) * detail_weight(0.8f, w);
    float grain = noise2_filtered(vec2_make(x, lateral), 0.05f, seed + 3u, w);
    float dirt = noise2_filtered(vec2_make(x, lateral), 1.7f, seed + 7u, w);
    vec3 base =
        vec3_scale(vec3_make(.37f, .35f, .32f), 0.45f + 0.35f * tone + 0.4f * grain + 0.6f * dirt);
    float joint = 1.0f - (1.0f - lines_filtered(side, slab_m, 0.025f, w)) *
                             (1.0f - lines_filtered(x + shift, slab_m, 0.025f, w));
    base = mix3(base, vec3_make(.12f, .11f, .10f), joint);
    float kerb = 1.0f - step_filtered(STREET_KERB_M + 0.16f, side, w);
    vec3 stone = vec3_scale(vec3_make(.48f, .47f, .45f), 0.6f + 0.8f * grain);
    return mix3(base, mix3(stone, vec3_make(.15f, .15f, .15f), lines_filtered(x, 1.0f, 0.02f, w)),
                kerb);
}

static vec3 car_body(const struct synth_hit *hit, float w) {
    const struct synth_solid *solid = hit->solid;
    vec3 p = hit->local, half = solid->half, n = hit->local_normal;
    vec3 base = solid->colour, dark = vec3_make(.02f, .02f, .02f);
    if (fabsf(n.y) > 0.5f) {
        float seam = band_filtered(-0.01f, 0.01f, fabsf(p.x + 0.1f) - 0.55f, w);
        float arch = fabsf(fabsf(p.x) - 0.62f * half.x);
        float reach = sqrtf(arch * arch + (p.z + half.z - 0.1f) * (p.z + half.z - 0.1f));
        base = mix3(base, dark, fmaxf(0.8f * seam, 1.0f - step_filtered(0.4f, reach, w)));
        return mix3(base, dark, 1.0f - step_filtered(-half.z + 0.09f, p.z, w));
    }
    if (fabsf(n.x) < 0.5f) return base;
    float lamp = band_filtered(0.55f * half.y, 0.92f * half.y, fabsf(p.y), w) *
                 band_filtered(0.1f * half.z, 0.65f * half.z, p.z, w);
    vec3 light = n.x > 0.0f ? vec3_make(.85f, .85f, .8f) : vec3_make(.55f, .01f, .01f);
    base = mix3(base, light, lamp);
    float plate = band_filtered(-0.26f, 0.26f, p.y, w) * band_filtered(-0.14f, -0.02f, p.z, w);
    float grille = band_filtered(-0.5f, 0.5f, p.y, w) * band_filtered(-0.24f, -0.16f, p.z, w);
    base = mix3(base, dark, grille + 0.8f * (1.0f - step_filtered(-half.z + 0.08f, p.z, w)));
    return mix3(base, vec3_make(.8f, .8f, .72f), plate);
}

static vec3 car_cabin(const struct synth_hit *hit, float w) {
    const struct synth_solid *solid = hit->solid;
    vec3 p = hit->local, half = solid->half, n = hit->local_normal;
    if (fabsf(n.z) > 0.5f) return solid->colour;
    bool is_side = fabsf(n.y) > 0.5f;
    float across = is_side ? p.x : p.y, reach = is_side ? half.x : half.y;
    float pane = band_filtered(-reach + 0.1f, reach - 0.1f, across, w) *
                 band_filtered(-half.z + 0.04f, half.z - 0.08f, p.z, w);
    if (is_side) pane *= 1.0f - band_filtered(-0.05f, 0.05f, across + 0.1f, w);
    vec3 deep = mix3(vec3_make(.015f, .02f, .025f), vec3_make(.16f, .20f, .24f),
                     clamp01(0.5f + 0.5f * p.z / half.z));
    return mix3(solid->colour, deep, pane);
}

static vec3 tyre(const struct synth_hit *hit, float w) {
    float radius = sqrtf(hit->local.x * hit->local.x + hit->local.z * hit->local.z);
    float rim = 1.0f - step_filtered(0.62f * hit->solid->half.x, radius, w);
    float angle_rad = atan2f(hit->local.z, hit->local.x);
    float spoke = lines_filtered(angle_rad, 1.25663706f, 0.6f, w / fmaxf(radius, 0.05f));
    vec3 metal = mix3(vec3_make(.10f, .10f, .10f), vec3_make(.5f, .5f, .52f), spoke);
    return mix3(vec3_make(.025f, .025f, .025f), metal, fabsf(hit->local_normal.y) > 0.5f ? rim : 0);
}

static vec3 roof(const struct synth_hit *hit, float w) {
    vec3 p = hit->local;
    float tile = lines_filtered(p.z, 0.22f, 0.05f, w);
    float ridge = lines_filtered(fabsf(hit->local_normal.x) > 0.5f ? p.y : p.x, 0.3f, 0.05f, w);
    float tone = noise3_filtered(p, 0.5f, hit->solid->seed, w);
    vec3 base = vec3_scale(vec3_make(.30f, .12f, .08f), 0.6f + 0.8f * tone);
    return mix3(base, vec3_make(.10f, .05f, .04f), 0.7f * fmaxf(tile, ridge));
}

static vec3 awning(const struct synth_hit *hit, float w) {
    uint32_t hash = hit->solid->seed;
    vec3 colour = vec3_make(.15f + .5f * texture_unit(hash), .08f + .3f * texture_unit(hash * 3u),
                            .08f + .3f * texture_unit(hash * 5u));
    return mix3(colour, vec3_make(.75f, .73f, .66f), lines_filtered(hit->local.x, 0.4f, 0.2f, w));
}

vec3 synth_albedo(const struct synth_hit *hit, float footprint) {
    const struct synth_solid *solid = hit->solid;
    vec3 p = hit->local;
    float w = footprint;
    switch (hit->surface) {
        case SURFACE_ROAD:
            return road(p.x, p.y, w);
        case SURFACE_PAVEMENT:
            return pavement(p.x, p.y, w);
        case SURFACE_KERB:
            return mix3(vec3_make(.34f, .33f, .31f), vec3_make(.12f, .12f, .12f),
                        lines_filtered(p.x, 1.0f, 0.02f, w));
        case SURFACE_FACADE:
            return facade_albedo(hit, w);
        case SURFACE_ROOF:
            return roof(hit, w);
        case SURFACE_STONE: {
            float tone = noise3_filtered(p, 0.35f, solid->seed + 31u, w);
            return vec3_scale(vec3_make(.48f, .45f, .40f), 0.55f + 0.9f * tone);
        }
        case SURFACE_AWNING:
            return awning(hit, w);
        case SURFACE_BARK: {
            float tone = noise3_filtered(vec3_make(4.0f * p.x, 4.0f * p.y, p.z), 0.3f, 3u, w);
            return vec3_scale(vec3_make(.17f, .12f, .08f), 0.4f + 1.2f * tone);
        }
        case SURFACE_LEAVES: {
            float tone = noise3_filtered(p, 0.26f, solid->seed, w);
            vec3 light = mix3(solid->colour, vec3_make(.26f, .30f, .07f), clamp01(tone - 0.45f));
            return vec3_scale(light, 0.25f + 1.5f * tone);
        }
        case SURFACE_PAINTED:
            return vec3_scale(solid->colour, 0.75f + 0.5f * noise3_filtered(p, 0.2f, 5u, w));
        case SURFACE_CAR_BODY:
            return car_body(hit, w);
        case SURFACE_CAR_CABIN:
            return car_cabin(hit, w);
        case SURFACE_TYRE:
            return tyre(hit, w);
    }
    return vec3_make(0.0f, 0.0f, 0.0f);
}

/* Ambient light reaches corners less: walls near the ground, ground near the walls. */
static float openness(const struct synth_hit *hit) {
    if (hit->surface == SURFACE_FACADE || hit->surface == SURFACE_STONE) {
        return 1.0f - 0.35f * expf(-0.8f * fmaxf(hit->position.z, 0.0f));
    }
    if (hit->solid) return 1.0f - 0.3f * expf(-2.0f * fmaxf(hit->position.z, 0.0f));
    return 1.0f - 0.35f * expf(-1.2f * fmaxf(STREET_FACADE_M - fabsf(hit->local.y), 0.0f));
}

vec3 synth_radiance(const struct synth_light *light, const struct synth_hit *hit, float footprint) {
    const vec3 sun = {1.75f, 1.62f, 1.38f}, sky = {.42f, .50f, .62f}, bounce = {.20f, .18f, .15f};
    vec3 albedo = synth_albedo(hit, footprint);
    float facing = vec3_dot(hit->normal, light->to_sun);
    float up = 0.5f + 0.5f * hit->normal.z, open = openness(hit);
    if (facing > 0.0f) {
        struct synth_ray ray = {vec3_add(hit->position, vec3_scale(hit->normal, 2e-3f)),
                                light->to_sun, 200.0f};
        if (synth_is_blocked(light->world, light->instant, &ray)) facing = 0.0f;
    }
    facing = fmaxf(facing, 0.0f);
    return vec3_make(albedo.x * (sun.x * facing + open * (sky.x * up + bounce.x * (1.0f - up))),
                     albedo.y * (sun.y * facing + open * (sky.y * up + bounce.y * (1.0f - up))),
                     albedo.z * (sun.z * facing + open * (sky.z * up + bounce.z * (1.0f - up))));
}

float synth_srgb(float linear) {
    if (linear <= 0.0031308f) return 12.92f * fmaxf(linear, 0.0f);
    return 1.055f * powf(fminf(linear, 1.0f), 1.0f / 2.4f) - 0.055f;
}

vec3 synth_sky(const struct synth_world *world, vec3 direction) {
    float up = clamp01(direction.z);
    vec3 sky = mix3(vec3_make(.62f, .70f, .80f), vec3_make(.16f, .32f, .66f), sqrtf(up));
    float near_sun = clamp01(vec3_dot(direction, world->to_sun));
    float glow = near_sun * near_sun;
    glow *= glow * glow * glow;
    sky = vec3_add(sky, vec3_scale(vec3_make(.30f, .26f, .18f), glow));
    const float cos_disc = 0.99996f; /* 0.5 degrees of radius: the disc with its bright rim */
    return near_sun > cos_disc ? vec3_make(4.0f, 3.8f, 3.4f) : sky;
}
