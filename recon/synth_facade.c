#include "recon/synth_facade.h"

#include "recon/synth_cast.h"

/* A point of the facade: along and height in metres from the lower left, footprint. */
struct spot {
    float along, height, w;
    uint32_t seed;
};

/* Coursed masonry: bricks or blocks with mortar and a tone of their own. */
static vec3 masonry(struct spot s, vec3 colour, float length, float height) {
    float row = floorf(s.height / height);
    float shift = ((int32_t)row & 1) ? 0.5f * length : 0.0f;
    float brick = floorf((s.along + shift) / length);
    float joint = 0.13f * height;
    float mortar = 1.0f - (1.0f - lines_filtered(s.height, height, joint, s.w)) *
                              (1.0f - lines_filtered(s.along + shift, length, joint, s.w));
    float tone = (texture_cell(brick, row, s.seed) - 0.5f) * detail_weight(1.6f * height, s.w);
    vec3 shaded = vec3_scale(colour, 1.0f + 0.7f * tone);
    return mix3(shaded, vec3_make(.42f, .39f, .35f), mortar);
}

static vec3 wall(struct spot s, vec3 colour) {
    vec2 p = vec2_make(s.along, s.height);
    vec3 base;
    switch (s.seed & 3u) {
        case 0:
        case 1:
            base = masonry(s, colour, 0.25f, 0.083f);
            break;
        case 2:
            base = masonry(s, mix3(colour, vec3_make(.5f, .48f, .43f), 0.6f), 0.8f, 0.4f);
            break;
        default: {
            float grain = noise2_filtered(p, 0.09f, s.seed + 11u, s.w);
            base =
                vec3_scale(mix3(colour, vec3_make(.75f, .72f, .62f), 0.5f), 0.75f + 0.5f * grain);
        }
    }
    float stain = noise2_filtered(vec2_make(p.x, 0.35f * p.y), 1.4f, s.seed + 23u, s.w);
    return vec3_scale(base, 0.62f + 0.76f * stain);
}

static float rectangle(float u, float v, const float box[4], float w) {
    return band_filtered(box[0], box[1], u, w) * band_filtered(box[2], box[3], v, w);
}

/* Glass between curtains, brighter towards the top where it mirrors the sky. */
static vec3 glass(float u, float v, uint32_t hash, float w) {
    vec3 deep = mix3(vec3_make(.02f, .03f, .04f), vec3_make(.22f, .30f, .38f), clamp01(0.4f * v));
    float open = 0.15f + 0.45f * texture_unit(hash);
    vec3 cloth = vec3_make(.35f + .4f * texture_unit(hash * 3u + 1u),
                           .30f + .35f * texture_unit(hash * 7u + 1u),
                           .25f + .35f * texture_unit(hash * 13u + 1u));
    float fold = 0.8f + 0.4f * (lines_filtered(u, 0.11f, 0.05f, w) - 0.45f);
    return mix3(vec3_scale(cloth, fold), deep, band_filtered(-open, open, u, w));
}

static vec3 window(vec3 base, float u, float v, uint32_t hash, float w) {
    static const float lintel[4] = {-0.75f, 0.75f, 2.45f, 2.68f};
    static const float sill[4] = {-0.72f, 0.72f, 0.72f, 0.85f};
    static const float frame[4] = {-0.6f, 0.6f, 0.85f, 2.45f};
    static const float pane[4] = {-0.52f, 0.52f, 0.93f, 2.37f};
    vec3 stone = vec3_make(.52f, .49f, .43f), white = vec3_make(.72f, .72f, .69f);
    base = mix3(base, stone, rectangle(u, v, lintel, w));
    base = mix3(base, vec3_scale(stone, 1.15f), rectangle(u, v, sill, w));
    base = mix3(base, white, rectangle(u, v, frame, w));
    base = mix3(base, glass(u, v, hash, w), rectangle(u, v, pane, w));
    float bars = fmaxf(band_filtered(-0.025f, 0.025f, u, w), band_filtered(1.85f, 1.9f, v, w));
    return mix3(base, white, bars * rectangle(u, v, pane, w));
}

static vec3 door(vec3 base, float u, float v, uint32_t hash, float w) {
    static const float frame[4] = {-0.68f, 0.68f, 0.0f, 2.6f};
    static const float leaf[4] = {-0.55f, 0.55f, 0.0f, 2.1f};
    static const float light[4] = {-0.5f, 0.5f, 2.18f, 2.5f};
    static const float panels[4] = {-0.42f, 0.42f, 0.25f, 1.95f};
    vec3 colour = vec3_make(.03f + .35f * texture_unit(texture_hash(hash, 1, 0)),
                            .04f + .22f * texture_unit(texture_hash(hash, 2, 0)),
                            .04f + .22f * texture_unit(texture_hash(hash, 3, 0)));
    base = mix3(base, vec3_make(.55f, .52f, .46f), rectangle(u, v, frame, w));
    base = mix3(base, colour, rectangle(u, v, leaf, w));
    float groove = fmaxf(lines_filtered(u + 0.42f, 0.42f, 0.04f, w),
                         lines_filtered(v - 0.25f, 0.57f, 0.04f, w));
    base = mix3(base, vec3_scale(colour, 0.4f), groove * rectangle(u, v, panels, w));
    return mix3(base, vec3_make(.10f, .14f, .17f), rectangle(u, v, light, w));
}

