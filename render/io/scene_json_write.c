/* struct scene -> scene.json and frames.json. Building a tree fails only for want of memory, so the
 * helpers pass NULL on and the text function reports it once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/io/scene_json.h"
#include "render/io/sensor_json.h"
#include "retake_version.h"

void scene_node_file(const struct scene *scene, int32_t i_node, char *name, size_t n_bytes) {
    if (scene->nodes[i_node].kind == NODE_BACKGROUND) {
        snprintf(name, n_bytes, "nodes/background.ply");
    } else {
        snprintf(name, n_bytes, "nodes/a%04d.ply", i_node);
    }
}

/* Sets object[key] = value, which it takes; frees the object and returns NULL on failure. */
static json_t *with(json_t *object, const char *key, json_t *value) {
    if (!object) {
        json_decref(value);
        return NULL;
    }
    if (json_object_set_new(object, key, value) == 0) return object;
    json_decref(object);
    return NULL;
}

static json_t *with_item(json_t *array, json_t *value) {
    if (!array) {
        json_decref(value);
        return NULL;
    }
    if (json_array_append_new(array, value) == 0) return array;
    json_decref(array);
    return NULL;
}

static json_t *world_to_json(const struct scene *scene) {
    json_t *world = with(json_object(), "up", json_from_floats(scene->up, 3));
    world = with(world, "metric", json_boolean(scene->metric));
    float low[3];
    float high[3];
    if (scene_bounds(scene, low, high)) {
        json_t *bounds = with_item(json_array(), json_from_floats(low, 3));
        world = with(world, "bounds_m", with_item(bounds, json_from_floats(high, 3)));
    }
    return with(world, "T_source_world", pose_to_json(scene->T_source_world));
}

static json_t *node_to_json(const struct scene *scene, int32_t i) {
    const struct scene_node *node = &scene->nodes[i];
    char file[64];
    scene_node_file(scene, i, file, sizeof file);
    json_t *object = with(json_object(), "id", json_string(node->id));
    object = with(object, "kind", json_string(node->kind == NODE_ACTOR ? "actor" : "background"));
    if (node->track_id) object = with(object, "track_id", json_string(node->track_id));
    object = with(object, "file", json_string(file));
    object = with(object, "splats", json_integer(node->gaussians->n_gaussians));
    object = with(object, "sh_degree", json_integer(node->gaussians->sh_degree));
    object = with(object, "antialiased", json_boolean(node->antialiased));
    if (node->kind == NODE_ACTOR) return object;
    return with(object, "T_world_node", pose_to_json(node->T_world_node));
}

static json_t *camera_entry(const struct scene_camera *camera) {
    json_t *object = with(json_object(), "id", json_string(camera->id));
    object = with(object, "camera", camera_to_json(&camera->camera));
    object = with(object, "T_rig_camera", pose_to_json(camera->T_rig_camera));
    object = with(object, "shutter_us", json_integer(camera->shutter_us));
    return with(object, "time_offset_us", json_integer(camera->time_offset_us));
}

static json_t *sky_to_json(const struct scene *scene) {
    if (scene->sky == SKY_NONE) return json_null();
    json_t *sky = with(json_object(), "kind", json_string("colour"));
    return with(sky, "rgb", json_from_floats(scene->sky_rgb, 3));
}

static json_t *lists_to_json(json_t *root, const struct scene *scene) {
    json_t *cameras = json_array();
    json_t *nodes = json_array();
    for (int32_t i = 0; i < scene->n_cameras; i++) {
        cameras = with_item(cameras, camera_entry(&scene->cameras[i]));
    }
    for (int32_t i = 0; i < scene->n_nodes; i++) {
        nodes = with_item(nodes, node_to_json(scene, i));
    }
    root = with(root, "cameras", cameras);
    return with(root, "nodes", nodes);
}

static json_t *own_to_json(const struct scene *scene) {
    json_t *time = with(json_object(), "static", json_boolean(scene->is_static));
    time = with(time, "t_begin_us", json_integer(scene->t_begin_us));
    time = with(time, "t_end_us", json_integer(scene->t_end_us));
    const char *generator = scene->generator ? scene->generator : "retake " RETAKE_VERSION;
    json_t *root = with(json_object(), "format", json_string("retake-scene"));
    root = with(root, "version", json_pack("[i, i]", 1, 0));
    root = with(root, "name", json_string(scene->name));
    root = with(root, "generator", json_string(generator));
    root = with(root, "world", world_to_json(scene));
    root = with(root, "time", time);
    root = lists_to_json(root, scene);
    root = with(root, "sky", sky_to_json(scene));
    root = with(root, "default_view", pose_to_json(scene->default_view));
    root = with(root, "frames", json_string(FRAMES_JSON));
    if (scene->recording_id) {
        json_t *recording = with(json_object(), "id", json_string(scene->recording_id));
        root = with(root, "recording", recording);
    }
    return root;
}

