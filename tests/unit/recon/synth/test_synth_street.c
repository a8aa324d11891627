/* The synthetic street against itself: geometry, shadows, poses, lidar and determinism. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "recon/synth.h"
#include "recon/synth_surface.h"
#include "render/core/camera_pinhole.h"

static struct rt_error err;

#define MUST(expression)                                                         \
    do {                                                                         \
        if ((expression) != RT_OK) fail_msg("%s: %s", #expression, err.message); \
    } while (0)

static struct synth_world *street(bool is_static, uint64_t seed) {
    struct synth_settings settings = {
        .seed = seed, .is_static = is_static, .duration_s = 10.0f, .speed = 10.0f};
    struct synth_world *world = NULL;
    MUST(synth_world_create(&settings, &world, &err));
    return world;
}

/* A camera on the rig, 1.6 m up, that looks ahead. */
static struct sensor ahead(const struct synth_world *world, int64_t t_us) {
    struct pose T_rig_camera =
        pose_make(quat_make(0.5f, -0.5f, 0.5f, -0.5f), vec3_make(1.2f, 0.0f, 1.6f));
    struct sensor sensor = {.kind = SENSOR_CAMERA, .camera = camera_ideal(160, 90, 48.0f)};
    sensor.t_us = t_us;
    sensor.t_end_us = t_us + 1;
    sensor.T_world_sensor_start = pose_mul(synth_rig_pose(world, t_us), T_rig_camera);
    sensor.T_world_sensor_end = sensor.T_world_sensor_start;
    return sensor;
}

static vec2 seen_at(const struct sensor *sensor, vec3 p_world) {
    vec3 p = pose_apply(pose_inverse(sensor->T_world_sensor_start), p_world);
    if (p.z < 0.5f) return vec2_make(-1.0f, -1.0f);
    return pinhole_project(&sensor->camera, p);
}

static bool inside(const struct sensor *sensor, vec2 at_px) {
    return at_px.x >= 0.0f && at_px.y >= 0.0f && at_px.x < (float)sensor->camera.width_px &&
           at_px.y < (float)sensor->camera.height_px;
}

static vec3 solid_point(const struct synth_solid *solid, vec3 local) {
    return vec3_add(solid->centre,
                    vec3_make(solid->yaw_cos * local.x - solid->yaw_sin * local.y,
                              solid->yaw_sin * local.x + solid->yaw_cos * local.y, local.z));
}

static void street_coordinates_invert(void **state) {
    (void)state;
    for (float x = -40.0f; x < 160.0f; x += 7.3f) {
        vec3 p = street_point(x, 6.5f, 0.0f);
        assert_true(fabsf(street_lateral(p.x, p.y) - 6.5f) < 1e-4f);
    }
}

/* Corners of walls and cars are drawn where the exact pose says: the ray through the projection of
 * a point 3 cm inside the corner meets that solid at that distance, unless something hides it. */
static void corners_are_seen_where_they_project(void **state) {
    (void)state;
    struct synth_world *world = street(true, 1);
    struct sensor sensor = ahead(world, 0);
    struct synth_instant none = {.n_actors = 0};
    int n_seen = 0;
    for (int32_t i = 0; i < world->n_solids; i++) {
        const struct synth_solid *solid = &world->solids[i];
        if (solid->surface != SURFACE_CAR_CABIN && solid->surface != SURFACE_FACADE) continue;
        for (int corner = 0; corner < 8; corner++) {
            float x = (corner & 1 ? 1.0f : -1.0f) * (solid->half.x - 0.03f);
            float z = (corner & 2 ? 1.0f : -1.0f) * (solid->half.z - 0.03f);
            vec3 p =
                solid_point(solid, vec3_make(x, corner & 4 ? solid->half.y : -solid->half.y, z));
            vec2 at_px = seen_at(&sensor, p);
            if (!inside(&sensor, at_px)) continue;
            struct synth_ray ray = synth_camera_ray(&sensor, at_px);
            struct synth_hit hit;
            float distance = vec3_length(vec3_sub(p, ray.origin));
            if (!synth_cast(world, &none, &ray, &hit) || hit.solid != solid) continue;
            if (fabsf(hit.distance - distance) < 2e-3f) n_seen++;
        }
    }
    assert_true(n_seen >= 8);
    synth_world_destroy(&world);
}

