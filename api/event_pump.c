#include "api/event_pump.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_READERS = 256, PING_S = 15 };

struct reader {
    struct http_stream *stream; /* owned */
    char id[JOB_ID_BYTES];
    int64_t after; /* -1 = nothing was sent yet */
    time_t last_sent_s;
};

struct event_pump {
    struct jobs *jobs;
    event_row row;
    void *context;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t mutex; /* guards the rest; a leaf: never held while sending */
    pthread_cond_t changed;
    bool stopping, is_dirty;
    int32_t n_added;
    struct reader added[MAX_READERS]; /* not yet taken over by the thread */
    int32_t n_readers;                /* of the thread, for the count */
    struct reader readers[MAX_READERS];
};

static time_t now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* One event in the wire form of server-sent events; JSON texts have no line breaks. */
static bool send_event(struct reader *reader, int64_t sequence, const char *name,
                       const char *text) {
    size_t n_bytes = strlen(text) + 96;
    char *line = malloc(n_bytes);
    if (!line) return false;
    int n = snprintf(line, n_bytes, "id: %lld\nevent: %s\ndata: %s\n\n", (long long)sequence, name,
                     text);
    bool sent = http_stream_send(reader->stream, line, (size_t)n);
    free(line);
    reader->last_sent_s = now_s();
    return sent;
}

static bool send_row(struct event_pump *pump, struct reader *reader, int64_t sequence,
                     const char *name) {
    char *text = pump->row(pump->context, reader->id);
    bool sent = text && send_event(reader, sequence, name, text);
    free(text);
    return sent;
}

static bool has_ended(struct event_pump *pump, const char *id) {
    struct job_row row = {0};
    if (jobs_get(pump->jobs, id, &row, NULL) != RT_OK) return true;
    enum job_state state = row.state;
    job_row_free(&row);
    return state == JOB_SUCCEEDED || state == JOB_FAILED || state == JOB_CANCELLED;
}

/* First contact: the row as it is, and `done` at once when nothing will follow. */
static bool greet(struct event_pump *pump, struct reader *reader, int64_t newest) {
    reader->after = newest;
    if (!send_row(pump, reader, newest, "state")) return false;
    if (!has_ended(pump, reader->id)) return true;
    send_row(pump, reader, newest, "done");
    return false;
}

/* Sends what the reader has not seen; false when the stream shall be closed. */
static bool feed(struct event_pump *pump, struct reader *reader) {
    struct job_event *events = NULL;
    int32_t n_events = 0;
    bool gap = false, is_new = reader->after < 0;
    if (jobs_events(pump->jobs, reader->id, is_new ? 0 : reader->after, &events, &n_events, &gap,
                    NULL) != RT_OK) {
        return false;
    }
    bool keep = true;
    int64_t newest = n_events > 0 ? events[n_events - 1].sequence : 0;
    if (is_new) keep = greet(pump, reader, newest);
    if (!is_new && gap) keep = send_row(pump, reader, events ? events[0].sequence - 1 : 0, "gap");
    for (int32_t i = 0; i < n_events; i++) {
        if (!is_new && keep) {
            keep = send_event(reader, events[i].sequence, events[i].name, events[i].text);
            reader->after = events[i].sequence;
            if (strcmp(events[i].name, "done") == 0 && has_ended(pump, reader->id)) keep = false;
        }
        free(events[i].text);
    }
    free(events);
    if (keep && now_s() - reader->last_sent_s >= PING_S) {
        keep = http_stream_send(reader->stream, ": ping\n\n", 8);
        reader->last_sent_s = now_s();
    }
    return keep && http_stream_alive(reader->stream);
}

static void feed_all(struct event_pump *pump) {
    int32_t n_kept = 0;
    for (int32_t i = 0; i < pump->n_readers; i++) {
        struct reader reader = pump->readers[i];
        if (feed(pump, &reader)) {
            pump->readers[n_kept++] = reader;
        } else {
            http_stream_close(&reader.stream);
        }
    }
    pthread_mutex_lock(&pump->mutex);
    pump->n_readers = n_kept;
    pthread_mutex_unlock(&pump->mutex);
}

