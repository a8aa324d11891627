/* Answers: what handlers set (http_reply...) and how it reaches the library. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "render/core/log.h"
#include "server/exchange.h"
#include "server/range.h"

enum { GZIP_MIN_BYTES = 1024, GZIP_LEVEL = 5 };

/* -- what handlers call ----------------------------------------------------------------------- */

void reply_clear(struct http_reply *reply) {
    free(reply->body);
    if (reply->file >= 0) close(reply->file);
    for (int32_t i = 0; i < reply->n_headers; i++) free(reply->headers[i].name);
    memset(reply, 0, sizeof *reply);
    reply->file = -1;
}

/* Header text comes from our code, but may quote a client: a line break would split the answer. */
static bool header_is_clean(const char *text) {
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f) return false;
    }
    return true;
}

static int32_t header_find(const struct http_reply *reply, const char *name) {
    for (int32_t i = 0; i < reply->n_headers; i++) {
        if (strcasecmp(reply->headers[i].name, name) == 0) return i;
    }
    return -1;
}

void http_reply_header(struct http_exchange *x, const char *name, const char *value) {
    struct http_reply *reply = &x->reply;
    size_t n_name = strlen(name) + 1, n_value = strlen(value) + 1;
    if (!header_is_clean(name) || !header_is_clean(value)) {
        log_error("http", "header %s dropped: its value holds a control byte", name);
        return;
    }
    int32_t index = header_find(reply, name);
    char *text = malloc(n_name + n_value);
    if (!text || (index < 0 && reply->n_headers == REPLY_MAX_HEADERS)) {
        log_error("http", "header %s dropped: no room", name);
        free(text);
        return;
    }
    memcpy(text, name, n_name);
    memcpy(text + n_name, value, n_value);
    if (index < 0) {
        index = reply->n_headers++;
    } else {
        free(reply->headers[index].name);
    }
    reply->headers[index] = (struct http_pair){.name = text, .value = text + n_name};
}

static void reply_start(struct http_exchange *x, int status, const char *content_type) {
    struct http_reply *reply = &x->reply;
    free(reply->body);
    if (reply->file >= 0) close(reply->file);
    reply->body = NULL;
    reply->n_bytes = 0;
    reply->file = -1;
    reply->status = status;
    snprintf(reply->content_type, sizeof reply->content_type, "%s",
             content_type ? content_type : "");
}

void http_reply_owned(struct http_exchange *x, int status, const char *content_type, void *body,
                      size_t n_bytes) {
    reply_start(x, status, content_type);
    x->reply.body = body;
    x->reply.n_bytes = n_bytes;
}

void http_reply(struct http_exchange *x, int status, const char *content_type, const void *body,
                size_t n_bytes) {
    void *copy = malloc(n_bytes ? n_bytes : 1);
    if (!copy) {
        http_reply_owned(x, 500, NULL, NULL, 0);
        return;
    }
    if (n_bytes) memcpy(copy, body, n_bytes);
    http_reply_owned(x, status, content_type, copy, n_bytes);
}

static bool if_range_holds(const struct http_exchange *x, const char *etag) {
    const char *condition = http_header(x, "If-Range");
    return !condition || strcmp(condition, etag) == 0; /* strong comparison; dates never match */
}

