#include "api/problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/reply.h"
#include "render/core/log.h"

static const struct problem_row rows[N_PROBLEMS] = {
    [PROBLEM_MALFORMED_JSON] = {"malformed-json", 400, "The body is not valid JSON",
                                "The body is not one JSON object, has duplicate keys, or is nested "
                                "too deeply.",
                                "Look at the byte offset in the answer."},
    [PROBLEM_INVALID_REQUEST] = {"invalid-request", 400, "The request is wrong",
                                 "A member or parameter is unknown, missing, of the wrong type or "
                                 "out of range.",
                                 "errors[] names each fault with a JSON pointer."},
    [PROBLEM_BAD_FRAMING] = {"bad-framing", 400, "The request is framed wrongly",
                             "Headers, target or body length do not follow HTTP strictly.",
                             "Send exactly one length, clean header lines and a plain target."},
    [PROBLEM_SLOW_REQUEST] = {"slow-request", 408, "The request came too slowly",
                              "The header or body did not arrive within its deadline.",
                              "Send it again over a better connection."},
    [PROBLEM_FORBIDDEN_HOST] = {"forbidden-host", 403, "Host not allowed",
                                "The Host header names neither loopback nor the bound address.",
                                "Use the address printed at the start."},
    [PROBLEM_FORBIDDEN_ORIGIN] = {"forbidden-origin", 403, "Origin not allowed",
                                  "A page of another site sent this request.",
                                  "Open the viewer from this server."},
    [PROBLEM_NOT_FOUND] = {"not-found", 404, "Not found",
                           "There is no such scene, sensor, recording, job or route.",
                           "Compare with known[] or with the list of the resource."},
    [PROBLEM_NO_RECORDING] = {"no-recording", 404, "No recorded picture",
                              "The scene has no original pictures, or they are gone.",
                              "Ask for view=rendered."},
    [PROBLEM_METHOD_NOT_ALLOWED] = {"method-not-allowed", 405, "Method not allowed",
                                    "The route exists, but not with this method.",
                                    "The Allow header lists the methods."},
    [PROBLEM_NOT_ACCEPTABLE] = {"not-acceptable", 406, "No offered format is accepted",
                                "Nothing in Accept, or the asked-for format, can hold this output.",
                                "Choose one of offered[]."},
    [PROBLEM_SCENE_EXISTS] = {"scene-exists", 409, "The scene id is taken",
                              "A scene with this id exists with other content.",
                              "Send If-Match with its ETag to replace it, or use another id."},
    [PROBLEM_RECORDING_EXISTS] = {"recording-exists", 409, "The recording id is taken",
                                  "A recording with this id exists with other content.",
                                  "Use another id or delete it first."},
    [PROBLEM_SCENE_BUSY] = {"scene-busy", 409, "The scene is in use",
                            "It is pinned or being trained.",
                            "Unpin it, end the training, or use force=true where allowed."},
    [PROBLEM_RECORDING_IN_USE] = {"recording-in-use", 409, "The recording is in use",
                                  "A reconstruction reads it.", "Cancel the reconstruction first."},
    [PROBLEM_JOB_RUNNING] = {"job-running", 409, "The job is running",
                             "A queued or running job cannot be removed.", "Cancel it first."},
    [PROBLEM_INVALID_TRANSITION] = {"invalid-transition", 409, "Not possible in this state",
                                    "The job cannot go from its state to the asked-for one.",
                                    "allowed[] lists what is possible."},
    [PROBLEM_IDEMPOTENCY_IN_PROGRESS] = {"idempotency-in-progress", 409,
                                         "The first request still runs",
                                         "A request with the same Idempotency-Key is running.",
                                         "Come back after retry_after_s."},
    [PROBLEM_PRECONDITION_FAILED] = {"precondition-failed", 412, "The content has changed",
                                     "If-Match names another version.",
                                     "Fetch the resource and decide again."},
    [PROBLEM_UNSUPPORTED_MEDIA_TYPE] = {"unsupported-media-type", 415, "Media type not supported",
                                        "Bodies of POST must be application/json, unencoded.",
                                        "Set Content-Type: application/json."},
    [PROBLEM_RANGE_NOT_SATISFIABLE] = {"range-not-satisfiable", 416, "No such bytes",
                                       "The asked-for range lies outside the file.",
                                       "size_bytes is the length of the file."},
    [PROBLEM_BODY_TOO_LARGE] = {"body-too-large", 413, "The body is too large",
                                "The body is larger than this route takes.",
                                "See limits in /v1/metadata."},
    [PROBLEM_URI_TOO_LONG] = {"uri-too-long", 414, "The URL is too long",
                              "The URL is longer than 8 KiB.", "Use POST."},
    [PROBLEM_HEADERS_TOO_LARGE] = {"headers-too-large", 431, "The headers are too large",
                                   "There are too many header fields or bytes.",
                                   "Send fewer headers."},
    [PROBLEM_TIME_OUT_OF_RANGE] = {"time-out-of-range", 422, "Time outside the scene",
                                   "The asked-for time or frame is outside the recording.",
                                   "t_begin_us and t_end_us bound the time."},
    [PROBLEM_LIMIT_EXCEEDED] = {"limit-exceeded", 422, "A limit is exceeded",
                                "The request asks for more than the server allows.",
                                "limit_name and limit say which; see /v1/metadata."},
    [PROBLEM_TOO_MUCH_WORK] = {"too-much-work", 422, "The picture needs too much work",
                               "Too many splats cover too many tiles in this view.",
                               "Use a smaller size or move the camera."},
    [PROBLEM_CALIBRATION] = {"calibration", 422, "The lens cannot be used",
                             "The projection does not apply to this lens, or it is not invertible.",
                             "Check the camera model."},
    [PROBLEM_OUTPUT_NOT_AVAILABLE] = {"output-not-available", 422, "No such output here",
                                      "The scene has no such layer.", "Choose from available[]."},
    [PROBLEM_UNSUPPORTED_FEATURE] = {"unsupported-feature", 422, "Not in this version",
                                     "The contract knows it, this version or build lacks it.",
                                     "capabilities[] of /v1/metadata lists what is there."},
    [PROBLEM_INVALID_FILE] = {"invalid-file", 422, "The file is not usable",
                              "The file is damaged or not a scene.",
                              "detail says what was found and where."},
    [PROBLEM_INVALID_RECORDING] = {"invalid-recording", 422, "The recording is not usable",
                                   "The recording is damaged or lacks poses or pictures.",
                                   "findings[] says what was found."},
    [PROBLEM_DIGEST_MISMATCH] = {"digest-mismatch", 422, "The digest differs",
                                 "The bytes that arrived have another SHA-256 than declared.",
                                 "Send it again."},
    [PROBLEM_SCENE_TOO_LARGE] = {"scene-too-large", 422, "The scene can never fit",
                                 "It needs more memory than the whole budget.",
                                 "Start the server with a larger --memory-bytes."},
    [PROBLEM_IDEMPOTENCY_MISMATCH] = {"idempotency-mismatch", 422, "Same key, other body",
                                      "The Idempotency-Key was used with another body.",
                                      "Use a new key for a new request."},
    [PROBLEM_INTERNAL] = {"internal", 500, "A defect of the server",
                          "Something went wrong inside; the log has the detail.",
                          "Report it with the request_id."},
    [PROBLEM_QUEUE_FULL] = {"queue-full", 503, "The queue is full",
                            "More requests wait than can be served in time.",
                            "Come back after retry_after_s."},
    [PROBLEM_TOO_MANY_STREAMS] = {"too-many-streams", 503, "Too many streams are open",
                                  "All slots for event readers or picture streams are taken.",
                                  "Close one, or wait and try again."},
    [PROBLEM_SCENE_LOADING] = {"scene-loading", 503, "The scene is still loading",
                               "Loading goes on after the deadline of this request.",
                               "Come back after retry_after_s."},
    [PROBLEM_DEVICE_MEMORY] = {"device-memory", 503, "No memory for it now",
                               "The budget is held by scenes that are pinned or in use.",
                               "Unload something or come back later."},
    [PROBLEM_DRAINING] = {"draining", 503, "The server is shutting down",
                          "New work is not taken any more.", "Come back after the restart."},
    [PROBLEM_NOT_READY] = {"not-ready", 503, "Not ready",
                           "The probe failed for the reasons listed.", "reasons[] says why."},
    [PROBLEM_DEADLINE_EXCEEDED] = {"deadline-exceeded", 504, "The deadline passed",
                                   "The work took longer than timeout_ms and was dropped.",
                                   "Ask for a smaller picture or a longer timeout_ms."},
    [PROBLEM_STORAGE_FULL] = {"storage-full", 507, "The disk is full",
                              "The data folder has no room left.", "Free disk space."},
};

