#include "api/engine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/engine_draw.h"
#include "api/reply.h"
#include "render/core/log.h"

enum { HEARTBEAT_MS = 1000, WATCH_MS = 20 };

struct queued {
    struct engine_render render; /* owns one reference of the scene */
    int64_t queued_ns;
};

struct engine {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* for the engine thread (CLOCK_MONOTONIC) */
    pthread_cond_t idle;    /* background unit or render ended */
    pthread_t thread, watcher;
    bool has_thread, has_watcher;

    struct queued *ring; /* owned [queue_limit] */
    int32_t queue_limit, first, n_queued;
    bool is_stopping, is_draining;

    engine_advance advance;
    void *advance_context;
    bool background_waits; /* advance returned false and nobody woke us since */
    bool is_training;

    const struct engine_render *current; /* drawn now; for the watcher */
    atomic_bool cancel;                  /* of the current render */
    bool is_cancelled_by_drain;

    double mean_ms; /* moving mean of recent renders */
    int64_t heartbeat_ns;
    int64_t n_rendered, n_failed, n_cancelled;
    size_t workspace_bytes;

    struct renderer *renderer;     /* engine thread only */
    struct scene *heartbeat_scene; /* engine thread only */
};

static void wait_until_ms(struct engine *engine, pthread_cond_t *condition, int64_t ms) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + ms * 1000000;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    pthread_cond_timedwait(condition, &engine->lock, &until);
}

/* Answers a render that will not be drawn; without the lock. */
static void refuse(struct queued *queued, enum rt_status status, const char *why) {
    struct rt_error err;
    (void)rt_fail(&err, status, "%s", why);
    queued->render.done(queued->render.context, NULL, &err);
    scene_release(&queued->render.scene);
}

static bool pop(struct engine *engine, struct queued *out) {
    if (engine->n_queued == 0) return false;
    *out = engine->ring[engine->first];
    engine->first = (engine->first + 1) % engine->queue_limit;
    engine->n_queued--;
    return true;
}

static void count_result(struct engine *engine, enum rt_status status, double ms) {
    if (status == RT_OK) {
        engine->n_rendered++;
        engine->mean_ms = engine->mean_ms > 0.0 ? 0.8 * engine->mean_ms + 0.2 * ms : ms;
    } else if (status == RT_CANCELLED) {
        engine->n_cancelled++;
    } else {
        engine->n_failed++;
    }
    /* An error of the request says nothing against the device, so it beats too. */
    if (status != RT_INTERNAL && status != RT_NO_MEMORY) engine->heartbeat_ns = time_mono_ns();
    engine->workspace_bytes = render_workspace_bytes(engine->renderer);
}

/* Draws one; called and returns with the lock held. */
static void draw_one(struct engine *engine, struct queued *queued) {
    struct engine_render *render = &queued->render;
    atomic_store(&engine->cancel, false);
    engine->is_cancelled_by_drain = false;
    engine->current = render;
    pthread_mutex_unlock(&engine->lock);

    struct rt_error err;
    rt_error_clear(&err);
    struct engine_picture *picture = NULL;
    int64_t begin_ns = time_mono_ns();
    enum rt_status status;
    if (render->client_gone != NULL && render->client_gone(render->context)) {
        status = rt_fail(&err, RT_CANCELLED, "the client has left");
    } else if (render->deadline_ns != 0 && begin_ns > render->deadline_ns) {
        status = rt_fail(&err, RT_DEADLINE, "the deadline passed while the render was queued");
    } else {
        status = engine_draw(engine->renderer, render, &engine->cancel, &picture, &err);
    }
    double ms = (double)(time_mono_ns() - begin_ns) * 1e-6;

    pthread_mutex_lock(&engine->lock);
    engine->current = NULL; /* the watcher does not touch the context any more */
    bool is_drain = engine->is_cancelled_by_drain;
    count_result(engine, status, ms);
    pthread_mutex_unlock(&engine->lock);
    if (status == RT_CANCELLED && is_drain) {
        (void)rt_fail(&err, RT_DRAINING, "the server is shutting down");
    }
    if (picture != NULL) {
        picture->queue_ms = (double)(begin_ns - queued->queued_ns) * 1e-6;
        picture->render_ms = ms;
    }
    render->done(render->context, picture, &err);
    scene_release(&render->scene);
    pthread_mutex_lock(&engine->lock);
}

