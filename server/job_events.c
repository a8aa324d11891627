#include "server/job_events.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RING_EVENTS = 1024, MAX_RINGS = 64, MAX_TEXT_BYTES = 64 * 1024 };

struct ring {
    char id[JOB_ID_BYTES];    /* "" = free */
    int64_t last;             /* newest sequence number; event s lies at s % RING_EVENTS */
    int64_t used;             /* clock of the last event, for eviction */
    struct job_event *events; /* owned, [RING_EVENTS] */
};

struct event_rings {
    pthread_mutex_t mutex; /* leaf */
    int64_t clock;
    struct ring rings[MAX_RINGS];
};

enum rt_status event_rings_create(struct event_rings **out, struct rt_error *err) {
    struct event_rings *rings = calloc(1, sizeof *rings);
    if (!rings) return rt_fail(err, RT_NO_MEMORY, "no memory for the event rings");
    pthread_mutex_init(&rings->mutex, NULL);
    *out = rings;
    return RT_OK;
}

static void ring_clear(struct ring *ring) {
    for (int32_t i = 0; ring->events && i < RING_EVENTS; i++) free(ring->events[i].text);
    free(ring->events);
    memset(ring, 0, sizeof *ring);
}

void event_rings_destroy(struct event_rings **rings) {
    if (!*rings) return;
    for (int32_t i = 0; i < MAX_RINGS; i++) ring_clear(&(*rings)->rings[i]);
    pthread_mutex_destroy(&(*rings)->mutex);
    free(*rings);
    *rings = NULL;
}

static struct ring *ring_find(struct event_rings *rings, const char *id) {
    for (int32_t i = 0; i < MAX_RINGS; i++) {
        if (rings->rings[i].id[0] && strcmp(rings->rings[i].id, id) == 0) return &rings->rings[i];
    }
    return NULL;
}

/* The ring of `id`; when all are taken, the one silent for longest is given up for it. */
static struct ring *ring_get(struct event_rings *rings, const char *id) {
    struct ring *ring = ring_find(rings, id);
    if (ring) return ring;
    ring = &rings->rings[0];
    for (int32_t i = 1; i < MAX_RINGS; i++) {
        if (rings->rings[i].used < ring->used) ring = &rings->rings[i];
    }
    ring_clear(ring);
    ring->events = calloc(RING_EVENTS, sizeof *ring->events);
    if (!ring->events) return NULL;
    snprintf(ring->id, sizeof ring->id, "%s", id);
    return ring;
}

bool event_rings_add(struct event_rings *rings, const char *id, const char *name,
                     const char *text) {
    if (strnlen(text, MAX_TEXT_BYTES + 1) > MAX_TEXT_BYTES) return false;
    char *copy = strdup(text);
    if (!copy) return false;
    pthread_mutex_lock(&rings->mutex);
    struct ring *ring = ring_get(rings, id);
    if (ring) {
        ring->used = ++rings->clock;
        struct job_event *event = &ring->events[++ring->last % RING_EVENTS];
        free(event->text);
        event->sequence = ring->last;
        event->text = copy;
        snprintf(event->name, sizeof event->name, "%s", name);
    }
    pthread_mutex_unlock(&rings->mutex);
    if (!ring) free(copy);
    return ring != NULL;
}

void job_events_free(struct job_event *events, int32_t n_events) {
    for (int32_t i = 0; events && i < n_events; i++) free(events[i].text);
    free(events);
}

enum rt_status event_rings_read(struct event_rings *rings, const char *id, int64_t after,
                                struct job_event **events, int32_t *n_events, bool *gap) {
    enum rt_status status = RT_OK;
    *events = NULL;
    *n_events = 0;
    pthread_mutex_lock(&rings->mutex);
    const struct ring *ring = ring_find(rings, id);
    int64_t last = ring ? ring->last : 0;
    int64_t oldest = last > RING_EVENTS ? last - RING_EVENTS + 1 : 1;
    *gap = after > last || (after > 0 && after + 1 < oldest) || (after == 0 && oldest > 1);
    int64_t first = *gap ? oldest : after + 1;
    if (first <= last) {
        *events = calloc((size_t)(last - first + 1), sizeof **events);
        if (!*events) status = RT_NO_MEMORY;
    }
    for (int64_t s = first; *events && s <= last && status == RT_OK; s++) {
        struct job_event *copy = &(*events)[*n_events];
        *copy = ring->events[s % RING_EVENTS];
        copy->text = strdup(copy->text);
        if (!copy->text) status = RT_NO_MEMORY;
        (*n_events)++;
    }
    pthread_mutex_unlock(&rings->mutex);
    if (status != RT_OK) {
        job_events_free(*events, *n_events);
        *events = NULL;
        *n_events = 0;
    }
    return status;
}

void event_rings_remove(struct event_rings *rings, const char *id) {
    pthread_mutex_lock(&rings->mutex);
    struct ring *ring = ring_find(rings, id);
    if (ring) ring_clear(ring);
    pthread_mutex_unlock(&rings->mutex);
}
