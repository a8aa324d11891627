/* What a scene file holds, for an index: scene.json alone where there is one; a bare splat file is
 * read whole, since its counts are known only after unusable splats are dropped. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/io/json_parse.h"
#include "render/io/scene_json.h"
#include "render/io/scene_parse.h"
#include "render/io/splat_file.h"

static enum rt_status peek_splats(const char *path, struct scene_summary *out,
                                  struct rt_error *err) {
    struct splat_file file = {0};
    RT_TRY(splat_file_read(path, NULL, &file, err));
    snprintf(out->format, sizeof out->format, "%s", file.format);
    out->n_gaussians = file.gaussians->n_gaussians;
    out->sh_degree = file.gaussians->sh_degree;
    out->t_end_us = 1;
    splat_file_free(&file);
    return RT_OK;
}

static enum rt_status count_nodes(const json_t *root, struct scene_summary *out,
                                  struct rt_error *err) {
    struct scene_json_node *nodes = NULL;
    int32_t n_nodes = 0;
    RT_TRY(scene_json_nodes(root, &nodes, &n_nodes, err));
    for (int32_t i = 0; i < n_nodes; i++) {
        if (nodes[i].n_splats > 0) out->n_gaussians += nodes[i].n_splats;
        if (nodes[i].sh_degree > out->sh_degree) out->sh_degree = nodes[i].sh_degree;
        out->n_actors += nodes[i].kind == NODE_ACTOR;
    }
    free(nodes);
    return RT_OK;
}

static enum rt_status peek_json(const json_t *root, struct scene_summary *out,
                                struct rt_error *err) {
    struct scene *scene = NULL;
    RT_TRY(scene_create(&scene, err));
    enum rt_status status = scene_json_read(root, scene, err);
    if (status == RT_OK) status = count_nodes(root, out, err);
    snprintf(out->format, sizeof out->format, "retake");
    snprintf(out->name, sizeof out->name, "%s", scene->name);
    out->n_cameras = (int32_t)json_array_size(json_object_get(root, "cameras"));
    out->n_lidars = (int32_t)json_array_size(json_object_get(root, "lidars"));
    out->t_begin_us = scene->t_begin_us;
    out->t_end_us = scene->t_end_us;
    scene_release(&scene);
    return status;
}

enum rt_status scene_peek(const char *path, struct scene_summary *out, struct rt_error *err) {
    memset(out, 0, sizeof *out);
    struct scene_source *source = NULL;
    RT_TRY(scene_locate(path, &source, err));
    if (!source) return peek_splats(path, out, err);
    struct json_limits limits = json_limits_recording();
    struct rt_bytes bytes = {0};
    json_t *root = NULL;
    enum rt_status status = scene_source_read(source, SCENE_JSON, limits.max_bytes, &bytes, err);
    if (status == RT_OK) status = json_parse(bytes.bytes, bytes.n_bytes, &limits, &root, err);
    if (status == RT_OK) status = peek_json(root, out, err);
    rt_bytes_free(&bytes);
    json_decref(root);
    scene_source_close(&source);
    return status;
}
