/* The server: start, the callbacks of the HTTP library, the way of one exchange, drain and stop. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "render/core/log.h"
#include "server/exchange.h"
#include "server/static_files.h"

enum {
    MHD_CONNECTIONS = 4096,
    CONNECTION_MEMORY_BYTES = 64 * 1024, /* a 32 KiB head, its table and our answer's head */
    EXIT_PANIC = 71
};

/* -- faults ----------------------------------------------------------------------------------- */

static int fault_status(enum http_fault fault) {
    switch (fault) {
        case HTTP_FAULT_NOT_FOUND:
            return 404;
        case HTTP_FAULT_METHOD:
            return 405;
        case HTTP_FAULT_FRAMING:
            return 400;
        case HTTP_FAULT_HOST:
        case HTTP_FAULT_ORIGIN:
            return 403;
        case HTTP_FAULT_BODY_TOO_LARGE:
            return 413;
        case HTTP_FAULT_URI_TOO_LONG:
            return 414;
        case HTTP_FAULT_MEDIA_TYPE:
            return 415;
        case HTTP_FAULT_HEADERS_TOO_LARGE:
            return 431;
        case HTTP_FAULT_OVERLOAD:
        case HTTP_FAULT_DRAINING:
            return 503;
        case HTTP_FAULT_STORAGE_FULL:
            return 507;
        case HTTP_FAULT_INTERNAL:
            break;
    }
    return 500;
}

void exchange_fault(struct http_exchange *x, enum http_fault fault, const char *detail) {
    const struct http_options *options = &x->server->options;
    if (fault == HTTP_FAULT_OVERLOAD) http_reply_header(x, "Retry-After", "1");
    if (fault == HTTP_FAULT_DRAINING) http_reply_header(x, "Retry-After", "5");
    if (fault == HTTP_FAULT_FRAMING || fault == HTTP_FAULT_DRAINING) x->must_close = true;
    if (options->fault) options->fault(x, fault, detail, options->context);
    if (x->reply.status == 0 || !options->fault) {
        char text[512];
        int n = snprintf(text, sizeof text, "%s\n", detail);
        http_reply(x, fault_status(fault), "text/plain; charset=utf-8", text, (size_t)n);
    }
}

/* -- life of an exchange ---------------------------------------------------------------------- */

static struct http_exchange *exchange_create(struct http_server *server,
                                             struct MHD_Connection *connection,
                                             const char *target) {
    struct http_exchange *x = calloc(1, sizeof *x);
    if (!x) return NULL;
    x->target = strdup(target);
    if (!x->target) {
        free(x);
        return NULL;
    }
    const union MHD_ConnectionInfo *known =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    x->server = server;
    x->connection = connection;
    x->link = known ? known->socket_context : NULL;
    x->target_at = target;
    x->method = "";
    x->reply.file = -1;
    x->start_ns = monotonic_ns();
    return x;
}

static void exchange_free(struct http_exchange *x) {
    body_free(x);
    reply_clear(&x->reply);
    free(x->target);
    free(x->path);
    free(x->query_text);
    free(x->param_text);
    free(x);
}

/* The request line is complete; the only place where the raw target can be seen. */
static void *on_target(void *context, const char *target, struct MHD_Connection *connection) {
    return exchange_create(context, connection, target);
}

static enum MHD_Result collect_field(void *context, enum MHD_ValueKind kind, const char *name,
                                     const char *value) {
    struct guard_head *head = context;
    (void)kind;
    if (head->n_fields > GUARD_MAX_FIELDS) return MHD_NO; /* one more than allowed is enough */
    struct guard_field *fields = (struct guard_field *)(uintptr_t)head->fields;
    fields[head->n_fields++] = (struct guard_field){.name = name, .value = value ? value : ""};
    return MHD_YES;
}