const struct problem_row *problem_row(enum problem_type type) { return &rows[type]; }

enum problem_type problem_find(const char *name) {
    for (int i = 0; i < N_PROBLEMS; i++) {
        if (strcmp(rows[i].name, name) == 0) return (enum problem_type)i;
    }
    return N_PROBLEMS;
}

enum problem_type problem_of_status(enum rt_status status) {
    static const enum problem_type types[RT_N_STATUS] = {
        [RT_OK] = PROBLEM_INTERNAL,
        [RT_INVALID] = PROBLEM_INVALID_REQUEST,
        [RT_NOT_FOUND] = PROBLEM_NOT_FOUND,
        [RT_EXISTS] = PROBLEM_SCENE_EXISTS,
        [RT_BUSY] = PROBLEM_SCENE_BUSY,
        [RT_LIMIT] = PROBLEM_LIMIT_EXCEEDED,
        [RT_TOO_MUCH_WORK] = PROBLEM_TOO_MUCH_WORK,
        [RT_TIME_RANGE] = PROBLEM_TIME_OUT_OF_RANGE,
        [RT_CALIBRATION] = PROBLEM_CALIBRATION,
        [RT_UNSUPPORTED] = PROBLEM_UNSUPPORTED_FEATURE,
        [RT_NO_OUTPUT] = PROBLEM_OUTPUT_NOT_AVAILABLE,
        [RT_BAD_FILE] = PROBLEM_INVALID_FILE,
        [RT_BAD_RECORDING] = PROBLEM_INVALID_RECORDING,
        [RT_DIGEST] = PROBLEM_DIGEST_MISMATCH,
        [RT_NO_MEMORY] = PROBLEM_DEVICE_MEMORY,
        [RT_DEVICE_MEMORY] = PROBLEM_DEVICE_MEMORY,
        [RT_TOO_LARGE] = PROBLEM_SCENE_TOO_LARGE,
        [RT_STORAGE_FULL] = PROBLEM_STORAGE_FULL,
        [RT_IO] = PROBLEM_INTERNAL,
        [RT_QUEUE_FULL] = PROBLEM_QUEUE_FULL,
        [RT_CANCELLED] = PROBLEM_DRAINING,
        [RT_DEADLINE] = PROBLEM_DEADLINE_EXCEEDED,
        [RT_DIVERGED] = PROBLEM_INTERNAL,
        [RT_TRANSITION] = PROBLEM_INVALID_TRANSITION,
        [RT_DRAINING] = PROBLEM_DRAINING,
        [RT_INTERNAL] = PROBLEM_INTERNAL,
    };
    return status < RT_N_STATUS ? types[status] : PROBLEM_INTERNAL;
}

