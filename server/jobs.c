#include "server/jobs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "render/core/log.h"
#include "server/job_events.h"
#include "server/journal.h"

enum {
    MAX_LOSSES = 3,
    MAX_KEYS = 100000,
    KEY_BYTES = 64,
    KEY_MS = 24 * 3600 * 1000,
    PROBE_MS = 5000,
    MAX_LIST = 1000
};

struct jobs {
    pthread_mutex_t mutex; /* leaf; guards the journal */
    struct journal journal;
    int32_t max_queued;
    struct event_rings *rings;
    void (*wake)(void *context, const char *id);
    void *wake_context;
};

/* -- states ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const char *after; /* states that may follow */
} states[] = {
    [JOB_QUEUED] = {"queued", "running paused succeeded cancelled"},
    [JOB_RUNNING] = {"running", "queued paused succeeded failed cancelled"},
    [JOB_PAUSED] = {"paused", "queued succeeded cancelled"},
    [JOB_SUCCEEDED] = {"succeeded", ""},
    [JOB_FAILED] = {"failed", "queued"},
    [JOB_CANCELLED] = {"cancelled", "queued"},
};

enum { N_STATES = sizeof states / sizeof states[0] };

const char *job_state_name(enum job_state state) { return states[state].name; }
const char *job_states_after(enum job_state from) { return states[from].after; }

bool job_state_from_name(const char *name, enum job_state *state) {
    for (int i = 0; i < N_STATES; i++) {
        if (strcmp(states[i].name, name) != 0) continue;
        *state = (enum job_state)i;
        return true;
    }
    return false;
}

bool job_transition_allowed(enum job_state from, enum job_state to) {
    size_t length = strlen(states[to].name);
    for (const char *at = states[from].after; *at;) {
        size_t n = strcspn(at, " ");
        if (n == length && strncmp(at, states[to].name, n) == 0) return true;
        at += n + strspn(at + n, " ");
    }
    return false;
}

static bool state_is_end(enum job_state state) {
    return state == JOB_SUCCEEDED || state == JOB_FAILED || state == JOB_CANCELLED;
}

/* -- rows ------------------------------------------------------------------------------------- */

#define ROW_COLUMNS                                                                       \
    "id, state, requested, reason, detail, attempt, priority, subject, object, request, " \
    "result, created_ms, started_ms, finished_ms, CASE state WHEN 'queued' THEN (SELECT " \
    "count(*) FROM jobs q WHERE q.state = 'queued' AND (q.priority > j.priority OR "      \
    "(q.priority = j.priority AND q.sequence < j.sequence))) ELSE -1 END"

void job_row_free(struct job_row *row) {
    if (!row) return;
    free(row->subject);
    free(row->object);
    free(row->request);
    free(row->result);
    memset(row, 0, sizeof *row);
}

static char *column_copy(sqlite3_stmt *statement, int column, bool *failed) {
    const char *text = (const char *)sqlite3_column_text(statement, column);
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy) *failed = true;
    return copy;
}

static void column_text(sqlite3_stmt *statement, int column, char *out, size_t n_bytes) {
    const unsigned char *text = sqlite3_column_text(statement, column);
    snprintf(out, n_bytes, "%s", text ? (const char *)text : "");
}

static enum rt_status row_read(sqlite3_stmt *statement, struct job_row *out, struct rt_error *err) {
    char state[16];
    bool failed = false;
    memset(out, 0, sizeof *out);
    column_text(statement, 0, out->id, sizeof out->id);
    column_text(statement, 1, state, sizeof state);
    if (!job_state_from_name(state, &out->state)) {
        return rt_fail(err, RT_BAD_FILE, "job %s has the unknown state \"%s\"", out->id, state);
    }
    column_text(statement, 2, out->requested, sizeof out->requested);
    column_text(statement, 3, out->reason, sizeof out->reason);
    column_text(statement, 4, out->detail, sizeof out->detail);
    out->attempt = sqlite3_column_int(statement, 5);
    out->priority = sqlite3_column_int(statement, 6);
    out->subject = column_copy(statement, 7, &failed);
    out->object = column_copy(statement, 8, &failed);
    out->request = column_copy(statement, 9, &failed);
    out->result = column_copy(statement, 10, &failed);
    out->created_ms = sqlite3_column_int64(statement, 11);
    out->started_ms = sqlite3_column_int64(statement, 12);
    out->finished_ms = sqlite3_column_int64(statement, 13);
    out->queue_position = sqlite3_column_int(statement, 14);
    if (!failed) return RT_OK;
    job_row_free(out);
    return rt_fail(err, RT_NO_MEMORY, "no memory for a job's row");
}