static bool guard_passes(struct http_exchange *x, const char *version) {
    struct guard_field fields[GUARD_MAX_FIELDS + 1];
    struct guard_head head = {.method = x->method,
                              .target = x->target,
                              .version = version,
                              .fields = fields,
                              .target_at = GUARD_KNOWS_LAYOUT ? x->target_at : NULL};
    MHD_get_connection_values(x->connection, MHD_HEADER_KIND, collect_field, &head);
    const union MHD_ConnectionInfo *size =
        MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    head.head_bytes = size ? size->header_size : 0;
    struct guard_refusal refusal;
    if (guard_check(&head, &x->server->policy, &x->framing, &refusal)) return true;
    exchange_fault(x, refusal.fault, refusal.detail);
    return false;
}

static bool admit(struct http_exchange *x) {
    struct http_server *server = x->server;
    if (atomic_load(&server->draining)) {
        exchange_fault(x, HTTP_FAULT_DRAINING, "the service is shutting down");
        return false;
    }
    x->in_flight = true;
    metric_add(server->metrics.in_flight, 1, NULL);
    if (atomic_fetch_add(&server->n_requests, 1) >= server->options.max_requests) {
        exchange_fault(x, HTTP_FAULT_OVERLOAD, "too many requests in flight; try again later");
        return false;
    }
    return true;
}

static bool route(struct http_exchange *x) {
    const struct http_route *routes = x->server->options.routes;
    char allow[128];
    switch (router_find(routes, x->method, x->path, &x->match)) {
        case ROUTE_FOUND:
            request_bind(x);
            return true;
        case ROUTE_OTHER_METHOD:
            router_allow(routes, x->path, allow, sizeof allow);
            http_reply_header(x, "Allow", allow);
            exchange_fault(x, HTTP_FAULT_METHOD, "this route does not have that method");
            return false;
        case ROUTE_NONE:
            break;
    }
    if (x->server->static_files && (x->head_only || strcmp(x->method, "GET") == 0)) return true;
    exchange_fault(x, HTTP_FAULT_NOT_FOUND, "there is no such route");
    return false;
}

static bool head_passes(struct http_exchange *x, const char *version) {
    if (!guard_passes(x, version)) {
        x->must_close = true;
        return false;
    }
    x->head_only = strcmp(x->method, "HEAD") == 0;
    x->is_http10 = strcmp(version, "HTTP/1.0") == 0;
    switch (request_parse(x)) {
        case RT_OK:
            break;
        case RT_LIMIT:
            exchange_fault(x, HTTP_FAULT_FRAMING, "too many query parameters");
            return false;
        case RT_NO_MEMORY:
            exchange_fault(x, HTTP_FAULT_INTERNAL, "out of memory");
            return false;
        default:
            exchange_fault(x, HTTP_FAULT_FRAMING, "the target is malformed");
            return false;
    }
    return admit(x) && route(x) && body_begin(x);
}

/* First call: the head is complete, the body is not read. An answer queued here closes the
 * connection and leaves the rest unread; that is wanted for refusals of unsafe or unwanted bodies,
 * and only for them. */
static enum MHD_Result begin(struct http_exchange *x, const char *version) {
    x->begun = true;
    bool passes = head_passes(x, version);
    if (!x->request_id[0]) snprintf(x->request_id, sizeof x->request_id, "-");
    if (!passes && (x->must_close || x->framing.has_body)) {
        x->must_close = x->linger = true;
        return respond_queue(x);
    }
    enum link_phase next = x->framing.has_body ? LINK_BODY : LINK_WORK;
    connections_phase(x->server->connections, x->link, next, 0);
    return MHD_YES;
}

static void handle(struct http_exchange *x) {
    struct http_server *server = x->server;
    if (!body_end(x)) return;
    if (!x->match.route) {
        static_files_serve(server->static_files, x, x->path);
        return;
    }
    /* Counted before `stopping` is read, so that a stop never overlooks a handler that defers. */
    atomic_fetch_add(&server->n_handlers, 1);
    if (atomic_load(&server->stopping)) {
        exchange_fault(x, HTTP_FAULT_DRAINING, "the service is shutting down");
    } else {
        x->match.route->handler(x, server->options.context);
    }
    atomic_fetch_sub(&server->n_handlers, 1);
}

/* A suspended exchange is back on its connection thread; counted once. */
static void leave_suspension(struct http_exchange *x) {
    atomic_store(&x->phase, EXCHANGE_SENT);
    atomic_fetch_sub(&x->server->n_suspended, 1);
}

