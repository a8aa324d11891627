/* HTTP as handlers see it. One `http_exchange` is one request and its answer.
 *
 *     static void get_scene(struct http_exchange *x, void *context) {
 *         const char *id = http_param(x, "id");
 *         http_reply(x, 200, "application/json", text, strlen(text));   // copies
 *     }
 *     static const struct http_route routes[] = {
 *         {"GET", "/v1/scenes/{id}", HTTP_BODY_NONE, 0, get_scene}, {0}};
 *
 * Later answers: http_defer(x) suspends the connection and the handler returns; any thread then
 * calls http_reply... and http_finish(x) exactly once. Without http_defer the exchange is finished
 * when the handler returns. Handlers run on the connection threads and must not block: parse,
 * queue, return.
 *
 * Patterns: literal segments, {name} captures one segment, {name}.{ext} captures around the last
 * dot, a trailing {rest*} captures the remainder. The router percent-decodes captured values and
 * knows exact methods only; HEAD is served by GET routes without the body; 404 and 405 (with Allow)
 * come from it, through `http_options.problem`. */
#ifndef RETAKE_SERVER_HTTP_H
#define RETAKE_SERVER_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "render/core/status.h"
#include "server/metrics.h"

struct http_exchange;
struct http_server;

typedef void (*http_handler)(struct http_exchange *x, void *context);

enum http_body_kind {
    HTTP_BODY_NONE, /* a body is refused with 400 */
    HTTP_BODY_JSON, /* collected in memory; Content-Type must be application/json (415) */
    HTTP_BODY_FILE  /* streamed into a temporary file, SHA-256 computed on the way */
};

struct http_route {
    const char *method;
    const char *pattern;
    enum http_body_kind body;
    uint64_t max_body_bytes; /* 0 = the server's default for the kind */
    http_handler handler;
};

/* Faults found below the handlers, so that the layer above can word them as problem+json. */
enum http_fault {
    HTTP_FAULT_NOT_FOUND,         /* 404 */
    HTTP_FAULT_METHOD,            /* 405; Allow is set already */
    HTTP_FAULT_FRAMING,           /* 400 and close */
    HTTP_FAULT_HOST,              /* 403 */
    HTTP_FAULT_ORIGIN,            /* 403 */
    HTTP_FAULT_BODY_TOO_LARGE,    /* 413 */
    HTTP_FAULT_URI_TOO_LONG,      /* 414 */
    HTTP_FAULT_MEDIA_TYPE,        /* 415 */
    HTTP_FAULT_HEADERS_TOO_LARGE, /* 431 */
    HTTP_FAULT_OVERLOAD,          /* 503 queue-full */
    HTTP_FAULT_DRAINING,          /* 503 */
    HTTP_FAULT_STORAGE_FULL,      /* 507: an upload met a full disk */
    HTTP_FAULT_INTERNAL           /* 500 */
};
typedef void (*http_fault_handler)(struct http_exchange *x, enum http_fault fault,
                                   const char *detail, void *context);

struct http_options {
    const char *listen;              /* "127.0.0.1:8080"; port 0 picks a free one */
    const char *static_folder;       /* served below / when no route matches; NULL = none */
    const char *upload_folder;       /* temporary files of HTTP_BODY_FILE */
    const struct http_route *routes; /* ends with a zeroed row; borrowed for the server's life */
    void *context;                   /* given to handlers */
    http_fault_handler fault;        /* NULL = plain text answers */
    struct metrics *metrics;    /* borrowed, may be NULL: the http_ metrics of api.md section 9 */
    const char *metrics_prefix; /* NULL = "retake_" */
    const char *const *public_hosts; /* further allowed Host names, ends with NULL; may be NULL */
    int32_t n_threads;               /* 0 = 4 */
    int32_t max_connections;         /* 0 = 3900 */
    int32_t max_requests;            /* 0 = 1000 in flight */
    uint64_t max_json_bytes;         /* 0 = 256 KiB */
    uint64_t max_upload_bytes;       /* 0 = 16 GiB */
    int32_t max_uploads;             /* 0 = 8 at once */
    uint64_t storage_floor_bytes;    /* 0 = 512 MiB must stay free, else uploads get 507 */
    /* Deadlines in ms; 0 = the figures of promises.md section 3. */
    int32_t header_ms;     /* 10 s for the first head of a connection, absolute */
    int32_t idle_ms;       /* 60 s from an answer to the end of the next head */
    int32_t body_grace_ms; /* 10 s, then a body must have come with 64 KiB/s on average */
    int32_t write_ms;      /* 30 s and size / 64 KiB/s */
};

