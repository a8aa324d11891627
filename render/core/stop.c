#include "render/core/stop.h"

#include <time.h>

int64_t rt_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool rt_stop_asked(struct rt_stop *stop) {
    if (atomic_load_explicit(&stop->reason, memory_order_relaxed) != RT_OK) return true;
    int reason = RT_OK;
    if (stop->cancel && atomic_load_explicit(stop->cancel, memory_order_relaxed)) {
        reason = RT_CANCELLED;
    } else if (stop->deadline_ns != 0 && rt_now_ns() > stop->deadline_ns) {
        reason = RT_DEADLINE;
    }
    if (reason == RT_OK) return false;
    atomic_store_explicit(&stop->reason, reason, memory_order_relaxed);
    return true;
}

enum rt_status rt_stop_status(struct rt_stop *stop, struct rt_error *err) {
    switch (atomic_load_explicit(&stop->reason, memory_order_relaxed)) {
        case RT_OK:
            return RT_OK;
        case RT_CANCELLED:
            return rt_fail(err, RT_CANCELLED, "rendering was cancelled");
        default:
            return rt_fail(err, RT_DEADLINE, "rendering did not end before its deadline");
    }
}
