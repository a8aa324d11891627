/* Rings of the last 1024 events per job, in memory. Threading: any; one leaf mutex. */
#ifndef RETAKE_SERVER_JOB_EVENTS_H
#define RETAKE_SERVER_JOB_EVENTS_H

#include "server/jobs.h"

struct event_rings;

enum rt_status event_rings_create(struct event_rings **out, struct rt_error *err);
void event_rings_destroy(struct event_rings **rings);
/* False when the event was dropped (no memory, too large). */
bool event_rings_add(struct event_rings *rings, const char *id, const char *name, const char *text);
enum rt_status event_rings_read(struct event_rings *rings, const char *id, int64_t after,
                                struct job_event **events, int32_t *n_events, bool *gap);
void event_rings_remove(struct event_rings *rings, const char *id);

#endif
