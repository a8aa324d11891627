/* The inside of http.h: what one exchange and the server hold. Included by server/ only.
 *
 * Life of an exchange: created when the request line is parsed (daemon.c), judged once when the
 * head is complete (daemon.c with guard and router), fed with its body (body.c), handled (the
 * route's handler), answered (respond.c) or turned into a stream (stream.c), freed when the library
 * reports completion. `phase` is the only field two threads race for; all others are handed over
 * with it. */
#ifndef RETAKE_SERVER_EXCHANGE_H
#define RETAKE_SERVER_EXCHANGE_H

#include <microhttpd.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/acceptor.h"
#include "server/connections.h"
#include "server/guard.h"
#include "server/http.h"
#include "server/router.h"

#if MHD_VERSION < 0x00097002
#error "libmicrohttpd 0.9.71 or newer is needed (enum MHD_Result)"
#endif

/* The contiguity rule (guard.c) reads the parser's buffer and holds for this parser; newer versions
 * refuse such heads themselves when asked to be strict. */
#if MHD_VERSION <= 0x00097500
#define GUARD_KNOWS_LAYOUT 1
#define GUARD_STRICT_OPTION
#elif MHD_VERSION < 0x00097701
#define GUARD_KNOWS_LAYOUT 0
#define GUARD_STRICT_OPTION MHD_OPTION_STRICT_FOR_CLIENT, 1,
#else
#define GUARD_KNOWS_LAYOUT 0
#define GUARD_STRICT_OPTION MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1,
#endif

enum exchange_phase {
    EXCHANGE_READING,  /* head and body arrive */
    EXCHANGE_HANDLING, /* the handler runs on the connection thread */
    EXCHANGE_DEFERRED, /* suspended; another thread will finish it */
    EXCHANGE_ANSWERED, /* finished by another thread; the connection thread sends the answer */
    EXCHANGE_STREAM,   /* suspended; the stream pump writes to the socket */
    EXCHANGE_ENDED,    /* the stream is over; the connection thread closes */
    EXCHANGE_SENT      /* the answer is queued in the library */
};

enum {
    REPLY_MAX_HEADERS = 32,
    REQUEST_ID_BYTES = 65,
    ETAG_BYTES = 96,
    CONTENT_TYPE_BYTES = 96,
    QUERY_MAX = 128
};

struct http_pair {
    char *name, *value;
};

struct http_reply {
    int status; /* 0 = none yet */
    char content_type[CONTENT_TYPE_BYTES];
    void *body; /* owned */
    size_t n_bytes;
    int file; /* owned descriptor or -1 */
    uint64_t file_begin, file_bytes;
    struct http_pair headers[REPLY_MAX_HEADERS]; /* owned; names follow their value's allocation */
    int32_t n_headers;
};

struct http_upload; /* body.c */

struct http_exchange {
    struct http_server *server;
    struct MHD_Connection *connection;
    struct http_link *link;
    atomic_int phase;
    int64_t start_ns;

    char *target;          /* owned copy, raw */
    const char *target_at; /* in the library's buffer */
    const char *method;    /* in the library's buffer */
    char *path;            /* owned, decoded */
    char *query_text;      /* owned storage of the pairs */
    struct http_pair query[QUERY_MAX];
    int32_t n_query;
    struct route_match match;
    char *param_text; /* owned storage of the values */
    const char *params[ROUTER_MAX_PARAMS];
    char request_id[REQUEST_ID_BYTES];
    struct guard_framing framing;

    bool begun;      /* the first handler call is over */
    bool in_flight;  /* counted in server->n_requests */
    bool must_close; /* the answer closes the connection */
    bool linger;     /* unread body: let the peer read the answer */
    bool head_only;  /* HEAD */
    bool is_http10;
    bool streamed;
    uint64_t sent_bytes; /* of the body, for the log */

    char *body; /* HTTP_BODY_JSON, owned */
    size_t n_body, body_capacity;
    struct http_upload *upload; /* HTTP_BODY_FILE */
    uint64_t max_body_bytes, overflow_bytes;
    int32_t n_small_chunks;
    enum http_fault body_fault; /* with body_failed */
    bool body_failed;
    const char *body_detail;

    struct http_reply reply;
};

struct stream_pump;
struct static_files;

struct http_server {
    struct http_options options; /* with defaults filled */
    struct MHD_Daemon *daemon;
    struct acceptor *acceptor;
    struct connections *connections;
    struct stream_pump *pump;
    struct static_files *static_files; /* or NULL */
    struct guard_policy policy;
    struct {
        struct metric *requests, *duration, *connections, *in_flight, *streams;
    } metrics;
    uint64_t id_seed;
    atomic_ullong n_ids;
    atomic_int n_requests, n_suspended, n_handlers, n_uploads;
    atomic_bool draining, stopping;
};

/* daemon.c */
void exchange_fault(struct http_exchange *x, enum http_fault fault, const char *detail);
void exchange_leave_flight(struct http_exchange *x); /* no longer counts as a request in flight */

/* request.c: accessors and what they need */
enum rt_status request_parse(struct http_exchange *x); /* path, query, id, after the guard */
void request_bind(struct http_exchange *x);            /* captured values, after the router */

/* body.c: false when the exchange is refused (exchange_fault was called) */
bool body_begin(struct http_exchange *x);
/* Takes one piece. False when the answer must be sent at once, without waiting for the rest. */
bool body_take(struct http_exchange *x, const char *piece, size_t n_bytes);
/* The body is complete: false when it is refused. */
bool body_end(struct http_exchange *x);
void body_free(struct http_exchange *x);

/* respond.c */
/* Answers with an open file, which it takes; -1 gives 404. */
void reply_descriptor(struct http_exchange *x, const char *content_type, int fd, const char *etag);
void reply_clear(struct http_reply *reply);
/* The Content-Security-Policy of pages, with one further script source (" 'sha256-...'" or ""). */
void reply_page_policy(struct http_exchange *x, const char *script_source);
enum MHD_Result respond_queue(struct http_exchange *x);
/* Writes the answer straight to the socket and closes: for refusals in the middle of a body, where
 * the library takes no answer. */
enum MHD_Result respond_raw(struct http_exchange *x);
/* Writes status line and headers, `length_field` among them ("Content-Length: 3"); cut headers are
 * left out whole. Returns the bytes written, at most n_bytes. */
size_t respond_head(struct http_exchange *x, const char *length_field, char *out, size_t n_bytes);

/* stream.c: streams keep their connection suspended and write to its socket themselves */
enum rt_status stream_pump_start(struct stream_pump **out, struct http_server *server,
                                 struct rt_error *err);
void stream_pump_end_all(struct stream_pump *pump);
void stream_pump_stop(struct stream_pump **pump);

/* Moves `from` to `to` once; false when another thread was first. */
static inline bool exchange_move(struct http_exchange *x, int from, int to) {
    return atomic_compare_exchange_strong(&x->phase, &from, to);
}

#endif
