/* The procedural street: solids, moving actors and the lane the recording vehicle follows.
 *
 *     struct synth_world *world;
 *     RT_TRY(synth_world_create(&settings, &world, err));
 *     struct synth_instant instant;
 *     synth_world_at(world, t_us, &instant);                  // where the actors are
 *     if (synth_cast(world, &instant, &ray, &hit)) ...        // synth_cast.h
 *     synth_world_destroy(&world);
 *
 * Frames of sensors.md section 1: world x along the street, y left, z up, metres. The street is
 * straight in the coordinates (x, lateral d); its centre line is y = street_centre_y(x). Everything
 * is a pure function of the seed. Threading: immutable after creation. */
#ifndef RETAKE_RECON_SYNTH_WORLD_H
#define RETAKE_RECON_SYNTH_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "render/core/pose.h"
#include "render/core/status.h"

enum { SYNTH_MAX_ACTORS = 32, SYNTH_GROUND_OBJECT = 0, SYNTH_TRACK_KEY_US = 100000 };

/* Streams of rng_draw(). */
enum { SYNTH_STREAM_STREET = 0x73790001, SYNTH_STREAM_ACTORS, SYNTH_STREAM_DROP };

/* Lateral distances from the centre line, metres. */
#define STREET_LANE_M 3.2f   /* driving lane: 0...this */
#define STREET_KERB_M 5.4f   /* parking strip up to the kerb */
#define STREET_FACADE_M 9.2f /* pavement up to the facades */
#define STREET_PAVEMENT_HEIGHT_M 0.12f
#define STREET_STOREY_M 3.1f

enum synth_shape { SYNTH_BOX, SYNTH_ELLIPSOID, SYNTH_CYLINDER_Z, SYNTH_CYLINDER_Y };

enum synth_surface {
    SURFACE_ROAD,
    SURFACE_PAVEMENT,
    SURFACE_KERB,
    SURFACE_FACADE, /* windows and doors on the local -y face, plain wall elsewhere */
    SURFACE_ROOF,
    SURFACE_STONE,
    SURFACE_AWNING,
    SURFACE_BARK,
    SURFACE_LEAVES,
    SURFACE_PAINTED, /* uniform colour with slight dirt */
    SURFACE_CAR_BODY,
    SURFACE_CAR_CABIN,
    SURFACE_TYRE
};

/* One convex solid. Local frame: turned by yaw about z, origin at the centre. */
struct synth_solid {
    enum synth_shape shape;
    enum synth_surface surface;
    uint32_t seed; /* variation of the texture */
    int32_t i_object;
    vec3 centre;
    vec3 half; /* half sizes, m */
    float yaw_cos, yaw_sin;
    vec3 colour; /* linear albedo 0...1 */
};

struct synth_node {
    vec3 low, high;
    int32_t first; /* first solid of a leaf, or the left child; the right one follows */
    int32_t n;     /* solids of a leaf, 0 in an inner node */
    int32_t i_axis;
};

/* A moving object: constant speed along the street at a lateral distance, present in
 * [t_begin_us, t_end_us), both multiples of SYNTH_TRACK_KEY_US. Its frame is the box frame of
 * sensors.md section 1; its solids stand in that frame. */
struct synth_actor {
    char id[24];
    const char *class_name;        /* static string */
    vec3 size;                     /* m: length, width, height */
    float lateral, x_begin, speed; /* m, m, m/s along x; negative: towards -x */
    float base_height;             /* of the ground below it */
    int64_t t_begin_us, t_end_us;  /* on the street, between its end buildings */
    float radius;                  /* around the box centre, encloses every solid */
    int32_t first_solid, n_solids; /* into actor_solids */
};

struct synth_settings {
    uint64_t seed;
    bool is_static;   /* no actors */
    float duration_s; /* of the drive; ignored when static */
    float speed;      /* m/s along x */
};

struct synth_world {
    struct synth_settings settings;
    float x_begin, x_end;       /* the street between its two end buildings */
    vec3 to_sun;                /* unit */
    struct synth_solid *solids; /* owned [n_solids], static, in the order of the leaves */
    int32_t n_solids;
    struct synth_node *nodes; /* owned [n_nodes], nodes[0] is the root */
    int32_t n_nodes;
    struct synth_solid *actor_solids; /* owned [n_actor_solids] */
    int32_t n_actor_solids;
    struct synth_actor actors[SYNTH_MAX_ACTORS];
    int32_t n_actors;
    int32_t n_objects; /* static objects, ground included; actor i is object n_objects + i */
};

/* Positions of the actors at one time. */
struct synth_placement {
    vec3 position; /* box centre, world */
    float yaw_cos, yaw_sin;
    bool is_present;
};
struct synth_instant {
    struct synth_placement actors[SYNTH_MAX_ACTORS];
    int32_t n_actors;
};

/* Centre line of the street and its heading at x. */
float street_centre_y(float x);
float street_heading_rad(float x);
/* Signed lateral distance of a world point from the centre line, left positive. */
float street_lateral(float x, float y);
/* World position (height z) of street coordinates (x, lateral); inverse of street_lateral. */
vec3 street_point(float x, float lateral, float z);

/* Builds the street of the settings. RT_NO_MEMORY. */
enum rt_status synth_world_create(const struct synth_settings *settings, struct synth_world **out,
                                  struct rt_error *err);
void synth_world_destroy(struct synth_world **world);

void synth_world_at(const struct synth_world *world, int64_t t_us, struct synth_instant *out);
/* T_world_rig of the recording vehicle: origin on the road under its middle. */
struct pose synth_rig_pose(const struct synth_world *world, int64_t t_us);
/* T_world_object of one actor. */
struct pose synth_actor_pose(const struct synth_world *world, int32_t i_actor, int64_t t_us);

#endif
