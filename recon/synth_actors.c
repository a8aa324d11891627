/* Who moves: oncoming cars, a car ahead, a cyclist and pedestrians. */
#include <math.h>
#include <stdio.h>

#include "recon/synth_build.h"
#include "render/core/rng.h"

/* The time between the two ends of the street, whole key steps of the drive. */
static void set_presence(const struct synth_world *world, struct synth_actor *actor) {
    const float margin_m = 5.0f;
    float t_first = (world->x_begin + margin_m - actor->x_begin) / actor->speed;
    float t_last = (world->x_end - margin_m - actor->x_begin) / actor->speed;
    float t_in = fmaxf(fminf(t_first, t_last), 0.0f) * 1e6f / (float)SYNTH_TRACK_KEY_US;
    float t_out = fminf(fmaxf(t_first, t_last), world->settings.duration_s) * 1e6f /
                  (float)SYNTH_TRACK_KEY_US;
    actor->t_begin_us = (int64_t)ceilf(t_in) * SYNTH_TRACK_KEY_US;
    actor->t_end_us = (int64_t)floorf(t_out + 1e-3f) * SYNTH_TRACK_KEY_US;
}

/* Adds an actor unless it is never on the street or there are enough. */
static void add_actor(struct synth_world *world, struct solid_list *list,
                      const struct synth_actor *what, uint32_t seed) {
    if (world->n_actors == SYNTH_MAX_ACTORS) return;
    struct synth_solid solids[SYNTH_MAX_OBJECT_SOLIDS];
    int32_t i_actor = world->n_actors;
    struct synth_actor *actor = &world->actors[i_actor];
    *actor = *what;
    set_presence(world, actor);
    if (actor->t_begin_us >= actor->t_end_us) return;
    world->n_actors++;
    snprintf(actor->id, sizeof actor->id, "%s_%d", what->class_name, i_actor);
    actor->radius = 0.5f * vec3_length(what->size) + 0.05f;
    actor->first_solid = list->n;
    if (what->class_name[0] == 'p') {
        actor->n_solids = synth_model_pedestrian(seed, solids);
    } else if (what->class_name[1] == 'y') {
        actor->n_solids = synth_model_cyclist(seed, solids);
    } else {
        actor->n_solids = synth_model_car(what->size, seed, solids);
    }
    for (int32_t i = 0; i < actor->n_solids; i++) {
        solids[i].i_object = world->n_objects + i_actor;
        solid_list_add(list, &solids[i]);
    }
}

enum rt_status synth_build_actors(struct synth_world *world, struct rt_error *err) {
    struct solid_list list = {0};
    float drive_m = world->settings.speed * world->settings.duration_s;
    struct synth_actor car = {.class_name = "car", .size = {4.3f, 1.8f, 1.5f}};
    struct synth_actor walker = {.class_name = "pedestrian",
                                 .size = {0.45f, 0.6f, 1.75f},
                                 .base_height = STREET_PAVEMENT_HEIGHT_M};
    struct synth_actor cyclist = {.class_name = "cyclist", .size = {1.76f, 0.6f, 1.75f}};

    car.lateral = -0.5f * STREET_LANE_M;
    car.x_begin = 17.0f;
    car.speed = world->settings.speed + 0.4f;
    add_actor(world, &list, &car, 1);
    cyclist.lateral = -2.9f;
    cyclist.x_begin = 26.0f;
    cyclist.speed = 5.0f;
    add_actor(world, &list, &cyclist, 1);
    /* Oncoming traffic and walkers over the stretch that is driven; relative speed decides how
     * far ahead the last one has to start. */
    float end_m = 2.0f * drive_m + 40.0f;
    for (float x = 24.0f; x < end_m && world->n_actors < SYNTH_MAX_ACTORS; x += 38.0f) {
        struct rng_bits bits =
            rng_draw(world->settings.seed, SYNTH_STREAM_ACTORS, (uint32_t)world->n_actors, 0);
        car.lateral = 0.5f * STREET_LANE_M;
        car.x_begin = x + 10.0f * rng_uniform(bits, 0);
        car.speed = -(8.0f + 1.5f * rng_uniform(bits, 1));
        car.size = vec3_make(4.0f + 0.6f * rng_uniform(bits, 2), 1.8f, 1.5f);
        add_actor(world, &list, &car, bits.word[3]);
        if (0.5f * x > drive_m) continue;
        walker.lateral = (bits.word[3] & 256u ? 1.0f : -1.0f) * 7.3f;
        walker.x_begin = 0.5f * x + 6.0f;
        walker.speed = bits.word[3] & 512u ? 1.3f : -1.4f;
        add_actor(world, &list, &walker, bits.word[3] >> 12);
    }
    world->actor_solids = list.solids;
    world->n_actor_solids = list.n;
    if (list.failed) return rt_fail(err, RT_NO_MEMORY, "synthetic street: out of memory");
    return RT_OK;
}