/* The request is complete, or a suspended exchange was resumed. */
static enum MHD_Result advance(struct http_exchange *x) {
    struct http_server *server = x->server;
    switch (atomic_load(&x->phase)) {
        case EXCHANGE_READING:
            connections_phase(server->connections, x->link, LINK_WORK, 0);
            if (x->reply.status != 0) return respond_queue(x); /* refused, but kept alive */
            atomic_store(&x->phase, EXCHANGE_HANDLING);
            handle(x);
            if (atomic_load(&x->phase) != EXCHANGE_HANDLING) return MHD_YES; /* suspended */
            break;
        case EXCHANGE_ANSWERED:
            leave_suspension(x);
            break;
        case EXCHANGE_ENDED:
            leave_suspension(x);
            return MHD_NO;
        default:
            return MHD_YES;
    }
    if (x->reply.status == 0) exchange_fault(x, HTTP_FAULT_INTERNAL, "the handler gave no answer");
    if (atomic_load(&server->draining)) x->must_close = true;
    return respond_queue(x);
}

static enum MHD_Result on_access(void *context, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *piece,
                                 size_t *n_bytes, void **state) {
    struct http_exchange *x = *state;
    (void)url;
    if (!x) { /* a request line without a target, or no memory for on_target */
        *state = x = exchange_create(context, connection, "");
        if (!x) return MHD_NO;
    }
    if (!x->link) return MHD_NO;
    if (!x->begun) {
        x->method = method;
        return begin(x, version);
    }
    if (*n_bytes > 0) {
        size_t n = *n_bytes;
        *n_bytes = 0;
        if (x->reply.status != 0) return MHD_YES; /* refused already */
        if (body_take(x, piece, n)) return MHD_YES;
        exchange_fault(x, x->body_fault, x->body_detail);
        x->linger = true;
        return respond_raw(x);
    }
    return advance(x);
}

/* -- the end of an exchange ------------------------------------------------------------------- */

static const char *method_label(const char *method) {
    static const char *const known[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(method, known[i]) == 0) return known[i];
    }
    return "other";
}

static void record(struct http_exchange *x, enum MHD_RequestTerminationCode reason) {
    struct http_server *server = x->server;
    bool sent = x->streamed || reason == MHD_REQUEST_TERMINATED_COMPLETED_OK || x->linger;
    int status = sent ? x->reply.status : 499; /* the client left first */
    double seconds = (double)(monotonic_ns() - x->start_ns) * 1e-9;
    const char *path = x->path ? x->path : x->target;
    const char *pattern = x->match.route ? x->match.route->pattern : "other";
    char code[12];
    snprintf(code, sizeof code, "%d", status);
    metric_add(server->metrics.requests, 1,
               (const char *const[]){pattern, method_label(x->method), code});
    if (!x->streamed) {
        metric_observe(server->metrics.duration, seconds, (const char *const[]){pattern});
    }
    log_info("http", "%s %.2000s %d %.1f ms %llu bytes id %s", method_label(x->method), path,
             status, seconds * 1e3, (unsigned long long)x->sent_bytes, x->request_id);
}

void exchange_leave_flight(struct http_exchange *x) {
    if (!x->in_flight) return;
    x->in_flight = false;
    metric_add(x->server->metrics.in_flight, -1, NULL);
    atomic_fetch_sub(&x->server->n_requests, 1);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode reason) {
    struct http_server *server = context;
    struct http_exchange *x = *state;
    (void)connection;
    if (!x) return;
    /* The client left while it was suspended: the library ends it without calling us again. */
    int phase = atomic_load(&x->phase);
    if (phase == EXCHANGE_ANSWERED || phase == EXCHANGE_ENDED) leave_suspension(x);
    if (x->begun) record(x, reason);
    if (x->link) {
        if (x->linger) {
            int copy = dup(x->link->fd);
            if (copy >= 0) acceptor_linger(server->acceptor, copy);
        }
        connections_phase(server->connections, x->link, LINK_IDLE, 0);
    }
    exchange_leave_flight(x);
    exchange_free(x);
    *state = NULL;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code) {
    struct http_server *server = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *known =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *socket_context = connections_add(server->connections, known->connect_fd);
        metric_add(server->metrics.connections, 1, NULL);
    } else if (*socket_context) {
        connections_remove(server->connections, *socket_context);
        *socket_context = NULL;
        metric_add(server->metrics.connections, -1, NULL);
    }
}