static enum rt_status row_get(struct jobs *jobs, const char *id, struct job_row *out,
                              struct rt_error *err) {
    sqlite3_stmt *statement;
    memset(out, 0, sizeof *out);
    RT_TRY(journal_prepare(&jobs->journal, &statement, err,
                           "SELECT " ROW_COLUMNS " FROM jobs j WHERE id = ?1", "t", id));
    enum rt_status status;
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        status = row_read(statement, out, err);
    } else if (code == SQLITE_DONE) {
        status = rt_fail(err, RT_NOT_FOUND, "there is no job \"%.32s\"", id);
    } else {
        status = journal_fail(&jobs->journal, "read a job", err);
    }
    sqlite3_finalize(statement);
    return status;
}

enum rt_status jobs_get(struct jobs *jobs, const char *id, struct job_row *out,
                        struct rt_error *err) {
    pthread_mutex_lock(&jobs->mutex);
    enum rt_status status = row_get(jobs, id, out, err);
    pthread_mutex_unlock(&jobs->mutex);
    return status;
}

static enum rt_status cursor_check(struct jobs *jobs, const char *after, struct rt_error *err) {
    struct job_row row;
    if (!after) return RT_OK;
    if (row_get(jobs, after, &row, NULL) == RT_OK) {
        job_row_free(&row);
        return RT_OK;
    }
    return rt_fail(err, RT_INVALID, "cursor \"%.32s\" is unknown; start without one", after);
}

static enum rt_status rows_read(struct jobs *jobs, sqlite3_stmt *statement, struct job_row *rows,
                                int32_t *n_rows, struct rt_error *err) {
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        RT_TRY(row_read(statement, &rows[*n_rows], err));
        (*n_rows)++;
    }
    return code == SQLITE_DONE ? RT_OK : journal_fail(&jobs->journal, "list jobs", err);
}

enum rt_status jobs_list(struct jobs *jobs, const struct jobs_filter *filter, struct job_row **rows,
                         int32_t *n_rows, struct rt_error *err) {
    sqlite3_stmt *statement = NULL;
    int32_t limit = filter->limit < 1 ? 1 : filter->limit > MAX_LIST ? MAX_LIST : filter->limit;
    *n_rows = 0;
    *rows = calloc((size_t)limit, sizeof **rows);
    if (!*rows) return rt_fail(err, RT_NO_MEMORY, "no memory for the list of jobs");
    pthread_mutex_lock(&jobs->mutex);
    enum rt_status status = cursor_check(jobs, filter->after, err);
    if (status == RT_OK) {
        status = journal_prepare(
            &jobs->journal, &statement, err,
            "SELECT " ROW_COLUMNS
            " FROM jobs j WHERE (?1 IS NULL OR state = ?1) AND (?2 IS NULL OR "
            "subject = ?2) AND (?3 IS NULL OR object = ?3) AND (?4 IS NULL OR sequence < (SELECT "
            "sequence FROM jobs WHERE id = ?4)) ORDER BY sequence DESC LIMIT ?5",
            "tttti", filter->state, filter->subject, filter->object, filter->after, (int64_t)limit);
    }
    if (status == RT_OK) status = rows_read(jobs, statement, *rows, n_rows, err);
    sqlite3_finalize(statement);
    pthread_mutex_unlock(&jobs->mutex);
    if (status == RT_OK) return RT_OK;
    for (int32_t i = 0; i < *n_rows; i++) job_row_free(&(*rows)[i]);
    free(*rows);
    *rows = NULL;
    *n_rows = 0;
    return status;
}

