/* Static nodes of a scene as one set of splats in the numbers of some axes. */
#include <string.h>

#include "render/core/sh_rotate.h"
#include "render/io/scene_file.h"
#include "render/io/splat_file.h"

const char *scene_export_axes(const char *format) {
    if (strcmp(format, "splat") == 0) return "rdf";
    return strcmp(format, "spz") == 0 ? "rub" : "flu";
}

static bool is_identity(struct pose pose) {
    return pose.q.x == 0.0f && pose.q.y == 0.0f && pose.q.z == 0.0f && pose.t.x == 0.0f &&
           pose.t.y == 0.0f && pose.t.z == 0.0f;
}

/* Appends the splats of `node`, moved by T, to `all`, whose degree may be higher. */
static void append_node(const struct scene_node *node, struct pose T, struct gaussians *all) {
    const struct gaussians *from = node->gaussians;
    struct sh_rotation rotation = sh_rotation_make(T.q);
    bool moves = !is_identity(T); /* otherwise every bit is kept */
    size_t n_from = 3 * (size_t)sh_count(from->sh_degree);
    size_t n_all = 3 * (size_t)sh_count(all->sh_degree);
    for (size_t i = 0; i < (size_t)from->n_gaussians; i++) {
        size_t to = (size_t)all->n_gaussians++;
        memcpy(all->mean + 3 * to, from->mean + 3 * i, 3 * sizeof(float));
        memcpy(all->log_scale + 3 * to, from->log_scale + 3 * i, 3 * sizeof(float));
        memcpy(all->quat + 4 * to, from->quat + 4 * i, 4 * sizeof(float));
        memcpy(all->sh + n_all * to, from->sh + n_from * i, n_from * sizeof(float));
        all->logit_opacity[to] = from->logit_opacity[i];
        if (!moves) continue;
        vec3_store(all->mean + 3 * to, pose_apply(T, vec3_load(from->mean + 3 * i)));
        quat_store(all->quat + 4 * to,
                   quat_mul(T.q, quat_normalised(quat_load(from->quat + 4 * i))));
        sh_rotate(&rotation, from->sh_degree, all->sh + n_all * to);
    }
}

enum rt_status scene_bake(const struct scene *scene, const char *axes, struct gaussians **out,
                          struct rt_error *err) {
    *out = NULL;
    struct pose T_world_file;
    int64_t n = 0;
    int32_t degree = 0;
    RT_TRY(axes_to_pose(axes, &T_world_file, err));
    for (int32_t i = 0; i < scene->n_nodes; i++) {
        const struct gaussians *splats = scene->nodes[i].gaussians;
        if (scene->nodes[i].kind != NODE_BACKGROUND) continue;
        n += splats->n_gaussians;
        if (splats->sh_degree > degree) degree = splats->sh_degree;
    }
    if (n == 0) return rt_fail(err, RT_INVALID, "the scene has no static splats to export");
    if (n > RT_MAX_GAUSSIANS) {
        return rt_fail(err, RT_LIMIT, "%lld splats exceed the limit of %d", (long long)n,
                       RT_MAX_GAUSSIANS);
    }
    RT_TRY(gaussians_create(out, 0, (int32_t)n, degree, err));
    struct pose T_file_world = pose_inverse(T_world_file);
    for (int32_t i = 0; i < scene->n_nodes; i++) {
        const struct scene_node *node = &scene->nodes[i];
        if (node->kind != NODE_BACKGROUND) continue;
        append_node(node, pose_mul(T_file_world, node->T_world_node), *out);
    }
    return RT_OK;
}

enum rt_status scene_export(const char *path, const char *format, const struct scene *scene,
                            const char *axes, struct rt_error *err) {
    struct gaussians *all = NULL;
    const char *target = axes ? axes : scene_export_axes(format);
    RT_TRY(scene_bake(scene, target, &all, err));
    struct splat_write what = {
        .gaussians = all, .axes = target, .antialiased = scene->nodes[0].antialiased};
    enum rt_status status = splat_file_write(path, format, &what, NULL, err);
    gaussians_destroy(&all);
    return status;
}
