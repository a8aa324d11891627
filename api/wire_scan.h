/* The pre-scan of JSON text before a parser allocates anything (promises.md section 4), and what
 * the two halves of the readers share. */
#ifndef RETAKE_API_WIRE_SCAN_H
#define RETAKE_API_WIRE_SCAN_H

#include "api/wire_json.h"

/* NULL when the text is within the limits, else a sentence; *offset is where. Not a grammar: the
 * parser that follows checks that. Source: jansson needs up to 232 bytes per value. */
const char *wire_scan(const char *text, size_t n_bytes, const struct wire_limits *limits,
                      int64_t *offset);

/* Index of text in the NULL-terminated names, or -1 with a fault. */
int32_t wire_choose(struct wire_faults *faults, const char *at, const char *name,
                    const char *const *names, const char *text);

#endif
