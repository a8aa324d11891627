#include "api/wire_scene.h"

#include <stdlib.h>
#include <string.h>

#include "api/reply.h"
#include "api/wire_json.h"
#include "render/io/splat_file.h"

static const char *const shutter_names[] = {
    [SHUTTER_GLOBAL] = "global",
    [SHUTTER_ROLLING_TOP_TO_BOTTOM] = "rolling_top_to_bottom",
    [SHUTTER_ROLLING_LEFT_TO_RIGHT] = "rolling_left_to_right",
    [SHUTTER_ROLLING_BOTTOM_TO_TOP] = "rolling_bottom_to_top",
    [SHUTTER_ROLLING_RIGHT_TO_LEFT] = "rolling_right_to_left"};
static const char *const model_names[] = {
    [CAMERA_PINHOLE] = "pinhole", [CAMERA_FISHEYE] = "fisheye", [CAMERA_FTHETA] = "ftheta"};

struct camera scene_default_camera(void) {
    return camera_ideal(960, 540, 50.0f);
}

static json_t *bounds_json(const struct scene *scene) {
    float minimum[3], maximum[3];
    if (!scene_bounds(scene, minimum, maximum)) return json_null();
    return json_pack("{s:o, s:o}", "min", wire_reals(minimum, 3), "max", wire_reals(maximum, 3));
}

static json_t *nodes_json(const struct scene *scene) {
    json_t *nodes = json_array();
    for (int32_t i = 0; i < scene->n_nodes; i++) {
        const struct scene_node *node = &scene->nodes[i];
        json_array_append_new(
            nodes, json_pack("{s:s, s:s, s:s?, s:i, s:i, s:b}", "id", node->id, "kind",
                             node->kind == NODE_ACTOR ? "actor" : "background", "track_id",
                             node->track_id, "splats", node->gaussians->n_gaussians, "sh_degree",
                             node->gaussians->sh_degree, "antialiased", node->antialiased));
    }
    return nodes;
}

static json_t *warnings_json(const struct scene *scene) {
    json_t *warnings = json_array();
    for (int32_t i = 0; i < scene->n_warnings; i++) {
        json_array_append_new(warnings, json_string(scene->warnings[i]));
    }
    return warnings;
}

char *wire_scene_detail(const struct scene *scene) {
    struct pose T_world_file = pose_identity();
    (void)axes_to_pose(scene->axes, &T_world_file, NULL); /* unknown axes: our own */
    json_t *provenance = scene->provenance_json != NULL
                             ? json_loads(scene->provenance_json, JSON_REJECT_DUPLICATES, NULL)
                             : NULL;
    json_t *detail = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:[], s:[s, s, s, s], s:b, s:b, s:o, s:o, s:s?, s:s?, s:o?}",
        "axes", scene->axes, "T_world_file", wire_pose_json(&T_world_file), "bounds",
        bounds_json(scene), "default_view", wire_pose_json(&scene->default_view), "nodes",
        nodes_json(scene), "classes", "outputs", "rgb", "alpha", "depth", "splat_count", "static",
        scene->is_static, "metric", scene->metric, "up", wire_reals(scene->up, 3), "warnings",
        warnings_json(scene), "recording", scene->recording_id, "generator", scene->generator,
        "provenance", provenance);
    char *text = detail != NULL ? json_dumps(detail, JSON_COMPACT) : NULL;
    json_decref(detail);
    return text;
}

static json_t *text_or_null(const char *text) {
    return text[0] != '\0' ? json_string(text) : json_null();
}

static json_t *instances_json(const struct scene_row *row, const char *backend) {
    if (row->device_bytes == 0) return json_array();
    return json_pack("[{s:s, s:I, s:i}]", "device", backend, "bytes", (json_int_t)row->device_bytes,
                     "in_flight", row->n_in_flight);
}

static double progress_of(const struct scene_row *row) {
    return row->state == SCENE_LOADED ? 1.0 : 0.0;
}

