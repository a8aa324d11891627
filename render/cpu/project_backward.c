#include <math.h>

#include "render/cpu/activate.h"
#include "render/cpu/variants.h"

static struct pair_gradient sum_pairs(const struct project_backward_args *args,
                                      const struct projected *splat) {
    struct pair_gradient sum = {0};
    const struct pair_gradient *pair = args->pair_gradients + splat->first_pair;
    for (int32_t k = 0; k < splat->n_tiles; k++, pair++) {
        sum.p += pair->p;
        sum.p_dx += pair->p_dx;
        sum.p_dy += pair->p_dy;
        sum.p_dx2 += pair->p_dx2;
        sum.p_dxdy += pair->p_dxdy;
        sum.p_dy2 += pair->p_dy2;
        for (int c = 0; c < 3; c++) sum.colour[c] += pair->colour[c];
        sum.depth += pair->depth;
    }
    return sum;
}

static void add3(float *to, vec3 v) {
    to[0] += v.x;
    to[1] += v.y;
    to[2] += v.z;
}

/* Colour to harmonics; returns what the view direction sends to the mean. */
static vec3 colour_backward(const struct layer_row *row, int32_t i, const struct projected *splat,
                            const float v_colour[3], float *v_sh) {
    vec3 v = vec3_make(splat->colour[0] > 0.0f ? v_colour[0] : 0.0f,
                       splat->colour[1] > 0.0f ? v_colour[1] : 0.0f,
                       splat->colour[2] > 0.0f ? v_colour[2] : 0.0f);
    float basis[RT_SH_MAX];
    float v_basis[RT_SH_MAX] = {0};
    vec3 view = active_view(row, i);
    vec3 d = direction(view);
    sh_basis(row->sh_degree, d, basis);
    sh_colour_vjp(sh_count(row->sh_degree), basis, active_sh(row, i), v, v_sh, v_basis);
    return direction_vjp(view, sh_basis_vjp(row->sh_degree, d, v_basis));
}

static void backward_one(const struct project_backward_args *args, const struct layer_row *row,
                         const struct gaussian_gradients *gradients, int32_t i,
                         const struct projected *splat) {
    size_t at = (size_t)i;
    size_t n_sh = 3 * (size_t)sh_count(row->gaussians->sh_degree);
    struct pair_gradient sum = sum_pairs(args, splat);
    struct active a = active_make(row, i);
    struct ewa_splat ewa = {0};
    project_ewa(&args->camera, row->R_camera_node, a.p, a.sigma, &ewa);

    /* sigma = (xx dx^2 + yy dy^2)/2 + xy dx dy with d = centre - mean. */
    struct ewa_splat_gradient v = {
        .v_mean_px = {-(ewa.conic.xx * sum.p_dx + ewa.conic.xy * sum.p_dy),
                      -(ewa.conic.xy * sum.p_dx + ewa.conic.yy * sum.p_dy)},
        .v_conic = {0.5f * sum.p_dx2, sum.p_dxdy, 0.5f * sum.p_dy2},
        .v_depth = sum.depth};
    float v_opacity = -sum.p / splat->opacity;
    if (row->antialiased) {
        v.v_chi = a.opacity * v_opacity;
        v_opacity *= ewa.chi;
    }
    struct ewa_input_gradient v_in =
        project_ewa_vjp(&args->camera, row->R_camera_node, a.p, a.sigma, &ewa, &v);

    mat3 v_rotation;
    vec3 v_log_scale;
    covariance_vjp(a.rotation, a.scale, v_in.v_sigma, &v_rotation, &v_log_scale);
    quat v_unit = quat_to_mat3_vjp(quat_normalised(a.q), v_rotation);
    quat v_quat = quat_normalised_vjp(a.q, v_unit);

    vec3 v_view = colour_backward(row, i, splat, sum.colour, gradients->v_sh + n_sh * at);
    add3(gradients->v_mean + 3 * at,
         vec3_add(mat3_mul_vec_transposed(row->R_camera_node, v_in.v_p), v_view));
    add3(gradients->v_log_scale + 3 * at, v_log_scale);
    float *q = gradients->v_quat + 4 * at;
    quat_store(q, quat_make(q[0] + v_quat.w, q[1] + v_quat.x, q[2] + v_quat.y, q[3] + v_quat.z));
    gradients->v_logit_opacity[at] += v_opacity * a.opacity * (1.0f - a.opacity);
    if (gradients->mean2d_norm) {
        gradients->mean2d_norm[at] +=
            sqrtf(v.v_mean_px.x * v.v_mean_px.x + v.v_mean_px.y * v.v_mean_px.y);
    }
    if (gradients->visible) gradients->visible[at] = 1;
}

/* Every gaussian sums its own pairs in emission order, so the result does not depend on threads. */
void RT_VARIANT(cpu_project_backward)(const struct project_backward_args *args) {
    for (int32_t i_row = 0; i_row < args->n_rows; i_row++) {
        const struct layer_row *row = &args->rows[i_row];
        int32_t n = row->gaussians->n_gaussians;
#pragma omp parallel for schedule(dynamic, 256)
        for (int32_t i = 0; i < n; i++) {
            const struct projected *splat = &args->splats[row->first + i];
            if (splat->n_tiles == 0) continue;
            backward_one(args, row, &args->gradients[i_row], i, splat);
        }
    }
}
