/* JSON at the border: text -> checked tree -> typed members, with every fault collected under its
 * JSON pointer (api.md section 1, promises.md section 4).
 *
 *     struct wire_faults faults = {0};
 *     json_t *body = wire_parse(text, n_bytes, false, &faults);   // may be NULL
 *     static const char *const known[] = {"name", "size_px", NULL};
 *     wire_members(&faults, body, "", known);
 *     int64_t width = 960;
 *     wire_int(&faults, body, "", "width_px", (struct wire_range){1, 16384, 1}, &width);     //
 * absent: left as it is if (faults.n_faults) { wire_reply_faults(api, x, &faults); }
 *
 * `at` is the pointer of the object ("" for the root). null counts as absent. Threading: values. */
#ifndef RETAKE_API_WIRE_JSON_H
#define RETAKE_API_WIRE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/problems.h"
#include "render/core/pose.h"

enum { WIRE_MAX_FAULTS = 16, WIRE_POINTER_BYTES = 160, WIRE_MESSAGE_BYTES = 256 };

struct wire_fault {
    char pointer[WIRE_POINTER_BYTES];
    char message[WIRE_MESSAGE_BYTES];
};

struct wire_faults {
    /* Of the answer: malformed-json wins, then invalid-request, then the first other one (a
     * request that is right by itself but cannot be satisfied). Meaningless without faults. */
    enum problem_type type;
    int32_t n_faults;    /* all; only the first WIRE_MAX_FAULTS are kept */
    int64_t offset;      /* malformed-json: byte offset */
    char capability[32]; /* unsupported-feature: what is missing */
    struct wire_fault items[WIRE_MAX_FAULTS];
};

/* The text must be one JSON object within the limits of bodies (`large`: of the routes that take
 * 4 MiB). NULL with a fault otherwise; caller json_decref's. */
json_t *wire_parse(const void *text, size_t n_bytes, bool large, struct wire_faults *faults);

/* Notes an invalid-request fault at pointer at/name (name may be NULL). */
void wire_fault(struct wire_faults *faults, const char *at, const char *name, const char *format,
                ...) __attribute__((format(printf, 4, 5)));
/* Notes that a member is right but not served by this version: unsupported-feature. */
void wire_unsupported(struct wire_faults *faults, const char *at, const char *name,
                      const char *capability, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Notes any other refusal of a well-formed request. */
void wire_refuse(struct wire_faults *faults, enum problem_type type, const char *at,
                 const char *name, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Answers with the problem of the faults. Does not finish a deferred exchange. */
void wire_reply_faults(struct api *api, struct http_exchange *x, const struct wire_faults *faults);

/* Names other than the NULL-terminated `known` are faults that name the nearest known one. False
 * when `object` is not an object (a fault too). */
bool wire_members(struct wire_faults *faults, const json_t *object, const char *at,
                  const char *const *known);
/* The known name nearest to `name` (edit distance <= 3), or NULL. */
const char *wire_nearest(const char *name, const char *const *known);

struct wire_range {
    double minimum, maximum; /* both allowed; integers up to 2^53 are exact */
    int32_t n;               /* how many numbers; 1 but for wire_numbers */
};

/* Readers: true when present and right (then *out is set); absent or null leaves *out alone. */
bool wire_bool(struct wire_faults *faults, const json_t *object, const char *at, const char *name,
               bool *out);
bool wire_int(struct wire_faults *faults, const json_t *object, const char *at, const char *name,
              struct wire_range range, int64_t *out);
bool wire_number(struct wire_faults *faults, const json_t *object, const char *at, const char *name,
                 struct wire_range range, double *out);
/* An array of exactly range.n numbers. */
bool wire_numbers(struct wire_faults *faults, const json_t *object, const char *at,
                  const char *name, struct wire_range range, double *out);
/* A borrowed string of at most max_bytes. */
bool wire_string(struct wire_faults *faults, const json_t *object, const char *at, const char *name,
                 size_t max_bytes, const char **out);
/* Index into the NULL-terminated names. */
bool wire_choice(struct wire_faults *faults, const json_t *object, const char *at, const char *name,
                 const char *const *names, int32_t *out);
/* {"t":[x,y,z],"q_wxyz":[w,x,y,z]} */
bool wire_pose(struct wire_faults *faults, const json_t *object, const char *at, const char *name,
               struct pose *out);
/* A pose, or {"start":pose,"end":pose}. */
bool wire_pose_pair(struct wire_faults *faults, const json_t *object, const char *at,
                    const char *name, struct pose *start, struct pose *end);

/* -- out --------------------------------------------------------------------------------------- */
json_t *wire_real(double value); /* null when not finite */
json_t *wire_reals(const float *values, int32_t n);
json_t *wire_pose_json(const struct pose *pose);

/* -- query parameters -------------------------------------------------------------------------- */
/* Parameters other than the NULL-terminated `known` are faults. Pointers read "?name". */
void wire_query_members(struct wire_faults *faults, struct http_exchange *x,
                        const char *const *known);
bool wire_query_int(struct wire_faults *faults, struct http_exchange *x, const char *name,
                    int64_t minimum, int64_t maximum, int64_t *out);
bool wire_query_number(struct wire_faults *faults, struct http_exchange *x, const char *name,
                       double minimum, double maximum, double *out);
bool wire_query_bool(struct wire_faults *faults, struct http_exchange *x, const char *name,
                     bool *out);
bool wire_query_choice(struct wire_faults *faults, struct http_exchange *x, const char *name,
                       const char *const *names, int32_t *out);

#endif
