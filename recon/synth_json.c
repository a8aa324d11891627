/* recording.json of a synthetic recording: the only synthetic file that knows JSON. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recon/synth_plan.h"
#include "render/io/image_file.h"
#include "render/io/sensor_json.h"

enum { RIG_KEY_US = 20000 };

static json_t *picture_json(const struct synth_options *options, const struct synth_plan *plan,
                            int32_t i_picture) {
    char file[64];
    const struct sensor *sensor = &plan->sensors[i_picture];
    synth_plan_file(plan, i_picture, options->png, file);
    return json_pack("{s:s, s:I, s:I, s:o, s:b}", "file", file, "t_us", (json_int_t)sensor->t_us,
                     "t_end_us", (json_int_t)sensor->t_end_us, "T_world_sensor",
                     pose_to_json(sensor->T_world_sensor_start), "holdout",
                     (i_picture % plan->n_frames) % SYNTH_HOLDOUT_EVERY == 0);
}

static json_t *cameras_json(const struct synth_options *options, const struct synth_plan *plan) {
    json_t *cameras = json_array();
    for (int32_t i = 0; i < plan->n_cameras; i++) {
        json_t *frames = json_array();
        for (int32_t k = 0; k < plan->n_frames; k++) {
            json_array_append_new(frames, picture_json(options, plan, i * plan->n_frames + k));
        }
        json_array_append_new(
            cameras, json_pack("{s:s, s:o, s:o, s:i, s:s, s:o}", "id", plan->cameras[i].id,
                               "camera", camera_to_json(&plan->camera), "T_rig_camera",
                               pose_to_json(plan->cameras[i].T_rig_camera), "shutter_us", 0,
                               "stamp", "start", "frames", frames));
    }
    return cameras;
}

static json_t *lidar_model_json(const struct synth_lidar *lidar) {
    json_t *elevation = json_array(), *azimuth = json_array(), *offset = json_array();
    for (int32_t i = 0; i < lidar->n_rows; i++) {
        json_array_append_new(elevation, json_real((double)synth_lidar_elevation_rad(lidar, i)));
        json_array_append_new(offset, json_integer(0));
    }
    for (int32_t i = 0; i < lidar->n_columns; i++) {
        json_array_append_new(azimuth, json_real((double)synth_lidar_azimuth_rad(lidar, i)));
    }
    return json_pack("{s:s, s:o, s:o, s:o, s:i, s:s, s:[f,f], s:f}", "model", "spinning",
                     "row_elevation_rad", elevation, "column_azimuth_rad", azimuth,
                     "row_azimuth_offset_rad", offset, "spin_hz", 10, "direction", "cw", "range_m",
                     (double)lidar->range_min, (double)lidar->range_max, "divergence_rad", 0.001);
}

static json_t *lidars_json(const struct synth_plan *plan) {
    json_t *lidars = json_array(), *sweeps = json_array();
    if (plan->n_sweeps == 0) {
        json_decref(sweeps);
        return lidars;
    }
    struct synth_lidar lidar = synth_lidar_default();
    for (int32_t i = 0; i < plan->n_sweeps; i++) {
        char file[64];
        snprintf(file, sizeof file, "lidar/top/%06d.bin", i);
        json_int_t t_us = (json_int_t)i * SYNTH_SWEEP_US;
        json_array_append_new(sweeps, json_pack("{s:s, s:I, s:I}", "file", file, "t_us", t_us,
                                                "t_end_us", t_us + SYNTH_SWEEP_US));
    }
    json_t *points = json_pack("{s:s, s:[s,s,s,s,s,s], s:s, s:i, s:s}", "dtype", "f32", "columns",
                               "x", "y", "z", "intensity", "row", "time", "frame", "sensor_beam",
                               "intensity_max", 1, "no_return", "absent");
    json_array_append_new(
        lidars, json_pack("{s:s, s:o, s:o, s:i, s:o, s:o}", "id", "top", "lidar",
                          lidar_model_json(&lidar), "T_rig_lidar", pose_to_json(lidar.T_rig_lidar),
                          "sweep_us", SYNTH_SWEEP_US, "points", points, "sweeps", sweeps));
    return lidars;
}

struct key_times {
    int64_t begin, end, step;
};

/* Keys as columns {t_us, t, q_wxyz}; i_actor < 0 is the rig. Both ends are keys. */
static json_t *keys_json(const struct synth_world *world, int32_t i_actor,
                         struct key_times times_us) {
    json_t *times = json_array(), *positions = json_array(), *rotations = json_array();
    for (int64_t t_us = times_us.begin; t_us <= times_us.end; t_us += times_us.step) {
        struct pose pose =
            i_actor < 0 ? synth_rig_pose(world, t_us) : synth_actor_pose(world, i_actor, t_us);
        json_array_append_new(times, json_integer((json_int_t)t_us));
        json_array_append_new(
            positions, json_pack("[f,f,f]", (double)pose.t.x, (double)pose.t.y, (double)pose.t.z));
        json_array_append_new(rotations, json_pack("[f,f,f,f]", (double)pose.q.w, (double)pose.q.x,
                                                   (double)pose.q.y, (double)pose.q.z));
    }
    return json_pack("{s:o, s:o, s:o}", "t_us", times, "t", positions, "q_wxyz", rotations);
}

