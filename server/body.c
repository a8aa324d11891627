/* Request bodies: JSON collected in memory, files streamed to the upload folder with their SHA-256.
 */
#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "render/core/log.h"
#include "server/exchange.h"

enum {
    SMALL_PIECE_BYTES = 256,  /* chunk floods: pieces below this ... */
    MAX_SMALL_PIECES = 65536, /* ... may come this often in one chunked body */
    MAX_OVERFLOW_BYTES =
        1 << 20 /* read on this far past a limit, so that the peer gets an answer */
};

struct http_upload {
    int fd;
    char *path; /* owned */
    uint64_t n_bytes;
    struct sha256_ctx hash;
    char hex[2 * SHA256_DIGEST_SIZE + 1];
};

static bool fail(struct http_exchange *x, enum http_fault fault, const char *detail) {
    exchange_fault(x, fault, detail);
    return false;
}

/* -- before the first byte -------------------------------------------------------------------- */

static bool is_json_type(const char *type) {
    static const char json[] = "application/json";
    size_t n = sizeof json - 1;
    if (strncasecmp(type, json, n) != 0) return false;
    type += n;
    type += strspn(type, " \t");
    return *type == 0 || *type == ';';
}

static bool json_begin(struct http_exchange *x) {
    const char *type = http_header(x, "Content-Type");
    if (!type && !x->framing.has_body) return true; /* an action without a body */
    if (type && is_json_type(type)) return true;
    return fail(x, HTTP_FAULT_MEDIA_TYPE,
                "the body must be sent with Content-Type: application/json");
}

static bool storage_is_low(const struct http_exchange *x) {
    struct statvfs disk;
    if (statvfs(x->server->options.upload_folder, &disk) != 0) return false;
    uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    return free_bytes < x->server->options.storage_floor_bytes + x->framing.content_length;
}

static bool upload_begin(struct http_exchange *x) {
    struct http_server *server = x->server;
    const char *folder = server->options.upload_folder;
    if (!folder) return fail(x, HTTP_FAULT_INTERNAL, "no upload folder is configured");
    if (storage_is_low(x)) {
        return fail(x, HTTP_FAULT_STORAGE_FULL, "the disk has no room for this upload");
    }
    if (atomic_fetch_add(&server->n_uploads, 1) >= server->options.max_uploads) {
        atomic_fetch_sub(&server->n_uploads, 1);
        return fail(x, HTTP_FAULT_OVERLOAD, "too many uploads at once; try again later");
    }
    struct http_upload *upload = calloc(1, sizeof *upload);
    size_t n_path = strlen(folder) + 32;
    if (upload) upload->path = malloc(n_path);
    if (!upload || !upload->path) {
        free(upload);
        atomic_fetch_sub(&server->n_uploads, 1);
        return fail(x, HTTP_FAULT_INTERNAL, "out of memory");
    }
    x->upload = upload; /* from here body_free cleans up */
    snprintf(upload->path, n_path, "%s/upload-XXXXXX", folder);
    sha256_init(&upload->hash);
    upload->fd = mkstemp(upload->path);
    if (upload->fd >= 0) return true;
    log_error("http", "cannot create a file in the upload folder: %s", strerror(errno));
    upload->path[0] = 0;
    if (errno == ENOSPC || errno == EDQUOT) {
        return fail(x, HTTP_FAULT_STORAGE_FULL, "the disk is full");
    }
    return fail(x, HTTP_FAULT_INTERNAL, "the upload folder cannot be written");
}

bool body_begin(struct http_exchange *x) {
    const struct http_route *route = x->match.route;
    enum http_body_kind kind = route ? route->body : HTTP_BODY_NONE;
    const struct http_options *options = &x->server->options;
    if (http_header(x, "Content-Encoding")) {
        return fail(x, HTTP_FAULT_MEDIA_TYPE, "Content-Encoding of requests is not supported");
    }
    if (kind == HTTP_BODY_NONE) {
        if (!x->framing.has_body) return true;
        return fail(x, HTTP_FAULT_FRAMING, "this route takes no body");
    }
    x->max_body_bytes = route->max_body_bytes;
    if (x->max_body_bytes == 0) {
        x->max_body_bytes =
            kind == HTTP_BODY_JSON ? options->max_json_bytes : options->max_upload_bytes;
    }
    if (x->framing.content_length > x->max_body_bytes) {
        return fail(x, HTTP_FAULT_BODY_TOO_LARGE, "the body is larger than this route takes");
    }
    return kind == HTTP_BODY_JSON ? json_begin(x) : upload_begin(x);
}

