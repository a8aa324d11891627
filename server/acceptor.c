#define _GNU_SOURCE /* accept4, pipe2 */
#include "server/acceptor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "render/core/log.h"
#include "server/connections.h"

enum { MAX_LINGERING = 64, LINGER_MS = 2000, HOST_BYTES = 64 };
enum { WAKE_STOP = -1, WAKE_CLOSE = -2 };

static const int64_t LINGER_BYTES = 64ll * 1024 * 1024;

struct lingering {
    int fd;
    int64_t deadline_ns, bytes_left;
};

struct acceptor {
    struct acceptor_options options;
    int listen_fd, spare_fd; /* spare: closed for a moment when descriptors run out */
    int wake[2];             /* pipe that carries descriptors to linger on, or a WAKE_ message */
    char host[HOST_BYTES];
    uint16_t port;
    pthread_t thread;
    atomic_bool closed;
    struct lingering lingering[MAX_LINGERING];
    int n_lingering;
};

static const char overloaded[] =
    "HTTP/1.1 503 Service Unavailable\r\n"
    "Connection: close\r\n"
    "Retry-After: 1\r\n"
    "Content-Type: application/problem+json\r\n"
    "Content-Length: 76\r\n"
    "\r\n"
    "{\"type\":\"/problems/queue-full\",\"title\":\"Too many connections\",\"status\":503}\n";

/* -- the address ------------------------------------------------------------------------------ */

static bool address_split(const char *listen, char *host, const char **port) {
    const char *begin = listen, *end;
    if (listen[0] == '[') {
        begin = listen + 1;
        end = strchr(begin, ']');
        if (!end || end[1] != ':') return false;
        *port = end + 2;
    } else {
        end = strrchr(listen, ':');
        if (!end) return false;
        *port = end + 1;
    }
    size_t length = (size_t)(end - begin);
    if (length == 0 || length >= HOST_BYTES) return false;
    memcpy(host, begin, length);
    host[length] = 0;
    return true;
}

static enum rt_status port_parse(const char *listen, const char *text, uint16_t *port,
                                 struct rt_error *err) {
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < 0 || value > 65535 || text[0] == '-') {
        return rt_fail(err, RT_INVALID, "listen address \"%s\": the port must be 0...65535",
                       listen);
    }
    *port = (uint16_t)value;
    return RT_OK;
}

static enum rt_status address_parse(const char *listen, struct sockaddr_storage *address,
                                    socklen_t *n_bytes, struct acceptor *acceptor,
                                    struct rt_error *err) {
    const char *port_text = NULL;
    uint16_t port;
    if (!address_split(listen, acceptor->host, &port_text)) {
        return rt_fail(err, RT_INVALID, "listen address \"%s\" must be HOST:PORT, such as %s",
                       listen, "127.0.0.1:8080");
    }
    RT_TRY(port_parse(listen, port_text, &port, err));
    const char *host = acceptor->host;
    if (strcmp(host, "localhost") == 0) snprintf(acceptor->host, HOST_BYTES, "127.0.0.1");
    memset(address, 0, sizeof *address);
    struct sockaddr_in *v4 = (struct sockaddr_in *)address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;
    bool loopback;
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        *n_bytes = sizeof *v4;
        loopback = (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
    } else if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        *n_bytes = sizeof *v6;
        loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    } else {
        return rt_fail(err, RT_INVALID,
                       "listen address \"%s\": \"%s\" is not an IP address; use 127.0.0.1 or [::1]",
                       listen, host);
    }
    if (loopback) return RT_OK;
    return rt_fail(
        err, RT_INVALID,
        "listen address \"%s\": %s is not a loopback address; this version has no access "
        "tokens and therefore serves 127.0.0.1 and [::1] only (reach it from elsewhere "
        "through ssh -L or a reverse proxy that checks who calls)",
        listen, host);
}

