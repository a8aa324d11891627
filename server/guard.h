/* The wire rules of promises.md section 3: what a request head must look like before anything acts
 * on it. Pure functions over the parsed head, so that they can be tested and fuzzed.
 *
 *     struct guard_head head = {.method = "GET", .target = "/", .version = "HTTP/1.1", ...};
 *     struct guard_refusal no;
 *     if (!guard_check(&head, &policy, &no)) refuse(no.fault, no.detail);
 *
 * Why so strict: the parser below (libmicrohttpd 0.9.75) accepts heads that a proxy in front reads
 * differently; what one side takes for a body the other runs as a second request. */
#ifndef RETAKE_SERVER_GUARD_H
#define RETAKE_SERVER_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/http.h"

enum {
    GUARD_MAX_FIELDS = 64,
    GUARD_MAX_NAME_BYTES = 64,
    GUARD_MAX_TARGET_BYTES = 8192,
    GUARD_MAX_HEAD_BYTES = 32768
};

struct guard_field {
    const char *name, *value;
};

struct guard_head {
    const char *method;
    const char *target; /* raw, with the query */
    const char *version;
    const struct guard_field *fields; /* [n_fields] in order */
    int32_t n_fields;
    size_t head_bytes;
    /* Where the parser keeps the target, and whether its receive buffer is laid out so that the
     * contiguity rule applies; NULL = do not check. */
    const char *target_at;
};

struct guard_policy {
    const char *const *public_hosts; /* beside loopback; ends with NULL, or NULL */
};

struct guard_refusal {
    enum http_fault fault;
    const char *detail; /* static text */
};

/* What the framing fields say, filled by guard_check on success. */
struct guard_framing {
    bool has_body; /* a Content-Length above 0, or chunked */
    bool chunked;
    uint64_t content_length;
};

bool guard_check(const struct guard_head *head, const struct guard_policy *policy,
                 struct guard_framing *framing, struct guard_refusal *refusal);

/* The path of a checked target: without the query, and without scheme and authority when it came in
 * absolute form. `*length` excludes the query. */
const char *guard_path(const char *target, size_t *length);

#endif