/* Starts listening and serving. Only loopback addresses can be bound in this version (RT_INVALID
 * otherwise); RT_BUSY when the port is taken. */
enum rt_status http_server_start(struct http_server **out, const struct http_options *options,
                                 struct rt_error *err);
uint16_t http_server_port(const struct http_server *server);
/* Drain (promises.md section 3): stop accepting, new requests get 503 `draining`, streams end, wait
 * up to `drain_ms` for the exchanges in flight, then stop. The owner finishes deferred exchanges,
 * from another thread while this waits. False when exchanges were still deferred at the end: then
 * nothing was stopped or freed and *server stays set; finish them and call again, or _exit(75). */
bool http_server_stop(struct http_server **server, int32_t drain_ms);
/* From now on answer new requests with HTTP_FAULT_DRAINING (first phase of the drain). */
void http_server_drain(struct http_server *server);

/* -- the request; strings live until http_finish -------------------------------------------------
 */
const char *http_method(const struct http_exchange *x);
const char *http_path(const struct http_exchange *x); /* decoded, without the query */
const char *http_param(const struct http_exchange *x, const char *name); /* capture or NULL */
const char *http_query(const struct http_exchange *x, const char *name); /* decoded value or NULL */
/* Names of all query parameters in order; NULL past the end. */
const char *http_query_name(const struct http_exchange *x, int32_t index);
const char *http_header(const struct http_exchange *x, const char *name); /* or NULL */
const void *http_body(const struct http_exchange *x, size_t *n_bytes);    /* HTTP_BODY_JSON */
/* HTTP_BODY_FILE: path of the complete temporary file, its size and SHA-256 in hex. The file is
 * removed at http_finish unless it was renamed away. */
const char *http_body_file(const struct http_exchange *x, uint64_t *n_bytes,
                           const char **sha256_hex);
const char *http_request_id(const struct http_exchange *x);
const char *http_route_pattern(const struct http_exchange *x); /* "" when none matched */
bool http_client_gone(const struct http_exchange *x);          /* any thread, cheap */
int64_t http_start_ns(const struct http_exchange *x);          /* CLOCK_MONOTONIC at arrival */

/* -- the answer -----------------------------------------------------------------------------------
 */
void http_reply_header(struct http_exchange *x, const char *name, const char *value);
void http_reply(struct http_exchange *x, int status, const char *content_type, const void *body,
                size_t n_bytes); /* copies the body */
void http_reply_owned(struct http_exchange *x, int status, const char *content_type, void *body,
                      size_t n_bytes); /* takes the malloc'ed body */
/* A file with Range (If-Range), ETag and Content-Length; `etag` may be NULL. Answers 416 through
 * the fault-free path (problem by caller is not needed: sets Content-Range and an empty body). */
void http_reply_file(struct http_exchange *x, const char *content_type, const char *path,
                     const char *etag);
/* Suspends; the handler must return right after. */
void http_defer(struct http_exchange *x);
/* Ends a deferred exchange; call once, after the reply. Any thread. */
void http_finish(struct http_exchange *x);

/* -- server-sent events
 * ---------------------------------------------------------------------------- */
struct http_stream;
/* Answers 200 text/event-stream and returns the stream (owned by the caller until
 * http_stream_close); call in a handler, not deferred. NULL when too many streams are open (answer
 * 503 then). */
struct http_stream *http_stream_open(struct http_exchange *x);
/* The same for any endless body (a picture stream, an archive): no pings, `max_queue_bytes` waiting
 * at most. Headers set before with http_reply_header are sent. */
struct http_stream *http_stream_open_as(struct http_exchange *x, const char *content_type,
                                        size_t max_queue_bytes);
/* Queues bytes; false when the client is gone or its queue is full (256 KiB). Any thread. */
bool http_stream_send(struct http_stream *stream, const void *bytes, size_t n_bytes);
bool http_stream_alive(const struct http_stream *stream);
size_t http_stream_queued(const struct http_stream *stream); /* bytes not yet taken by the socket */
/* Ends the answer once everything queued has left; frees the caller's handle. Also after
 * http_server_stop. */
void http_stream_close(struct http_stream **stream);

/* -- small helpers
 * --------------------------------------------------------------------------------- */
/* True when If-None-Match lists `etag` (with quotes) or "*". */
bool http_etag_matches(const struct http_exchange *x, const char *etag);

#endif
