/* The engine: one thread that owns the renderer of a device. Renders come in through a bounded
 * queue; between them, when the queue is empty, one unit of background work (a training step) is
 * done at a time, so a render waits at most for one unit.
 *
 *     struct engine *engine;
 *     RT_TRY(engine_create(&engine, &options, err));
 *     engine_set_background(engine, advance, service);      // optional, before the first wake
 *     RT_TRY(engine_submit(engine, &render, err));          // done() is called exactly once
 *     engine_destroy(&engine);
 *
 * Locks of api/ (leaves: no two are ever held together, but for scene_cache.publishing, which is
 * taken before scene_cache.lock and keeps commits of scene files in order):
 *     engine.lock         queue, statistics, background flags, the render in progress
 *     scene_cache.lock    index, loaded scenes, waiting requests
 *     workers.lock        queue of encode jobs
 *     metrics, jobs       inside those modules
 * Threading: every function but destroy may be called from any thread. */
#ifndef RETAKE_API_ENGINE_H
#define RETAKE_API_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "render/core/scene.h"
#include "render/core/sensor.h"
#include "render/render.h"

struct engine;

enum { ENGINE_QUEUE_LIMIT = 64 };

struct engine_options {
    const char *backend; /* "auto", "cpu", "cuda"; NULL = auto */
    int32_t queue_limit; /* 0 = ENGINE_QUEUE_LIMIT */
    int64_t max_pairs;   /* 0 = default of the renderer */
};

/* Which arrays a picture has. */
enum engine_output {
    ENGINE_RGB = 1,
    ENGINE_ALPHA = 2,
    ENGINE_DEPTH_EXPECTED = 4,
    ENGINE_DEPTH_MEDIAN = 8,
    ENGINE_SPLAT_COUNT = 16
};

/* What was drawn; NULL = not asked for. Row-major [height_px][width_px]. */
struct engine_picture {
    int32_t width_px, height_px;
    float *rgb;           /* owned [h][w][3] */
    float *alpha;         /* owned [h][w] */
    float *depth;         /* owned [h][w], NaN = none */
    int32_t *splat_count; /* owned [h][w] */
    double queue_ms, render_ms;
    double stage_ms[5]; /* collect, project, intersect, sort, composite */
};
void engine_picture_free(struct engine_picture *picture); /* the struct too; accepts NULL */

struct engine_render {
    struct scene *scene;  /* the engine retains it */
    struct sensor sensor; /* camera size = size drawn */
    uint32_t outputs;     /* enum engine_output */
    float background[3];
    float near_m;
    int32_t sh_degree;
    int64_t deadline_ns; /* CLOCK_MONOTONIC, 0 = none */
    /* Asked before and while drawing (NULL = never gone); must be cheap and any-thread. */
    bool (*client_gone)(void *context);
    /* Exactly once, on the engine thread; `picture` is owned by the callee, NULL unless RT_OK.
     * Must not block: hand the picture to a worker. RT_CANCELLED: the client left or engine_drain
     * was called (then *err says draining). */
    void (*done)(void *context, struct engine_picture *picture, const struct rt_error *err);
    void *context;
};

struct engine_stats {
    char backend[8];
    int32_t queue_length, queue_limit;
    bool is_rendering, is_training;
    double heartbeat_age_s; /* since the last frame or unit of work that succeeded */
    double estimate_ms;     /* expected wait of a render submitted now */
    size_t workspace_bytes;
    int64_t n_rendered, n_failed, n_cancelled;
};

/* RT_UNSUPPORTED when the backend cannot be used; draws the first heartbeat before returning. */
enum rt_status engine_create(struct engine **out, const struct engine_options *options,
                             struct rt_error *err);
/* Answers what is queued with RT_DRAINING, waits for the render or unit in progress. */
void engine_destroy(struct engine **engine);

/* Queues a copy. RT_QUEUE_FULL when the queue is full or the estimated wait is beyond the deadline
 * (engine_retry_after_s says when to come back); RT_DRAINING after engine_drain. On an error done()
 * is not called. */
enum rt_status engine_submit(struct engine *engine, const struct engine_render *render,
                             struct rt_error *err);
/* Whole seconds >= 1 until the queue has room, by its estimate. */
int32_t engine_retry_after_s(struct engine *engine);

/* One unit of background work, called on the engine thread with the engine's renderer whenever no
 * render waits. Returns false when there is nothing to do: then it is not called again before
 * engine_wake. */
typedef bool (*engine_advance)(void *context, struct renderer *renderer);
void engine_set_background(struct engine *engine, engine_advance advance, void *context);
void engine_wake(struct engine *engine);
/* Ends the background work: waits until the unit in progress is done; advance is not called again.
 * The caller then owns whatever the background worked on. */
void engine_stop_background(struct engine *engine);

/* From now on submissions are refused with RT_DRAINING; queued renders are still drawn. */
void engine_drain(struct engine *engine);
/* Answers all queued renders with RT_DRAINING and cancels the one in progress. */
void engine_cancel_all(struct engine *engine);

struct engine_stats engine_stats(struct engine *engine);

#endif
