/* Sweeps of a spinning lidar: first surface of every beam, with the beams lost that a real one
 * loses. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recon/synth.h"
#include "recon/synth_surface.h"
#include "render/core/rng.h"

enum { RETURN_FLOATS = 6 };

struct synth_lidar synth_lidar_default(void) {
    return (struct synth_lidar){
        .n_rows = 64,
        .n_columns = 1800,
        .elevation_top_rad = 0.1745329f,
        .elevation_bottom_rad = -0.4363323f,
        .range_min = 1.0f,
        .range_max = 120.0f,
        .T_rig_lidar = pose_make(quat_identity(), vec3_make(0.0f, 0.0f, 1.9f))};
}

float synth_lidar_elevation_rad(const struct synth_lidar *lidar, int32_t i_row) {
    float u = (float)i_row / (float)(lidar->n_rows - 1);
    return lidar->elevation_top_rad + u * (lidar->elevation_bottom_rad - lidar->elevation_top_rad);
}

/* Clockwise from the back, so that the beam points forward in the middle of the sweep. */
float synth_lidar_azimuth_rad(const struct synth_lidar *lidar, int32_t i_column) {
    return 3.14159265f - 6.28318531f * (float)i_column / (float)lidar->n_columns;
}

/* Near-infrared reflectance stands in for colour: bright paint returns more, glass and dark
 * lacquer little. Lambert's law over the angle of incidence. */
static float intensity_of(const struct synth_hit *hit, vec3 direction) {
    vec3 albedo = synth_albedo(hit, 0.02f);
    float luminance = 0.3f * albedo.x + 0.5f * albedo.y + 0.2f * albedo.z;
    if (hit->surface == SURFACE_LEAVES) luminance = 0.35f + 0.5f * luminance;
    float facing = fmaxf(-vec3_dot(hit->normal, direction), 0.0f);
    return fminf(luminance * (0.25f + 0.75f * facing), 1.0f);
}

struct sweep_job {
    const struct synth_world *world;
    const struct synth_lidar *lidar;
    int64_t t_us, t_end_us;
};

/* One column: all rows at one time. Writes the returns and gives their number. */
static int32_t sweep_column(const struct sweep_job *job, int32_t i_column, float *out) {
    const struct synth_lidar *lidar = job->lidar;
    float fraction = (float)i_column / (float)(lidar->n_columns - 1);
    int64_t t_us = job->t_us + llround((double)fraction * (double)(job->t_end_us - job->t_us));
    struct synth_instant instant;
    synth_world_at(job->world, t_us, &instant);
    struct pose T_world_lidar = pose_mul(synth_rig_pose(job->world, t_us), lidar->T_rig_lidar);
    float azimuth_rad = synth_lidar_azimuth_rad(lidar, i_column);
    int32_t n = 0;
    for (int32_t i_row = 0; i_row < lidar->n_rows; i_row++) {
        float elevation_rad = synth_lidar_elevation_rad(lidar, i_row);
        vec3 beam = vec3_make(cosf(azimuth_rad) * cosf(elevation_rad),
                              sinf(azimuth_rad) * cosf(elevation_rad), sinf(elevation_rad));
        struct synth_ray ray = {T_world_lidar.t, quat_rotate(T_world_lidar.q, beam),
                                lidar->range_max};
        struct synth_hit hit;
        if (!synth_cast(job->world, &instant, &ray, &hit)) continue;
        if (hit.distance < lidar->range_min) continue;
        float intensity = intensity_of(&hit, ray.direction);
        /* Signal falls with the square of the range; the weakest returns are lost first. */
        float signal = intensity * 900.0f / (hit.distance * hit.distance);
        struct rng_bits bits =
            rng_draw(job->world->settings.seed, SYNTH_STREAM_DROP,
                     (uint32_t)(i_column * lidar->n_rows + i_row), (uint64_t)job->t_us);
        if (rng_uniform(bits, 0) < 0.004f + expf(-60.0f * signal)) continue;
        float *row = out + (size_t)n++ * RETURN_FLOATS;
        vec3_store(row, vec3_scale(beam, hit.distance));
        row[3] = intensity;
        row[4] = (float)i_row;
        row[5] = fraction;
    }
    return n;
}

enum rt_status synth_render_lidar(const struct synth_world *world, const struct synth_lidar *lidar,
                                  int64_t t_us, int64_t t_end_us, struct synth_sweep *out,
                                  struct rt_error *err) {
    *out = (struct synth_sweep){0};
    size_t stride = (size_t)lidar->n_rows * RETURN_FLOATS;
    float *returns = malloc((size_t)lidar->n_columns * stride * sizeof *returns);
    int32_t *n_of_column = malloc((size_t)lidar->n_columns * sizeof *n_of_column);
    if (!returns || !n_of_column) {
        free(returns);
        free(n_of_column);
        return rt_fail(err, RT_NO_MEMORY, "synthetic sweep: out of memory");
    }
    const struct sweep_job job = {world, lidar, t_us, t_end_us};
#pragma omp parallel for schedule(dynamic, 16)
    for (int32_t i = 0; i < lidar->n_columns; i++) {
        n_of_column[i] = sweep_column(&job, i, returns + (size_t)i * stride);
    }
    for (int32_t i = 0; i < lidar->n_columns; i++) {
        memmove(returns + out->n_returns * RETURN_FLOATS, returns + (size_t)i * stride,
                (size_t)n_of_column[i] * RETURN_FLOATS * sizeof *returns);
        out->n_returns += n_of_column[i];
    }
    free(n_of_column);
    out->returns = returns;
    return RT_OK;
}

void synth_sweep_free(struct synth_sweep *sweep) {
    free(sweep->returns);
    *sweep = (struct synth_sweep){0};
}