/* Whole seconds for Retry-After: the member, else 1 for every 503. */
static void add_retry_after(struct http_exchange *x, int status, json_t *body) {
    json_t *member = json_object_get(body, "retry_after_s");
    if (member == NULL && status != 503) return;
    if (member == NULL) json_object_set_new(body, "retry_after_s", json_integer(1));
    json_int_t seconds = member != NULL ? json_integer_value(member) : 1;
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)(seconds < 1 ? 1 : seconds));
    http_reply_header(x, "Retry-After", text);
}

static void reply_problem(struct http_exchange *x, enum problem_type type, json_t *members,
                          const char *detail) {
    const struct problem_row *row = &rows[type];
    char uri[64];
    snprintf(uri, sizeof uri, "/problems/%s", row->name);
    if (detail == NULL || detail[0] == '\0') detail = row->when;
    json_t *body = json_pack("{s:s, s:s, s:i, s:s, s:s?, s:s?}", "type", uri, "title", row->title,
                             "status", row->status, "detail", detail, "instance", http_path(x),
                             "request_id", http_request_id(x));
    if (body == NULL) { /* client bytes that are not UTF-8, or no memory: say less */
        body =
            json_pack("{s:s, s:s, s:i}", "type", uri, "title", row->title, "status", row->status);
    }
    if (body != NULL && members != NULL) json_object_update(body, members);
    json_decref(members);
    add_retry_after(x, row->status, body);
    http_reply_header(x, "Cache-Control", "no-store");
    char *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
    json_decref(body);
    if (text == NULL) {
        http_reply(x, row->status, "application/problem+json", "{}", 2);
    } else {
        http_reply_owned(x, row->status, "application/problem+json", text, strlen(text));
    }
}

