/* What stands along the street: buildings, trees, lamps, parked cars. */
#include <math.h>
#include <stdlib.h>

#include "recon/synth_build.h"
#include "recon/synth_facade.h"
#include "render/core/rng.h"

/* The list being filled, the seed and the counter that makes every draw different. */
struct builder {
    struct synth_world *world;
    struct solid_list list;
    uint32_t n_draws;
};

static struct rng_bits draw(struct builder *b) {
    return rng_draw(b->world->settings.seed, SYNTH_STREAM_STREET, b->n_draws++, 0);
}

static struct synth_solid part(enum synth_shape shape, enum synth_surface surface, vec3 centre,
                               vec3 half) {
    return (struct synth_solid){.shape = shape,
                                .surface = surface,
                                .centre = centre,
                                .half = half,
                                .yaw_cos = 1.0f,
                                .colour = {.5f, .5f, .5f}};
}

static struct synth_placement placed(float x, float lateral, float z, float turn_rad) {
    float yaw_rad = street_heading_rad(x) + turn_rad;
    return (struct synth_placement){.position = street_point(x, lateral, z),
                                    .yaw_cos = cosf(yaw_rad),
                                    .yaw_sin = sinf(yaw_rad)};
}

static void place(struct builder *b, const struct synth_solid *solids, int32_t n,
                  struct synth_placement at) {
    solid_list_place(&b->list, solids, n, &at, b->world->n_objects++);
}

static const float wall_colours[8][3] = {{.40f, .14f, .09f}, {.52f, .36f, .20f}, {.62f, .52f, .36f},
                                         {.34f, .10f, .07f}, {.50f, .53f, .50f}, {.58f, .42f, .34f},
                                         {.36f, .42f, .48f}, {.64f, .60f, .52f}};

/* Balconies, awning and door step of a facade; they follow the layout the texture draws. */
static int32_t facade_parts(const struct facade_layout *layout, uint32_t seed, vec3 half,
                            struct synth_solid *out) {
    int32_t n = 0;
    for (int32_t i_bay = 0; i_bay < layout->n_bays && n + 3 < 16; i_bay++) {
        float x = ((float)i_bay + 0.5f) * layout->bay_m - half.x;
        enum facade_ground kind = facade_ground_of(seed, i_bay);
        if (kind == FACADE_SHOP) {
            out[n] = part(SYNTH_BOX, SURFACE_AWNING, vec3_make(x, -half.y - 0.55f, 2.55f - half.z),
                          vec3_make(0.46f * layout->bay_m, 0.55f, 0.05f));
            out[n++].seed = facade_hash(seed, i_bay, 77);
        } else if (kind == FACADE_DOOR) {
            out[n++] = part(SYNTH_BOX, SURFACE_STONE, vec3_make(x, -half.y - 0.2f, 0.07f - half.z),
                            vec3_make(0.7f, 0.25f, 0.09f));
        }
        int32_t i_storey = 1 + (int32_t)(facade_hash(seed, i_bay, 5) % 3u);
        if (i_storey >= layout->n_storeys || facade_hash(seed, i_bay, 6) % 3u) continue;
        float z = (float)i_storey * STREET_STOREY_M - half.z;
        out[n++] = part(SYNTH_BOX, SURFACE_STONE, vec3_make(x, -half.y - 0.4f, z),
                        vec3_make(0.95f, 0.45f, 0.07f));
        out[n] = part(SYNTH_BOX, SURFACE_PAINTED, vec3_make(x, -half.y - 0.8f, z + 0.5f),
                      vec3_make(0.95f, 0.03f, 0.45f));
        out[n++].colour = vec3_make(.08f, .10f, .09f);
    }
    return n;
}