static enum rt_status listen_open(struct acceptor *acceptor, struct rt_error *err) {
    struct sockaddr_storage address;
    socklen_t n_bytes = 0;
    RT_TRY(address_parse(acceptor->options.listen, &address, &n_bytes, acceptor, err));
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return rt_fail(err, RT_IO, "cannot open a socket: %s", strerror(errno));
    acceptor->listen_fd = fd;
    int one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&address, n_bytes) != 0 || listen(fd, 1024) != 0) {
        enum rt_status status = errno == EADDRINUSE ? RT_BUSY : RT_IO;
        if (status == RT_BUSY) {
            return rt_fail(err, status,
                           "%s is in use by another program; choose another port or stop it",
                           acceptor->options.listen);
        }
        return rt_fail(err, status, "cannot listen on %s: %s", acceptor->options.listen,
                       strerror(errno));
    }
    n_bytes = sizeof address;
    getsockname(fd, (struct sockaddr *)&address, &n_bytes);
    acceptor->port =
        ntohs(address.ss_family == AF_INET ? ((struct sockaddr_in *)&address)->sin_port
                                           : ((struct sockaddr_in6 *)&address)->sin6_port);
    return RT_OK;
}

/* -- lingering -------------------------------------------------------------------------------- */

static void linger_end(struct acceptor *acceptor, int index) {
    close(acceptor->lingering[index].fd);
    acceptor->lingering[index] = acceptor->lingering[--acceptor->n_lingering];
}

static void linger_begin(struct acceptor *acceptor, int fd) {
    if (acceptor->n_lingering == MAX_LINGERING) linger_end(acceptor, 0);
    shutdown(fd, SHUT_WR);
    acceptor->lingering[acceptor->n_lingering++] =
        (struct lingering){.fd = fd,
                           .deadline_ns = monotonic_ns() + (int64_t)LINGER_MS * 1000000,
                           .bytes_left = LINGER_BYTES};
}

static void linger_read(struct acceptor *acceptor, int index) {
    struct lingering *peer = &acceptor->lingering[index];
    char sink[16384];
    for (int i = 0; i < 16; i++) {
        ssize_t n = recv(peer->fd, sink, sizeof sink, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n > 0) peer->bytes_left -= n;
        if (n > 0 && peer->bytes_left > 0) continue;
        linger_end(acceptor, index);
        return;
    }
}

void acceptor_linger(struct acceptor *acceptor, int fd) {
    ssize_t n = write(acceptor->wake[1], &fd, sizeof fd); /* below PIPE_BUF: whole or not at all */
    if (n != (ssize_t)sizeof fd) close(fd);
}

/* -- accepting -------------------------------------------------------------------------------- */

static void pause_ms(int ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000l}, NULL); }

static void refuse(struct acceptor *acceptor, int fd) {
    ssize_t sent = send(fd, overloaded, sizeof overloaded - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)sent;
    linger_begin(acceptor, fd);
}

/* Out of descriptors: give up the spare one, so that one waiting peer gets its 503, and take it
 * back. Without this the listening socket stays readable and the loop would spin. */
static void accept_on_spare(struct acceptor *acceptor) {
    if (acceptor->spare_fd >= 0) close(acceptor->spare_fd);
    while (acceptor->n_lingering > 0) linger_end(acceptor, 0);
    int fd = accept4(acceptor->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        ssize_t sent = send(fd, overloaded, sizeof overloaded - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        (void)sent;
        close(fd);
    }
    acceptor->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0) pause_ms(20);
}

static void accept_all(struct acceptor *acceptor) {
    for (int i = 0; i < 256; i++) {
        struct sockaddr_storage peer;
        socklen_t n_bytes = sizeof peer;
        int fd = accept4(acceptor->listen_fd, (struct sockaddr *)&peer, &n_bytes,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
                log_warn("http", "cannot accept a connection: %s", strerror(errno));
                accept_on_spare(acceptor);
            }
            return;
        }
        if (acceptor->options.admit(acceptor->options.context)) {
            acceptor->options.hand_over(acceptor->options.context, fd, (struct sockaddr *)&peer,
                                        n_bytes);
        } else {
            refuse(acceptor, fd);
        }
    }
}

