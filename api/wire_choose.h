/* The step that choices in bodies and in queries share. */
#ifndef RETAKE_API_WIRE_CHOOSE_H
#define RETAKE_API_WIRE_CHOOSE_H

#include "api/wire_json.h"

/* Index of text in the NULL-terminated names, or -1 with a fault that lists them. */
int32_t wire_choose(struct wire_faults *faults, const char *at, const char *name,
                    const char *const *names, const char *text);

#endif