/* A building whose front (local -y) looks at the street; `at` is the middle of the front's foot. */
static void add_building(struct builder *b, float width, int32_t n_storeys,
                         struct synth_placement at) {
    struct rng_bits bits = draw(b);
    float depth = 9.0f, height = (float)n_storeys * STREET_STOREY_M + 0.7f;
    vec3 half = vec3_make(0.5f * width, 0.5f * depth, 0.5f * height);
    uint32_t seed = bits.word[0];
    const float *colour = wall_colours[bits.word[1] & 7u];
    struct synth_solid solids[24];
    int32_t n = 0;
    solids[n++] = part(SYNTH_BOX, SURFACE_FACADE, vec3_make(0.0f, 0.0f, 0.0f), half);
    struct facade_layout layout = facade_layout_of(half);
    n += facade_parts(&layout, seed, half, solids + n);
    solids[n++] = part(SYNTH_BOX, SURFACE_STONE, vec3_make(0.0f, 0.0f, half.z + 0.1f),
                       vec3_make(half.x, half.y + 0.3f, 0.18f));
    solids[n++] = part(SYNTH_BOX, SURFACE_STONE, vec3_make(0.0f, -0.06f, 0.25f - half.z),
                       vec3_make(half.x - 0.01f, half.y, 0.27f));
    solids[n++] = part(SYNTH_BOX, SURFACE_ROOF, vec3_make(0.0f, 0.6f, half.z + 0.9f),
                       vec3_make(half.x - 0.6f, half.y - 1.2f, 0.7f));
    float chimney = (rng_uniform(bits, 2) - 0.5f) * width * 0.7f;
    solids[n++] = part(SYNTH_BOX, SURFACE_FACADE, vec3_make(chimney, 0.4f, half.z + 1.6f),
                       vec3_make(0.5f, 0.35f, 1.0f));
    for (int32_t i = 0; i < n; i++) {
        if (solids[i].surface != SURFACE_AWNING) solids[i].seed = seed;
        if (solids[i].surface == SURFACE_FACADE) {
            solids[i].colour = vec3_make(colour[0], colour[1], colour[2]);
        }
    }
    at.position.x -= at.yaw_sin * half.y;
    at.position.y += at.yaw_cos * half.y;
    at.position.z = half.z + STREET_PAVEMENT_HEIGHT_M - 0.02f;
    place(b, solids, n, at);
}

static void add_tree(struct builder *b, float x, float lateral) {
    enum { N_BLOBS = 10 };
    struct synth_solid solids[N_BLOBS + 2];
    struct rng_bits bits = draw(b);
    float crown = 4.0f + 0.8f * rng_uniform(bits, 0);
    int32_t n = 0;
    solids[n++] = part(SYNTH_CYLINDER_Z, SURFACE_BARK, vec3_make(0.0f, 0.0f, 0.5f * crown - 0.1f),
                       vec3_make(0.16f, 0.16f, 0.5f * crown));
    solids[n] =
        part(SYNTH_BOX, SURFACE_PAINTED, vec3_make(0.0f, 0.0f, 0.0f), vec3_make(0.6f, 0.6f, 0.02f));
    solids[n++].colour = vec3_make(.10f, .065f, .04f);
    for (int i = 0; i < N_BLOBS; i++) {
        struct rng_bits blob = draw(b);
        float angle_rad = 2.4f * (float)i; /* the golden angle spreads them evenly */
        float height = -1.0f + 2.0f * ((float)i + 0.5f) / (float)N_BLOBS;
        float reach = 0.95f * sqrtf(fmaxf(0.0f, 1.0f - height * height));
        float size = 0.75f + 0.35f * rng_uniform(blob, 0);
        solids[n] = part(SYNTH_ELLIPSOID, SURFACE_LEAVES,
                         vec3_make(reach * cosf(angle_rad), reach * sinf(angle_rad),
                                   crown + 0.6f + 1.1f * height),
                         vec3_make(size, size, 0.85f * size));
        float tone = 0.8f + 0.4f * rng_uniform(blob, 1);
        solids[n].colour = vec3_make(.11f * tone, .20f * tone, .045f * tone);
        solids[n++].seed = blob.word[3];
    }
    place(b, solids, n, placed(x, lateral, STREET_PAVEMENT_HEIGHT_M, 6.28f * rng_uniform(bits, 1)));
}

static void add_lamp(struct builder *b, float x, float side) {
    struct synth_solid solids[3];
    solids[0] = part(SYNTH_CYLINDER_Z, SURFACE_PAINTED, vec3_make(0.0f, 0.0f, 2.9f),
                     vec3_make(0.07f, 0.07f, 2.9f));
    solids[1] = part(SYNTH_BOX, SURFACE_PAINTED, vec3_make(0.0f, -0.55f, 5.75f),
                     vec3_make(0.04f, 0.6f, 0.04f));
    solids[2] = part(SYNTH_BOX, SURFACE_PAINTED, vec3_make(0.0f, -1.1f, 5.7f),
                     vec3_make(0.14f, 0.32f, 0.07f));
    for (int i = 0; i < 3; i++) solids[i].colour = vec3_make(.05f, .07f, .06f);
    place(b, solids, 3,
          placed(x, 5.9f * side, STREET_PAVEMENT_HEIGHT_M, side > 0.0f ? 0.0f : 3.14159265f));
}