static void add_state(json_t *body, const struct scene_row *row, const char *backend) {
    json_object_set_new(body, "state", json_string(scene_state_name(row->state)));
    json_object_set_new(body, "reason", text_or_null(row->reason));
    json_object_set_new(body, "progress", json_real(progress_of(row)));
    json_object_set_new(body, "live", json_boolean(row->live));
    json_object_set_new(body, "live_step", row->live ? json_integer(row->live_step) : json_null());
    json_object_set_new(body, "pinned", json_boolean(row->pinned));
    json_object_set_new(body, "instances", instances_json(row, backend));
    bool is_idle = row->device_bytes > 0 && row->n_in_flight == 0;
    json_object_set_new(body, "idle_instances", json_integer(is_idle));
    json_object_set_new(body, "device_bytes", json_integer((json_int_t)row->device_bytes));
    json_object_set_new(body, "device_bytes_estimate",
                        json_integer((json_int_t)row->device_bytes_estimate));
}

static void add_times(json_t *body, const struct scene_row *row) {
    json_object_set_new(body, "created_at", time_json(row->created_ms));
    json_object_set_new(body, "loaded_at",
                        row->device_bytes > 0 ? time_json(row->loaded_ms) : json_null());
    json_object_set_new(body, "last_used_at", time_json(row->last_used_ms));
    json_object_set_new(body, "expires_at", time_json(row->expires_ms));
}

static void add_links(json_t *body, const struct scene_row *row) {
    json_t *links = json_pack("{s:s+, s:s+}", "self", "/v1/scenes/", row->id, "viewer",
                              "/scene.html?scene=", row->id);
    json_object_set_new(body, "links", links);
    json_t *digest = row->digest[0] != '\0' ? json_pack("s+", "sha256:", row->digest) : json_null();
    json_object_set_new(body, "digest", digest);
    json_t *origin = json_pack("{s:o, s:o}", "type", text_or_null(row->origin_type), "id",
                               text_or_null(row->origin_id));
    json_object_set_new(body, "origin", origin);
}

static void add_detail(json_t *body, const struct scene_row *row, bool all) {
    json_t *detail = row->detail_json != NULL ? json_loads(row->detail_json, 0, NULL) : NULL;
    json_t *warnings = detail != NULL ? json_object_get(detail, "warnings") : NULL;
    if (warnings != NULL) {
        json_object_set(body, "warnings", warnings);
    } else {
        json_object_set_new(body, "warnings", json_array());
    }
    if (all && detail != NULL) json_object_update_missing(body, detail);
    json_decref(detail);
}

json_t *wire_scene_row(const struct scene_row *row, const char *backend, bool with_detail) {
    json_t *body = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:i, s:i, s:i, s:i, s:I, s:I}", "id", row->id, "name",
        row->name, "kind", row->kind, "version", row->version, "format", row->format, "file_bytes",
        (json_int_t)row->file_bytes, "splats", (json_int_t)row->n_gaussians, "sh_degree",
        row->sh_degree, "actors", row->n_actors, "cameras", row->n_cameras, "lidars", row->n_lidars,
        "t_begin_us", (json_int_t)row->t_begin_us, "t_end_us", (json_int_t)row->t_end_us);
    if (body == NULL) return NULL;
    add_state(body, row, backend);
    add_times(body, row);
    add_links(body, row);
    add_detail(body, row, with_detail);
    return body;
}

json_t *wire_camera_json(const struct camera *camera) {
    return json_pack(
        "{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:s, s:n}", "model", model_names[camera->model],
        "width_px", camera->width_px, "height_px", camera->height_px, "principal_px",
        wire_reals(camera->principal_px, 2), "focal_px", wire_reals(camera->focal_px, 2),
        "radial_k", wire_reals(camera->radial_k, 6), "tangential_p",
        wire_reals(camera->tangential_p, 2), "thin_prism_s", wire_reals(camera->thin_prism_s, 4),
        "shutter", shutter_names[camera->shutter], "windshield");
}

static json_t *frames_json(const struct scene_frames *frames) {
    int32_t n = frames->n_frames;
    json_t *first = n > 0 ? json_integer((json_int_t)frames->t_us[0]) : json_null();
    json_t *last = n > 0 ? json_integer((json_int_t)frames->t_us[n - 1]) : json_null();
    return json_pack("{s:i, s:o, s:o}", "count", n, "first_us", first, "last_us", last);
}

