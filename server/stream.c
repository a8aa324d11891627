/* Endless answers. The connection stays suspended, so the HTTP library does not touch its socket,
 * and one pump thread writes to all of them: bounded queues, pings, stalled and departed clients.
 * At the end the connection is resumed once and closed by its own thread. */
#define _GNU_SOURCE /* POLLRDHUP */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/exchange.h"

enum {
    MAX_STREAMS = 512,
    MAX_EVENT_STREAMS = 256,
    EVENT_QUEUE_BYTES = 256 * 1024,
    HEAD_BYTES = 4096,
    FRAME_BYTES = 24, /* of one chunk: size in hex and two line ends */
    PING_S = 15,
    TICK_MS = 500
};

struct http_stream {
    struct stream_pump *pump;
    struct http_exchange *x; /* until detached */
    int fd;                  /* borrowed, until detached */
    char *queue;             /* owned */
    size_t n_queued, capacity, max_bytes;
    bool events;      /* server-sent events: pings */
    bool chunked;     /* HTTP/1.1 */
    bool alive;       /* takes more */
    bool closed;      /* the owner gave up its handle */
    bool detached;    /* the pump gave up the connection */
    int64_t moved_ns; /* last time the socket took bytes, or the queue was empty */
    int64_t ping_ns;  /* when the next ping is due */
};

struct stream_pump {
    pthread_mutex_t mutex; /* leaf; guards all streams */
    pthread_t thread;
    int wake; /* eventfd */
    bool stopping;
    struct http_server *server;
    struct http_stream *streams[MAX_STREAMS];
    int32_t n_streams, n_events;
    int32_t n_handles; /* not yet closed by their owners; the pump outlives the server for them */
    bool stopped;      /* its thread has ended */
};

static void wake(struct stream_pump *pump) {
    uint64_t one = 1;
    ssize_t n = write(pump->wake, &one, sizeof one);
    (void)n; /* a full counter wakes as well */
}

/* -- the queue (mutex held) ------------------------------------------------------------------- */

static bool queue_reserve(struct http_stream *stream, size_t n_bytes) {
    size_t needed = stream->n_queued + n_bytes;
    if (needed <= stream->capacity) return true;
    size_t capacity = stream->capacity ? stream->capacity : 1024;
    while (capacity < needed) capacity *= 2;
    char *grown = realloc(stream->queue, capacity);
    if (!grown) return false;
    stream->queue = grown;
    stream->capacity = capacity;
    return true;
}

static void queue_append(struct http_stream *stream, const void *bytes, size_t n_bytes) {
    memcpy(stream->queue + stream->n_queued, bytes, n_bytes);
    stream->n_queued += n_bytes;
}

static bool queue_chunk(struct http_stream *stream, const void *bytes, size_t n_bytes) {
    char size[FRAME_BYTES];
    if (!queue_reserve(stream, n_bytes + FRAME_BYTES)) return false;
    if (stream->n_queued == 0) stream->moved_ns = monotonic_ns();
    int n = snprintf(size, sizeof size, "%zx\r\n", n_bytes);
    if (stream->chunked) queue_append(stream, size, (size_t)n);
    queue_append(stream, bytes, n_bytes);
    if (stream->chunked) queue_append(stream, "\r\n", 2);
    return true;
}

static void stop_taking(struct http_stream *stream) {
    if (!stream->alive) return;
    stream->alive = false;
    if (stream->chunked && queue_reserve(stream, 5)) queue_append(stream, "0\r\n\r\n", 5);
}

/* False when the peer is gone. */
static bool queue_send(struct http_stream *stream) {
    size_t done = 0;
    while (done < stream->n_queued) {
        ssize_t n = send(stream->fd, stream->queue + done, stream->n_queued - done,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) break;
        if (n < 0) return false;
        done += (size_t)n;
        stream->x->sent_bytes += (uint64_t)n;
        stream->moved_ns = monotonic_ns();
    }
    stream->n_queued -= done;
    memmove(stream->queue, stream->queue + done, stream->n_queued);
    return true;
}

/* -- the pump --------------------------------------------------------------------------------- */

static void stream_free(struct http_stream *stream) {
    free(stream->queue);
    free(stream);
}

static const char *stream_kind(const struct http_stream *stream) {
    return stream->events ? "sse" : "body";
}