/* Adds the members that the tree does not have yet, one level into objects. */
static bool add_missing(json_t *root, const json_t *more) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)more, key, value) {
        json_t *own = json_object_get(root, key);
        if (json_is_object(own) && json_is_object(value)) {
            if (json_object_update_missing(own, value) != 0) return false;
        } else if (!own && json_object_set(root, key, value) != 0) {
            return false;
        }
    }
    return true;
}

static enum rt_status add_text_object(json_t *root, const char *key, const char *text,
                                      struct rt_error *err) {
    if (!text) return RT_OK;
    json_error_t fault;
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &fault);
    bool added = json_is_object(object);
    if (added && key) added = json_object_set(root, key, object) == 0;
    if (added && !key) added = add_missing(root, object);
    json_decref(object);
    if (added) return RT_OK;
    return rt_fail(err, RT_INVALID, "%s: %s is no JSON object: %.100s", SCENE_JSON,
                   key ? key : "carried members", fault.text);
}

static enum rt_status to_text(json_t *root, size_t flags, char **text, struct rt_error *err) {
    *text = root ? json_dumps(root, flags) : NULL;
    return *text ? RT_OK : rt_fail(err, RT_NO_MEMORY, "%s: out of memory", SCENE_JSON);
}

enum rt_status scene_json_write(const struct scene *scene, char **text, struct rt_error *err) {
    *text = NULL;
    json_t *root = own_to_json(scene);
    enum rt_status status =
        root ? RT_OK : rt_fail(err, RT_NO_MEMORY, "%s: out of memory", SCENE_JSON);
    if (status == RT_OK) {
        status = add_text_object(root, "provenance", scene->provenance_json, err);
    }
    if (status == RT_OK) status = add_text_object(root, NULL, scene->carried_json, err);
    if (status == RT_OK) status = to_text(root, JSON_INDENT(1), text, err);
    json_decref(root);
    return status;
}

static json_t *poses_to_json(const struct pose *poses, int32_t n) {
    json_t *t = json_array();
    json_t *q = json_array();
    for (int32_t i = 0; i < n; i++) {
        const float position[3] = {poses[i].t.x, poses[i].t.y, poses[i].t.z};
        const float rotation[4] = {poses[i].q.w, poses[i].q.x, poses[i].q.y, poses[i].q.z};
        t = with_item(t, json_from_floats(position, 3));
        q = with_item(q, json_from_floats(rotation, 4));
    }
    return with(with(json_object(), "t", t), "q_wxyz", q);
}

static json_t *times_to_json(const int64_t *times_us, int32_t n) {
    json_t *array = json_array();
    for (int32_t i = 0; i < n; i++) array = with_item(array, json_integer(times_us[i]));
    return array;
}

static json_t *optional_columns(json_t *columns, const struct scene_frames *frames) {
    json_t *holdout = json_array();
    json_t *file = json_array();
    json_t *camera = json_array();
    bool has_file = false;
    for (int32_t i = 0; i < frames->n_frames; i++) {
        holdout = with_item(holdout, json_boolean(frames->holdout[i]));
        file = with_item(file, frames->file[i] ? json_string(frames->file[i]) : json_null());
        has_file |= frames->file[i] != NULL;
        if (frames->camera) camera = with_item(camera, camera_to_json(&frames->camera[i]));
    }
    columns = with(columns, "holdout", holdout);
    if (has_file) {
        columns = with(columns, "file", file);
    } else {
        json_decref(file);
    }
    if (frames->camera) return with(columns, "camera", camera);
    json_decref(camera);
    return columns;
}

static json_t *columns_to_json(const struct scene_frames *frames) {
    int32_t n = frames->n_frames;
    const struct pose *start = frames->T_world_sensor_start;
    const struct pose *end = frames->T_world_sensor_end;
    json_t *columns = with(json_object(), "t_us", times_to_json(frames->t_us, n));
    columns = with(columns, "t_end_us", times_to_json(frames->t_end_us, n));
    json_t *pair = with(json_object(), "start", poses_to_json(start, n));
    bool moves = memcmp(start, end, (size_t)n * sizeof *start) != 0;
    if (moves) pair = with(pair, "end", poses_to_json(end, n));
    columns = with(columns, "T_world_sensor", pair);
    return optional_columns(columns, frames);
}

enum rt_status frames_json_write(const struct scene *scene, char **text, struct rt_error *err) {
    *text = NULL;
    json_t *root = json_object();
    for (int32_t i = 0; i < scene->n_cameras; i++) {
        root = with(root, scene->cameras[i].id, columns_to_json(&scene->cameras[i].frames));
    }
    enum rt_status status = to_text(root, JSON_COMPACT, text, err);
    json_decref(root);
    return status;
}
