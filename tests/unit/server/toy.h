/* A toy service and a raw client for the tests of server/: included by one test program each. */
#ifndef RETAKE_TESTS_TOY_H
#define RETAKE_TESTS_TOY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "render/core/log.h"
#include "server/http.h"

enum { MAX_SLOTS = 256 };

struct toy {
    struct http_server *server;
    char folder[64]; /* uploads */
    atomic_int n_handled;
    atomic_int n_gone;
    pthread_mutex_t mutex;
    struct http_exchange *parked[MAX_SLOTS]; /* deferred by /park */
    int n_parked;
    struct http_stream *streams[MAX_SLOTS]; /* opened by /events */
    int n_streams;
};

static inline void toy_echo(struct http_exchange *x, void *context) {
    struct toy *toy = context;
    size_t n;
    const void *body = http_body(x, &n);
    atomic_fetch_add(&toy->n_handled, 1);
    http_reply(x, 200, "application/json", body, n);
}

static inline void toy_hello(struct http_exchange *x, void *context) {
    struct toy *toy = context;
    atomic_fetch_add(&toy->n_handled, 1);
    http_reply(x, 200, "text/plain", "hello\n", 6);
}

static inline void toy_show(struct http_exchange *x, void *context) {
    struct toy *toy = context;
    char text[512];
    const char *id = http_param(x, "id"), *ext = http_param(x, "ext"), *q = http_query(x, "q");
    int n = snprintf(text, sizeof text, "id=%s ext=%s q=%s", id ? id : "-", ext ? ext : "-",
                     q ? q : "-");
    atomic_fetch_add(&toy->n_handled, 1);
    http_reply(x, 200, "text/plain", text, (size_t)n);
}

static inline void toy_upload(struct http_exchange *x, void *context) {
    struct toy *toy = context;
    uint64_t n_bytes;
    const char *hex;
    char text[256];
    const char *path = http_body_file(x, &n_bytes, &hex);
    struct stat file = {0};
    atomic_fetch_add(&toy->n_handled, 1);
    int n = snprintf(text, sizeof text, "%d %llu %s", path && stat(path, &file) == 0,
                     (unsigned long long)n_bytes, hex);
    http_reply(x, (uint64_t)file.st_size == n_bytes ? 201 : 500, "text/plain", text, (size_t)n);
}

static inline void toy_park(struct http_exchange *x, void *context) {
    struct toy *toy = context;
    http_defer(x);
    pthread_mutex_lock(&toy->mutex);
    toy->parked[toy->n_parked++] = x;
    pthread_mutex_unlock(&toy->mutex);
    atomic_fetch_add(&toy->n_handled, 1);
}

static inline void toy_big(struct http_exchange *x, void *context) {
    (void)context;
    size_t n = 200000;
    char *text = malloc(n);
    memset(text, 'a', n);
    http_reply_header(x, "Vary", "Accept");
    http_reply_owned(x, 200, "application/json", text, n);
}

static inline void toy_file(struct http_exchange *x, void *context) {
    struct toy *toy = context;
    char path[128];
    snprintf(path, sizeof path, "%s/digits", toy->folder);
    http_reply_file(x, "application/octet-stream", path, "\"v1\"");
}

static inline void toy_events(struct http_exchange *x, void *context) {
    struct toy *toy = context;
    struct http_stream *stream = http_stream_open(x);
    if (!stream) {
        http_reply(x, 503, "text/plain", "full", 4);
        return;
    }
    pthread_mutex_lock(&toy->mutex);
    toy->streams[toy->n_streams++ % MAX_SLOTS] = stream;
    pthread_mutex_unlock(&toy->mutex);
}

static inline void toy_silent(struct http_exchange *x, void *context) {
    (void)x;
    (void)context;
}

static const struct http_route toy_routes[] = {
    {"GET", "/hello", HTTP_BODY_NONE, 0, toy_hello},
    {"GET", "/show/{id}", HTTP_BODY_NONE, 0, toy_show},
    {"GET", "/show/{id}.{ext}", HTTP_BODY_NONE, 0, toy_show},
    {"POST", "/echo", HTTP_BODY_JSON, 0, toy_echo},
    {"PUT", "/files/{id}", HTTP_BODY_FILE, 1 << 20, toy_upload},
    {"GET", "/park", HTTP_BODY_NONE, 0, toy_park},
    {"POST", "/park", HTTP_BODY_JSON, 0, toy_park},
    {"GET", "/big", HTTP_BODY_NONE, 0, toy_big},
    {"GET", "/file", HTTP_BODY_NONE, 0, toy_file},
    {"GET", "/events", HTTP_BODY_NONE, 0, toy_events},
    {"GET", "/silent", HTTP_BODY_NONE, 0, toy_silent},
    {0}};

static inline void pause_ms(int ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l}, NULL);
}