/* With the lock held on entry and return. */
static void advance_background(struct engine *engine) {
    engine->is_training = true;
    engine->background_waits = true; /* engine_wake during the unit sets it back */
    engine_advance advance = engine->advance;
    void *context = engine->advance_context;
    pthread_mutex_unlock(&engine->lock);
    bool has_more = advance(context, engine->renderer);
    pthread_mutex_lock(&engine->lock);
    if (has_more) engine->background_waits = false;
    engine->is_training = false;
    engine->heartbeat_ns = time_mono_ns();
    engine->workspace_bytes = render_workspace_bytes(engine->renderer);
    pthread_cond_broadcast(&engine->idle);
}

static enum rt_status beat(struct engine *engine, struct rt_error *err) {
    const struct engine_render render = engine_heartbeat_render(engine->heartbeat_scene);
    struct engine_picture *picture = NULL;
    RT_TRY(engine_draw(engine->renderer, &render, NULL, &picture, err));
    engine_picture_free(picture);
    return RT_OK;
}

static bool is_beat_due(const struct engine *engine) {
    return time_mono_ns() - engine->heartbeat_ns > (int64_t)HEARTBEAT_MS * 1000000;
}

static void *run_engine(void *context) {
    struct engine *engine = context;
    pthread_mutex_lock(&engine->lock);
    while (!engine->is_stopping) {
        struct queued queued;
        if (pop(engine, &queued)) {
            draw_one(engine, &queued);
        } else if (engine->advance != NULL && !engine->background_waits) {
            advance_background(engine);
        } else if (is_beat_due(engine)) {
            pthread_mutex_unlock(&engine->lock);
            struct rt_error err;
            enum rt_status status = beat(engine, &err);
            if (status != RT_OK) log_error("engine", "heartbeat failed: %s", err.message);
            pthread_mutex_lock(&engine->lock);
            if (status == RT_OK) engine->heartbeat_ns = time_mono_ns();
            if (status != RT_OK) wait_until_ms(engine, &engine->changed, HEARTBEAT_MS);
        } else {
            wait_until_ms(engine, &engine->changed, HEARTBEAT_MS);
        }
    }
    pthread_mutex_unlock(&engine->lock);
    return NULL;
}

/* Cancels the render in progress when its client has left. */
static void *run_watcher(void *context) {
    struct engine *engine = context;
    pthread_mutex_lock(&engine->lock);
    while (!engine->is_stopping) {
        const struct engine_render *render = engine->current;
        if (render != NULL && render->client_gone != NULL && render->client_gone(render->context)) {
            atomic_store(&engine->cancel, true);
        }
        pthread_mutex_unlock(&engine->lock);
        nanosleep(&(struct timespec){.tv_nsec = WATCH_MS * 1000000L}, NULL);
        pthread_mutex_lock(&engine->lock);
    }
    pthread_mutex_unlock(&engine->lock);
    return NULL;
}

static void init_sync(struct engine *engine) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&engine->lock, NULL);
    pthread_cond_init(&engine->changed, &attributes);
    pthread_cond_init(&engine->idle, &attributes);
    pthread_condattr_destroy(&attributes);
}

enum rt_status engine_create(struct engine **out, const struct engine_options *options,
                             struct rt_error *err) {
    struct engine *engine = calloc(1, sizeof *engine);
    if (engine == NULL) return rt_fail(err, RT_NO_MEMORY, "no memory for the engine");
    init_sync(engine);
    engine->queue_limit = options->queue_limit > 0 ? options->queue_limit : ENGINE_QUEUE_LIMIT;
    engine->ring = calloc((size_t)engine->queue_limit, sizeof *engine->ring);
    const struct render_options renderer = {.backend = options->backend,
                                            .max_pairs = options->max_pairs};
    enum rt_status status = RT_OK;
    if (engine->ring == NULL) status = rt_fail(err, RT_NO_MEMORY, "no memory for the queue");
    if (status == RT_OK) status = render_create(&engine->renderer, &renderer, err);
    if (status == RT_OK) status = engine_heartbeat_scene(&engine->heartbeat_scene, err);
    if (status == RT_OK) status = beat(engine, err);
    if (status == RT_OK) {
        engine->heartbeat_ns = time_mono_ns();
        engine->has_thread = pthread_create(&engine->thread, NULL, run_engine, engine) == 0;
        engine->has_watcher = pthread_create(&engine->watcher, NULL, run_watcher, engine) == 0;
        if (!engine->has_thread || !engine->has_watcher) {
            status = rt_fail(err, RT_NO_MEMORY, "no thread for the engine");
        }
    }
    if (status != RT_OK) {
        engine_destroy(&engine);
        return status;
    }
    *out = engine;
    return RT_OK;
}

