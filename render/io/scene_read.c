/* Scenes from folders, zips and splat files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "render/io/file_atomic.h"
#include "render/io/json_parse.h"
#include "render/io/scene_json.h"
#include "render/io/scene_parse.h"
#include "render/io/sensor_json.h"
#include "render/io/splat_file.h"

static const size_t MAX_NODE_BYTES = (size_t)1 << 36;

static enum rt_status read_json(struct scene_source *source, const char *name, json_t **out,
                                struct rt_error *err) {
    struct json_limits limits = json_limits_recording();
    struct rt_bytes bytes = {0};
    RT_TRY(scene_source_read(source, name, limits.max_bytes, &bytes, err));
    enum rt_status status = json_parse(bytes.bytes, bytes.n_bytes, &limits, out, err);
    rt_bytes_free(&bytes);
    return status == RT_OK ? RT_OK : rt_prefix(err, status, "%.200s", name);
}

/* Adds the node and takes the gaussians of `file`. */
static enum rt_status add_node(struct scene *scene, const struct scene_json_node *entry,
                               struct splat_file *file, struct rt_error *err) {
    for (int32_t i = 0; i < file->n_warnings; i++) {
        RT_TRY(scene_add_warning(scene, err, "%s: %s", entry->file, file->warnings[i]));
    }
    RT_TRY(scene_add_node(scene, entry->id, entry->kind, file->gaussians, err));
    file->gaussians = NULL;
    struct scene_node *node = &scene->nodes[scene->n_nodes - 1];
    node->antialiased = entry->has_antialiased ? entry->antialiased : file->antialiased;
    node->T_world_node = entry->T_world_node;
    if (entry->kind == NODE_BACKGROUND) return RT_OK;
    return scene_set_text(&node->track_id, entry->track_id, err);
}

static enum rt_status parse_node(const struct rt_bytes *bytes, const struct scene_json_node *entry,
                                 struct splat_file *file, struct rt_error *err) {
    RT_TRY(splat_file_parse(bytes->bytes, bytes->n_bytes, entry->file, NULL, file, err));
    int64_t n = (int64_t)file->gaussians->n_gaussians + file->report.n_dropped;
    if (entry->n_splats < 0 || entry->n_splats == n) return RT_OK;
    return rt_fail_file(err, "bad-value", -1, "%s: %lld splats, scene.json declares %lld",
                        entry->file, (long long)n, (long long)entry->n_splats);
}

static enum rt_status read_node(struct scene_source *source, const struct scene_json_node *entry,
                                struct scene *scene, struct rt_error *err) {
    struct splat_file file = {0};
    struct rt_bytes bytes = {0};
    enum rt_status status = RT_OK;
    if (entry->n_splats == 0) { /* a splat file cannot be empty, a background may */
        status = gaussians_create(&file.gaussians, 0, 1, entry->sh_degree, err);
    } else {
        status = scene_source_read(source, entry->file, MAX_NODE_BYTES, &bytes, err);
        if (status == RT_OK) status = parse_node(&bytes, entry, &file, err);
        rt_bytes_free(&bytes);
    }
    if (status == RT_OK) status = add_node(scene, entry, &file, err);
    splat_file_free(&file);
    return status;
}

static enum rt_status read_nodes(struct scene_source *source, const json_t *root,
                                 struct scene *scene, struct rt_error *err) {
    struct scene_json_node *nodes = NULL;
    int32_t n_nodes = 0;
    RT_TRY(scene_json_nodes(root, &nodes, &n_nodes, err));
    enum rt_status status = RT_OK;
    for (int32_t i = 0; i < n_nodes && status == RT_OK; i++) {
        status = read_node(source, &nodes[i], scene, err);
    }
    free(nodes);
    return status;
}

static enum rt_status read_cameras(struct scene_source *source, const json_t *root,
                                   struct scene *scene, struct rt_error *err) {
    const char *name = NULL;
    json_t *frames = NULL;
    RT_TRY(scene_json_frames_file(root, &name, err));
    if (name) RT_TRY(read_json(source, name, &frames, err));
    enum rt_status status = scene_json_cameras(root, frames, scene, err);
    json_decref(frames);
    return status;
}

static enum rt_status read_default_view(const json_t *root, struct scene *scene,
                                        struct rt_error *err) {
    const struct json_at at = {root, SCENE_JSON};
    scene->default_view = scene_overview(scene);
    for (int32_t i = scene->n_cameras - 1; i >= 0; i--) {
        const struct scene_frames *frames = &scene->cameras[i].frames;
        if (frames->n_frames > 0) scene->default_view = frames->T_world_sensor_start[0];
    }
    return json_pose_member(&at, "default_view", &scene->default_view, err);
}

