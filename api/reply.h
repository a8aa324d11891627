/* Answers: every handler answers through these (or problems.h), so that caching headers and ETags
 * are the same everywhere. Requests are counted by the server below.
 *
 *     reply_json(api, x, 200, json_pack("{s:s}", "status", "live"));
 *
 * None of them finishes a deferred exchange. Threading: any thread. */
#ifndef RETAKE_API_REPLY_H
#define RETAKE_API_REPLY_H

#include <jansson.h>

#include "server/http.h"

struct api;

enum { ETAG_BYTES = 40 }; /* quote, 32 hex digits, quote, terminator */

/* Takes `body` over. A 200 to GET carries an ETag of its bytes and becomes 304 when the client has
 * them. A NULL body (out of memory) answers 500. */
void reply_json(struct api *api, struct http_exchange *x, int status, json_t *body);
/* Takes the malloc'ed bytes over. */
void reply_bytes(struct api *api, struct http_exchange *x, const char *content_type, void *bytes,
                 size_t n_bytes);
/* A file with Range and If-Range; `etag` may be NULL. Answers 304 when the client has it. */
void reply_file(struct api *api, struct http_exchange *x, const char *content_type,
                const char *path, const char *etag);
/* 204, 304 and other answers without a body. */
void reply_empty(struct api *api, struct http_exchange *x, int status);

/* "32 hex digits" in quotes: the head of SHA-256 of the bytes. */
void etag_of_bytes(const void *bytes, size_t n_bytes, char etag[ETAG_BYTES]);
/* True for GET and HEAD. */
bool method_is_get(const struct http_exchange *x);
/* Seconds of an RFC 3339 UTC time with milliseconds; "" for 0. */
enum { TIME_TEXT_BYTES = 32 };
void time_text(int64_t unix_ms, char text[TIME_TEXT_BYTES]);
/* The text as a JSON string, or null for 0. */
json_t *time_json(int64_t unix_ms);
int64_t time_now_ms(void);  /* CLOCK_REALTIME */
int64_t time_mono_ns(void); /* CLOCK_MONOTONIC */

#endif
