/* Limits on JSON text, checked before a parser allocates anything: a few bytes of text can cost 77
 * times their size as a tree (promises.md section 4).
 *
 *     struct json_limits limits = json_limits_recording();
 *     RT_TRY(json_scan(text, n_bytes, &limits, err));
 *
 * One pass, no memory, no recursion. It bounds what a parser will meet and is no validator: text
 * that passes may still be malformed, text that is refused may be well-formed but too costly.
 * Threading: no shared state. */
#ifndef RETAKE_RENDER_IO_JSON_SCAN_H
#define RETAKE_RENDER_IO_JSON_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "render/core/status.h"

struct json_limits {
    size_t max_bytes;
    int32_t max_depth;        /* containers inside each other */
    int32_t max_values;       /* containers, strings, numbers and literals; keys do not count */
    int32_t max_number_bytes; /* characters of one number or literal */
    int32_t max_string_bytes; /* of one string or key, as written, without the quotes */
};

/* scene.json, recording.json, transforms.json: 16 MiB, 1,000,000 values, depth 32. */
struct json_limits json_limits_recording(void);
/* Other files: 4 MiB, 131,072 values, depth 32. */
struct json_limits json_limits_small_file(void);
/* Request bodies: 256 KiB, 16,384 values, depth 64; `large` routes: 4 MiB, 131,072 values. */
struct json_limits json_limits_body(int large);

/* RT_BAD_FILE with code "limit" and the byte offset when a limit is exceeded, with code "truncated"
 * when a string or container is still open at the end. */
enum rt_status json_scan(const char *text, size_t n_bytes, const struct json_limits *limits,
                         struct rt_error *err);

#endif
