/* Feeds server-sent events of jobs to their readers (api.md section 6.4): one thread, woken by
 * jobs_on_event, sends what each reader has not seen yet, pings every 15 s, and closes a stream
 * after `done`.
 *
 *     RT_TRY(event_pump_create(&pump, jobs, row_text, context, err));
 *     event_pump_add(pump, stream, id, after);             // takes the stream
 *     event_pump_destroy(&pump);                           // closes every stream
 *
 * Threading: any thread may add; one leaf mutex. The pump is the only caller of jobs_on_event. */
#ifndef RETAKE_API_EVENT_PUMP_H
#define RETAKE_API_EVENT_PUMP_H

#include <stdint.h>

#include "server/http.h"
#include "server/jobs.h"

struct event_pump;

/* The row of a job as JSON text (caller frees), NULL when it is gone; called on the pump's thread.
 */
typedef char *(*event_row)(void *context, const char *id);

enum rt_status event_pump_create(struct event_pump **out, struct jobs *jobs, event_row row,
                                 void *context, struct rt_error *err);
/* Sends the events after sequence `after`; -1 = a `state` event with the row as it is now, then
 * what follows. The pump owns the stream from here on. RT_LIMIT above 256 readers (then the caller
 * keeps it). */
enum rt_status event_pump_add(struct event_pump *pump, struct http_stream *stream, const char *id,
                              int64_t after, struct rt_error *err);
int32_t event_pump_readers(struct event_pump *pump);
/* Closes every stream and refuses new ones; more than once is fine. */
void event_pump_stop(struct event_pump *pump);
/* When nobody publishes any more. */
void event_pump_destroy(struct event_pump **pump);

#endif
