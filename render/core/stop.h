/* Asking long loops to stop: a caller's cancel flag and a deadline, looked at between bands.
 *
 *     struct rt_stop stop = {.cancel = cancel, .deadline_ns = deadline_ns};
 *     #pragma omp parallel for
 *     for (...) { if (rt_stop_asked(&stop)) continue; ... }
 *     RT_TRY(rt_stop_status(&stop, err));
 *
 * Threading: any thread may ask; the first that sees a reason records it. */
#ifndef RETAKE_RENDER_CORE_STOP_H
#define RETAKE_RENDER_CORE_STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "render/core/status.h"

struct rt_stop {
    const atomic_bool *cancel; /* borrowed or NULL */
    int64_t deadline_ns;       /* CLOCK_MONOTONIC, 0 = none */
    atomic_int reason;         /* enum rt_status; RT_OK = go on */
};

/* CLOCK_MONOTONIC in nanoseconds. */
int64_t rt_now_ns(void);

/* True when the work should end; about 30 ns. */
bool rt_stop_asked(struct rt_stop *stop);

/* RT_OK, RT_CANCELLED or RT_DEADLINE with its message. */
enum rt_status rt_stop_status(struct rt_stop *stop, struct rt_error *err);

#endif
