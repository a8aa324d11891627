/* Cars, a cyclist and a pedestrian from a few solids, and the list they are gathered in. */
#include <stdlib.h>

#include "recon/synth_build.h"

void solid_list_add(struct solid_list *list, const struct synth_solid *solid) {
    if (list->failed) return;
    if (list->n == list->capacity) {
        int32_t capacity = list->capacity ? 2 * list->capacity : 256;
        struct synth_solid *grown = realloc(list->solids, (size_t)capacity * sizeof *list->solids);
        if (!grown) {
            list->failed = true;
            return;
        }
        list->solids = grown;
        list->capacity = capacity;
    }
    list->solids[list->n++] = *solid;
}

void solid_list_place(struct solid_list *list, const struct synth_solid *solids, int32_t n,
                      const struct synth_placement *placement, int32_t i_object) {
    for (int32_t i = 0; i < n; i++) {
        struct synth_solid solid = solids[i];
        vec3 c = solid.centre;
        float cos = placement->yaw_cos, sin = placement->yaw_sin;
        solid.centre = vec3_add(placement->position,
                                vec3_make(cos * c.x - sin * c.y, sin * c.x + cos * c.y, c.z));
        solid.yaw_cos = cos * solids[i].yaw_cos - sin * solids[i].yaw_sin;
        solid.yaw_sin = sin * solids[i].yaw_cos + cos * solids[i].yaw_sin;
        solid.i_object = i_object;
        solid_list_add(list, &solid);
    }
}

static struct synth_solid solid_make(enum synth_shape shape, enum synth_surface surface,
                                     vec3 centre, vec3 half, vec3 colour) {
    return (struct synth_solid){.shape = shape,
                                .surface = surface,
                                .centre = centre,
                                .half = half,
                                .yaw_cos = 1.0f,
                                .colour = colour};
}

int32_t synth_model_car(vec3 size, uint32_t seed, struct synth_solid *out) {
    static const float paints[8][3] = {{.50f, .04f, .04f}, {.05f, .12f, .38f}, {.55f, .56f, .58f},
                                       {.03f, .03f, .04f}, {.70f, .70f, .68f}, {.08f, .25f, .12f},
                                       {.60f, .35f, .05f}, {.22f, .24f, .27f}};
    const float *paint = paints[seed & 7u];
    vec3 colour = vec3_make(paint[0], paint[1], paint[2]);
    vec3 black = vec3_make(.02f, .02f, .02f);
    float bottom = -0.5f * size.z, length = 0.5f * size.x, width = 0.5f * size.y;
    const float wheel = 0.31f;
    float belt = bottom + 0.58f * size.z; /* top of the body, foot of the cabin */
    float body_bottom = bottom + 0.2f;
    int32_t n = 0;
    out[n++] =
        solid_make(SYNTH_BOX, SURFACE_CAR_BODY, vec3_make(0.0f, 0.0f, 0.5f * (belt + body_bottom)),
                   vec3_make(length, width, 0.5f * (belt - body_bottom)), colour);
    out[n++] = solid_make(SYNTH_BOX, SURFACE_CAR_CABIN,
                          vec3_make(-0.08f * size.x, 0.0f, 0.5f * (belt - bottom)),
                          vec3_make(0.5f * length, 0.88f * width, 0.5f * (-bottom - belt)), colour);
    for (int i = 0; i < 4; i++) {
        float x = (i & 1 ? 0.62f : -0.62f) * length, y = (i & 2 ? 1.0f : -1.0f) * (width - 0.09f);
        out[n++] = solid_make(SYNTH_CYLINDER_Y, SURFACE_TYRE, vec3_make(x, y, bottom + wheel),
                              vec3_make(wheel, 0.11f, wheel), black);
    }
    for (int32_t i = 0; i < n; i++) out[i].seed = seed;
    return n;
}

int32_t synth_model_cyclist(uint32_t seed, struct synth_solid *out) {
    vec3 black = vec3_make(.02f, .02f, .02f), skin = vec3_make(.55f, .33f, .22f);
    vec3 shirt = seed & 1u ? vec3_make(.75f, .55f, .03f) : vec3_make(.05f, .45f, .42f);
    vec3 trousers = vec3_make(.06f, .07f, .13f), frame = vec3_make(.4f, .03f, .03f);
    const float bottom = -0.875f;
    int32_t n = 0;
    for (int i = 0; i < 2; i++) {
        out[n++] = solid_make(SYNTH_CYLINDER_Y, SURFACE_TYRE,
                              vec3_make(i ? 0.54f : -0.54f, 0.0f, bottom + 0.34f),
                              vec3_make(0.34f, 0.025f, 0.34f), black);
        out[n++] = solid_make(SYNTH_ELLIPSOID, SURFACE_PAINTED,
                              vec3_make(0.02f, i ? 0.11f : -0.11f, bottom + (i ? 0.62f : 0.7f)),
                              vec3_make(0.12f, 0.08f, 0.36f), trousers);
    }
    out[n++] = solid_make(SYNTH_BOX, SURFACE_PAINTED, vec3_make(0.0f, 0.0f, bottom + 0.6f),
                          vec3_make(0.48f, 0.02f, 0.05f), frame);
    out[n++] = solid_make(SYNTH_BOX, SURFACE_PAINTED, vec3_make(0.5f, 0.0f, bottom + 1.0f),
                          vec3_make(0.03f, 0.27f, 0.03f), frame);
    out[n++] = solid_make(SYNTH_ELLIPSOID, SURFACE_PAINTED, vec3_make(0.02f, 0.0f, bottom + 1.2f),
                          vec3_make(0.2f, 0.22f, 0.36f), shirt);
    out[n++] = solid_make(SYNTH_ELLIPSOID, SURFACE_PAINTED, vec3_make(0.12f, 0.0f, bottom + 1.62f),
                          vec3_make(0.11f, 0.1f, 0.13f), skin);
    for (int32_t i = 0; i < n; i++) out[i].seed = seed;
    return n;
}

int32_t synth_model_pedestrian(uint32_t seed, struct synth_solid *out) {
    vec3 skin = vec3_make(.6f, .38f, .26f), trousers = vec3_make(.10f, .09f, .08f);
    vec3 coat = seed & 1u ? vec3_make(.45f, .05f, .10f) : vec3_make(.10f, .20f, .42f);
    const float bottom = -0.875f;
    int32_t n = 0;
    for (int i = 0; i < 2; i++) {
        out[n++] = solid_make(SYNTH_CYLINDER_Z, SURFACE_PAINTED,
                              vec3_make(i ? 0.1f : -0.1f, i ? 0.1f : -0.1f, bottom + 0.42f),
                              vec3_make(0.08f, 0.08f, 0.42f), trousers);
    }
    out[n++] = solid_make(SYNTH_ELLIPSOID, SURFACE_PAINTED, vec3_make(0.0f, 0.0f, bottom + 1.12f),
                          vec3_make(0.18f, 0.26f, 0.4f), coat);
    out[n++] = solid_make(SYNTH_ELLIPSOID, SURFACE_PAINTED, vec3_make(0.0f, 0.0f, bottom + 1.62f),
                          vec3_make(0.11f, 0.1f, 0.13f), skin);
    for (int32_t i = 0; i < n; i++) out[i].seed = seed;
    return n;
}