static void detach(struct stream_pump *pump, int32_t index) {
    struct http_stream *stream = pump->streams[index];
    struct http_exchange *x = stream->x;
    struct MHD_Connection *connection = x->connection;
    pump->streams[index] = pump->streams[--pump->n_streams];
    if (stream->events) pump->n_events--;
    metric_add(pump->server->metrics.streams, -1, (const char *const[]){stream_kind(stream)});
    stream->alive = false;
    stream->detached = true;
    stream->x = NULL;
    if (exchange_move(x, EXCHANGE_STREAM, EXCHANGE_ENDED)) MHD_resume_connection(connection);
    if (stream->closed) stream_free(stream);
}

/* One step of one stream; false when it is over. */
static bool pump_step(struct stream_pump *pump, struct http_stream *stream, short revents,
                      int64_t now) {
    if (revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) return false;
    if (stream->events && stream->alive && now >= stream->ping_ns) {
        static const char ping[] = ": ping\n\n";
        if (stream->n_queued == 0 && !queue_chunk(stream, ping, sizeof ping - 1)) return false;
        stream->ping_ns = now + PING_S * (int64_t)1000000000;
    }
    if (stream->n_queued > 0) {
        if (!queue_send(stream)) return false;
        int64_t stalled_ms = (now - stream->moved_ns) / 1000000;
        if (stream->n_queued > 0 && stalled_ms > pump->server->options.write_ms) return false;
    }
    return stream->alive || stream->n_queued > 0;
}

static void *run(void *context) {
    struct stream_pump *pump = context;
    static const short departed = POLLRDHUP;
    struct pollfd polled[MAX_STREAMS + 1];
    pthread_mutex_lock(&pump->mutex);
    while (!pump->stopping) {
        int32_t n = pump->n_streams; /* only this thread removes streams, new ones come behind */
        polled[0] = (struct pollfd){.fd = pump->wake, .events = POLLIN};
        for (int32_t i = 0; i < n; i++) {
            short events = pump->streams[i]->n_queued > 0 ? POLLOUT | departed : departed;
            polled[i + 1] = (struct pollfd){.fd = pump->streams[i]->fd, .events = events};
        }
        pthread_mutex_unlock(&pump->mutex);
        int ready = poll(polled, (nfds_t)(n + 1), n > 0 ? TICK_MS : -1);
        uint64_t count;
        if (ready > 0 && polled[0].revents) {
            ssize_t got = read(pump->wake, &count, sizeof count);
            (void)got;
        }
        int64_t now = monotonic_ns();
        pthread_mutex_lock(&pump->mutex);
        for (int32_t i = n; i-- > 0;) { /* from the end: a removed one is replaced by a later one */
            short revents = ready > 0 ? polled[i + 1].revents : 0;
            if (!pump_step(pump, pump->streams[i], revents, now)) detach(pump, i);
        }
    }
    pthread_mutex_unlock(&pump->mutex);
    return NULL;
}

enum rt_status stream_pump_start(struct stream_pump **out, struct http_server *server,
                                 struct rt_error *err) {
    struct stream_pump *pump = calloc(1, sizeof *pump);
    if (!pump) return rt_fail(err, RT_NO_MEMORY, "no memory for the stream pump");
    pump->server = server;
    pthread_mutex_init(&pump->mutex, NULL);
    pump->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (pump->wake < 0 || pthread_create(&pump->thread, NULL, run, pump) != 0) {
        if (pump->wake >= 0) close(pump->wake);
        pthread_mutex_destroy(&pump->mutex);
        free(pump);
        return rt_fail(err, RT_IO, "cannot start the stream thread");
    }
    *out = pump;
    return RT_OK;
}

void stream_pump_end_all(struct stream_pump *pump) {
    pthread_mutex_lock(&pump->mutex);
    for (int32_t i = 0; i < pump->n_streams; i++) stop_taking(pump->streams[i]);
    pthread_mutex_unlock(&pump->mutex);
    wake(pump);
}

/* Unlocks; frees the pump when nobody can come back to it. */
static void leave(struct stream_pump *pump) {
    bool last = pump->stopped && pump->n_handles == 0;
    pthread_mutex_unlock(&pump->mutex);
    if (!last) return;
    close(pump->wake);
    pthread_mutex_destroy(&pump->mutex);
    free(pump);
}

void stream_pump_stop(struct stream_pump **pump) {
    struct stream_pump *p = *pump;
    if (!p) return;
    pthread_mutex_lock(&p->mutex);
    p->stopping = true;
    pthread_mutex_unlock(&p->mutex);
    wake(p);
    pthread_join(p->thread, NULL);
    pthread_mutex_lock(&p->mutex);
    p->stopped = true;
    leave(p);
    *pump = NULL;
}