/* -- while it arrives ------------------------------------------------------------------------- */

static void mark(struct http_exchange *x, enum http_fault fault, const char *detail) {
    if (x->body_failed) return;
    x->body_failed = true;
    x->body_fault = fault;
    x->body_detail = detail;
}

static void json_take(struct http_exchange *x, const char *piece, size_t n_bytes) {
    if (x->n_body + n_bytes + 1 > x->body_capacity) {
        size_t capacity = x->body_capacity ? x->body_capacity : 1024;
        if (capacity < x->framing.content_length + 1) capacity = x->framing.content_length + 1;
        while (capacity < x->n_body + n_bytes + 1) capacity *= 2;
        char *grown = realloc(x->body, capacity);
        if (!grown) {
            mark(x, HTTP_FAULT_INTERNAL, "out of memory");
            return;
        }
        x->body = grown;
        x->body_capacity = capacity;
    }
    memcpy(x->body + x->n_body, piece, n_bytes);
    x->n_body += n_bytes;
    x->body[x->n_body] = 0;
}

static void upload_take(struct http_exchange *x, const char *piece, size_t n_bytes) {
    struct http_upload *upload = x->upload;
    sha256_update(&upload->hash, n_bytes, (const uint8_t *)piece);
    while (n_bytes > 0) {
        ssize_t n = write(upload->fd, piece, n_bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            bool full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
            log_error("http", "an upload could not be written: %s", strerror(errno));
            mark(x, full ? HTTP_FAULT_STORAGE_FULL : HTTP_FAULT_INTERNAL,
                 full ? "the disk is full" : "the upload could not be written");
            return;
        }
        piece += n;
        n_bytes -= (size_t)n;
        upload->n_bytes += (uint64_t)n;
    }
}

bool body_take(struct http_exchange *x, const char *piece, size_t n_bytes) {
    atomic_fetch_add(&x->link->body_bytes, (long long)n_bytes);
    if (x->framing.chunked && n_bytes < SMALL_PIECE_BYTES &&
        ++x->n_small_chunks > MAX_SMALL_PIECES) {
        mark(x, HTTP_FAULT_FRAMING, "the body came in more than 65536 tiny chunks");
        return false;
    }
    uint64_t have = x->upload ? x->upload->n_bytes : x->n_body;
    if (!x->body_failed && have + n_bytes > x->max_body_bytes) {
        mark(x, HTTP_FAULT_BODY_TOO_LARGE, "the body is larger than this route takes");
    }
    if (x->body_failed) {
        x->overflow_bytes += n_bytes;
        return x->overflow_bytes <= MAX_OVERFLOW_BYTES;
    }
    if (x->upload) {
        upload_take(x, piece, n_bytes);
    } else {
        json_take(x, piece, n_bytes);
    }
    return true;
}

bool body_end(struct http_exchange *x) {
    if (x->body_failed) return fail(x, x->body_fault, x->body_detail);
    if (!x->upload) return true;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_digest(&x->upload->hash, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        snprintf(x->upload->hex + 2 * i, 3, "%02x", digest[i]);
    }
    int fd = x->upload->fd;
    x->upload->fd = -1;
    if (close(fd) == 0) return true;
    return fail(x,
                errno == ENOSPC || errno == EDQUOT ? HTTP_FAULT_STORAGE_FULL : HTTP_FAULT_INTERNAL,
                "the upload could not be written");
}

void body_free(struct http_exchange *x) {
    free(x->body);
    if (!x->upload) return;
    if (x->upload->fd >= 0) close(x->upload->fd);
    if (x->upload->path[0]) unlink(x->upload->path); /* gone already when it was renamed away */
    free(x->upload->path);
    free(x->upload);
    atomic_fetch_sub(&x->server->n_uploads, 1);
}

const char *http_body_file(const struct http_exchange *x, uint64_t *n_bytes,
                           const char **sha256_hex) {
    if (n_bytes) *n_bytes = x->upload ? x->upload->n_bytes : 0;
    if (sha256_hex) *sha256_hex = x->upload ? x->upload->hex : "";
    return x->upload ? x->upload->path : NULL;
}
