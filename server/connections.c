#include "server/connections.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { TICK_MS = 100, BODY_MS_MAX = 30 * 60 * 1000, BYTES_PER_SECOND = 64 * 1024 };

static const int64_t NS_PER_MS = 1000000;

struct connections {
    pthread_mutex_t mutex; /* leaf */
    pthread_cond_t stop_signal;
    pthread_t reaper;
    bool stopping;
    struct http_link head; /* of a ring */
    int32_t n_links;
    struct connection_limits limits;
};

static const char slow_request[] =
    "HTTP/1.1 408 Request Timeout\r\n"
    "Connection: close\r\n"
    "Content-Type: application/problem+json\r\n"
    "Content-Length: 85\r\n"
    "\r\n"
    "{\"type\":\"/problems/slow-request\",\"title\":\"The request came too "
    "slowly\",\"status\":408}\n";

int64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool body_is_late(const struct connections *c, const struct http_link *link, int64_t now) {
    int64_t elapsed_ms = (now - link->since_ns) / NS_PER_MS;
    int64_t counted_ms = elapsed_ms - c->limits.body_grace_ms;
    if (counted_ms <= 0) return false;
    if (elapsed_ms > BODY_MS_MAX) return true;
    return atomic_load(&link->body_bytes) < counted_ms * BYTES_PER_SECOND / 1000;
}

/* Not blocking: what the socket buffer does not take is lost, the peer is too slow anyway. */
static void cut(struct http_link *link) {
    if (link->phase == LINK_FIRST_HEADER || link->phase == LINK_BODY) {
        ssize_t sent =
            send(link->fd, slow_request, sizeof slow_request - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        (void)sent;
    }
    shutdown(link->fd, SHUT_RDWR);
    link->deadline_ns = INT64_MAX;
    link->phase = LINK_WORK;
}

static void cut_late(struct connections *c) {
    int64_t now = monotonic_ns();
    for (struct http_link *link = c->head.next; link != &c->head; link = link->next) {
        bool late = link->phase == LINK_BODY ? body_is_late(c, link, now) : now > link->deadline_ns;
        if (late) cut(link);
    }
}

static void *reap(void *context) {
    struct connections *c = context;
    pthread_mutex_lock(&c->mutex);
    while (!c->stopping) {
        cut_late(c);
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += TICK_MS * NS_PER_MS;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&c->stop_signal, &c->mutex, &until);
    }
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}

enum rt_status connections_create(struct connections **out, const struct connection_limits *limits,
                                  struct rt_error *err) {
    struct connections *c = calloc(1, sizeof *c);
    if (!c) return rt_fail(err, RT_NO_MEMORY, "no memory for the connection table");
    c->limits = *limits;
    c->head.next = c->head.previous = &c->head;
    pthread_mutex_init(&c->mutex, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&c->stop_signal, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pthread_create(&c->reaper, NULL, reap, c) != 0) {
        pthread_cond_destroy(&c->stop_signal);
        pthread_mutex_destroy(&c->mutex);
        free(c);
        return rt_fail(err, RT_NO_MEMORY, "cannot start the thread that watches deadlines");
    }
    *out = c;
    return RT_OK;
}

void connections_destroy(struct connections **connections) {
    struct connections *c = *connections;
    if (!c) return;
    pthread_mutex_lock(&c->mutex);
    c->stopping = true;
    pthread_cond_signal(&c->stop_signal);
    pthread_mutex_unlock(&c->mutex);
    pthread_join(c->reaper, NULL);
    while (c->head.next != &c->head) {
        struct http_link *link = c->head.next;
        c->head.next = link->next;
        free(link);
    }
    pthread_cond_destroy(&c->stop_signal);
    pthread_mutex_destroy(&c->mutex);
    free(c);
    *connections = NULL;
}

struct http_link *connections_add(struct connections *c, int fd) {
    struct http_link *link = calloc(1, sizeof *link);
    if (!link) return NULL;
    link->fd = fd;
    link->phase = LINK_FIRST_HEADER;
    link->since_ns = monotonic_ns();
    link->deadline_ns = link->since_ns + c->limits.header_ms * NS_PER_MS;
    pthread_mutex_lock(&c->mutex);
    link->next = &c->head;
    link->previous = c->head.previous;
    link->previous->next = link;
    c->head.previous = link;
    c->n_links++;
    pthread_mutex_unlock(&c->mutex);
    return link;
}

void connections_remove(struct connections *c, struct http_link *link) {
    pthread_mutex_lock(&c->mutex);
    link->previous->next = link->next;
    link->next->previous = link->previous;
    c->n_links--;
    pthread_mutex_unlock(&c->mutex);
    free(link);
}

void connections_phase(struct connections *c, struct http_link *link, enum link_phase phase,
                       uint64_t n_bytes) {
    int64_t now = monotonic_ns();
    pthread_mutex_lock(&c->mutex);
    link->phase = phase;
    link->since_ns = now;
    link->deadline_ns = INT64_MAX;
    if (phase == LINK_IDLE) link->deadline_ns = now + c->limits.idle_ms * NS_PER_MS;
    if (phase == LINK_BODY) atomic_store(&link->body_bytes, 0);
    if (phase == LINK_WRITE) {
        int64_t size_ms = (int64_t)(n_bytes / BYTES_PER_SECOND) * 1000;
        link->deadline_ns = now + (c->limits.write_ms + size_ms) * NS_PER_MS;
    }
    pthread_mutex_unlock(&c->mutex);
}

int32_t connections_count(struct connections *c) {
    pthread_mutex_lock(&c->mutex);
    int32_t n = c->n_links;
    pthread_mutex_unlock(&c->mutex);
    return n;
}

void connections_cut(struct connections *c, bool only_idle) {
    pthread_mutex_lock(&c->mutex);
    for (struct http_link *link = c->head.next; link != &c->head; link = link->next) {
        if (only_idle && link->phase != LINK_IDLE) continue;
        shutdown(link->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&c->mutex);
}
