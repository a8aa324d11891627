/* Recordings as JSON (api.md section 2.4). Threading: values. */
#ifndef RETAKE_API_WIRE_RECORDING_H
#define RETAKE_API_WIRE_RECORDING_H

#include <jansson.h>

#include "api/recording_store.h"

/* [{severity, code, file, sensor, t_us, message}] */
json_t *wire_recording_findings(const struct recording *recording);
/* One finding of severity error that says why a recording was refused. */
json_t *wire_recording_refusal(const struct rt_error *err);

/* The row of the list and the detail. `recording` may be NULL when it cannot be opened any more:
 * then `err` says why, `format` is null and the counts are 0. */
json_t *wire_recording_row(const struct recording_origin *origin, const struct recording *recording,
                           const struct rt_error *err);

#endif