static int64_t count_in(struct jobs *jobs, enum job_state state) {
    sqlite3_stmt *statement;
    int64_t n = -1;
    if (journal_prepare(&jobs->journal, &statement, NULL,
                        "SELECT count(*) FROM jobs WHERE state = ?1", "t",
                        states[state].name) != RT_OK) {
        return -1;
    }
    if (sqlite3_step(statement) == SQLITE_ROW) n = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return n;
}

int32_t jobs_count(struct jobs *jobs, enum job_state state) {
    pthread_mutex_lock(&jobs->mutex);
    int64_t n = count_in(jobs, state);
    pthread_mutex_unlock(&jobs->mutex);
    return (int32_t)n;
}

/* -- losses ----------------------------------------------------------------------------------- */

/* A running job whose worker is gone; within a transaction. */
static enum rt_status lose(struct jobs *jobs, const char *id, struct rt_error *err) {
    return journal_run(
        &jobs->journal, err,
        "UPDATE jobs SET losses = losses + 1,"
        " state = CASE WHEN requested = 'cancel' THEN 'cancelled'"
        "  WHEN losses + 1 >= ?2 THEN 'failed' WHEN requested = 'pause' THEN 'paused'"
        "  ELSE 'queued' END,"
        " reason = CASE WHEN requested <> 'cancel' AND losses + 1 >= ?2 THEN 'device-lost'"
        "  ELSE '' END,"
        " detail = CASE WHEN requested <> 'cancel' AND losses + 1 >= ?2 THEN"
        "  'the worker was lost three times in a row without a checkpoint in between' ELSE '' END,"
        " finished_ms = CASE WHEN requested = 'cancel' OR losses + 1 >= ?2 THEN ?3 ELSE 0 END,"
        " attempt = attempt + CASE WHEN requested = 'cancel' OR losses + 1 >= ?2 THEN 0 ELSE 1 END,"
        " requested = CASE WHEN requested = 'publish' AND losses + 1 < ?2 THEN requested"
        "  ELSE '' END "
        "WHERE (?1 IS NULL OR id = ?1) AND state = 'running'",
        "tii", id, (int64_t)MAX_LOSSES, unix_ms());
}

static enum rt_status recover(struct jobs *jobs, struct rt_error *err) {
    RT_TRY(journal_begin(&jobs->journal, err));
    return journal_end(&jobs->journal, lose(jobs, NULL, err), err);
}

enum rt_status jobs_mark_progress(struct jobs *jobs, const char *id, struct rt_error *err) {
    pthread_mutex_lock(&jobs->mutex);
    enum rt_status status = journal_begin(&jobs->journal, err);
    if (status == RT_OK) {
        status = journal_run(&jobs->journal, err,
                             "UPDATE jobs SET losses = 0 WHERE id = ?1 AND losses <> 0", "t", id);
        status = journal_end(&jobs->journal, status, err);
    }
    pthread_mutex_unlock(&jobs->mutex);
    return status;
}

/* -- open and close --------------------------------------------------------------------------- */

enum rt_status jobs_open(struct jobs **out, const char *path, const struct jobs_options *options,
                         struct rt_error *err) {
    struct jobs *jobs = calloc(1, sizeof *jobs);
    if (!jobs) return rt_fail(err, RT_NO_MEMORY, "no memory for the jobs");
    pthread_mutex_init(&jobs->mutex, NULL);
    jobs->max_queued = options && options->max_queued > 0 ? options->max_queued : 256;
    enum rt_status status = event_rings_create(&jobs->rings, err);
    if (status == RT_OK) status = journal_open(&jobs->journal, path, err);
    if (status == RT_OK) status = recover(jobs, err);
    if (status != RT_OK) {
        jobs_close(&jobs);
        return status;
    }
    *out = jobs;
    return RT_OK;
}

void jobs_close(struct jobs **jobs) {
    if (!*jobs) return;
    journal_close(&(*jobs)->journal);
    event_rings_destroy(&(*jobs)->rings);
    pthread_mutex_destroy(&(*jobs)->mutex);
    free(*jobs);
    *jobs = NULL;
}