/* Every ray of a picture hits a point that projects back to where the ray started. */
static void hits_project_back_to_their_pixel(void **state) {
    (void)state;
    struct synth_world *world = street(false, 2);
    struct sensor sensor = ahead(world, 3000000);
    struct synth_instant instant;
    synth_world_at(world, sensor.t_us, &instant);
    int n_hits = 0;
    for (int32_t i = 0; i < 400; i++) {
        vec2 at_px = vec2_make((float)(i % 20) * 8.0f + 3.7f, (float)(i / 20) * 4.5f + 1.2f);
        struct synth_ray ray = synth_camera_ray(&sensor, at_px);
        struct synth_hit hit;
        if (!synth_cast(world, &instant, &ray, &hit)) continue;
        vec2 back_px = seen_at(&sensor, hit.position);
        assert_true(fabsf(back_px.x - at_px.x) < 0.02f && fabsf(back_px.y - at_px.y) < 0.02f);
        assert_true(vec3_dot(hit.normal, ray.direction) < 0.0f);
        n_hits++;
    }
    assert_true(n_hits > 200);
    synth_world_destroy(&world);
}

/* An actor is drawn where its track says, at several times. */
static void actors_are_seen_at_their_track(void **state) {
    (void)state;
    struct synth_world *world = street(false, 1);
    for (int64_t t_us = 0; t_us < 10000000; t_us += 2500000) {
        struct sensor sensor = ahead(world, t_us);
        struct synth_instant instant;
        synth_world_at(world, t_us, &instant);
        struct pose pose = synth_actor_pose(world, 0, t_us);
        vec3 back = vec3_make(-0.5f * world->actors[0].size.x, 0.0f, -0.3f);
        vec3 p = pose_apply(pose, back);
        struct synth_ray ray = synth_camera_ray(&sensor, seen_at(&sensor, p));
        struct synth_hit hit;
        assert_true(synth_cast(world, &instant, &ray, &hit));
        assert_int_equal(hit.i_object, world->n_objects);
        assert_true(fabsf(hit.distance - vec3_length(vec3_sub(p, ray.origin))) < 2e-3f);
    }
    synth_world_destroy(&world);
}

/* Seen from above at its own place, an actor is there exactly while its track lasts. */
static void actors_are_there_while_their_track_lasts(void **state) {
    (void)state;
    struct synth_world *world = street(false, 1);
    int n_partial = 0;
    for (int32_t i = 0; i < world->n_actors; i++) {
        const struct synth_actor *actor = &world->actors[i];
        assert_true(actor->t_begin_us < actor->t_end_us && actor->t_end_us <= 10000000);
        if (actor->t_begin_us == 0 && actor->t_end_us == 10000000) continue;
        n_partial++;
        for (int64_t t_us = 0; t_us < 10000000; t_us += SYNTH_TRACK_KEY_US) {
            struct synth_instant instant;
            synth_world_at(world, t_us, &instant);
            vec3 above = vec3_add(synth_actor_pose(world, i, t_us).t, vec3_make(0.0f, 0.0f, 1.2f));
            struct synth_ray down = {above, vec3_make(0.0f, 0.0f, -1.0f), 1.0f};
            struct synth_hit hit;
            bool is_there =
                synth_cast(world, &instant, &down, &hit) && hit.i_object == world->n_objects + i;
            assert_int_equal(is_there, t_us >= actor->t_begin_us && t_us < actor->t_end_us);
        }
    }
    assert_true(n_partial > 0);
    synth_world_destroy(&world);
}

static double mean_of(const struct image *image, int32_t y_first, int32_t y_end, int channel) {
    double sum = 0.0;
    for (int32_t i = y_first * image->width_px; i < y_end * image->width_px; i++) {
        sum += image_u8(image)[3 * i + channel];
    }
    return sum / ((double)(y_end - y_first) * image->width_px);
}