/* -- deferred answers ------------------------------------------------------------------------- */

void http_defer(struct http_exchange *x) {
    if (!exchange_move(x, EXCHANGE_HANDLING, EXCHANGE_DEFERRED)) {
        log_error("http", "http_defer outside a handler (id %s)", x->request_id);
        return;
    }
    atomic_fetch_add(&x->server->n_suspended, 1);
    MHD_suspend_connection(x->connection);
}

void http_finish(struct http_exchange *x) {
    struct MHD_Connection *connection = x->connection;
    if (exchange_move(x, EXCHANGE_DEFERRED, EXCHANGE_ANSWERED)) {
        MHD_resume_connection(connection); /* x may be gone from here on */
    } else {
        log_error("http", "http_finish on an exchange that is not deferred");
    }
}

/* -- start and stop --------------------------------------------------------------------------- */

static bool on_admit(void *context) {
    struct http_server *server = context;
    return !atomic_load(&server->draining) &&
           connections_count(server->connections) < server->options.max_connections;
}

static void on_accepted(void *context, int fd, const struct sockaddr *address, socklen_t n_bytes) {
    struct http_server *server = context;
    if (MHD_add_connection(server->daemon, fd, address, n_bytes) == MHD_NO) {
        log_warn("http", "a connection was not taken: %s", strerror(errno));
    }
}

static void on_panic(void *context, const char *file, unsigned line, const char *reason) {
    (void)context;
    log_error("http", "panic in the HTTP library (%s:%u): %s", file, line, reason ? reason : "");
    _exit(EXIT_PANIC);
}

static void on_library_log(void *context, const char *format, va_list args) {
    char text[512];
    (void)context;
    vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\r\n")] = 0;
    log_debug("http", "%s", text);
}

static void fill_defaults(struct http_options *options) {
    struct {
        int32_t *value, fallback;
    } counts[] = {{&options->n_threads, 4},         {&options->max_connections, 3900},
                  {&options->max_requests, 1000},   {&options->max_uploads, 8},
                  {&options->header_ms, 10000},     {&options->idle_ms, 60000},
                  {&options->body_grace_ms, 10000}, {&options->write_ms, 30000}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (*counts[i].value <= 0) *counts[i].value = counts[i].fallback;
    }
    if (options->max_connections > MHD_CONNECTIONS - 196) {
        options->max_connections = MHD_CONNECTIONS - 196;
    }
    if (!options->max_json_bytes) options->max_json_bytes = 256 * 1024;
    if (!options->max_upload_bytes) options->max_upload_bytes = 16ull << 30;
    if (!options->storage_floor_bytes) options->storage_floor_bytes = 512ull << 20;
    if (!options->metrics_prefix) options->metrics_prefix = "retake_";
    if (!options->listen) options->listen = "127.0.0.1:8080";
}

static struct metric *make_metric(const struct http_options *options, const char *name,
                                  const char *help, const char *labels, char kind) {
    char full[128];
    if (!options->metrics) return NULL;
    snprintf(full, sizeof full, "%s%s", options->metrics_prefix, name);
    if (kind == 'c') return metrics_counter(options->metrics, full, help, labels);
    if (kind == 'g') return metrics_gauge(options->metrics, full, help, labels);
    return metrics_histogram(options->metrics, full, help, labels);
}

static void make_metrics(struct http_server *server) {
    const struct http_options *o = &server->options;
    server->metrics.requests = make_metric(o, "http_requests_total",
                                           "Answers by route, method and status; 499: client left",
                                           "route,method,code", 'c');
    server->metrics.duration = make_metric(o, "http_request_duration_seconds",
                                           "From the request line to the last byte", "route", 'h');
    server->metrics.connections = make_metric(o, "http_connections", "Open connections", "", 'g');
    server->metrics.in_flight =
        make_metric(o, "http_requests_in_flight", "Requests not yet answered", "", 'g');
    server->metrics.streams = make_metric(o, "streams", "Open streams", "kind", 'g');
}

