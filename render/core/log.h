/* Log lines: one JSON object per line on stderr when `json` is on, else plain text for people.
 * Client text is always an argument, never the format; control bytes are escaped; a line is cut at
 * 16 KiB. Threading: any thread; lines never interleave. */
#ifndef RETAKE_RENDER_CORE_LOG_H
#define RETAKE_RENDER_CORE_LOG_H

#include <stdbool.h>

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };

/* Lowest level written and the form of the lines. Call once, before other threads start. */
void log_configure(enum log_level lowest, bool json);

/* Writes one line. `topic` is a short constant ("http", "engine"). */
void log_write(enum log_level level, const char *topic, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define log_debug(topic, ...) log_write(LOG_LEVEL_DEBUG, topic, __VA_ARGS__)
#define log_info(topic, ...) log_write(LOG_LEVEL_INFO, topic, __VA_ARGS__)
#define log_warn(topic, ...) log_write(LOG_LEVEL_WARN, topic, __VA_ARGS__)
#define log_error(topic, ...) log_write(LOG_LEVEL_ERROR, topic, __VA_ARGS__)

#endif
