/* Every open connection with its deadline, and the reaper that cuts late ones. The HTTP library has
 * only an inactivity timer, which one byte per second defeats; these deadlines are absolute.
 *
 *     connections_create(&c, &limits, err);
 *     struct http_link *link = connections_add(c, fd);           // connection opened
 *     connections_phase(c, link, LINK_BODY, 0);                  // what it does now
 *     connections_remove(c, link);                               // before its descriptor is closed
 *
 * Threading: any; one leaf mutex guards the list, and a descriptor is shut down only under it, so
 * that a number reused by the system is never hit. Cost: the reaper walks the list each 100 ms. */
#ifndef RETAKE_SERVER_CONNECTIONS_H
#define RETAKE_SERVER_CONNECTIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "render/core/status.h"

struct connections;

enum link_phase {
    LINK_FIRST_HEADER, /* opened, first head not complete */
    LINK_IDLE,         /* between an answer and the end of the next head */
    LINK_BODY,         /* receiving a body */
    LINK_WORK,         /* a handler or its engine works; no deadline of the connection */
    LINK_WRITE         /* sending the answer */
};

struct http_link {
    struct http_link *previous, *next;
    int fd; /* borrowed */
    enum link_phase phase;
    int64_t since_ns, deadline_ns;
    atomic_llong body_bytes; /* received in LINK_BODY; written by its connection thread */
};

struct connection_limits {
    int32_t header_ms, idle_ms, body_grace_ms, write_ms;
};

enum rt_status connections_create(struct connections **out, const struct connection_limits *limits,
                                  struct rt_error *err);
void connections_destroy(struct connections **connections);
struct http_link *connections_add(struct connections *connections, int fd); /* NULL: no memory */
void connections_remove(struct connections *connections, struct http_link *link);
/* `n_bytes`: size of the answer in LINK_WRITE. */
void connections_phase(struct connections *connections, struct http_link *link,
                       enum link_phase phase, uint64_t n_bytes);
int32_t connections_count(struct connections *connections);
/* Shuts down all idle connections (drain) or all of them. */
void connections_cut(struct connections *connections, bool only_idle);

int64_t monotonic_ns(void);

#endif
