#include "recon/init.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recon/schedule.h"
#include "render/core/rng.h"

enum { STREAM_INIT = 0x494e4954 };

static const float SH_C0 = 0.28209479177387814f; /* Y_0, sensors.md section 6 */

static vec3 camera_axis(const struct training_picture *picture) {
    return quat_rotate(picture->T_world_sensor.q, vec3_make(0.0f, 0.0f, 1.0f));
}

/* Solves the symmetric 3x3 system by Cramer's rule; false when its determinant is small against
 * trace^3, i.e. the axes are within about 6 degrees of parallel. */
static bool solve3(double a[3][3], const double b[3], double x[3]) {
    double det = 0.0, trace = a[0][0] + a[1][1] + a[2][2];
    double cofactor[3][3];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            int r0 = (i + 1) % 3, r1 = (i + 2) % 3, c0 = (j + 1) % 3, c1 = (j + 2) % 3;
            cofactor[i][j] = a[r0][c0] * a[r1][c1] - a[r0][c1] * a[r1][c0];
        }
    }
    for (int j = 0; j < 3; j++) det += a[0][j] * cofactor[0][j];
    if (!(det > 1e-3 * trace * trace * trace)) return false;
    for (int i = 0; i < 3; i++) {
        x[i] = 0.0;
        for (int j = 0; j < 3; j++) x[i] += cofactor[j][i] * b[j] / det;
    }
    return true;
}

static vec3 mean_position(const struct picture_set *set) {
    vec3 sum = vec3_make(0.0f, 0.0f, 0.0f);
    for (int32_t i = 0; i < set->n_training; i++) {
        sum = vec3_add(sum, set->pictures[set->training[i]].T_world_sensor.t);
    }
    return vec3_scale(sum, 1.0f / (float)set->n_training);
}

static vec3 mean_axis(const struct picture_set *set) {
    vec3 sum = vec3_make(0.0f, 0.0f, 0.0f);
    for (int32_t i = 0; i < set->n_training; i++) {
        sum = vec3_add(sum, camera_axis(&set->pictures[set->training[i]]));
    }
    return vec3_scale(sum, 1.0f / (float)set->n_training);
}

/* Least squares of the distances to all optical axes: sum (I - d d^T) (p - c) = 0. */
static bool nearest_to_axes(const struct picture_set *set, vec3 *out) {
    double a[3][3] = {{0}}, b[3] = {0}, x[3];
    for (int32_t i = 0; i < set->n_training; i++) {
        const struct training_picture *picture = &set->pictures[set->training[i]];
        vec3 axis = camera_axis(picture), at = picture->T_world_sensor.t;
        double d[3] = {(double)axis.x, (double)axis.y, (double)axis.z};
        double c[3] = {(double)at.x, (double)at.y, (double)at.z};
        for (int r = 0; r < 3; r++) {
            for (int k = 0; k < 3; k++) {
                double entry = (r == k ? 1.0 : 0.0) - d[r] * d[k];
                a[r][k] += entry;
                b[r] += entry * c[k];
            }
        }
    }
    if (!solve3(a, b, x)) return false;
    *out = vec3_make((float)x[0], (float)x[1], (float)x[2]);
    return true;
}

struct scene_frame init_scene_frame(const struct picture_set *set) {
    struct scene_frame frame = {0};
    vec3 middle = mean_position(set);
    float farthest = 0.0f;
    for (int32_t i = 0; i < set->n_training; i++) {
        vec3 at = set->pictures[set->training[i]].T_world_sensor.t;
        farthest = fmaxf(farthest, vec3_length(vec3_sub(at, middle)));
    }
    frame.extent = farthest > 1e-6f ? 1.1f * farthest : 1.0f;
    if (!nearest_to_axes(set, &frame.centre)) {
        /* A drive or a tripod: everything of interest lies ahead. */
        frame.centre = vec3_add(middle, vec3_scale(mean_axis(set), 2.0f * frame.extent));
    }
    for (int32_t i = 0; i < set->n_training; i++) {
        vec3 at = set->pictures[set->training[i]].T_world_sensor.t;
        frame.distance += vec3_length(vec3_sub(at, frame.centre)) / (float)set->n_training;
    }
    return frame;
}

