#include "render/io/scene_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/io/scene_source.h"
#include "render/io/sensor_json.h"

enum { VERSION_MAJOR = 1 };

const char *const *scene_json_own_members(const char *section) {
    static const char *const root[] = {"format",     "version",      "name",    "generator",
                                       "world",      "time",         "cameras", "nodes",
                                       "sky",        "appearance",   "frames",  "recording",
                                       "provenance", "default_view", NULL};
    static const char *const world[] = {"up", "metric", "bounds_m", "T_source_world", NULL};
    static const char *const time[] = {"static", "t_begin_us", "t_end_us", NULL};
    static const char *const recording[] = {"id", NULL};
    if (!section) return root;
    if (strcmp(section, "world") == 0) return world;
    return strcmp(section, "time") == 0 ? time : recording;
}

enum rt_status scene_json_check(const json_t *root, struct rt_error *err) {
    const struct json_at at = {root, SCENE_JSON};
    const char *format = "";
    double version[2] = {0.0, 0.0};
    bool present = false;
    if (!json_is_object(root)) {
        return rt_fail_file(err, "bad-magic", 0, "%s must be an object", SCENE_JSON);
    }
    RT_TRY(json_text(&at, "format", &format, err));
    if (strcmp(format, "retake-scene") != 0) {
        return rt_fail_file(err, "bad-magic", 0, "%s: format must be \"retake-scene\"", SCENE_JSON);
    }
    RT_TRY(json_numbers(&at, "version", 2, version, &present, err));
    if (!present) {
        return rt_fail_file(err, "bad-value", -1, "%s: version is missing", SCENE_JSON);
    }
    if (version[0] > VERSION_MAJOR || version[0] < 1) {
        return rt_fail_file(err, "unsupported-version", -1, "%s: version %g; this program reads %d",
                            SCENE_JSON, version[0], VERSION_MAJOR);
    }
    return RT_OK;
}

/* Copies without the members that the writer fills itself; NULL when nothing is left. */
static json_t *without_own(const json_t *object, const char *section) {
    json_t *copy = json_deep_copy(object);
    for (const char *const *name = scene_json_own_members(section); copy && *name; name++) {
        json_object_del(copy, *name);
    }
    if (copy && json_object_size(copy) > 0) return copy;
    json_decref(copy);
    return NULL;
}

static enum rt_status keep_unknown(const json_t *root, struct scene *scene, struct rt_error *err) {
    static const char *const sections[] = {"world", "time", "recording"};
    json_t *kept = without_own(root, NULL);
    if (!kept) kept = json_object();
    for (int i = 0; kept && i < 3; i++) {
        const json_t *section = json_object_get(root, sections[i]);
        json_t *rest = json_is_object(section) ? without_own(section, sections[i]) : NULL;
        if (rest) json_object_set_new(kept, sections[i], rest);
    }
    enum rt_status status = RT_OK;
    if (json_object_size(kept) > 0) {
        char *text = json_dumps(kept, JSON_COMPACT);
        status = text ? scene_set_text(&scene->carried_json, text, err)
                      : rt_fail(err, RT_NO_MEMORY, "%s: out of memory", SCENE_JSON);
        free(text);
    }
    json_decref(kept);
    return status;
}

static enum rt_status read_world(const json_t *root, struct scene *scene, struct rt_error *err) {
    const struct json_at at = {root, SCENE_JSON};
    const json_t *world = NULL;
    double up[3] = {0.0, 0.0, 1.0};
    RT_TRY(json_object_member(&at, "world", &world, err));
    if (!world) return RT_OK;
    const struct json_at inside = {world, "world"};
    RT_TRY(json_numbers(&inside, "up", 3, up, NULL, err));
    RT_TRY(json_flag(&inside, "metric", &scene->metric, err));
    RT_TRY(json_pose_member(&inside, "T_source_world", &scene->T_source_world, err));
    double length = sqrt(up[0] * up[0] + up[1] * up[1] + up[2] * up[2]);
    if (!(length > 1e-6)) return rt_fail_file(err, "bad-value", -1, "world: up has length 0");
    if (fabs(length - 1.0) < 1e-6) length = 1.0;
    for (int k = 0; k < 3; k++) scene->up[k] = (float)(up[k] / length);
    return RT_OK;
}

static enum rt_status read_time(const json_t *root, struct scene *scene, struct rt_error *err) {
    const struct json_at at = {root, SCENE_JSON};
    const json_t *time = NULL;
    RT_TRY(json_object_member(&at, "time", &time, err));
    if (!time) return RT_OK;
    const struct json_at inside = {time, "time"};
    RT_TRY(json_flag(&inside, "static", &scene->is_static, err));
    RT_TRY(json_int64(&inside, "t_begin_us", &scene->t_begin_us, err));
    RT_TRY(json_int64(&inside, "t_end_us", &scene->t_end_us, err));
    if (scene->t_end_us <= scene->t_begin_us) {
        return rt_fail_file(err, "bad-value", -1, "time: t_end_us must be after t_begin_us");
    }
    return RT_OK;
}