bool jobs_writable(struct jobs *jobs) {
    pthread_mutex_lock(&jobs->mutex);
    struct journal *journal = &jobs->journal;
    int64_t age_ms = unix_ms() - journal->last_write_ms;
    if (age_ms < 0 || age_ms > PROBE_MS || journal->last_write_failed) {
        enum rt_status status = journal_begin(journal, NULL);
        if (status == RT_OK) {
            status = journal_run(journal, NULL, "UPDATE probe SET at_ms = ?1", "i", unix_ms());
        }
        status = journal_end(journal, status, NULL);
        journal->last_write_failed = status != RT_OK;
    }
    bool writable = !journal->last_write_failed;
    pthread_mutex_unlock(&jobs->mutex);
    return writable;
}

/* -- submitting ------------------------------------------------------------------------------- */

static bool id_make(char *id) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    unsigned char bytes[8];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) return false;
    snprintf(id, JOB_ID_BYTES, "r_");
    for (size_t i = 0; i < sizeof bytes; i++) id[2 + i] = letters[bytes[i] % 32];
    id[2 + sizeof bytes] = 0;
    return true;
}

/* Looks the key up: RT_OK and `id` filled, RT_NOT_FOUND, or an error. */
static enum rt_status key_find(struct jobs *jobs, const struct job_submission *submission, char *id,
                               struct rt_error *err) {
    sqlite3_stmt *statement;
    const char *digest = submission->idempotency_digest ? submission->idempotency_digest : "";
    RT_TRY(journal_prepare(&jobs->journal, &statement, err,
                           "SELECT job, digest FROM idempotency WHERE key = ?1 AND created_ms > ?2",
                           "ti", submission->idempotency_key, unix_ms() - KEY_MS));
    enum rt_status status = RT_NOT_FOUND;
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        status = RT_OK;
        column_text(statement, 0, id, JOB_ID_BYTES);
        if (strcmp((const char *)sqlite3_column_text(statement, 1), digest) != 0) {
            status = rt_fail(err, RT_INVALID,
                             "idempotency key \"%s\" was used with another body; use a new key",
                             submission->idempotency_key);
            if (err) err->code = "idempotency-mismatch";
        }
    } else if (code != SQLITE_DONE) {
        status = journal_fail(&jobs->journal, "look up a key", err);
    }
    sqlite3_finalize(statement);
    return status;
}

enum rt_status jobs_find_repeat(struct jobs *jobs, const char *key, const char *digest,
                                struct job_row *out, struct rt_error *err) {
    char id[JOB_ID_BYTES];
    struct job_submission submission = {.idempotency_key = key, .idempotency_digest = digest};
    pthread_mutex_lock(&jobs->mutex);
    enum rt_status status = key_find(jobs, &submission, id, err);
    if (status == RT_OK) status = row_get(jobs, id, out, err);
    pthread_mutex_unlock(&jobs->mutex);
    return status;
}

static enum rt_status key_store(struct jobs *jobs, const struct job_submission *submission,
                                const char *id, struct rt_error *err) {
    struct journal *journal = &jobs->journal;
    const char *digest = submission->idempotency_digest ? submission->idempotency_digest : "";
    int64_t now = unix_ms();
    RT_TRY(journal_run(journal, err, "DELETE FROM idempotency WHERE created_ms <= ?1", "i",
                       now - KEY_MS));
    RT_TRY(journal_run(journal, err,
                       "DELETE FROM idempotency WHERE key IN (SELECT key FROM idempotency ORDER BY "
                       "created_ms DESC LIMIT -1 OFFSET ?1)",
                       "i", (int64_t)(MAX_KEYS - 1)));
    return journal_run(journal, err, "INSERT INTO idempotency VALUES(?1, ?2, ?3, ?4)", "ttti",
                       submission->idempotency_key, digest, id, now);
}

