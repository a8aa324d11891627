/* Times the rendering stages on a seeded cloud of splats that needs no download.
 *
 *     bench_render [n_splats width height repetitions sh_degree]
 *
 * Reports the median of every stage in ms. Not a test: nothing here asserts a time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/core/gaussians.h"
#include "render/core/stop.h"
#include "render/render.h"

enum { MAX_REPETITIONS = 1000, N_COLUMNS = 8 };

static const char *const columns[N_COLUMNS] = {"collect",   "project", "intersect", "sort",
                                               "composite", "forward", "backward",  "total"};

static float uniform(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)(*state >> 40) * (1.0f / 16777216.0f);
}

/* A cloud in front of the camera: depth 2...10 m, a little wider than the view, sizes log-uniform
 * from a quarter of a pixel to about 12 px at 960 px width, half of them opaque. */
static struct gaussians *cloud(int32_t n, int32_t sh_degree) {
    struct gaussians *g = NULL;
    if (gaussians_create(&g, n, n, sh_degree, NULL) != RT_OK) exit(1);
    uint64_t state = 1;
    for (size_t i = 0; i < (size_t)n; i++) {
        float z = 2.0f + 8.0f * uniform(&state);
        g->mean[3 * i] = (uniform(&state) - 0.5f) * 1.3f * z;
        g->mean[3 * i + 1] = (uniform(&state) - 0.5f) * 0.75f * z;
        g->mean[3 * i + 2] = z;
        float size = z * 0.0003f * expf(3.9f * uniform(&state));
        for (size_t k = 0; k < 3; k++) {
            g->log_scale[3 * i + k] = logf(size) - 1.5f * uniform(&state);
        }
        for (size_t k = 0; k < 4; k++) g->quat[4 * i + k] = uniform(&state) - 0.5f;
        g->logit_opacity[i] = 8.0f * uniform(&state) - 4.0f;
        size_t n_sh = 3 * (size_t)sh_count(sh_degree);
        for (size_t k = 0; k < n_sh; k++) {
            g->sh[n_sh * i + k] = (uniform(&state) - 0.5f) * (k < 3 ? 3.0f : 0.2f);
        }
    }
    return g;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

struct bench {
    struct renderer *renderer;
    struct render_frame frame;
    struct render_target target;
    struct render_upstream upstream;
    struct gaussian_gradients gradients;
};

static void once(struct bench *bench, double ms[N_COLUMNS]) {
    struct rt_error err;
    int64_t start_ns = rt_now_ns();
    if (render_camera(bench->renderer, &bench->frame, &bench->target, &err) != RT_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    int64_t middle_ns = rt_now_ns();
    if (render_backward(bench->renderer, &bench->frame, &bench->upstream, &bench->gradients,
                        &err) != RT_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    int64_t end_ns = rt_now_ns();
    struct render_counts counts = render_counts(bench->renderer);
    memcpy(ms, counts.stage_ms, sizeof counts.stage_ms);
    ms[5] = (double)(middle_ns - start_ns) * 1e-6;
    ms[6] = (double)(end_ns - middle_ns) * 1e-6;
    ms[7] = (double)(end_ns - start_ns) * 1e-6;
}

static void report(struct bench *bench, int n_repetitions) {
    static double all[N_COLUMNS][MAX_REPETITIONS];
    double ms[N_COLUMNS];
    for (int i = 0; i < 3; i++) once(bench, ms);
    for (int i = 0; i < n_repetitions; i++) {
        once(bench, ms);
        for (int c = 0; c < N_COLUMNS; c++) all[c][i] = ms[c];
    }
    struct render_counts counts = render_counts(bench->renderer);
    printf("visible %lld, pairs %lld, workspace %.1f MB\n", (long long)counts.n_visible,
           (long long)counts.n_pairs, (double)render_workspace_bytes(bench->renderer) * 1e-6);
    for (int c = 0; c < N_COLUMNS; c++) {
        qsort(all[c], (size_t)n_repetitions, sizeof(double), compare);
        printf("%s %.2f  ", columns[c], all[c][n_repetitions / 2]);
    }
    printf("(median ms of %d)\n", n_repetitions);
}

int main(int argc, char **argv) {
    int32_t n = argc > 1 ? atoi(argv[1]) : 100000;
    int32_t width_px = argc > 2 ? atoi(argv[2]) : 960;
    int32_t height_px = argc > 3 ? atoi(argv[3]) : 540;
    int n_repetitions = argc > 4 ? atoi(argv[4]) : 20;
    int32_t sh_degree = argc > 5 ? atoi(argv[5]) : 3;
    if (n_repetitions < 1 || n_repetitions > MAX_REPETITIONS) n_repetitions = 20;
    struct gaussians *g = cloud(n, sh_degree);
    struct gaussians *v = NULL;
    if (gaussians_create(&v, n, n, sh_degree, NULL) != RT_OK) return 1;
    struct render_layer layer = {.gaussians = g, .T_world_node = pose_identity()};
    struct bench bench = {.frame = render_frame_defaults()};
    bench.frame.sensor.camera = camera_ideal(width_px, height_px, 35.0f);
    bench.frame.sensor.camera.focal_px[0] = (float)width_px * 0.9f;
    bench.frame.layers = &layer;
    bench.frame.n_layers = 1;
    size_t n_px = (size_t)width_px * (size_t)height_px;
    bench.target = (struct render_target){.rgb = calloc(3 * n_px, sizeof(float)),
                                          .alpha = calloc(n_px, sizeof(float))};
    float *v_rgb = malloc(3 * n_px * sizeof(float));
    if (!v_rgb || !bench.target.rgb || !bench.target.alpha) return 1;
    for (size_t i = 0; i < 3 * n_px; i++) v_rgb[i] = (float)(i % 7) * 1e-3f;
    bench.upstream.v_rgb = v_rgb;
    bench.gradients = (struct gaussian_gradients){.v_mean = v->mean,
                                                  .v_log_scale = v->log_scale,
                                                  .v_quat = v->quat,
                                                  .v_logit_opacity = v->logit_opacity,
                                                  .v_sh = v->sh};
    if (render_create(&bench.renderer, &(struct render_options){0}, NULL) != RT_OK) return 1;
    report(&bench, n_repetitions);
    render_destroy(&bench.renderer);
    gaussians_destroy(&g);
    gaussians_destroy(&v);
    free(bench.target.rgb);
    free(bench.target.alpha);
    free(v_rgb);
    return 0;
}
