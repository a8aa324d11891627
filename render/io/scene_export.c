/* A scene's static splats as one splat file. */
#include <string.h>

#include "render/core/sh_rotate.h"
#include "render/io/scene_file.h"
#include "render/io/splat_file.h"

/* Appends the splats of `node`, moved by T, to `all`, whose degree may be higher. */
static void append_node(const struct scene_node *node, struct pose T, struct gaussians *all) {
    const struct gaussians *from = node->gaussians;
    struct sh_rotation rotation = sh_rotation_make(T.q);
    size_t n_from = 3 * (size_t)sh_count(from->sh_degree);
    size_t n_all = 3 * (size_t)sh_count(all->sh_degree);
    for (size_t i = 0; i < (size_t)from->n_gaussians; i++) {
        size_t to = (size_t)all->n_gaussians++;
        vec3_store(all->mean + 3 * to, pose_apply(T, vec3_load(from->mean + 3 * i)));
        memcpy(all->log_scale + 3 * to, from->log_scale + 3 * i, 3 * sizeof(float));
        quat_store(all->quat + 4 * to,
                   quat_mul(T.q, quat_normalised(quat_load(from->quat + 4 * i))));
        all->logit_opacity[to] = from->logit_opacity[i];
        memcpy(all->sh + n_all * to, from->sh + n_from * i, n_from * sizeof(float));
        sh_rotate(&rotation, from->sh_degree, all->sh + n_all * to);
    }
}

enum rt_status scene_export(const char *path, const char *format, const struct scene *scene,
                            const char *axes, struct rt_error *err) {
    struct pose T_world_file;
    int32_t n = 0;
    RT_TRY(axes_to_pose(axes, &T_world_file, err));
    for (int32_t i = 0; i < scene->n_nodes; i++) {
        if (scene->nodes[i].kind == NODE_BACKGROUND) n += scene->nodes[i].gaussians->n_gaussians;
    }
    if (n == 0) return rt_fail(err, RT_INVALID, "the scene has no static splats to export");
    struct gaussians *all = NULL;
    RT_TRY(gaussians_create(&all, n, n, scene_sh_degree(scene), err));
    all->n_gaussians = 0;
    struct pose T_file_world = pose_inverse(T_world_file);
    for (int32_t i = 0; i < scene->n_nodes; i++) {
        const struct scene_node *node = &scene->nodes[i];
        if (node->kind != NODE_BACKGROUND) continue;
        append_node(node, pose_mul(T_file_world, node->T_world_node), all);
    }
    struct splat_write what = {
        .gaussians = all, .axes = axes, .antialiased = scene->nodes[0].antialiased};
    enum rt_status status = splat_file_write(path, format, &what, NULL, err);
    gaussians_destroy(&all);
    return status;
}