/* Within a transaction: stores the job and leaves its id in `id`. */
static enum rt_status job_store(struct jobs *jobs, const struct job_submission *submission,
                                char *id, bool *is_repeat, struct rt_error *err) {
    const char *key = submission->idempotency_key;
    if (key) {
        enum rt_status status = key_find(jobs, submission, id, err);
        *is_repeat = status == RT_OK;
        if (status != RT_NOT_FOUND) return status;
    }
    if (count_in(jobs, JOB_QUEUED) >= jobs->max_queued) {
        return rt_fail(err, RT_QUEUE_FULL, "%d jobs are queued, the most allowed",
                       (int)jobs->max_queued);
    }
    if (!id_make(id)) return rt_fail(err, RT_INTERNAL, "the system gives no random bytes");
    RT_TRY(journal_run(
        &jobs->journal, err,
        "INSERT INTO jobs(id, state, priority, subject, object, request, created_ms) "
        "VALUES(?1, 'queued', ?2, ?3, ?4, ?5, ?6)",
        "tittti", id, (int64_t)submission->priority, submission->subject ? submission->subject : "",
        submission->object ? submission->object : "",
        submission->request ? submission->request : "{}", unix_ms()));
    return key ? key_store(jobs, submission, id, err) : RT_OK;
}

enum rt_status jobs_submit(struct jobs *jobs, const struct job_submission *submission,
                           struct job_row *out, bool *is_repeat, struct rt_error *err) {
    const char *key = submission->idempotency_key;
    char id[JOB_ID_BYTES];
    bool repeat = false;
    memset(out, 0, sizeof *out);
    if (key && (!*key || strnlen(key, KEY_BYTES + 1) > KEY_BYTES)) {
        return rt_fail(err, RT_INVALID, "an idempotency key has 1...64 characters");
    }
    pthread_mutex_lock(&jobs->mutex);
    enum rt_status status = journal_begin(&jobs->journal, err);
    if (status == RT_OK) {
        status = job_store(jobs, submission, id, &repeat, err);
        status = journal_end(&jobs->journal, status, err);
    }
    if (status == RT_OK) status = row_get(jobs, id, out, err);
    pthread_mutex_unlock(&jobs->mutex);
    if (is_repeat) *is_repeat = repeat;
    return status;
}

/* -- changing --------------------------------------------------------------------------------- */

static enum rt_status next_queued(struct jobs *jobs, char *id, struct rt_error *err) {
    sqlite3_stmt *statement;
    RT_TRY(journal_prepare(&jobs->journal, &statement, err,
                           "SELECT id FROM jobs WHERE state = 'queued' ORDER BY priority DESC, "
                           "sequence LIMIT 1",
                           ""));
    enum rt_status status = RT_OK;
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        column_text(statement, 0, id, JOB_ID_BYTES);
    } else if (code == SQLITE_DONE) {
        status = rt_fail(err, RT_NOT_FOUND, "no job is queued");
    } else {
        status = journal_fail(&jobs->journal, "take a job", err);
    }
    sqlite3_finalize(statement);
    return status;
}

enum rt_status jobs_take(struct jobs *jobs, struct job_row *out, struct rt_error *err) {
    char id[JOB_ID_BYTES];
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&jobs->mutex);
    enum rt_status status = next_queued(jobs, id, err);
    if (status == RT_OK) status = journal_begin(&jobs->journal, err);
    if (status == RT_OK) {
        status = journal_run(&jobs->journal, err,
                             "UPDATE jobs SET state = 'running', reason = '', detail = '',"
                             " started_ms = CASE started_ms WHEN 0 THEN ?2 ELSE started_ms END "
                             "WHERE id = ?1",
                             "ti", id, unix_ms());
        status = journal_end(&jobs->journal, status, err);
    }
    if (status == RT_OK) status = row_get(jobs, id, out, err);
    pthread_mutex_unlock(&jobs->mutex);
    return status;
}