void reply_descriptor(struct http_exchange *x, const char *content_type, int fd, const char *etag) {
    struct stat file;
    char made[ETAG_BYTES], text[96];
    if (fd < 0 || fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) {
        if (fd >= 0) close(fd);
        exchange_fault(x, HTTP_FAULT_NOT_FOUND, "there is no such file");
        return;
    }
    uint64_t size = (uint64_t)file.st_size, begin, n_bytes;
    if (!etag) {
        snprintf(made, sizeof made, "\"%llx-%llx-%lx\"", (unsigned long long)size,
                 (unsigned long long)file.st_mtim.tv_sec, (unsigned long)file.st_mtim.tv_nsec);
        etag = made;
    }
    http_reply_header(x, "ETag", etag);
    http_reply_header(x, "Accept-Ranges", "bytes");
    if (http_etag_matches(x, etag)) {
        close(fd);
        http_reply_owned(x, 304, NULL, NULL, 0);
        return;
    }
    const char *wanted = if_range_holds(x, etag) ? http_header(x, "Range") : NULL;
    enum range_result range = range_parse(wanted, size, &begin, &n_bytes);
    if (range == RANGE_UNSATISFIABLE) {
        close(fd);
        snprintf(text, sizeof text, "bytes */%llu", (unsigned long long)size);
        http_reply_header(x, "Content-Range", text);
        http_reply_owned(x, 416, NULL, NULL, 0);
        return;
    }
    reply_start(x, range == RANGE_PART ? 206 : 200, content_type);
    x->reply.file = fd;
    x->reply.file_begin = begin;
    x->reply.file_bytes = n_bytes;
    if (range == RANGE_PART) {
        snprintf(text, sizeof text, "bytes %llu-%llu/%llu", (unsigned long long)begin,
                 (unsigned long long)(begin + n_bytes - 1), (unsigned long long)size);
        http_reply_header(x, "Content-Range", text);
    }
}

void http_reply_file(struct http_exchange *x, const char *content_type, const char *path,
                     const char *etag) {
    reply_descriptor(x, content_type, open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), etag);
}

void reply_page_policy(struct http_exchange *x, const char *script_source) {
    char policy[512];
    snprintf(policy, sizeof policy,
             "default-src 'self'; script-src 'self'%s; style-src 'self' 'unsafe-inline'; "
             "img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
             "frame-ancestors 'none'; form-action 'self'",
             script_source);
    http_reply_header(x, "Content-Security-Policy", policy);
}

/* -- how it leaves ---------------------------------------------------------------------------- */

static bool is_json(const char *type) {
    return strncmp(type, "application/json", 16) == 0 ||
           strncmp(type, "application/problem+json", 24) == 0;
}

static void vary_add_encoding(struct http_exchange *x) {
    char text[256];
    int32_t known = header_find(&x->reply, "Vary");
    snprintf(text, sizeof text, "%s%sAccept-Encoding",
             known < 0 ? "" : x->reply.headers[known].value, known < 0 ? "" : ", ");
    http_reply_header(x, "Vary", text);
}