static enum rt_status read_sky(const json_t *root, struct scene *scene, struct rt_error *err) {
    const struct json_at at = {root, SCENE_JSON};
    const json_t *sky = NULL;
    const char *kind = "";
    double rgb[3] = {0.0, 0.0, 0.0};
    RT_TRY(json_object_member(&at, "sky", &sky, err));
    if (!sky) return RT_OK;
    const struct json_at inside = {sky, "sky"};
    RT_TRY(json_text(&inside, "kind", &kind, err));
    if (strcmp(kind, "colour") != 0) {
        return scene_add_warning(scene, err, "sky of kind \"%.20s\" is not drawn by this version",
                                 kind);
    }
    RT_TRY(json_numbers(&inside, "rgb", 3, rgb, NULL, err));
    for (int k = 0; k < 3; k++) {
        if (rgb[k] < 0.0 || rgb[k] > 1.0) {
            return rt_fail_file(err, "bad-value", -1, "sky: rgb must be in 0...1");
        }
        scene->sky_rgb[k] = (float)rgb[k];
    }
    scene->sky = SKY_COLOUR;
    return RT_OK;
}

static enum rt_status read_origin(const json_t *root, struct scene *scene, struct rt_error *err) {
    const struct json_at at = {root, SCENE_JSON};
    const json_t *recording = NULL;
    const json_t *provenance = NULL;
    const char *id = NULL;
    RT_TRY(json_object_member(&at, "recording", &recording, err));
    RT_TRY(json_object_member(&at, "provenance", &provenance, err));
    if (recording) {
        const struct json_at inside = {recording, "recording"};
        RT_TRY(json_text(&inside, "id", &id, err));
        RT_TRY(scene_set_text(&scene->recording_id, id, err));
    }
    if (!provenance) return RT_OK;
    char *text = json_dumps(provenance, JSON_COMPACT);
    enum rt_status status = text ? scene_set_text(&scene->provenance_json, text, err)
                                 : rt_fail(err, RT_NO_MEMORY, "%s: out of memory", SCENE_JSON);
    free(text);
    return status;
}

enum rt_status scene_json_read(const json_t *root, struct scene *scene, struct rt_error *err) {
    const struct json_at at = {root, SCENE_JSON};
    const char *name = "";
    const char *generator = NULL;
    RT_TRY(scene_json_check(root, err));
    RT_TRY(json_text(&at, "name", &name, err));
    RT_TRY(json_text(&at, "generator", &generator, err));
    RT_TRY(scene_set_text(&scene->name, name, err));
    RT_TRY(scene_set_text(&scene->generator, generator, err));
    RT_TRY(read_world(root, scene, err));
    RT_TRY(read_time(root, scene, err));
    RT_TRY(read_sky(root, scene, err));
    RT_TRY(read_origin(root, scene, err));
    if (json_member(&at, "appearance")) {
        RT_TRY(scene_add_warning(scene, err, "appearance is not used by this version"));
    }
    return keep_unknown(root, scene, err);
}

enum rt_status scene_json_frames_file(const json_t *root, const char **name, struct rt_error *err) {
    const struct json_at at = {root, SCENE_JSON};
    *name = NULL;
    RT_TRY(json_text(&at, "frames", name, err));
    if (!*name || scene_path_is_safe(*name)) return RT_OK;
    return rt_fail_file(err, "bad-value", -1, "frames: file name \"%.80s\" is not allowed", *name);
}

static enum rt_status read_node_numbers(const struct json_at *at, struct scene_json_node *node,
                                        struct rt_error *err) {
    int64_t degree = 0;
    node->n_splats = -1;
    node->T_world_node = pose_identity();
    RT_TRY(json_int64(at, "splats", &node->n_splats, err));
    RT_TRY(json_int64(at, "sh_degree", &degree, err));
    node->has_antialiased = json_member(at, "antialiased") != NULL;
    RT_TRY(json_flag(at, "antialiased", &node->antialiased, err));
    RT_TRY(json_pose_member(at, "T_world_node", &node->T_world_node, err));
    if (node->n_splats < -1 || node->n_splats > RT_MAX_GAUSSIANS) {
        return rt_fail_file(err, "count-too-large", -1, "%s: %lld splats, at most %d", at->where,
                            (long long)node->n_splats, RT_MAX_GAUSSIANS);
    }
    if (degree < 0 || degree > RT_MAX_SH_DEGREE) {
        return rt_fail_file(err, "bad-value", -1, "%s: sh_degree must be 0...3", at->where);
    }
    node->sh_degree = (int32_t)degree;
    return RT_OK;
}

