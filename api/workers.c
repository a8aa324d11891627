#include "api/workers.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct work {
    void (*run)(void *context);
    void *context;
};

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct work *ring; /* owned [max_queued] */
    int32_t max_queued, first, n_queued;
    pthread_t *threads; /* owned [n_threads] */
    int32_t n_threads;
    bool is_stopping;
};

static void *serve(void *context) {
    struct workers *workers = context;
    pthread_mutex_lock(&workers->lock);
    for (;;) {
        while (workers->n_queued == 0 && !workers->is_stopping) {
            pthread_cond_wait(&workers->changed, &workers->lock);
        }
        if (workers->n_queued == 0) break;
        struct work work = workers->ring[workers->first];
        workers->first = (workers->first + 1) % workers->max_queued;
        workers->n_queued--;
        pthread_mutex_unlock(&workers->lock);
        work.run(work.context);
        pthread_mutex_lock(&workers->lock);
    }
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}

enum rt_status workers_create(struct workers **out, int32_t n_threads, int32_t max_queued,
                              struct rt_error *err) {
    struct workers *workers = calloc(1, sizeof *workers);
    if (workers == NULL) return rt_fail(err, RT_NO_MEMORY, "no memory for worker threads");
    workers->max_queued = max_queued;
    workers->ring = calloc((size_t)max_queued, sizeof *workers->ring);
    workers->threads = calloc((size_t)n_threads, sizeof *workers->threads);
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->changed, NULL);
    if (workers->ring == NULL || workers->threads == NULL) goto fail;
    for (; workers->n_threads < n_threads; workers->n_threads++) {
        if (pthread_create(&workers->threads[workers->n_threads], NULL, serve, workers) != 0) {
            goto fail;
        }
    }
    *out = workers;
    return RT_OK;
fail:
    workers_destroy(&workers);
    return rt_fail(err, RT_NO_MEMORY, "no memory for worker threads");
}

void workers_destroy(struct workers **pointer) {
    struct workers *workers = *pointer;
    if (workers == NULL) return;
    pthread_mutex_lock(&workers->lock);
    workers->is_stopping = true;
    pthread_cond_broadcast(&workers->changed);
    pthread_mutex_unlock(&workers->lock);
    for (int32_t i = 0; i < workers->n_threads; i++) pthread_join(workers->threads[i], NULL);
    pthread_cond_destroy(&workers->changed);
    pthread_mutex_destroy(&workers->lock);
    free(workers->threads);
    free(workers->ring);
    free(workers);
    *pointer = NULL;
}

enum rt_status workers_submit(struct workers *workers, void (*run)(void *context), void *context,
                              struct rt_error *err) {
    pthread_mutex_lock(&workers->lock);
    bool has_room = workers->n_queued < workers->max_queued && !workers->is_stopping;
    if (has_room) {
        int32_t at = (workers->first + workers->n_queued) % workers->max_queued;
        workers->ring[at] = (struct work){run, context};
        workers->n_queued++;
        pthread_cond_signal(&workers->changed);
    }
    pthread_mutex_unlock(&workers->lock);
    if (!has_room) return rt_fail(err, RT_QUEUE_FULL, "too much work is waiting to be encoded");
    return RT_OK;
}
