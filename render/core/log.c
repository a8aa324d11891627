#include "render/core/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

enum { LINE_BYTES = 16384 };

static enum log_level lowest_level = LOG_LEVEL_INFO;
static bool json_lines = false;

void log_configure(enum log_level lowest, bool json) {
    lowest_level = lowest;
    json_lines = json;
}

/* Copies `text` to `out` with quotes, backslashes and control bytes escaped as in JSON. */
static void escape(const char *text, char *out, size_t out_bytes) {
    size_t n = 0;
    for (; *text && n + 7 < out_bytes; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') {
            out[n++] = '\\';
            out[n++] = (char)c;
        } else if (c < 0x20 || c == 0x7f) {
            n += (size_t)snprintf(out + n, 7, "\\u%04x", c);
        } else {
            out[n++] = (char)c;
        }
    }
    out[n] = 0;
}

void log_write(enum log_level level, const char *topic, const char *format, ...) {
    static const char *const names[] = {"debug", "info", "warn", "error"};
    if (level < lowest_level) return;
    char message[LINE_BYTES / 4];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    char escaped[LINE_BYTES - 256];
    escape(message, escaped, sizeof escaped);

    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    char line[LINE_BYTES];
    int ms = (int)(now.tv_nsec / 1000000);
    char stamp[32];
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
    if (json_lines) {
        snprintf(line, sizeof line,
                 "{\"at\":\"%s.%03dZ\",\"level\":\"%s\",\"topic\":\"%s\",\"message\":\"%s\"}\n",
                 stamp, ms, names[level], topic, escaped);
    } else {
        snprintf(line, sizeof line, "%s.%03dZ %-5s %s: %s\n", stamp, ms, names[level], topic,
                 escaped);
    }
    fputs(line, stderr); /* one call: stdio locks the stream, so lines stay whole */
}