static void take_added(struct event_pump *pump) {
    for (int32_t i = 0; i < pump->n_added; i++) pump->readers[pump->n_readers++] = pump->added[i];
    pump->n_added = 0;
    pump->is_dirty = false;
}

static void *pump_events(void *context) {
    struct event_pump *pump = context;
    pthread_mutex_lock(&pump->mutex);
    while (!pump->stopping) {
        if (!pump->is_dirty) {
            struct timespec until;
            clock_gettime(CLOCK_REALTIME, &until);
            until.tv_sec += 1;
            pthread_cond_timedwait(&pump->changed, &pump->mutex, &until);
        }
        take_added(pump);
        pthread_mutex_unlock(&pump->mutex);
        feed_all(pump);
        pthread_mutex_lock(&pump->mutex);
    }
    take_added(pump);
    pthread_mutex_unlock(&pump->mutex);
    for (int32_t i = 0; i < pump->n_readers; i++) http_stream_close(&pump->readers[i].stream);
    pump->n_readers = 0;
    return NULL;
}

static void wake(void *context, const char *id) {
    (void)id;
    struct event_pump *pump = context;
    pthread_mutex_lock(&pump->mutex);
    pump->is_dirty = true;
    pthread_cond_signal(&pump->changed);
    pthread_mutex_unlock(&pump->mutex);
}

enum rt_status event_pump_create(struct event_pump **out, struct jobs *jobs, event_row row,
                                 void *context, struct rt_error *err) {
    struct event_pump *pump = calloc(1, sizeof *pump);
    if (!pump) return rt_fail(err, RT_NO_MEMORY, "event pump: out of memory");
    pump->jobs = jobs;
    pump->row = row;
    pump->context = context;
    pthread_mutex_init(&pump->mutex, NULL);
    pthread_cond_init(&pump->changed, NULL);
    if (pthread_create(&pump->thread, NULL, pump_events, pump) != 0) {
        event_pump_destroy(&pump);
        return rt_fail(err, RT_IO, "event pump: the system refused a thread");
    }
    pump->has_thread = true;
    jobs_on_event(jobs, wake, pump);
    *out = pump;
    return RT_OK;
}

enum rt_status event_pump_add(struct event_pump *pump, struct http_stream *stream, const char *id,
                              int64_t after, struct rt_error *err) {
    enum rt_status status = RT_OK;
    pthread_mutex_lock(&pump->mutex);
    if (pump->stopping) {
        status = rt_fail(err, RT_DRAINING, "the service is shutting down");
    } else if (pump->n_added + pump->n_readers >= MAX_READERS) {
        status = rt_fail(err, RT_LIMIT, "%d event readers are open already", MAX_READERS);
    } else {
        struct reader *reader = &pump->added[pump->n_added++];
        *reader = (struct reader){.stream = stream, .after = after, .last_sent_s = now_s()};
        snprintf(reader->id, sizeof reader->id, "%s", id);
        pump->is_dirty = true;
        pthread_cond_signal(&pump->changed);
    }
    pthread_mutex_unlock(&pump->mutex);
    return status;
}

int32_t event_pump_readers(struct event_pump *pump) {
    pthread_mutex_lock(&pump->mutex);
    int32_t n_readers = pump->n_added + pump->n_readers;
    pthread_mutex_unlock(&pump->mutex);
    return n_readers;
}

void event_pump_stop(struct event_pump *pump) {
    pthread_mutex_lock(&pump->mutex);
    bool is_first = !pump->stopping;
    pump->stopping = true;
    pthread_cond_signal(&pump->changed);
    pthread_mutex_unlock(&pump->mutex);
    if (is_first && pump->has_thread) pthread_join(pump->thread, NULL);
}

void event_pump_destroy(struct event_pump **pump) {
    struct event_pump *p = *pump;
    if (!p) return;
    event_pump_stop(p);
    jobs_on_event(p->jobs, NULL, NULL);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->mutex);
    free(p);
    *pump = NULL;
}