/* `options` may be changed before: routes, context, listen and folders are set here when NULL. */
static inline void toy_start(struct toy *toy, struct http_options *options) {
    memset(toy, 0, sizeof *toy);
    pthread_mutex_init(&toy->mutex, NULL);
    log_configure(LOG_LEVEL_ERROR, false);
    snprintf(toy->folder, sizeof toy->folder, "/tmp/retake-toy-XXXXXX");
    assert_non_null(mkdtemp(toy->folder));
    char path[128];
    snprintf(path, sizeof path, "%s/digits", toy->folder);
    FILE *file = fopen(path, "wb");
    for (int i = 0; file && i < 100; i++) fprintf(file, "%010d", i);
    assert_int_equal(fclose(file), 0);
    options->listen = "127.0.0.1:0";
    options->routes = toy_routes;
    options->context = toy;
    options->upload_folder = toy->folder;
    if (!options->storage_floor_bytes) options->storage_floor_bytes = 1;
    options->n_threads = 2;
    struct rt_error err = {0};
    if (http_server_start(&toy->server, options, &err) != RT_OK) fail_msg("%s", err.message);
}

static inline void toy_finish_all(struct toy *toy) {
    pthread_mutex_lock(&toy->mutex);
    for (int i = 0; i < toy->n_parked; i++) {
        struct http_exchange *x = toy->parked[i];
        if (http_client_gone(x)) atomic_fetch_add(&toy->n_gone, 1);
        http_reply(x, 200, "text/plain", "parked", 6);
        http_finish(x);
    }
    toy->n_parked = 0;
    pthread_mutex_unlock(&toy->mutex);
}

/* What is left of a toy whose server is stopped. */
static inline void toy_clean(struct toy *toy) {
    char command[160];
    for (int i = 0; i < MAX_SLOTS; i++) http_stream_close(&toy->streams[i]);
    snprintf(command, sizeof command, "rm -rf %s", toy->folder);
    if (system(command) != 0) fail_msg("cannot remove the folder of the test");
    pthread_mutex_destroy(&toy->mutex);
}

static inline void toy_stop(struct toy *toy) {
    toy_finish_all(toy);
    assert_true(http_server_stop(&toy->server, 2000));
    toy_clean(toy);
}

static inline void toy_wait_parked(struct toy *toy, int n) {
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(&toy->mutex);
        int have = toy->n_parked;
        pthread_mutex_unlock(&toy->mutex);
        if (have >= n) return;
        pause_ms(2);
    }
    fail_msg("%d requests never arrived", n);
}

/* -- client ----------------------------------------------------------------------------------- */

static inline int client_open(const struct toy *toy) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(http_server_port(toy->server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    assert_true(fd >= 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

/* In pieces of `piece` bytes (0 = whole); false when the peer closed first. */
static inline bool client_send(int fd, const char *bytes, size_t n_bytes, size_t piece) {
    for (size_t at = 0; at < n_bytes;) {
        size_t n = piece && piece < n_bytes - at ? piece : n_bytes - at;
        ssize_t sent = send(fd, bytes + at, n, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        at += (size_t)sent;
    }
    return true;
}

/* Reads until `stop` appears, the peer closes or nothing comes for `quiet_ms`. */
static inline size_t client_read(int fd, char *out, size_t capacity, const char *stop,
                                 int quiet_ms) {
    size_t n = 0;
    out[0] = 0;
    while (n + 1 < capacity) {
        struct pollfd polled = {.fd = fd, .events = POLLIN};
        if (poll(&polled, 1, quiet_ms) <= 0) break;
        ssize_t got = recv(fd, out + n, capacity - n - 1, 0);
        if (got <= 0) break;
        n += (size_t)got;
        out[n] = 0;
        if (stop && strstr(out, stop)) break;
    }
    return n;
}

/* True when the peer has closed, after reading away what is left, within `ms`. */
static inline bool client_closed(int fd, int ms) {
    char sink[4096];
    for (;;) {
        struct pollfd polled = {.fd = fd, .events = POLLIN};
        if (poll(&polled, 1, ms) <= 0) return false;
        if (recv(fd, sink, sizeof sink, 0) <= 0) return true;
    }
}

/* Sends one request on a connection of its own, which the request must ask to close; the answer is
 * in `out`. Returns the status. */
static inline int client_ask(const struct toy *toy, const char *request, char *out,
                             size_t capacity) {
    int fd = client_open(toy);
    client_send(fd, request, strlen(request), 0);
    client_read(fd, out, capacity, NULL, 3000);
    close(fd);
    int status = 0;
    if (sscanf(out, "HTTP/1.1 %d", &status) != 1) return -1;
    return status;
}

#define HOST "Host: localhost\r\n"
#define CLOSE "Connection: close\r\n"

#endif