json_t *wire_scene_sensors(const struct scene *scene) {
    json_t *cameras = json_array();
    for (int32_t i = 0; i < scene->n_cameras; i++) {
        const struct scene_camera *camera = &scene->cameras[i];
        json_array_append_new(
            cameras, json_pack("{s:s, s:o, s:b, s:o, s:I, s:o, s:n}", "id", camera->id, "camera",
                               wire_camera_json(&camera->camera), "virtual", 0, "T_rig_camera",
                               wire_pose_json(&camera->T_rig_camera), "shutter_us",
                               (json_int_t)camera->shutter_us, "frames",
                               frames_json(&camera->frames), "ego_mask"));
    }
    struct camera lens = scene_default_camera();
    const struct scene_frames none = {0};
    const struct pose mounting = pose_identity();
    json_array_append_new(
        cameras,
        json_pack("{s:s, s:o, s:b, s:o, s:o, s:I, s:o, s:n}", "id", "default", "camera",
                  wire_camera_json(&lens), "virtual", 1, "T_rig_camera", wire_pose_json(&mounting),
                  "T_world_sensor", wire_pose_json(&scene->default_view), "shutter_us",
                  (json_int_t)0, "frames", frames_json(&none), "ego_mask"));
    return json_pack("{s:o, s:[]}", "cameras", cameras, "lidars");
}

static json_t *times_json(const int64_t *times, int32_t n) {
    json_t *array = json_array();
    for (int32_t i = 0; i < n; i++) json_array_append_new(array, json_integer(times[i]));
    return array;
}

json_t *wire_scene_timeline(const struct scene *scene, const char *version) {
    json_t *sensors = json_array();
    for (int32_t i = 0; i < scene->n_cameras; i++) {
        const struct scene_camera *camera = &scene->cameras[i];
        const struct scene_frames *frames = &camera->frames;
        json_array_append_new(
            sensors,
            json_pack("{s:s, s:s, s:b, s:o, s:o}", "id", camera->id, "kind", "camera", "recorded",
                      frames->n_frames > 0, "t_us", times_json(frames->t_us, frames->n_frames),
                      "t_end_us", times_json(frames->t_end_us, frames->n_frames)));
    }
    const char *reference = scene->n_cameras > 0 ? scene->cameras[0].id : NULL;
    return json_pack("{s:I, s:I, s:s?, s:s, s:o}", "t_begin_us", (json_int_t)scene->t_begin_us,
                     "t_end_us", (json_int_t)scene->t_end_us, "reference", reference, "version",
                     version, "sensors", sensors);
}

static void append_pose(json_t *t, json_t *q, const struct pose *pose) {
    json_t *both = wire_pose_json(pose);
    json_array_append(t, json_object_get(both, "t"));
    json_array_append(q, json_object_get(both, "q_wxyz"));
    json_decref(both);
}

enum rt_status wire_scene_trajectory(const struct scene *scene, const char *sensor, json_t **out,
                                     struct rt_error *err) {
    const struct scene_camera *camera = NULL;
    if (sensor != NULL) {
        camera = scene_find_camera(scene, sensor);
        if (camera == NULL) {
            return rt_fail(err, RT_NOT_FOUND, "there is no sensor \"%.64s\"", sensor);
        }
    } else if (scene->n_cameras > 0) {
        camera = &scene->cameras[0];
    }
    json_t *times = json_array(), *t = json_array(), *q = json_array();
    const char *name = sensor != NULL ? "T_world_sensor" : "T_world_rig";
    for (int32_t i = 0; camera != NULL && i < camera->frames.n_frames; i++) {
        struct pose pose = camera->frames.T_world_sensor_start[i];
        if (sensor == NULL) pose = pose_mul(pose, pose_inverse(camera->T_rig_camera));
        json_array_append_new(times, json_integer(camera->frames.t_us[i]));
        append_pose(t, q, &pose);
    }
    *out = json_pack("{s:[{s:s, s:{s:o, s:o, s:o}}]}", "items", "sequence", "main", name, "t_us",
                     times, "t", t, "q_wxyz", q);
    return *out != NULL ? RT_OK : rt_fail(err, RT_NO_MEMORY, "no memory for the trajectory");
}
