/* One gaussian of a layer as the camera sees it: what project computes and project_backward
 * computes again. */
#ifndef RETAKE_RENDER_CPU_ACTIVATE_H
#define RETAKE_RENDER_CPU_ACTIVATE_H

#include "render/core/covariance.h"
#include "render/core/gaussians.h"
#include "render/core/sh.h"
#include "render/stages.h"

struct active {
    vec3 p; /* centre in the camera frame */
    vec3 scale;
    quat q; /* stored */
    mat3 rotation;
    sym3 sigma;
    float opacity;
};

static inline vec3 active_centre(const struct layer_row *row, int32_t i) {
    vec3 mean = vec3_load(row->gaussians->mean + 3 * (size_t)i);
    return vec3_add(mat3_mul_vec(row->R_camera_node, mean), row->t_camera_node);
}

static inline float active_opacity(const struct layer_row *row, int32_t i) {
    return 1.0f / (1.0f + expf(-row->gaussians->logit_opacity[i]));
}

static inline struct active active_make(const struct layer_row *row, int32_t i) {
    const struct gaussians *g = row->gaussians;
    const float *log_scale = g->log_scale + 3 * (size_t)i;
    struct active a;
    a.p = active_centre(row, i);
    a.opacity = active_opacity(row, i);
    a.scale = vec3_make(expf(log_scale[0]), expf(log_scale[1]), expf(log_scale[2]));
    a.q = quat_load(g->quat + 4 * (size_t)i);
    a.rotation = quat_to_mat3(quat_normalised(a.q));
    a.sigma = covariance(a.rotation, a.scale);
    return a;
}

/* From the sensor to the gaussian, in the node frame; not normalised. */
static inline vec3 active_view(const struct layer_row *row, int32_t i) {
    return vec3_sub(vec3_load(row->gaussians->mean + 3 * (size_t)i), row->eye);
}

static inline const float *active_sh(const struct layer_row *row, int32_t i) {
    return row->gaussians->sh + 3 * (size_t)sh_count(row->gaussians->sh_degree) * (size_t)i;
}

#endif