/* Replaces the body by its gzip form; leaves it as it is when that is not smaller. */
static void compress_body(struct http_exchange *x) {
    struct http_reply *reply = &x->reply;
    if (reply->n_bytes < GZIP_MIN_BYTES || !is_json(reply->content_type)) return;
    vary_add_encoding(x);
    if (!accepts_coding(http_header(x, "Accept-Encoding"), "gzip")) return;
    z_stream stream = {0};
    if (deflateInit2(&stream, GZIP_LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        return;
    }
    size_t capacity = reply->n_bytes;
    void *packed = malloc(capacity);
    stream.next_in = reply->body;
    stream.avail_in = (uInt)reply->n_bytes;
    stream.next_out = packed;
    stream.avail_out = (uInt)capacity;
    bool smaller = packed && capacity <= UINT32_MAX && deflate(&stream, Z_FINISH) == Z_STREAM_END;
    size_t n_packed = stream.total_out;
    deflateEnd(&stream);
    if (!smaller) {
        free(packed);
        return;
    }
    free(reply->body);
    reply->body = packed;
    reply->n_bytes = n_packed;
    http_reply_header(x, "Content-Encoding", "gzip");
}

static void add_standard_headers(struct http_exchange *x) {
    struct http_reply *reply = &x->reply;
    bool is_page = strncmp(reply->content_type, "text/html", 9) == 0;
    http_reply_header(x, "Server", "retake");
    http_reply_header(x, "X-Request-Id", x->request_id);
    http_reply_header(x, "X-Content-Type-Options", "nosniff");
    if (is_page && header_find(reply, "Content-Security-Policy") < 0) {
        reply_page_policy(x, "");
    }
    if (reply->content_type[0]) http_reply_header(x, "Content-Type", reply->content_type);
    if (x->must_close) http_reply_header(x, "Connection", "close");
}

static struct MHD_Response *make_response(struct http_exchange *x) {
    struct http_reply *reply = &x->reply;
    struct MHD_Response *response;
    if (reply->file >= 0) {
        response = MHD_create_response_from_fd_at_offset64(reply->file_bytes, reply->file,
                                                           reply->file_begin);
        if (response) reply->file = -1; /* the response closes it */
        x->sent_bytes = reply->file_bytes;
        return response;
    }
    x->sent_bytes = reply->n_bytes;
    response = MHD_create_response_from_buffer(
        reply->n_bytes, reply->n_bytes ? reply->body : "",
        reply->n_bytes ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (response && reply->n_bytes) reply->body = NULL;
    return response;
}

enum MHD_Result respond_queue(struct http_exchange *x) {
    struct http_reply *reply = &x->reply;
    compress_body(x);
    add_standard_headers(x);
    struct MHD_Response *response = make_response(x);
    if (!response) return MHD_NO;
    bool complete = true;
    for (int32_t i = 0; i < reply->n_headers; i++) {
        const struct http_pair *header = &reply->headers[i];
        if (MHD_add_response_header(response, header->name, header->value) == MHD_NO) {
            complete = false;
        }
    }
    if (!complete) log_error("http", "an answer lost a header (id %s)", x->request_id);
    atomic_store(&x->phase, EXCHANGE_SENT);
    connections_phase(x->server->connections, x->link, LINK_WRITE, x->sent_bytes);
    enum MHD_Result queued = MHD_queue_response(x->connection, (unsigned)reply->status, response);
    MHD_destroy_response(response);
    return queued;
}

static const char *status_text(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 400:
            return "Bad Request";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 413:
            return "Content Too Large";
        case 414:
            return "URI Too Long";
        case 415:
            return "Unsupported Media Type";
        case 431:
            return "Request Header Fields Too Large";
        case 500:
            return "Internal Server Error";
        case 503:
            return "Service Unavailable";
        case 507:
            return "Insufficient Storage";
        default:
            return "Error";
    }
}

size_t respond_head(struct http_exchange *x, const char *length_field, char *out, size_t n_bytes) {
    struct http_reply *reply = &x->reply;
    char date[40];
    time_t now = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &utc));
    http_reply_header(x, "Date", date);
    x->must_close = true;
    add_standard_headers(x);
    size_t n = (size_t)snprintf(out, n_bytes, "HTTP/1.1 %d %s\r\n%s\r\n", reply->status,
                                status_text(reply->status), length_field);
    for (int32_t i = 0; i < reply->n_headers; i++) {
        const struct http_pair *header = &reply->headers[i];
        size_t needed = strlen(header->name) + strlen(header->value) + 4;
        if (n + needed + 3 > n_bytes) continue;
        n += (size_t)snprintf(out + n, n_bytes - n, "%s: %s\r\n", header->name, header->value);
    }
    return n + (size_t)snprintf(out + n, n_bytes - n, "\r\n");
}

enum MHD_Result respond_raw(struct http_exchange *x) {
    struct http_reply *reply = &x->reply;
    char head[4096], length[48];
    snprintf(length, sizeof length, "Content-Length: %zu", reply->n_bytes);
    size_t n = respond_head(x, length, head, sizeof head);
    int fd = x->link->fd;
    atomic_store(&x->phase, EXCHANGE_SENT);
    /* An answer of a few hundred bytes fits an empty socket buffer: never blocks here. */
    if (send(fd, head, n, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)n && reply->n_bytes > 0) {
        ssize_t sent = send(fd, reply->body, reply->n_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
        x->sent_bytes = sent > 0 ? (uint64_t)sent : 0;
    }
    return MHD_NO;
}
