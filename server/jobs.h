/* The journal of jobs: accepted work that survives kill -9 (promises.md P1, section 7). SQLite in
 * WAL mode; every change is committed with synchronous=FULL before the call returns. The module
 * knows nothing about what a job does: `request` and `result` are opaque JSON texts.
 *
 *     RT_TRY(jobs_open(&jobs, "jobs.sqlite", &options, err));  // lost jobs are queued again
 *     RT_TRY(jobs_submit(jobs, &submission, &row, &is_repeat, err));  // committed
 *     RT_TRY(jobs_take(jobs, &row, err));               // oldest queued of highest priority
 *     RT_TRY(jobs_transition(jobs, row.id, &(struct job_change){.to = JOB_SUCCEEDED}, err));
 *     jobs_close(&jobs);
 *
 * A full disk is RT_STORAGE_FULL and leaves the journal as it was. One process at a time opens a
 * journal (RT_BUSY for a second one). Threading: every function may be called from any thread; two
 * leaf mutexes inside (journal, events). Each change costs one fsync. */
#ifndef RETAKE_SERVER_JOBS_H
#define RETAKE_SERVER_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "render/core/status.h"

struct jobs;

enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_PAUSED, JOB_SUCCEEDED, JOB_FAILED, JOB_CANCELLED };

enum { JOB_ID_BYTES = 16, JOB_TEXT_BYTES = 256 };

struct job_row {
    char id[JOB_ID_BYTES]; /* "r_" and 8 of [a-z2-7] */
    enum job_state state;
    char requested[16]; /* "", "pause", "cancel", "publish" while the running job has not obeyed yet
                         */
    char reason[32];    /* "", "stopped-early", "out-of-memory", ... */
    char detail[JOB_TEXT_BYTES];
    int32_t attempt;                             /* 1... */
    int32_t priority;                            /* 2 high, 1 normal, 0 low */
    char *subject;                               /* owned; e.g. the recording id, for filters */
    char *object;                                /* owned; e.g. the scene id */
    char *request;                               /* owned JSON text */
    char *result;                                /* owned JSON text or NULL */
    int64_t created_ms, started_ms, finished_ms; /* Unix time, 0 = not yet */
    int32_t queue_position;                      /* 0 = first, -1 = not queued */
};
void job_row_free(struct job_row *row);

struct jobs_options {
    int32_t max_queued; /* 256 */
};

/* Creates the file when it is missing. Jobs found running were lost with their worker: they become
 * queued with attempt + 1, or what was requested of them (paused, cancelled); the third loss in a
 * row without jobs_mark_progress makes a job failed `device-lost`. RT_BAD_FILE: damaged, or written
 * by a newer version. */
enum rt_status jobs_open(struct jobs **out, const char *path, const struct jobs_options *options,
                         struct rt_error *err);
void jobs_close(struct jobs **jobs);
bool jobs_writable(struct jobs *jobs); /* for readiness */

struct job_submission {
    const char *subject, *object, *request;
    int32_t priority;
    const char *idempotency_key;    /* NULL = none; 1...64 characters */
    const char *idempotency_digest; /* of the body, with the key */
};
/* Commits a queued job. With a key known for less than 24 h: same digest -> RT_OK, *is_repeat =
 * true and the job's row; other digest -> RT_INVALID with err->code "idempotency-mismatch".
 * RT_QUEUE_FULL.
 */
enum rt_status jobs_submit(struct jobs *jobs, const struct job_submission *submission,
                           struct job_row *out, bool *is_repeat, struct rt_error *err);
/* The job that was submitted with this key: RT_OK; RT_NOT_FOUND when the key is unknown; RT_INVALID
 * as in jobs_submit for another body. */
enum rt_status jobs_find_repeat(struct jobs *jobs, const char *key, const char *digest,
                                struct job_row *out, struct rt_error *err);
enum rt_status jobs_get(struct jobs *jobs, const char *id, struct job_row *out,
                        struct rt_error *err); /* RT_NOT_FOUND */
struct jobs_filter {
    const char *state, *subject, *object; /* NULL = any */
    const char *after;                    /* cursor: id, NULL = from the newest */
    int32_t limit;
};
/* Newest first; caller frees each row and the array. */
enum rt_status jobs_list(struct jobs *jobs, const struct jobs_filter *filter, struct job_row **rows,
                         int32_t *n_rows, struct rt_error *err);
/* Takes the next queued job and marks it running; RT_NOT_FOUND when none is queued. */
enum rt_status jobs_take(struct jobs *jobs, struct job_row *out, struct rt_error *err);

/* The only place where states change; illegal ones are RT_TRANSITION and name the allowed ones.
 * `requested` is cleared. Running to queued is a worker loss and counts as in jobs_open; any other
 * way into queued is a resume. */
struct job_change {
    enum job_state to;
    const char *reason; /* NULL = "" */
    const char *detail; /* NULL = "" */
    const char *result; /* NULL = keep */
};
enum rt_status jobs_transition(struct jobs *jobs, const char *id, const struct job_change *change,
                               struct rt_error *err);
/* Notes what the running job shall do ("pause", "cancel", "publish", "" clears). */
enum rt_status jobs_request(struct jobs *jobs, const char *id, const char *requested,
                            struct rt_error *err);
/* A checkpoint was written: losses in a row are counted from here again. */
enum rt_status jobs_mark_progress(struct jobs *jobs, const char *id, struct rt_error *err);
/* Jobs in a state; -1 when the journal cannot be read. */
int32_t jobs_count(struct jobs *jobs, enum job_state state);

/* The table of api.md section 6.3. */
bool job_transition_allowed(enum job_state from, enum job_state to);
const char *job_states_after(enum job_state from); /* space separated; "" for succeeded */
const char *job_state_name(enum job_state state);
bool job_state_from_name(const char *name, enum job_state *state);
/* Removes an ended or paused job. RT_BUSY while queued or running. */
enum rt_status jobs_delete(struct jobs *jobs, const char *id, struct rt_error *err);

/* -- events: a ring of 1024 per job, in memory ----------------------------------------------------
 */
struct job_event {
    int64_t sequence; /* 1... */
    char name[16];    /* state progress eval preview log done */
    char *text;       /* owned JSON text */
};
/* Keeps the event; the last 64 jobs that published have a ring. Texts above 64 KiB are dropped. */
void jobs_publish(struct jobs *jobs, const char *id, const char *name, const char *json_text);
/* Events after `sequence`, oldest first; *gap when some in between are lost (the ring went on, or
 * the service was restarted). Caller frees texts and array (job_events_free). No events: RT_OK. */
enum rt_status jobs_events(struct jobs *jobs, const char *id, int64_t after,
                           struct job_event **events, int32_t *n_events, bool *gap,
                           struct rt_error *err);
void job_events_free(struct job_event *events, int32_t n_events);
/* Called (on the publishing thread, no lock held) after each event, to wake SSE pumps. Set it
 * before other threads publish. */
void jobs_on_event(struct jobs *jobs, void (*wake)(void *context, const char *id), void *context);

#endif
