#include "api/reply.h"

#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/api.h"

bool method_is_get(const struct http_exchange *x) {
    return strcmp(http_method(x), "GET") == 0 || strcmp(http_method(x), "HEAD") == 0;
}

void etag_of_bytes(const void *bytes, size_t n_bytes, char etag[ETAG_BYTES]) {
    struct sha256_ctx hash;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&hash);
    sha256_update(&hash, n_bytes, bytes);
    sha256_digest(&hash, sizeof digest, digest);
    etag[0] = '"';
    for (int i = 0; i < 16; i++) snprintf(etag + 1 + 2 * i, 3, "%02x", digest[i]);
    etag[33] = '"';
    etag[34] = '\0';
}

void reply_json(struct api *api, struct http_exchange *x, int status, json_t *body) {
    char *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
    json_decref(body);
    if (text == NULL) {
        problem_reply(api, x, PROBLEM_INTERNAL, NULL, "the answer could not be built");
        return;
    }
    size_t n_bytes = strlen(text);
    if (status == 200 && method_is_get(x)) {
        char etag[ETAG_BYTES];
        etag_of_bytes(text, n_bytes, etag);
        http_reply_header(x, "ETag", etag);
        http_reply_header(x, "Cache-Control", "private, no-cache");
        if (http_etag_matches(x, etag)) {
            free(text);
            reply_empty(api, x, 304);
            return;
        }
    } else {
        http_reply_header(x, "Cache-Control", "no-store");
    }
    http_reply_owned(x, status, "application/json", text, n_bytes);
}

void reply_bytes(struct api *api, struct http_exchange *x, const char *content_type, void *bytes,
                 size_t n_bytes) {
    (void)api;
    http_reply_owned(x, 200, content_type, bytes, n_bytes);
}

void reply_file(struct api *api, struct http_exchange *x, const char *content_type,
                const char *path, const char *etag) {
    if (etag != NULL && http_etag_matches(x, etag)) {
        http_reply_header(x, "ETag", etag);
        reply_empty(api, x, 304);
        return;
    }
    http_reply_file(x, content_type, path, etag);
}

void reply_empty(struct api *api, struct http_exchange *x, int status) {
    (void)api;
    http_reply(x, status, NULL, "", 0);
}

void time_text(int64_t unix_ms, char text[TIME_TEXT_BYTES]) {
    text[0] = '\0';
    if (unix_ms <= 0) return;
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm utc;
    if (gmtime_r(&seconds, &utc) == NULL) return;
    size_t n = strftime(text, TIME_TEXT_BYTES, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + n, TIME_TEXT_BYTES - n, ".%03dZ", (int)(unix_ms % 1000));
}

json_t *time_json(int64_t unix_ms) {
    char text[TIME_TEXT_BYTES];
    time_text(unix_ms, text);
    return text[0] != '\0' ? json_string(text) : json_null();
}

static int64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t time_now_ms(void) { return clock_ns(CLOCK_REALTIME) / 1000000; }

int64_t time_mono_ns(void) { return clock_ns(CLOCK_MONOTONIC); }