static void pictures_are_the_right_way_up_and_rich(void **state) {
    (void)state;
    struct synth_world *world = street(false, 1);
    struct sensor sensor = ahead(world, 1000000);
    struct image image = {0};
    MUST(synth_render_camera(world, &sensor, &image, &err));
    /* Sky above: more blue than red; asphalt below: grey and darker. */
    assert_true(mean_of(&image, 0, 8, 2) > mean_of(&image, 0, 8, 0) + 5.0);
    assert_true(fabs(mean_of(&image, 80, 90, 2) - mean_of(&image, 80, 90, 0)) < 20.0);
    assert_true(mean_of(&image, 80, 90, 1) < mean_of(&image, 0, 8, 1));
    /* The own lane is the right one: the middle line of the road is left of the principal point. */
    vec3 middle = street_point(25.0f, 0.0f, 0.0f);
    assert_true(seen_at(&sensor, middle).x < 80.0f);
    image_destroy(&image);
    synth_world_destroy(&world);
}

static void the_sun_casts_shadows(void **state) {
    (void)state;
    struct synth_world *world = street(true, 1);
    struct synth_instant none = {.n_actors = 0};
    struct synth_light light = {world, &none, world->to_sun};
    float darkest = 9.0f, brightest = 0.0f;
    for (float x = -20.0f; x < 20.0f; x += 0.5f) {
        vec3 above = street_point(x, 1.0f, 3.0f);
        struct synth_ray down = {above, vec3_make(0.0f, 0.0f, -1.0f), 10.0f};
        struct synth_hit hit;
        assert_true(synth_cast(world, &none, &down, &hit));
        if (hit.surface != SURFACE_ROAD) continue;
        float ratio = synth_radiance(&light, &hit, 0.01f).y / synth_albedo(&hit, 0.01f).y;
        darkest = fminf(darkest, ratio);
        brightest = fmaxf(brightest, ratio);
    }
    assert_true(brightest > 2.0f * darkest);
    /* The ground on the far side of a lamp post from the sun is in its shadow. */
    int n_posts = 0;
    for (int32_t i = 0; i < world->n_solids; i++) {
        const struct synth_solid *solid = &world->solids[i];
        if (solid->shape != SYNTH_CYLINDER_Z || solid->half.z < 2.5f) continue;
        vec3 p = vec3_sub(solid->centre, vec3_scale(world->to_sun, 2.0f / world->to_sun.z));
        struct synth_ray ray = {p, world->to_sun, 200.0f};
        assert_true(synth_is_blocked(world, &none, &ray));
        n_posts++;
    }
    assert_true(n_posts > 2);
    synth_world_destroy(&world);
}

/* Distance of a point from the surface of a box in its own frame. */
static float box_gap(const struct synth_hit *hit) {
    vec3 half = hit->solid->half, p = hit->local;
    return fabsf(fmaxf(fabsf(p.x) - half.x, fmaxf(fabsf(p.y) - half.y, fabsf(p.z) - half.z)));
}

static void lidar_returns_lie_on_what_the_camera_sees(void **state) {
    (void)state;
    struct synth_world *world = street(false, 1);
    struct synth_lidar lidar = synth_lidar_default();
    struct synth_sweep sweep;
    int64_t t_us = 2000000, t_end_us = 2100000;
    lidar.n_columns = 360;
    MUST(synth_render_lidar(world, &lidar, t_us, t_end_us, &sweep, &err));
    assert_true(sweep.n_returns > lidar.n_rows * lidar.n_columns / 2); /* the rest is sky */
    assert_true(sweep.n_returns < lidar.n_rows * lidar.n_columns);
    int n_in_view = 0, n_same = 0;
    for (int64_t i = 0; i < sweep.n_returns; i += 7) {
        const float *row = sweep.returns + 6 * i;
        int64_t t_beam_us = t_us + llround((double)row[5] * (double)(t_end_us - t_us));
        struct pose T_world_lidar = pose_mul(synth_rig_pose(world, t_beam_us), lidar.T_rig_lidar);
        vec3 p = pose_apply(T_world_lidar, vec3_load(row));
        float range = vec3_length(vec3_load(row));
        assert_true(asinf(row[2] / range) - synth_lidar_elevation_rad(&lidar, (int32_t)row[4]) <
                    1e-4f);
        struct synth_instant instant;
        synth_world_at(world, t_beam_us, &instant);
        struct synth_ray beam = {T_world_lidar.t,
                                 vec3_scale(vec3_sub(p, T_world_lidar.t), 1.0f / range), 500.0f};
        struct synth_hit hit, seen;
        assert_true(synth_cast(world, &instant, &beam, &hit));
        assert_true(fabsf(hit.distance - range) < 5e-3f);
        if (!hit.solid) {
            assert_true(p.z > -2e-3f && p.z < STREET_PAVEMENT_HEIGHT_M + 2e-3f);
        } else if (hit.solid->shape == SYNTH_BOX) {
            assert_true(box_gap(&hit) < 2e-3f);
        }
        struct sensor sensor = ahead(world, t_beam_us);
        vec2 at_px = seen_at(&sensor, p);
        if (!inside(&sensor, at_px)) continue;
        struct synth_ray ray = synth_camera_ray(&sensor, at_px);
        assert_true(synth_cast(world, &instant, &ray, &seen));
        n_in_view++;
        if (seen.i_object == hit.i_object &&
            fabsf(seen.distance - vec3_length(vec3_sub(p, ray.origin))) < 0.02f) {
            n_same++;
        }
    }
    assert_true(n_in_view > 100 && n_same > n_in_view * 8 / 10); /* the rest is hidden */
    synth_sweep_free(&sweep);
    synth_world_destroy(&world);
}