void engine_destroy(struct engine **pointer) {
    struct engine *engine = *pointer;
    if (engine == NULL) return;
    pthread_mutex_lock(&engine->lock);
    engine->is_stopping = true;
    engine->is_draining = true;
    pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
    if (engine->has_thread) pthread_join(engine->thread, NULL);
    if (engine->has_watcher) pthread_join(engine->watcher, NULL);
    struct queued queued;
    while (pop(engine, &queued)) refuse(&queued, RT_DRAINING, "the server is shutting down");
    render_destroy(&engine->renderer);
    scene_release(&engine->heartbeat_scene);
    pthread_cond_destroy(&engine->idle);
    pthread_cond_destroy(&engine->changed);
    pthread_mutex_destroy(&engine->lock);
    free(engine->ring);
    free(engine);
    *pointer = NULL;
}

static double estimate_ms(const struct engine *engine) {
    int32_t n_before = engine->n_queued + (engine->current != NULL ? 1 : 0);
    return engine->mean_ms * n_before;
}

enum rt_status engine_submit(struct engine *engine, const struct engine_render *render,
                             struct rt_error *err) {
    int64_t now_ns = time_mono_ns();
    enum rt_status status = RT_OK;
    pthread_mutex_lock(&engine->lock);
    double wait_ms = estimate_ms(engine);
    double left_ms = (double)(render->deadline_ns - now_ns) * 1e-6;
    if (engine->is_draining) {
        status = rt_fail(err, RT_DRAINING, "the server is shutting down");
    } else if (engine->n_queued >= engine->queue_limit) {
        status = rt_fail(err, RT_QUEUE_FULL, "%d renders are waiting already", engine->n_queued);
    } else if (render->deadline_ns != 0 && wait_ms > left_ms) {
        status = rt_fail(err, RT_QUEUE_FULL, "the wait of about %.0f ms is beyond the deadline",
                         wait_ms);
    } else {
        int32_t at = (engine->first + engine->n_queued) % engine->queue_limit;
        engine->ring[at].render = *render;
        engine->ring[at].queued_ns = now_ns;
        scene_retain(render->scene);
        engine->n_queued++;
        pthread_cond_signal(&engine->changed);
    }
    pthread_mutex_unlock(&engine->lock);
    return status;
}

int32_t engine_retry_after_s(struct engine *engine) {
    pthread_mutex_lock(&engine->lock);
    double seconds = estimate_ms(engine) * 1e-3;
    pthread_mutex_unlock(&engine->lock);
    return seconds < 1.0 ? 1 : seconds > 600.0 ? 600 : (int32_t)(seconds + 0.999);
}

void engine_set_background(struct engine *engine, engine_advance advance, void *context) {
    pthread_mutex_lock(&engine->lock);
    engine->advance = advance;
    engine->advance_context = context;
    engine->background_waits = false;
    pthread_cond_signal(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
}

void engine_wake(struct engine *engine) {
    pthread_mutex_lock(&engine->lock);
    engine->background_waits = false;
    pthread_cond_signal(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
}

void engine_stop_background(struct engine *engine) {
    pthread_mutex_lock(&engine->lock);
    engine->advance = NULL;
    while (engine->is_training) pthread_cond_wait(&engine->idle, &engine->lock);
    pthread_mutex_unlock(&engine->lock);
}

void engine_drain(struct engine *engine) {
    pthread_mutex_lock(&engine->lock);
    engine->is_draining = true;
    pthread_mutex_unlock(&engine->lock);
}

void engine_cancel_all(struct engine *engine) {
    pthread_mutex_lock(&engine->lock);
    engine->is_draining = true;
    engine->is_cancelled_by_drain = true;
    atomic_store(&engine->cancel, true);
    struct queued queued;
    while (pop(engine, &queued)) {
        pthread_mutex_unlock(&engine->lock);
        refuse(&queued, RT_DRAINING, "the server is shutting down");
        pthread_mutex_lock(&engine->lock);
    }
    pthread_mutex_unlock(&engine->lock);
}

struct engine_stats engine_stats(struct engine *engine) {
    struct engine_stats stats = {0};
    pthread_mutex_lock(&engine->lock);
    snprintf(stats.backend, sizeof stats.backend, "%s", render_backend_name(engine->renderer));
    stats.queue_length = engine->n_queued;
    stats.queue_limit = engine->queue_limit;
    stats.is_rendering = engine->current != NULL;
    stats.is_training = engine->is_training;
    stats.heartbeat_age_s = (double)(time_mono_ns() - engine->heartbeat_ns) * 1e-9;
    stats.estimate_ms = estimate_ms(engine);
    stats.workspace_bytes = engine->workspace_bytes;
    stats.n_rendered = engine->n_rendered;
    stats.n_failed = engine->n_failed;
    stats.n_cancelled = engine->n_cancelled;
    pthread_mutex_unlock(&engine->lock);
    return stats;
}