void problem_reply(struct api *api, struct http_exchange *x, enum problem_type type,
                   json_t *members, const char *format, ...) {
    (void)api;
    char detail[RT_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    reply_problem(x, type, members, detail);
}

void problem_reply_error(struct api *api, struct http_exchange *x, const struct rt_error *err,
                         json_t *members) {
    (void)api;
    enum problem_type type = problem_of_status(err->status);
    const char *detail = err->message;
    if (type == PROBLEM_INTERNAL) {
        log_error("http", "request %s: %s: %s", http_request_id(x), rt_status_name(err->status),
                  err->message);
        detail = "a defect of the server; its log has the detail under this request_id";
    }
    if (type == PROBLEM_INVALID_FILE || type == PROBLEM_INVALID_RECORDING) {
        if (members == NULL) members = json_object();
        json_t *finding = json_pack("{s:s, s:s?, s:s}", "severity", "error", "code", err->code,
                                    "message", err->message);
        json_object_set_new(members, "findings", json_pack("[o]", finding));
        if (err->offset >= 0) {
            json_object_set_new(members, "offset", json_integer((json_int_t)err->offset));
        }
    }
    if (type == PROBLEM_UNSUPPORTED_FEATURE && err->code != NULL) {
        if (members == NULL) members = json_object();
        json_object_set_new(members, "capability", json_string(err->code));
    }
    reply_problem(x, type, members, detail);
}

static const enum problem_type fault_types[] = {
    [HTTP_FAULT_NOT_FOUND] = PROBLEM_NOT_FOUND,
    [HTTP_FAULT_METHOD] = PROBLEM_METHOD_NOT_ALLOWED,
    [HTTP_FAULT_FRAMING] = PROBLEM_BAD_FRAMING,
    [HTTP_FAULT_HOST] = PROBLEM_FORBIDDEN_HOST,
    [HTTP_FAULT_ORIGIN] = PROBLEM_FORBIDDEN_ORIGIN,
    [HTTP_FAULT_BODY_TOO_LARGE] = PROBLEM_BODY_TOO_LARGE,
    [HTTP_FAULT_URI_TOO_LONG] = PROBLEM_URI_TOO_LONG,
    [HTTP_FAULT_MEDIA_TYPE] = PROBLEM_UNSUPPORTED_MEDIA_TYPE,
    [HTTP_FAULT_HEADERS_TOO_LARGE] = PROBLEM_HEADERS_TOO_LARGE,
    [HTTP_FAULT_OVERLOAD] = PROBLEM_QUEUE_FULL,
    [HTTP_FAULT_DRAINING] = PROBLEM_DRAINING,
    [HTTP_FAULT_STORAGE_FULL] = PROBLEM_STORAGE_FULL,
    [HTTP_FAULT_INTERNAL] = PROBLEM_INTERNAL,
};

void problem_on_fault(struct http_exchange *x, enum http_fault fault, const char *detail,
                      void *context) {
    (void)context;
    json_t *members = NULL;
    if (fault == HTTP_FAULT_NOT_FOUND) members = json_pack("{s:s}", "resource", "route");
    reply_problem(x, fault_types[fault], members, detail);
}

/* The table only holds characters that need no escaping in HTML. */
void get_problem_page(struct http_exchange *x, void *context) {
    const char *name = http_param(x, "name");
    enum problem_type type = problem_find(name != NULL ? name : "");
    if (type == N_PROBLEMS) {
        problem_reply(context, x, PROBLEM_NOT_FOUND, json_pack("{s:s}", "resource", "problem"),
                      "there is no problem type of this name");
        return;
    }
    const struct problem_row *row = &rows[type];
    char page[2048];
    int n = snprintf(page, sizeof page,
                     "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>%s</title>"
                     "<h1>%s</h1><p>Problem type <code>%s</code>, HTTP status %d.</p><p>%s</p>"
                     "<p>%s</p><p><a href=\"/openapi.yaml\">The HTTP contract</a></p></html>\n",
                     row->title, row->title, row->name, row->status, row->when, row->remedy);
    http_reply(x, 200, "text/html; charset=utf-8", page, (size_t)n);
}
