#include "render/core/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void set(struct rt_error *err, enum rt_status status, const char *code, int64_t offset) {
    err->status = status;
    err->code = code;
    err->offset = offset;
}

enum rt_status(rt_fail)(struct rt_error *err, enum rt_status status, const char *format, ...) {
    if (err) {
        va_list args;
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
        set(err, status, NULL, -1);
    }
    return status;
}

enum rt_status(rt_fail_file)(struct rt_error *err, const char *code, int64_t offset,
                             const char *format, ...) {
    if (err) {
        va_list args;
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
        set(err, RT_BAD_FILE, code, offset);
    }
    return RT_BAD_FILE;
}

enum rt_status rt_prefix(struct rt_error *err, enum rt_status status, const char *format, ...) {
    if (err) {
        char old[RT_MESSAGE_BYTES];
        memcpy(old, err->message, sizeof old);
        va_list args;
        va_start(args, format);
        int n = vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
        if (n >= 0 && n < (int)sizeof err->message) {
            snprintf(err->message + n, sizeof err->message - (size_t)n, ": %s", old);
        }
        err->status = status;
    }
    return status;
}

enum rt_status rt_coded(struct rt_error *err, enum rt_status status, const char *code) {
    if (err) err->code = code;
    return status;
}

const char *rt_status_name(enum rt_status status) {
    static const char *const names[RT_N_STATUS] = {
        [RT_OK] = "ok",
        [RT_INVALID] = "invalid",
        [RT_NOT_FOUND] = "not-found",
        [RT_EXISTS] = "exists",
        [RT_BUSY] = "busy",
        [RT_LIMIT] = "limit",
        [RT_TOO_MUCH_WORK] = "too-much-work",
        [RT_TIME_RANGE] = "time-range",
        [RT_CALIBRATION] = "calibration",
        [RT_UNSUPPORTED] = "unsupported",
        [RT_NO_OUTPUT] = "no-output",
        [RT_BAD_FILE] = "bad-file",
        [RT_BAD_RECORDING] = "bad-recording",
        [RT_DIGEST] = "digest",
        [RT_NO_MEMORY] = "no-memory",
        [RT_DEVICE_MEMORY] = "device-memory",
        [RT_TOO_LARGE] = "too-large",
        [RT_STORAGE_FULL] = "storage-full",
        [RT_IO] = "io",
        [RT_QUEUE_FULL] = "queue-full",
        [RT_CANCELLED] = "cancelled",
        [RT_DEADLINE] = "deadline",
        [RT_DIVERGED] = "diverged",
        [RT_TRANSITION] = "transition",
        [RT_DRAINING] = "draining",
        [RT_INTERNAL] = "internal",
    };
    return status >= 0 && status < RT_N_STATUS && names[status] ? names[status] : "unknown";
}

void rt_error_clear(struct rt_error *err) {
    if (!err) return;
    memset(err, 0, sizeof *err);
    err->offset = -1;
}
