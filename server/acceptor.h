/* Accepts connections in a thread of its own: the HTTP library stops accepting at its limit and
 * lets clients hang, while this one answers a fixed 503 and closes. It also lets refused peers read
 * their answer: a lingering descriptor is half closed, read empty for a moment, then closed.
 *
 * Threading: acceptor_linger from any thread. */
#ifndef RETAKE_SERVER_ACCEPTOR_H
#define RETAKE_SERVER_ACCEPTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "render/core/status.h"

struct acceptor;

struct acceptor_options {
    const char *listen; /* "127.0.0.1:8080", "[::1]:0", "localhost:8080" */
    void *context;
    bool (*admit)(void *context); /* false = fixed 503 */
    /* Takes the descriptor, also when it fails. */
    void (*hand_over)(void *context, int fd, const struct sockaddr *address, socklen_t n_bytes);
};

/* RT_INVALID for an address that is malformed or not loopback, RT_BUSY when the port is taken. */
enum rt_status acceptor_start(struct acceptor **out, const struct acceptor_options *options,
                              struct rt_error *err);
/* Closes the listening socket; afterwards nothing is handed over. Lingering goes on. */
void acceptor_close(struct acceptor *acceptor);
/* Closes the listening socket and joins the thread; lingering descriptors are closed. */
void acceptor_stop(struct acceptor **acceptor);
uint16_t acceptor_port(const struct acceptor *acceptor);
const char *acceptor_host(const struct acceptor *acceptor); /* "127.0.0.1", without brackets */
/* Takes `fd`: half closes it, reads it empty for at most 2 s and 64 MiB, closes it. */
void acceptor_linger(struct acceptor *acceptor, int fd);

#endif
