#include "recon/synth_world.h"

#include <math.h>
#include <stdlib.h>

#include "recon/synth_build.h"

/* A sine of 6 m and 160 m keeps the heading below 0.24 rad and the radius above 100 m. */
static const float curve_height_m = 6.0f;
static const float curve_wave_per_m = 0.0392699082f; /* 2 pi / 160 */

float street_centre_y(float x) { return curve_height_m * sinf(curve_wave_per_m * x); }

float street_heading_rad(float x) {
    return atanf(curve_height_m * curve_wave_per_m * cosf(curve_wave_per_m * x));
}

float street_lateral(float x, float y) {
    return (y - street_centre_y(x)) * cosf(street_heading_rad(x));
}

vec3 street_point(float x, float lateral, float z) {
    return vec3_make(x, street_centre_y(x) + lateral / cosf(street_heading_rad(x)), z);
}

static struct pose pose_on_street(vec3 position, float yaw_rad) {
    return pose_make(quat_make(cosf(0.5f * yaw_rad), 0.0f, 0.0f, sinf(0.5f * yaw_rad)), position);
}

struct pose synth_rig_pose(const struct synth_world *world, int64_t t_us) {
    float x = world->settings.speed * ((float)t_us * 1e-6f);
    return pose_on_street(street_point(x, -0.5f * STREET_LANE_M, 0.0f), street_heading_rad(x));
}

static float actor_yaw_rad(const struct synth_actor *actor, float x) {
    return street_heading_rad(x) + (actor->speed < 0.0f ? 3.14159265f : 0.0f);
}

static float actor_x(const struct synth_actor *actor, int64_t t_us) {
    return actor->x_begin + actor->speed * ((float)t_us * 1e-6f);
}

static vec3 actor_position(const struct synth_actor *actor, float x) {
    return street_point(x, actor->lateral, actor->base_height + 0.5f * actor->size.z);
}

struct pose synth_actor_pose(const struct synth_world *world, int32_t i_actor, int64_t t_us) {
    const struct synth_actor *actor = &world->actors[i_actor];
    float x = actor_x(actor, t_us);
    return pose_on_street(actor_position(actor, x), actor_yaw_rad(actor, x));
}

void synth_world_at(const struct synth_world *world, int64_t t_us, struct synth_instant *out) {
    out->n_actors = world->n_actors;
    for (int32_t i = 0; i < world->n_actors; i++) {
        float x = actor_x(&world->actors[i], t_us);
        float yaw_rad = actor_yaw_rad(&world->actors[i], x);
        out->actors[i] = (struct synth_placement){
            .position = actor_position(&world->actors[i], x),
            .yaw_cos = cosf(yaw_rad),
            .yaw_sin = sinf(yaw_rad),
            .is_present = t_us >= world->actors[i].t_begin_us && t_us < world->actors[i].t_end_us};
    }
}

enum rt_status synth_world_create(const struct synth_settings *settings, struct synth_world **out,
                                  struct rt_error *err) {
    *out = NULL;
    struct synth_world *world = calloc(1, sizeof *world);
    if (!world) return rt_fail(err, RT_NO_MEMORY, "synthetic street: out of memory");
    world->settings = *settings;
    /* From the left front of a morning drive: both facades and the road get sun somewhere. */
    vec3 sun = vec3_make(-0.52f, 0.50f, 0.78f);
    world->to_sun = vec3_scale(sun, 1.0f / vec3_length(sun));
    float reach = settings->is_static ? 0.0f : settings->speed * settings->duration_s;
    world->x_begin = settings->is_static ? -32.0f : -45.0f;
    world->x_end = settings->is_static ? 32.0f : reach + 75.0f;
    enum rt_status status = synth_build_street(world, err);
    if (status == RT_OK && !settings->is_static) status = synth_build_actors(world, err);
    if (status == RT_OK) status = synth_build_tree(world, err);
    if (status != RT_OK) {
        synth_world_destroy(&world);
        return status;
    }
    *out = world;
    return RT_OK;
}

void synth_world_destroy(struct synth_world **world) {
    if (!*world) return;
    free((*world)->solids);
    free((*world)->nodes);
    free((*world)->actor_solids);
    free(*world);
    *world = NULL;
}
