/* Results and errors of every fallible function.
 *
 *     enum rt_status read_it(const char *path, struct thing **out, struct rt_error *err) {
 *         if (n < 0) return rt_fail(err, RT_INVALID, "camera %d: fx_px = %g must be > 0", i, fx);
 *         RT_TRY(read_header(path, err));         // only where nothing is owned yet
 *
 * A `struct rt_error` is owned by the caller, one per request or job, and may be NULL where the
 * text does not matter. The message names the object, the value and the remedy; it never holds an
 * absolute path of the machine (the caller knows which file it opened). Threading: no shared state.
 */
#ifndef RETAKE_RENDER_CORE_STATUS_H
#define RETAKE_RENDER_CORE_STATUS_H

#include <stdint.h>

#include "render/core/hd.h"

RT_C_BEGIN

enum rt_status {
    RT_OK = 0,
    RT_INVALID,       /* the request or argument is wrong by itself */
    RT_NOT_FOUND,     /* no such scene, sensor, file entry */
    RT_EXISTS,        /* the name is taken */
    RT_BUSY,          /* in use: pinned, training, being read */
    RT_LIMIT,         /* a declared limit is exceeded */
    RT_TOO_MUCH_WORK, /* splat-tile pairs above the frame budget */
    RT_TIME_RANGE,    /* time outside the scene */
    RT_CALIBRATION,   /* lens not invertible, projection not applicable */
    RT_UNSUPPORTED,   /* this version or build lacks it */
    RT_NO_OUTPUT,     /* the scene has no such layer */
    RT_BAD_FILE,      /* file content refused; see rt_error.code and .offset */
    RT_BAD_RECORDING, /* recording content refused; see rt_error.code */
    RT_DIGEST,        /* declared and computed digest differ */
    RT_NO_MEMORY,     /* host allocation failed */
    RT_DEVICE_MEMORY, /* device budget or allocation failed */
    RT_TOO_LARGE,     /* can never fit the budget */
    RT_STORAGE_FULL,  /* disk full or quota reached */
    RT_IO,            /* the operating system refused a file operation */
    RT_QUEUE_FULL,    /* bounded queue is full */
    RT_CANCELLED,     /* the caller asked to stop */
    RT_DEADLINE,      /* the deadline passed */
    RT_DIVERGED,      /* training became non-finite */
    RT_TRANSITION,    /* the state machine has no such transition */
    RT_DRAINING,      /* the process is shutting down */
    RT_INTERNAL,      /* a defect; the detail belongs in the log only */
    RT_N_STATUS
};

enum { RT_MESSAGE_BYTES = 512 };

struct rt_error {
    enum rt_status status;
    const char
        *code;      /* static string: finding code of formats.md section 1 ("truncated"), or NULL */
    int64_t offset; /* byte offset in the file, or -1 */
    char message[RT_MESSAGE_BYTES];
};

/* Fills *err (if not NULL) and returns `status`, so that `return rt_fail(...)` is one line. */
enum rt_status rt_fail(struct rt_error *err, enum rt_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for file content: `code` is one of formats.md section 1 and must be a static string;
 * `offset` is the byte offset of the fault or -1. Status RT_BAD_FILE. */
enum rt_status rt_fail_file(struct rt_error *err, const char *code, int64_t offset,
                            const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Puts "prefix: " before the message of a failed call, to name the object one level up. */
enum rt_status rt_prefix(struct rt_error *err, enum rt_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets the finding code of a failure that keeps its own status (RT_UNSUPPORTED, RT_NOT_FOUND...):
 *     return rt_coded(err, rt_fail(err, RT_UNSUPPORTED, "..."), "unsupported-format"); */
enum rt_status rt_coded(struct rt_error *err, enum rt_status status, const char *code);

/* Short constant name of a status ("invalid", "no-memory"), for logs. Never NULL. */
const char *rt_status_name(enum rt_status status);

/* Resets *err to "no error". */
void rt_error_clear(struct rt_error *err);

/* The same calls with the result visible to a static analyser: it cannot see into status.c and
 * would take every failure for a possible success. `status` is evaluated twice. */
#define rt_fail(err, status, ...) \
    ((void)rt_fail(err, status, __VA_ARGS__), (enum rt_status)(status))
#define rt_fail_file(err, ...) ((void)rt_fail_file(err, __VA_ARGS__), (enum rt_status)RT_BAD_FILE)

#define RT_TRY(expression)                                  \
    do {                                                    \
        enum rt_status rt_try_status_ = (expression);       \
        if (rt_try_status_ != RT_OK) return rt_try_status_; \
    } while (0)

RT_C_END

#endif