static void pictures_and_sweeps_do_not_depend_on_threads(void **state) {
    (void)state;
    struct image images[3] = {{0}};
    struct synth_sweep sweeps[3];
    struct synth_lidar lidar = synth_lidar_default();
    lidar.n_columns = 90;
    for (int i = 0; i < 3; i++) {
        omp_set_num_threads(i == 0 ? 1 : 3);
        struct synth_world *world = street(false, i == 2 ? 8 : 7);
        struct sensor sensor = ahead(world, 500000);
        MUST(synth_render_camera(world, &sensor, &images[i], &err));
        MUST(synth_render_lidar(world, &lidar, 0, 100000, &sweeps[i], &err));
        synth_world_destroy(&world);
    }
    size_t n_bytes = image_bytes(&images[0]);
    assert_memory_equal(images[0].pixels, images[1].pixels, n_bytes);
    assert_true(memcmp(images[0].pixels, images[2].pixels, n_bytes) != 0);
    assert_true(sweeps[0].n_returns == sweeps[1].n_returns);
    assert_memory_equal(sweeps[0].returns, sweeps[1].returns,
                        (size_t)sweeps[0].n_returns * 6 * sizeof(float));
    for (int i = 0; i < 3; i++) {
        image_destroy(&images[i]);
        synth_sweep_free(&sweeps[i]);
    }
}

static void cameras_that_cannot_be_drawn_are_refused(void **state) {
    (void)state;
    struct synth_world *world = street(true, 1);
    struct sensor sensor = ahead(world, 0);
    struct image image = {0};
    sensor.camera.shutter = SHUTTER_ROLLING_TOP_TO_BOTTOM;
    assert_int_equal(synth_render_camera(world, &sensor, &image, &err), RT_UNSUPPORTED);
    sensor = ahead(world, 0);
    sensor.camera.radial_k[0] = 0.1f;
    assert_int_equal(synth_render_camera(world, &sensor, &image, &err), RT_UNSUPPORTED);
    sensor = ahead(world, 0);
    sensor.camera.model = CAMERA_FISHEYE;
    assert_int_equal(synth_render_camera(world, &sensor, &image, &err), RT_UNSUPPORTED);
    synth_world_destroy(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(street_coordinates_invert),
        cmocka_unit_test(corners_are_seen_where_they_project),
        cmocka_unit_test(hits_project_back_to_their_pixel),
        cmocka_unit_test(actors_are_seen_at_their_track),
        cmocka_unit_test(actors_are_there_while_their_track_lasts),
        cmocka_unit_test(pictures_are_the_right_way_up_and_rich),
        cmocka_unit_test(the_sun_casts_shadows),
        cmocka_unit_test(lidar_returns_lie_on_what_the_camera_sees),
        cmocka_unit_test(pictures_and_sweeps_do_not_depend_on_threads),
        cmocka_unit_test(cameras_that_cannot_be_drawn_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
