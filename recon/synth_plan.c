#include "recon/synth_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const float degree_rad = 0.0174532925f;

/* A camera (x right, y down, z forward) that looks along x of its parent, turned to the left by yaw
 * and then downwards by pitch. */
static struct pose looking(vec3 position, float yaw_rad, float pitch_rad) {
    quat ahead = quat_make(0.5f, -0.5f, 0.5f, -0.5f);
    quat yaw = quat_make(cosf(0.5f * yaw_rad), 0.0f, 0.0f, sinf(0.5f * yaw_rad));
    quat pitch = quat_make(cosf(0.5f * pitch_rad), 0.0f, sinf(0.5f * pitch_rad), 0.0f);
    return pose_make(quat_normalised(quat_mul(yaw, quat_mul(pitch, ahead))), position);
}

/* Photos of a walk: forward along one lane with the view to the left facades, back along the other
 * with the view to the other side, and forward once more from above the cars. */
static struct pose photo_pose(int32_t i_photo, int32_t n_photos) {
    float walk = 3.0f * ((float)i_photo + 0.5f) / (float)n_photos;
    int pass = (int)walk;
    float u = walk - (float)pass;
    float x = pass == 1 ? 15.0f - 30.0f * u : -15.0f + 30.0f * u;
    float swing = sinf(6.2831853f * u);
    if (pass == 0) {
        return looking(street_point(x, -2.2f, 1.7f),
                       street_heading_rad(x) + (34.0f + 8.0f * swing) * degree_rad,
                       1.0f * degree_rad);
    }
    if (pass == 1) {
        return looking(street_point(x, 2.2f, 1.7f),
                       street_heading_rad(x) + (180.0f + 34.0f + 8.0f * swing) * degree_rad,
                       1.0f * degree_rad);
    }
    return looking(street_point(x - 2.0f, 0.0f, 3.1f),
                   street_heading_rad(x) + 18.0f * swing * degree_rad, 6.0f * degree_rad);
}

static const char *const camera_ids[SYNTH_MAX_CAMERAS] = {"front", "left",      "right",
                                                          "rear",  "rear_left", "rear_right"};
static const float camera_yaw_degrees[SYNTH_MAX_CAMERAS] = {0.0f,   58.0f,  -58.0f,
                                                            180.0f, 119.0f, -119.0f};

/* Mountings on the roof rails, 1.6 m above the road, on the side they look to. */
static void plan_rig(struct synth_plan *plan, int32_t n_cameras) {
    plan->n_cameras = n_cameras;
    for (int32_t i = 0; i < n_cameras; i++) {
        float yaw_rad = camera_yaw_degrees[i] * degree_rad;
        vec3 position = vec3_make(1.2f * cosf(yaw_rad), 0.6f * sinf(yaw_rad), 1.6f);
        plan->cameras[i] = (struct synth_plan_camera){
            .id = camera_ids[i], .T_rig_camera = looking(position, yaw_rad, 2.0f * degree_rad)};
    }
}

static void plan_pictures(struct synth_plan *plan, const struct synth_world *world,
                          bool is_static) {
    for (int32_t i = 0; i < plan->n_cameras * plan->n_frames; i++) {
        int32_t i_camera = i / plan->n_frames, i_frame = i % plan->n_frames;
        struct sensor *sensor = &plan->sensors[i];
        *sensor = (struct sensor){.kind = SENSOR_CAMERA, .camera = plan->camera};
        /* A drive's cameras fire when the lidar points forward, in the middle of its sweep. */
        sensor->t_us = (int64_t)i_frame * SYNTH_SWEEP_US + (is_static ? 0 : SYNTH_SWEEP_US / 2);
        sensor->t_end_us = sensor->t_us + 1;
        sensor->T_world_sensor_start = is_static ? photo_pose(i_frame, plan->n_frames)
                                                 : pose_mul(synth_rig_pose(world, sensor->t_us),
                                                            plan->cameras[i_camera].T_rig_camera);
        sensor->T_world_sensor_end = sensor->T_world_sensor_start;
    }
}

enum rt_status synth_plan_create(const struct synth_options *options,
                                 const struct synth_world *world, struct synth_plan *out,
                                 struct rt_error *err) {
    struct synth_plan plan = {.n_cameras = 1, .n_frames = options->n_photos};
    float fov_y_deg = 48.0f;
    if (options->is_static) {
        plan.cameras[0] =
            (struct synth_plan_camera){.id = "photo", .T_rig_camera = pose_identity()};
    } else {
        plan_rig(&plan, options->n_cameras);
        plan.n_sweeps = (int32_t)lroundf(options->duration_s * 1e6f / (float)SYNTH_SWEEP_US);
        plan.n_frames = plan.n_sweeps;
        plan.t_end_us = (int64_t)plan.n_sweeps * SYNTH_SWEEP_US;
    }
    plan.camera = camera_ideal(options->width_px, options->height_px, fov_y_deg);
    plan.sensors = calloc((size_t)plan.n_cameras * (size_t)plan.n_frames, sizeof *plan.sensors);
    if (!plan.sensors) return rt_fail(err, RT_NO_MEMORY, "synthetic recording: out of memory");
    plan_pictures(&plan, world, options->is_static);
    *out = plan;
    return RT_OK;
}

void synth_plan_free(struct synth_plan *plan) {
    free(plan->sensors);
    plan->sensors = NULL;
}

void synth_plan_file(const struct synth_plan *plan, int32_t i_picture, bool png, char out[64]) {
    snprintf(out, 64, "images/%s/%06d.%s", plan->cameras[i_picture / plan->n_frames].id,
             i_picture % plan->n_frames, png ? "png" : "jpg");
}
