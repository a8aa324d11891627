/* Problems: the one table of error answers (api.md section 7, RFC 9457).
 *
 *     problem_reply(api, x, PROBLEM_NOT_FOUND, json_pack("{s:s}", "resource", "scene"),
 *                   "there is no scene \"%s\"", id);
 *     problem_reply_error(api, x, &err, NULL);         // by rt_status
 *
 * To add a type: one row in problems.c, one value here, one schema example in openapi.yaml, one
 * test that provokes it. Threading: any thread. */
#ifndef RETAKE_API_PROBLEMS_H
#define RETAKE_API_PROBLEMS_H

#include <jansson.h>

#include "render/core/status.h"
#include "server/http.h"

struct api;

enum problem_type {
    PROBLEM_MALFORMED_JSON,
    PROBLEM_INVALID_REQUEST,
    PROBLEM_BAD_FRAMING,
    PROBLEM_SLOW_REQUEST,
    PROBLEM_FORBIDDEN_HOST,
    PROBLEM_FORBIDDEN_ORIGIN,
    PROBLEM_NOT_FOUND,
    PROBLEM_NO_RECORDING,
    PROBLEM_METHOD_NOT_ALLOWED,
    PROBLEM_NOT_ACCEPTABLE,
    PROBLEM_SCENE_EXISTS,
    PROBLEM_RECORDING_EXISTS,
    PROBLEM_SCENE_BUSY,
    PROBLEM_RECORDING_IN_USE,
    PROBLEM_JOB_RUNNING,
    PROBLEM_INVALID_TRANSITION,
    PROBLEM_IDEMPOTENCY_IN_PROGRESS,
    PROBLEM_PRECONDITION_FAILED,
    PROBLEM_UNSUPPORTED_MEDIA_TYPE,
    PROBLEM_RANGE_NOT_SATISFIABLE,
    PROBLEM_BODY_TOO_LARGE,
    PROBLEM_URI_TOO_LONG,
    PROBLEM_HEADERS_TOO_LARGE,
    PROBLEM_TIME_OUT_OF_RANGE,
    PROBLEM_LIMIT_EXCEEDED,
    PROBLEM_TOO_MUCH_WORK,
    PROBLEM_CALIBRATION,
    PROBLEM_OUTPUT_NOT_AVAILABLE,
    PROBLEM_UNSUPPORTED_FEATURE,
    PROBLEM_INVALID_FILE,
    PROBLEM_INVALID_RECORDING,
    PROBLEM_DIGEST_MISMATCH,
    PROBLEM_SCENE_TOO_LARGE,
    PROBLEM_IDEMPOTENCY_MISMATCH,
    PROBLEM_INTERNAL,
    PROBLEM_QUEUE_FULL,
    PROBLEM_TOO_MANY_STREAMS,
    PROBLEM_SCENE_LOADING,
    PROBLEM_DEVICE_MEMORY,
    PROBLEM_DRAINING,
    PROBLEM_NOT_READY,
    PROBLEM_DEADLINE_EXCEEDED,
    PROBLEM_STORAGE_FULL,
    N_PROBLEMS
};

struct problem_row {
    const char *name; /* last segment of the type URI */
    int status;
    const char *title;
    const char *when;   /* one sentence for the page: what happened */
    const char *remedy; /* one sentence for the page: what to do */
};

const struct problem_row *problem_row(enum problem_type type);
/* Type by name, or N_PROBLEMS. */
enum problem_type problem_find(const char *name);
/* The one map from results to problems. */
enum problem_type problem_of_status(enum rt_status status);

/* Answers with problem+json; `members` (may be NULL) are extra members and are taken over. A member
 * "retry_after_s" also becomes the Retry-After header. Does not finish a deferred exchange. */
void problem_reply(struct api *api, struct http_exchange *x, enum problem_type type,
                   json_t *members, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The same from a failed call; details of defects (RT_IO, RT_INTERNAL) go to the log only. */
void problem_reply_error(struct api *api, struct http_exchange *x, const struct rt_error *err,
                         json_t *members);
/* http_options.fault; context is the struct api. */
void problem_on_fault(struct http_exchange *x, enum http_fault fault, const char *detail,
                      void *context);
/* GET /problems/{name}: a page for people. */
void get_problem_page(struct http_exchange *x, void *context);

#endif