static void place_randomly(const struct picture_set *set, uint64_t seed, struct gaussians *g) {
    struct scene_frame frame = init_scene_frame(set);
    float side = 3.0f * (frame.distance > 0.0f ? frame.distance : frame.extent);
    for (int32_t i = 0; i < g->n_gaussians; i++) {
        struct rng_bits bits = rng_draw(seed, STREAM_INIT, 0, (uint64_t)i);
        vec3 offset = vec3_make(rng_uniform(bits, 0) - 0.5f, rng_uniform(bits, 1) - 0.5f,
                                rng_uniform(bits, 2) - 0.5f);
        vec3_store(g->mean + 3 * (int64_t)i, vec3_add(frame.centre, vec3_scale(offset, side)));
    }
}

/* Every (n_points / n)-th point when there are more points than wanted. */
static void place_at_points(const struct recording_points *points, struct gaussians *g) {
    int64_t n_sh = 3 * (int64_t)sh_count(g->sh_degree);
    for (int32_t i = 0; i < g->n_gaussians; i++) {
        int64_t from = (int64_t)i * points->n_points / g->n_gaussians;
        memcpy(g->mean + 3 * (int64_t)i, points->xyz + 3 * from, 3 * sizeof(float));
        for (int k = 0; k < 3; k++) {
            float colour = (float)points->rgb[3 * from + k] / 255.0f;
            g->sh[i * n_sh + k] = (colour - 0.5f) / SH_C0;
        }
    }
}

static enum rt_status set_shapes(const struct recon_config *config, float extent,
                                 struct gaussians *g, struct rt_error *err) {
    float *distance = malloc(((size_t)g->n_gaussians + 1) * sizeof *distance);
    if (!distance) return rt_fail(err, RT_NO_MEMORY, "first gaussians: out of memory");
    enum rt_status status = neighbour_distances(g->mean, g->n_gaussians, distance, err);
    float logit = logf(config->init_opacity / (1.0f - config->init_opacity));
    float least = 1e-6f * extent; /* points on one another */
    for (int32_t i = 0; status == RT_OK && i < g->n_gaussians; i++) {
        float size = fmaxf(distance[i], least) * config->init_scale;
        for (int k = 0; k < 3; k++) g->log_scale[3 * (int64_t)i + k] = logf(size);
        quat_store(g->quat + 4 * (int64_t)i, quat_identity());
        g->logit_opacity[i] = logit;
    }
    free(distance);
    return status;
}

bool init_is_random(const struct picture_set *set, const struct recon_config *config) {
    return strcmp(config->init, "random") == 0 || set->recording->points.n_points == 0;
}

enum rt_status init_gaussians(const struct picture_set *set, const struct recon_config *config,
                              struct gaussians **out, struct rt_error *err) {
    const struct recording_points *points = &set->recording->points;
    bool random = init_is_random(set, config);
    if (random && strcmp(config->init, "sfm") == 0) {
        return rt_fail(err, RT_INVALID,
                       "init = sfm, but the recording has no points; use auto or random");
    }
    int32_t most = random ? config->splats_max / 3 : config->splats_max;
    int32_t n = config->init_splats < most ? config->init_splats : most;
    if (!random && n > points->n_points) n = points->n_points;
    RT_TRY(gaussians_create(out, n, schedule_capacity(config, n), config->sh_degree, err));
    if (random) {
        place_randomly(set, (uint64_t)config->seed, *out);
    } else {
        place_at_points(points, *out);
    }
    enum rt_status status = set_shapes(config, init_scene_frame(set).extent, *out, err);
    if (status != RT_OK) gaussians_destroy(out);
    return status;
}