static bool wake_read(struct acceptor *acceptor) {
    int fd;
    while (read(acceptor->wake[0], &fd, sizeof fd) == (ssize_t)sizeof fd) {
        if (fd == WAKE_STOP) return false;
        if (fd == WAKE_CLOSE) {
            close(acceptor->listen_fd);
            acceptor->listen_fd = -1; /* poll skips it */
            atomic_store(&acceptor->closed, true);
        } else {
            linger_begin(acceptor, fd);
        }
    }
    return true;
}

static void *run(void *context) {
    struct acceptor *acceptor = context;
    struct pollfd polled[2 + MAX_LINGERING];
    for (;;) {
        polled[0] = (struct pollfd){.fd = acceptor->listen_fd, .events = POLLIN};
        polled[1] = (struct pollfd){.fd = acceptor->wake[0], .events = POLLIN};
        int n = acceptor->n_lingering;
        for (int i = 0; i < n; i++) {
            polled[2 + i] = (struct pollfd){.fd = acceptor->lingering[i].fd, .events = POLLIN};
        }
        if (poll(polled, (nfds_t)(2 + n), n > 0 ? 100 : -1) < 0 && errno != EINTR) break;
        int64_t now = monotonic_ns();
        for (int i = n; i-- > 0;) { /* from the end: an ended one is replaced by the last */
            if (now > acceptor->lingering[i].deadline_ns) {
                linger_end(acceptor, i);
            } else if (polled[2 + i].revents) {
                linger_read(acceptor, i);
            }
        }
        if (polled[1].revents && !wake_read(acceptor)) break;
        if (polled[0].revents) accept_all(acceptor);
    }
    return NULL;
}

static void acceptor_free(struct acceptor *acceptor) {
    while (acceptor->n_lingering > 0) linger_end(acceptor, 0);
    int fds[] = {acceptor->listen_fd, acceptor->spare_fd, acceptor->wake[0], acceptor->wake[1]};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        if (fds[i] >= 0) close(fds[i]);
    }
    free(acceptor);
}

enum rt_status acceptor_start(struct acceptor **out, const struct acceptor_options *options,
                              struct rt_error *err) {
    struct acceptor *acceptor = calloc(1, sizeof *acceptor);
    if (!acceptor) return rt_fail(err, RT_NO_MEMORY, "no memory for the acceptor");
    acceptor->options = *options;
    acceptor->listen_fd = acceptor->wake[0] = acceptor->wake[1] = -1;
    acceptor->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    enum rt_status status = listen_open(acceptor, err);
    if (status != RT_OK) goto out;
    if (pipe2(acceptor->wake, O_CLOEXEC | O_NONBLOCK) != 0) {
        status = rt_fail(err, RT_IO, "cannot open a pipe: %s", strerror(errno));
        goto out;
    }
    if (pthread_create(&acceptor->thread, NULL, run, acceptor) != 0) {
        status = rt_fail(err, RT_NO_MEMORY, "cannot start the accepting thread");
    }
out:
    if (status != RT_OK) {
        acceptor_free(acceptor);
        return status;
    }
    *out = acceptor;
    return RT_OK;
}

static void wake_write(struct acceptor *acceptor, int message) {
    while (write(acceptor->wake[1], &message, sizeof message) < 0 && errno == EAGAIN) pause_ms(1);
}

void acceptor_close(struct acceptor *acceptor) {
    if (atomic_load(&acceptor->closed)) return;
    wake_write(acceptor, WAKE_CLOSE);
    while (!atomic_load(&acceptor->closed)) pause_ms(1);
}

void acceptor_stop(struct acceptor **acceptor) {
    if (!*acceptor) return;
    wake_write(*acceptor, WAKE_STOP);
    pthread_join((*acceptor)->thread, NULL);
    acceptor_free(*acceptor);
    *acceptor = NULL;
}

uint16_t acceptor_port(const struct acceptor *acceptor) { return acceptor->port; }
const char *acceptor_host(const struct acceptor *acceptor) { return acceptor->host; }