static json_t *tracks_json(const struct synth_world *world) {
    json_t *tracks = json_array();
    for (int32_t i = 0; i < world->n_actors; i++) {
        const struct synth_actor *actor = &world->actors[i];
        struct key_times times_us = {actor->t_begin_us, actor->t_end_us, SYNTH_TRACK_KEY_US};
        bool is_rigid = strcmp(actor->class_name, "car") == 0;
        json_array_append_new(
            tracks, json_pack("{s:s, s:s, s:[f,f,f], s:I, s:I, s:b, s:b, s:o}", "track_id",
                              actor->id, "class", actor->class_name, "size_m",
                              (double)actor->size.x, (double)actor->size.y, (double)actor->size.z,
                              "t_begin_us", (json_int_t)actor->t_begin_us, "t_end_us",
                              (json_int_t)actor->t_end_us, "controllable", true, "deformable",
                              !is_rigid, "T_world_object", keys_json(world, i, times_us)));
    }
    return tracks;
}

enum rt_status synth_json_write(const char *folder, const struct synth_options *options,
                                const struct synth_world *world, const struct synth_plan *plan,
                                struct rt_error *err) {
    json_t *trajectories = json_array();
    if (!options->is_static) {
        struct key_times times_us = {0, plan->t_end_us, RIG_KEY_US};
        json_array_append_new(trajectories,
                              json_pack("{s:s, s:o}", "sequence", "drive", "T_world_rig",
                                        keys_json(world, -1, times_us)));
    }
    json_t *root = json_pack(
        "{s:s, s:[i,i], s:s, s:{s:[i,i,i], s:b}, s:{s:b, s:n}, s:[f,f,f], s:o, s:o, s:o, s:o, "
        "s:[{s:s, s:s}]}",
        "format", "retake-recording", "version", 1, 0, "name",
        options->is_static ? "synthetic street" : "synthetic drive", "world", "up", 0, 0, 1,
        "metric", true, "time", "static", options->is_static, "epoch_unix_us", "background", 0.72,
        0.79, 0.88, "cameras", cameras_json(options, plan), "lidars", lidars_json(plan),
        "trajectories", trajectories, "tracks", tracks_json(world), "points", "file", "points.ply",
        "kind", "sfm");
    char *text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(root);
    if (!text) return rt_fail(err, RT_NO_MEMORY, "recording.json: out of memory");
    char path[4096];
    snprintf(path, sizeof path, "%s/recording.json", folder);
    enum rt_status status = file_write_atomic(path, text, strlen(text), err);
    free(text);
    return status;
}