static struct MHD_Daemon *daemon_start(struct http_server *server) {
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                     MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ERROR_LOG;
    MHD_set_panic_func(on_panic, NULL);
    return MHD_start_daemon(
        flags, 0, NULL, NULL, on_access, server, MHD_OPTION_EXTERNAL_LOGGER, on_library_log, NULL,
        MHD_OPTION_THREAD_POOL_SIZE, (unsigned)server->options.n_threads,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)MHD_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, 0u,
        MHD_OPTION_URI_LOG_CALLBACK, on_target, server, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
        server, MHD_OPTION_NOTIFY_CONNECTION, on_connection, server,
        GUARD_STRICT_OPTION MHD_OPTION_END);
}

static void server_free(struct http_server *server) {
    if (server->daemon) MHD_stop_daemon(server->daemon);
    acceptor_stop(&server->acceptor);
    stream_pump_stop(&server->pump);
    connections_destroy(&server->connections);
    static_files_close(&server->static_files);
    free(server);
}

enum rt_status http_server_start(struct http_server **out, const struct http_options *options,
                                 struct rt_error *err) {
    struct http_server *server = calloc(1, sizeof *server);
    if (!server) return rt_fail(err, RT_NO_MEMORY, "no memory for the server");
    server->options = *options;
    fill_defaults(&server->options);
    const struct http_options *o = &server->options;
    make_metrics(server);
    if (getrandom(&server->id_seed, sizeof server->id_seed, 0) < 0) server->id_seed = 1;
    struct connection_limits limits = {o->header_ms, o->idle_ms, o->body_grace_ms, o->write_ms};
    struct acceptor_options accept = {
        .listen = o->listen, .context = server, .admit = on_admit, .hand_over = on_accepted};
    enum rt_status status = connections_create(&server->connections, &limits, err);
    if (status == RT_OK && o->static_folder) {
        status = static_files_open(&server->static_files, o->static_folder, err);
    }
    if (status == RT_OK) status = stream_pump_start(&server->pump, server, err);
    if (status == RT_OK && !(server->daemon = daemon_start(server))) {
        status = rt_fail(err, RT_IO, "the HTTP library did not start: %s", strerror(errno));
    }
    /* Last: from here on connections arrive. */
    server->policy.public_hosts = o->public_hosts;
    if (status == RT_OK) status = acceptor_start(&server->acceptor, &accept, err);
    if (status != RT_OK) {
        server_free(server);
        return status;
    }
    *out = server;
    return RT_OK;
}

uint16_t http_server_port(const struct http_server *server) {
    return acceptor_port(server->acceptor);
}

void http_server_drain(struct http_server *server) { atomic_store(&server->draining, true); }

static bool wait_until_zero(atomic_int *count, int64_t deadline_ns) {
    while (atomic_load(count) > 0) {
        if (monotonic_ns() > deadline_ns) return false;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    return true;
}

bool http_server_stop(struct http_server **server, int32_t drain_ms) {
    struct http_server *s = *server;
    if (!s) return true;
    int64_t deadline_ns = monotonic_ns() + drain_ms * (int64_t)1000000;
    http_server_drain(s);
    acceptor_close(s->acceptor);
    stream_pump_end_all(s->pump);
    wait_until_zero(&s->n_requests, deadline_ns);
    atomic_store(&s->stopping, true);
    /* Handlers never block for long; after them only deferred exchanges can be left. */
    wait_until_zero(&s->n_handlers, INT64_MAX);
    stream_pump_end_all(s->pump);
    /* Even with no time left, resumed ones need a moment to reach their connection thread. */
    int64_t moment_ns = monotonic_ns() + 200 * (int64_t)1000000;
    if (!wait_until_zero(&s->n_suspended, moment_ns > deadline_ns ? moment_ns : deadline_ns)) {
        return false; /* the library aborts the process when it is stopped with suspended ones */
    }
    server_free(s);
    *server = NULL;
    return true;
}
