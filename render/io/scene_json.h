/* scene.json and frames.json <-> struct scene (formats.md section 4); internal to render/io. */
#ifndef RETAKE_RENDER_IO_SCENE_JSON_H
#define RETAKE_RENDER_IO_SCENE_JSON_H

#include <jansson.h>

#include "render/core/scene.h"
#include "render/io/scene_file.h"

#define SCENE_JSON "scene.json"
#define FRAMES_JSON "frames.json"

/* One entry of `nodes[]`, before its file is read. */
struct scene_json_node {
    char id[RT_ID_BYTES];
    char track_id[RT_ID_BYTES]; /* "" for the background */
    enum node_kind kind;
    char file[RT_MAX_PATH_BYTES + 1];
    int64_t n_splats; /* -1 = not declared */
    int32_t sh_degree;
    bool has_antialiased, antialiased;
    struct pose T_world_node;
};

/* Right format and version, else RT_BAD_FILE (bad-magic, unsupported-version). */
enum rt_status scene_json_check(const json_t *root, struct rt_error *err);
/* Everything but nodes and frames; keeps unknown members in scene->carried_json. */
enum rt_status scene_json_read(const json_t *root, struct scene *scene, struct rt_error *err);
/* Validates and returns the node table, background first; *out owned (free). */
enum rt_status scene_json_nodes(const json_t *root, struct scene_json_node **out, int32_t *n_nodes,
                                struct rt_error *err);
/* Cameras with their frames; `frames` is the root of frames.json or NULL. */
enum rt_status scene_json_cameras(const json_t *root, const json_t *frames, struct scene *scene,
                                  struct rt_error *err);
/* Name of the frames file or NULL. */
enum rt_status scene_json_frames_file(const json_t *root, const char **name, struct rt_error *err);

/* Texts of the two files; caller frees. Names of node files are those of scene_node_file(). */
enum rt_status scene_json_write(const struct scene *scene, char **text, struct rt_error *err);
enum rt_status frames_json_write(const struct scene *scene, char **text, struct rt_error *err);
void scene_node_file(const struct scene *scene, int32_t i_node, char *name, size_t n_bytes);

/* Members that scene_json_write() fills itself, NULL-terminated; the rest is carried. `section` is
 * NULL for the root, else "world", "time" or "recording". */
const char *const *scene_json_own_members(const char *section);

#endif