/* -- what handlers call ----------------------------------------------------------------------- */

static bool stream_join(struct stream_pump *pump, struct http_stream *stream) {
    struct http_exchange *x = stream->x;
    bool room = pump->n_streams < MAX_STREAMS &&
                (!stream->events || pump->n_events < MAX_EVENT_STREAMS) && !pump->stopping;
    if (!room || !exchange_move(x, EXCHANGE_HANDLING, EXCHANGE_STREAM)) return false;
    atomic_fetch_add(&x->server->n_suspended, 1);
    MHD_suspend_connection(x->connection);
    pump->streams[pump->n_streams++] = stream;
    pump->n_handles++;
    if (stream->events) pump->n_events++;
    return true;
}

static struct http_stream *stream_create(struct http_exchange *x, const char *content_type,
                                         size_t max_bytes) {
    struct http_stream *stream = calloc(1, sizeof *stream);
    if (!stream) return NULL;
    const char *version = x->is_http10 ? "Cache-Control: no-store" : "Transfer-Encoding: chunked";
    stream->pump = x->server->pump;
    stream->x = x;
    stream->fd = x->link->fd;
    stream->max_bytes = max_bytes + HEAD_BYTES;
    stream->events = strcmp(content_type, "text/event-stream") == 0;
    stream->chunked = !x->is_http10 && !x->head_only;
    stream->alive = !x->head_only;
    stream->moved_ns = monotonic_ns();
    stream->ping_ns = stream->moved_ns + PING_S * (int64_t)1000000000;
    if (!queue_reserve(stream, HEAD_BYTES)) {
        free(stream);
        return NULL;
    }
    http_reply_owned(x, 200, content_type, NULL, 0);
    stream->n_queued = respond_head(x, version, stream->queue, HEAD_BYTES);
    return stream;
}

struct http_stream *http_stream_open_as(struct http_exchange *x, const char *content_type,
                                        size_t max_queue_bytes) {
    struct stream_pump *pump = x->server->pump;
    struct http_stream *stream = stream_create(x, content_type, max_queue_bytes);
    if (!stream) return NULL;
    int one = 1;
    setsockopt(stream->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    pthread_mutex_lock(&pump->mutex);
    bool joined = stream_join(pump, stream);
    if (joined) {
        x->streamed = true;
        exchange_leave_flight(x); /* streams have a bound of their own */
    }
    pthread_mutex_unlock(&pump->mutex);
    if (!joined) {
        stream_free(stream);
        reply_clear(&x->reply);
        x->must_close = false;
        return NULL;
    }
    metric_add(pump->server->metrics.streams, 1, (const char *const[]){stream_kind(stream)});
    wake(pump);
    return stream;
}

struct http_stream *http_stream_open(struct http_exchange *x) {
    http_reply_header(x, "Cache-Control", "no-store");
    return http_stream_open_as(x, "text/event-stream", EVENT_QUEUE_BYTES);
}

bool http_stream_send(struct http_stream *stream, const void *bytes, size_t n_bytes) {
    struct stream_pump *pump = stream->pump;
    if (n_bytes == 0) return http_stream_alive(stream);
    pthread_mutex_lock(&pump->mutex);
    bool was_empty = stream->n_queued == 0;
    bool taken = stream->alive && n_bytes <= stream->max_bytes &&
                 stream->n_queued + n_bytes + FRAME_BYTES <= stream->max_bytes &&
                 queue_chunk(stream, bytes, n_bytes);
    pthread_mutex_unlock(&pump->mutex);
    if (taken && was_empty) wake(pump);
    return taken;
}

bool http_stream_alive(const struct http_stream *stream) {
    pthread_mutex_lock(&stream->pump->mutex);
    bool alive = stream->alive;
    pthread_mutex_unlock(&stream->pump->mutex);
    return alive;
}

size_t http_stream_queued(const struct http_stream *stream) {
    pthread_mutex_lock(&stream->pump->mutex);
    size_t n = stream->n_queued;
    pthread_mutex_unlock(&stream->pump->mutex);
    return n;
}

void http_stream_close(struct http_stream **stream) {
    struct http_stream *s = *stream;
    if (!s) return;
    struct stream_pump *pump = s->pump;
    pthread_mutex_lock(&pump->mutex);
    s->closed = true;
    pump->n_handles--;
    stop_taking(s);
    if (s->detached) {
        stream_free(s);
    } else {
        wake(pump);
    }
    leave(pump);
    *stream = NULL;
}