static enum rt_status change_row(struct jobs *jobs, const struct job_row *row,
                                 const struct job_change *change, struct rt_error *err) {
    if (!job_transition_allowed(row->state, change->to)) {
        return rt_fail(err, RT_TRANSITION, "job %s is %s and cannot become %s (allowed: %s)",
                       row->id, states[row->state].name, states[change->to].name,
                       states[row->state].after[0] ? states[row->state].after : "none");
    }
    if (row->state == JOB_RUNNING && change->to == JOB_QUEUED) return lose(jobs, row->id, err);
    int64_t finished_ms = state_is_end(change->to) ? unix_ms() : 0;
    return journal_run(&jobs->journal, err,
                       "UPDATE jobs SET state = ?2, requested = '', reason = ?3, detail = ?4,"
                       " result = coalesce(?5, result), finished_ms = ?6,"
                       " losses = CASE ?2 WHEN 'queued' THEN 0 ELSE losses END WHERE id = ?1",
                       "ttttti", row->id, states[change->to].name,
                       change->reason ? change->reason : "", change->detail ? change->detail : "",
                       change->result, finished_ms);
}

enum rt_status jobs_transition(struct jobs *jobs, const char *id, const struct job_change *change,
                               struct rt_error *err) {
    struct job_row row;
    pthread_mutex_lock(&jobs->mutex);
    enum rt_status status = row_get(jobs, id, &row, err);
    if (status == RT_OK) status = journal_begin(&jobs->journal, err);
    if (status == RT_OK) {
        status = journal_end(&jobs->journal, change_row(jobs, &row, change, err), err);
    }
    pthread_mutex_unlock(&jobs->mutex);
    job_row_free(&row);
    return status;
}

enum rt_status jobs_request(struct jobs *jobs, const char *id, const char *requested,
                            struct rt_error *err) {
    struct job_row row;
    pthread_mutex_lock(&jobs->mutex);
    enum rt_status status = row_get(jobs, id, &row, err);
    if (status == RT_OK && *requested && row.state != JOB_RUNNING) {
        status = rt_fail(err, RT_TRANSITION, "job %s is %s, so nothing can be requested of it", id,
                         states[row.state].name);
    }
    if (status == RT_OK) status = journal_begin(&jobs->journal, err);
    if (status == RT_OK) {
        status = journal_run(&jobs->journal, err, "UPDATE jobs SET requested = ?2 WHERE id = ?1",
                             "tt", id, requested);
        status = journal_end(&jobs->journal, status, err);
    }
    pthread_mutex_unlock(&jobs->mutex);
    job_row_free(&row);
    return status;
}

enum rt_status jobs_delete(struct jobs *jobs, const char *id, struct rt_error *err) {
    struct job_row row;
    pthread_mutex_lock(&jobs->mutex);
    enum rt_status status = row_get(jobs, id, &row, err);
    if (status == RT_OK && (row.state == JOB_QUEUED || row.state == JOB_RUNNING)) {
        status = rt_fail(err, RT_BUSY, "job %s is %s; cancel it first", id, states[row.state].name);
    }
    if (status == RT_OK) status = journal_begin(&jobs->journal, err);
    if (status == RT_OK) {
        status =
            journal_run(&jobs->journal, err, "DELETE FROM idempotency WHERE job = ?1", "t", id);
        if (status == RT_OK) {
            status = journal_run(&jobs->journal, err, "DELETE FROM jobs WHERE id = ?1", "t", id);
        }
        status = journal_end(&jobs->journal, status, err);
    }
    pthread_mutex_unlock(&jobs->mutex);
    if (status == RT_OK) event_rings_remove(jobs->rings, id);
    job_row_free(&row);
    return status;
}

/* -- events ----------------------------------------------------------------------------------- */

void jobs_publish(struct jobs *jobs, const char *id, const char *name, const char *json_text) {
    if (!event_rings_add(jobs->rings, id, name, json_text)) {
        log_warn("jobs", "an event \"%s\" of job %s was dropped", name, id);
        return;
    }
    if (jobs->wake) jobs->wake(jobs->wake_context, id);
}

enum rt_status jobs_events(struct jobs *jobs, const char *id, int64_t after,
                           struct job_event **events, int32_t *n_events, bool *gap,
                           struct rt_error *err) {
    enum rt_status status = event_rings_read(jobs->rings, id, after, events, n_events, gap);
    return status == RT_OK ? RT_OK : rt_fail(err, status, "no memory for the events of a job");
}

void jobs_on_event(struct jobs *jobs, void (*wake)(void *context, const char *id), void *context) {
    jobs->wake = wake;
    jobs->wake_context = context;
}