static enum rt_status read_node(const json_t *object, size_t i, struct scene_json_node *node,
                                struct rt_error *err) {
    char where[32];
    snprintf(where, sizeof where, "nodes[%zu]", i);
    const struct json_at at = {object, where};
    const char *id = "";
    const char *kind = "";
    const char *file = "";
    const char *track = "";
    if (!json_is_object(object)) {
        return rt_fail_file(err, "bad-value", -1, "%s must be an object", where);
    }
    RT_TRY(json_text(&at, "id", &id, err));
    RT_TRY(json_text(&at, "kind", &kind, err));
    RT_TRY(json_text(&at, "file", &file, err));
    RT_TRY(json_text(&at, "track_id", &track, err));
    bool is_actor = strcmp(kind, "actor") == 0;
    if (!is_actor && strcmp(kind, "background") != 0) {
        return rt_fail_file(err, "bad-value", -1, "%s: kind must be background or actor", where);
    }
    if (!scene_path_is_safe(file)) {
        return rt_fail_file(err, "bad-value", -1, "%s: file \"%.80s\" is not allowed", where, file);
    }
    if (strlen(id) < 1 || strlen(id) >= sizeof node->id ||
        (is_actor && !id_is_valid(track, false))) {
        return rt_fail_file(err, "bad-value", -1, "%s: needs an id, an actor also a track_id",
                            where);
    }
    node->kind = is_actor ? NODE_ACTOR : NODE_BACKGROUND;
    snprintf(node->id, sizeof node->id, "%s", id);
    snprintf(node->file, sizeof node->file, "%s", file);
    if (is_actor) snprintf(node->track_id, sizeof node->track_id, "%s", track);
    return read_node_numbers(&at, node, err);
}

static int compare_ids(const void *a, const void *b) {
    return strcmp(((const struct scene_json_node *)a)->id, ((const struct scene_json_node *)b)->id);
}

/* Exactly one background, moved to the front; ids differ. `sorted` is scratch of n. */
static enum rt_status check_nodes(struct scene_json_node *nodes, struct scene_json_node *sorted,
                                  size_t n, struct rt_error *err) {
    size_t i_background = n;
    size_t n_backgrounds = 0;
    for (size_t i = 0; i < n; i++) {
        if (nodes[i].kind != NODE_BACKGROUND) continue;
        i_background = i;
        n_backgrounds++;
    }
    if (n_backgrounds != 1) {
        return rt_fail_file(err, "bad-value", -1, "nodes: %zu backgrounds, must be exactly one",
                            n_backgrounds);
    }
    struct scene_json_node background = nodes[i_background];
    memmove(nodes + 1, nodes, i_background * sizeof *nodes);
    nodes[0] = background;
    memcpy(sorted, nodes, n * sizeof *nodes);
    qsort(sorted, n, sizeof *sorted, compare_ids);
    for (size_t i = 1; i < n; i++) {
        if (strcmp(sorted[i - 1].id, sorted[i].id) == 0) {
            return rt_fail_file(err, "bad-value", -1, "nodes: id %s appears twice", sorted[i].id);
        }
    }
    return RT_OK;
}

enum rt_status scene_json_nodes(const json_t *root, struct scene_json_node **out, int32_t *n_nodes,
                                struct rt_error *err) {
    *out = NULL;
    *n_nodes = 0;
    const struct json_at at = {root, SCENE_JSON};
    const json_t *array = NULL;
    RT_TRY(json_array_member(&at, "nodes", &array, err));
    size_t n = json_array_size(array);
    if (n < 1 || n > RT_MAX_NODES) {
        return rt_fail_file(err, n < 1 ? "empty" : "limit", -1, "nodes: %zu, must be 1...%d", n,
                            RT_MAX_NODES);
    }
    struct scene_json_node *nodes = calloc(n, sizeof *nodes);
    struct scene_json_node *sorted = calloc(n, sizeof *sorted);
    enum rt_status status =
        nodes && sorted ? RT_OK : rt_fail(err, RT_NO_MEMORY, "%zu nodes: out of memory", n);
    for (size_t i = 0; i < n && status == RT_OK; i++) {
        status = read_node(json_array_get(array, i), i, &nodes[i], err);
    }
    if (status == RT_OK) status = check_nodes(nodes, sorted, n, err);
    free(sorted);
    if (status != RT_OK) {
        free(nodes);
        return status;
    }
    *out = nodes;
    *n_nodes = (int32_t)n;
    return RT_OK;
}