/* A planter with a bush, a bench or a bin beside the facade. */
static void add_furniture(struct builder *b, float x, float side) {
    struct synth_solid solids[4];
    struct rng_bits bits = draw(b);
    int32_t n = 0;
    if (bits.word[0] % 3u == 0) {
        solids[n++] = part(SYNTH_BOX, SURFACE_STONE, vec3_make(0.0f, 0.0f, 0.28f),
                           vec3_make(0.6f, 0.32f, 0.3f));
        solids[n] = part(SYNTH_ELLIPSOID, SURFACE_LEAVES, vec3_make(0.0f, 0.0f, 0.75f),
                         vec3_make(0.58f, 0.34f, 0.42f));
        solids[n++].colour = vec3_make(.09f, .22f, .06f);
    } else if (bits.word[0] % 3u == 1) {
        for (int i = 0; i < 2; i++) {
            solids[n] = part(SYNTH_BOX, SURFACE_PAINTED,
                             vec3_make(0.0f, i ? 0.22f : 0.0f, i ? 0.7f : 0.44f),
                             vec3_make(0.8f, i ? 0.03f : 0.22f, i ? 0.2f : 0.035f));
            solids[n++].colour = vec3_make(.30f, .15f, .06f);
        }
        solids[n] = part(SYNTH_BOX, SURFACE_PAINTED, vec3_make(0.0f, 0.0f, 0.2f),
                         vec3_make(0.6f, 0.18f, 0.2f));
        solids[n++].colour = vec3_make(.06f, .06f, .06f);
    } else {
        solids[n] = part(SYNTH_CYLINDER_Z, SURFACE_PAINTED, vec3_make(0.0f, 0.0f, 0.45f),
                         vec3_make(0.26f, 0.26f, 0.47f));
        solids[n++].colour = vec3_make(.04f, .16f, .10f);
    }
    for (int32_t i = 0; i < n; i++) solids[i].seed = bits.word[1];
    place(b, solids, n,
          placed(x, 8.5f * side, STREET_PAVEMENT_HEIGHT_M, side > 0.0f ? 0.0f : 3.14159265f));
}

static void add_side(struct builder *b, float side) {
    const struct synth_world *world = b->world;
    float turn_rad = side > 0.0f ? 0.0f : 3.14159265f;
    for (float x = world->x_begin; x < world->x_end;) {
        struct rng_bits bits = draw(b);
        float width = 9.0f + 5.0f * rng_uniform(bits, 0);
        add_building(b, width, 2 + (int32_t)(bits.word[1] % 3u),
                     placed(x + 0.5f * width, side * (STREET_FACADE_M + 0.2f), 0.0f, turn_rad));
        x += width + (bits.word[2] % 4u == 0 ? 2.2f : 0.15f);
    }
    for (float x = world->x_begin + 4.0f; x < world->x_end - 2.0f;) {
        struct rng_bits bits = draw(b);
        if (bits.word[0] % 4u) add_tree(b, x, side * 6.3f);
        x += 9.0f + 4.0f * rng_uniform(bits, 1);
    }
    for (float x = world->x_begin + 5.0f; x < world->x_end - 4.0f;) {
        struct rng_bits bits = draw(b);
        if (bits.word[0] % 3u) {
            struct synth_solid solids[SYNTH_MAX_OBJECT_SOLIDS];
            vec3 size = vec3_make(4.0f + 0.7f * rng_uniform(bits, 1), 1.8f,
                                  1.42f + 0.3f * rng_uniform(bits, 2));
            int32_t n = synth_model_car(size, bits.word[3], solids);
            place(b, solids, n,
                  placed(x, side * 4.35f, 0.5f * size.z, side > 0.0f ? 3.14159265f : 0.0f));
        }
        x += 5.6f + 3.0f * rng_uniform(bits, 1);
    }
    for (float x = world->x_begin + 9.0f; x < world->x_end; x += 21.0f) add_lamp(b, x, side);
    for (float x = world->x_begin + 2.0f; x < world->x_end; x += 6.3f) add_furniture(b, x, side);
}

enum rt_status synth_build_street(struct synth_world *world, struct rt_error *err) {
    struct builder b = {.world = world};
    world->n_objects = SYNTH_GROUND_OBJECT + 1;
    add_side(&b, 1.0f);
    add_side(&b, -1.0f);
    const float quarter_rad = 1.57079633f;
    add_building(&b, 34.0f, 4, placed(world->x_end, 0.0f, 0.0f, -quarter_rad));
    add_building(&b, 34.0f, 3, placed(world->x_begin, 0.0f, 0.0f, quarter_rad));
    world->solids = b.list.solids;
    world->n_solids = b.list.n;
    if (b.list.failed) return rt_fail(err, RT_NO_MEMORY, "synthetic street: out of memory");
    return RT_OK;
}