/* Shop front: a wide pane with goods on shelves, and a sign with blocks for letters. */
static vec3 shop(vec3 base, struct spot s, float u, float v, uint32_t hash) {
    static const float frame[4] = {-1.2f, 1.2f, 0.0f, 3.0f};
    static const float pane[4] = {-1.1f, 1.1f, 0.45f, 2.3f};
    static const float sign[4] = {-1.15f, 1.15f, 2.45f, 2.92f};
    static const float letters[4] = {-0.95f, 0.95f, 2.55f, 2.82f};
    vec3 paint = vec3_make(.10f + .45f * texture_unit(hash), .10f + .35f * texture_unit(hash * 3u),
                           .10f + .4f * texture_unit(hash * 5u));
    base = mix3(base, vec3_scale(paint, 0.6f), rectangle(u, v, frame, s.w));
    float column = floorf(u / 0.22f), shelf = floorf(v / 0.42f);
    float tone = texture_cell(column, shelf, hash);
    vec3 goods = vec3_make(.06f + .4f * tone, .06f + .3f * texture_cell(column, shelf, hash + 1u),
                           .06f + .3f * texture_cell(column, shelf, hash + 2u));
    goods = mix3(vec3_make(.2f, .18f, .16f), goods, detail_weight(0.25f, s.w));
    goods = mix3(goods, vec3_make(.05f, .05f, .05f), lines_filtered(v, 0.42f, 0.07f, s.w));
    base = mix3(base, goods, rectangle(u, v, pane, s.w));
    base = mix3(base, vec3_make(.6f, .6f, .58f),
                band_filtered(-0.03f, 0.03f, u, s.w) * rectangle(u, v, pane, s.w));
    base = mix3(base, paint, rectangle(u, v, sign, s.w));
    float letter = floorf(u / 0.16f);
    float ink = 1.0f - lines_filtered(u, 0.16f, 0.05f, s.w);
    ink *= texture_cell(letter, 3.0f, hash) > 0.2f ? 1.0f : 0.0f;
    ink *= 1.0f - 0.7f * band_filtered(2.64f, 2.7f, v, s.w) * texture_cell(letter, 5.0f, hash);
    return mix3(base, vec3_make(.85f, .82f, .70f), ink * rectangle(u, v, letters, s.w));
}

static vec3 front(struct spot s, vec3 colour, vec3 half) {
    vec3 base = wall(s, colour);
    struct facade_layout layout = facade_layout_of(half);
    float bay = floorf(s.along / layout.bay_m), storey = floorf(s.height / STREET_STOREY_M);
    int32_t i_bay = (int32_t)bay, i_storey = (int32_t)storey;
    if (i_bay < 0 || i_bay >= layout.n_bays || i_storey < 0 || i_storey >= layout.n_storeys) {
        return base;
    }
    float u = s.along - (bay + 0.5f) * layout.bay_m, v = s.height - storey * STREET_STOREY_M;
    uint32_t hash = texture_hash((uint32_t)i_bay, (uint32_t)i_storey, s.seed);
    float course = band_filtered(0.0f, 0.14f, v, s.w) * (i_storey > 0 ? 1.0f : 0.0f);
    base = mix3(base, vec3_make(.50f, .47f, .41f), course);
    if (i_storey == 0) {
        enum facade_ground kind = facade_ground_of(s.seed, i_bay);
        if (kind == FACADE_SHOP) return shop(base, s, u, v, hash);
        if (kind == FACADE_DOOR) return door(base, u, v, hash, s.w);
    }
    return window(base, u, v, hash, s.w);
}

vec3 facade_albedo(const struct synth_hit *hit, float footprint) {
    const struct synth_solid *solid = hit->solid;
    vec3 p = vec3_add(hit->local, solid->half);
    if (fabsf(hit->local_normal.z) > 0.5f) return vec3_make(.2f, .19f, .18f);
    struct spot spot = {p.x, p.z, footprint, solid->seed};
    if (fabsf(hit->local_normal.x) > 0.5f) spot.along = p.y;
    bool is_front = hit->local_normal.y < -0.5f && solid->half.x > 2.0f;
    return is_front ? front(spot, solid->colour, solid->half) : wall(spot, solid->colour);
}