static enum rt_status fill(struct scene_source *source, const json_t *root, struct scene *scene,
                           struct rt_error *err) {
    RT_TRY(scene_json_read(root, scene, err));
    RT_TRY(read_cameras(source, root, scene, err));
    RT_TRY(read_nodes(source, root, scene, err));
    return read_default_view(root, scene, err);
}

enum rt_status scene_parse(struct scene_source *source, struct scene **out, struct rt_error *err) {
    *out = NULL;
    json_t *root = NULL;
    RT_TRY(read_json(source, SCENE_JSON, &root, err));
    enum rt_status status = scene_create(out, err);
    if (status == RT_OK) status = fill(source, root, *out, err);
    json_decref(root);
    if (status != RT_OK) scene_release(out);
    return status;
}

static enum rt_status from_splats(struct splat_file *file, const char *path, struct scene *scene,
                                  struct rt_error *err) {
    char name[128];
    snprintf(name, sizeof name, "%.120s", path_base(path));
    char *dot = strrchr(name, '.');
    if (dot && dot != name) *dot = '\0';
    RT_TRY(scene_set_text(&scene->name, name, err));
    for (int32_t i = 0; i < file->n_warnings; i++) {
        RT_TRY(scene_add_warning(scene, err, "%s", file->warnings[i]));
    }
    memcpy(scene->axes, file->axes, sizeof scene->axes);
    RT_TRY(scene_add_node(scene, "background", NODE_BACKGROUND, file->gaussians, err));
    file->gaussians = NULL;
    scene->nodes[0].antialiased = file->antialiased;
    RT_TRY(axes_to_pose(scene->axes, &scene->nodes[0].T_world_node, err));
    scene->default_view = scene_overview(scene);
    return RT_OK;
}

static enum rt_status read_splats(const char *path, const struct scene_read_options *options,
                                  struct scene **out, struct rt_error *err) {
    struct splat_file file = {0};
    struct pose unused;
    const char *axes = options ? options->axes : NULL;
    if (axes) RT_TRY(axes_to_pose(axes, &unused, err));
    RT_TRY(splat_file_read(path, options ? options->format : NULL, &file, err));
    if (axes) memcpy(file.axes, axes, sizeof file.axes);
    enum rt_status status = scene_create(out, err);
    if (status == RT_OK) status = from_splats(&file, path, *out, err);
    splat_file_free(&file);
    if (status != RT_OK) scene_release(out);
    return status;
}

static enum rt_status fail_no_scene(const char *path, struct scene_source *source,
                                    struct rt_error *err) {
    bool is_sog =
        scene_source_has(source, "meta.json") || scene_source_has(source, "lod-meta.json");
    if (is_sog) {
        return rt_coded(err,
                        rt_fail(err, RT_UNSUPPORTED,
                                "%.200s: SOG folders are not read by this version: convert it to "
                                ".ply, .spz or .splat",
                                path_base(path)),
                        "unsupported-format");
    }
    return rt_fail_file(err, "missing-file", -1, "%.200s: holds no %s", path_base(path),
                        SCENE_JSON);
}

enum rt_status scene_locate(const char *path, struct scene_source **out, struct rt_error *err) {
    *out = NULL;
    struct stat st;
    struct rt_bytes head = {0};
    size_t file_bytes = 0;
    if (stat(path, &st) != 0) return file_fail(err, path, "open");
    if (S_ISREG(st.st_mode)) {
        RT_TRY(file_read_head(path, 4, &head, &file_bytes, err));
        bool is_zip = head.n_bytes == 4 && memcmp(head.bytes, "PK\3\4", 4) == 0;
        rt_bytes_free(&head);
        if (!is_zip && !path_ends(path, ".retake")) return RT_OK;
    }
    enum rt_status status = scene_source_open(path, out, err);
    if (status != RT_OK) return rt_prefix(err, status, "%.200s", path_base(path));
    if (scene_source_has(*out, SCENE_JSON)) return RT_OK;
    if (S_ISDIR(st.st_mode)) status = fail_no_scene(path, *out, err);
    scene_source_close(out); /* another zip: the splat reader names its format */
    return status;
}

enum rt_status scene_read(const char *path, const struct scene_read_options *options,
                          struct scene **out, struct rt_error *err) {
    *out = NULL;
    struct scene_source *source = NULL;
    RT_TRY(scene_locate(path, &source, err));
    if (!source) return read_splats(path, options, out, err);
    enum rt_status status = scene_parse(source, out, err);
    scene_source_close(&source);
    return status == RT_OK ? RT_OK : rt_prefix(err, status, "%.200s", path_base(path));
}
