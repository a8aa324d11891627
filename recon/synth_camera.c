/* Pictures of the street: two samples a pixel, four where the two disagree. */
#include <math.h>

#include "recon/synth.h"
#include "recon/synth_surface.h"

struct synth_ray synth_camera_ray(const struct sensor *sensor, vec2 at_px) {
    const struct camera *camera = &sensor->camera;
    vec3 d = vec3_make((at_px.x - camera->principal_px[0]) / camera->focal_px[0],
                       (at_px.y - camera->principal_px[1]) / camera->focal_px[1], 1.0f);
    d = quat_rotate(sensor->T_world_sensor_start.q, vec3_scale(d, 1.0f / vec3_length(d)));
    return (struct synth_ray){sensor->T_world_sensor_start.t, d, 500.0f};
}

struct view {
    const struct synth_world *world;
    const struct sensor *sensor;
    struct synth_instant instant;
    vec3 sun_side, sun_up; /* span the sun's disc */
    float pixel_rad;
};

/* A rotated grid: every row and column of the 4x4 sub-pixels is hit once. */
static const float offsets_px[4][2] = {
    {.375f, .125f}, {.625f, .875f}, {.875f, .375f}, {.125f, .625f}};

static vec3 sample(const struct view *view, int32_t x, int32_t y, int i_sample,
                   const struct synth_solid **solid) {
    const float sun_radius_rad = 0.006f;
    float du = offsets_px[i_sample][0], dv = offsets_px[i_sample][1];
    struct synth_ray ray = synth_camera_ray(view->sensor, vec2_make((float)x + du, (float)y + dv));
    struct synth_hit hit;
    *solid = NULL;
    if (!synth_cast(view->world, &view->instant, &ray, &hit)) {
        return synth_sky(view->world, ray.direction);
    }
    *solid = hit.solid;
    /* The sample's place in the pixel doubles as its place on the sun's disc. */
    vec3 to_sun = vec3_add(view->world->to_sun,
                           vec3_add(vec3_scale(view->sun_side, (du - 0.5f) * 2.0f * sun_radius_rad),
                                    vec3_scale(view->sun_up, (dv - 0.5f) * 2.0f * sun_radius_rad)));
    struct synth_light light = {view->world, &view->instant, to_sun};
    float grazing = fmaxf(-vec3_dot(hit.normal, ray.direction), 0.12f);
    /* The geometric mean of both extents: less blur at grazing angles, no visible shimmer. */
    float footprint = hit.distance * view->pixel_rad / sqrtf(grazing);
    return synth_radiance(&light, &hit, footprint);
}

static float difference(vec3 a, vec3 b) {
    return fmaxf(fabsf(a.x - b.x), fmaxf(fabsf(a.y - b.y), fabsf(a.z - b.z)));
}

static void draw_pixel(const struct view *view, int32_t x, int32_t y, uint8_t *rgb) {
    const struct synth_solid *solids[4];
    vec3 first = sample(view, x, y, 0, &solids[0]);
    vec3 second = sample(view, x, y, 1, &solids[1]);
    vec3 sum = vec3_add(first, second);
    float weight = 0.5f;
    if (solids[0] != solids[1] || difference(first, second) > 0.04f) {
        sum = vec3_add(sum, sample(view, x, y, 2, &solids[2]));
        sum = vec3_add(sum, sample(view, x, y, 3, &solids[3]));
        weight = 0.25f;
    }
    rgb[0] = image_quantise(synth_srgb(sum.x * weight));
    rgb[1] = image_quantise(synth_srgb(sum.y * weight));
    rgb[2] = image_quantise(synth_srgb(sum.z * weight));
}

enum rt_status synth_render_camera(const struct synth_world *world, const struct sensor *sensor,
                                   struct image *out, struct rt_error *err) {
    const struct camera *camera = &sensor->camera;
    if (camera->model != CAMERA_PINHOLE || camera_is_distorted(camera) ||
        camera->shutter != SHUTTER_GLOBAL) {
        return rt_fail(err, RT_UNSUPPORTED,
                       "synthetic picture: undistorted pinhole cameras with a global shutter only");
    }
    RT_TRY(image_create(out, camera->width_px, camera->height_px, 3, IMAGE_U8, err));
    struct view view = {.world = world, .sensor = sensor, .pixel_rad = 1.0f / camera->focal_px[0]};
    synth_world_at(world, sensor->t_us + (sensor->t_end_us - sensor->t_us) / 2, &view.instant);
    vec3 side = vec3_cross(world->to_sun, vec3_make(0.0f, 0.0f, 1.0f));
    view.sun_side = vec3_scale(side, 1.0f / vec3_length(side));
    view.sun_up = vec3_cross(view.sun_side, world->to_sun);
    uint8_t *pixels = image_u8(out);
#pragma omp parallel for schedule(dynamic, 4)
    for (int32_t y = 0; y < camera->height_px; y++) {
        for (int32_t x = 0; x < camera->width_px; x++) {
            draw_pixel(&view, x, y,
                       pixels + ((size_t)y * (size_t)camera->width_px + (size_t)x) * 3);
        }
    }
    return RT_OK;
}
