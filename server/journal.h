/* SQLite under jobs.c: the schema, statements, and SQLite's codes as rt_status. Not thread safe;
 * the caller holds the journal mutex. */
#ifndef RETAKE_SERVER_JOURNAL_H
#define RETAKE_SERVER_JOURNAL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "render/core/status.h"

struct journal {
    sqlite3 *db;
    bool last_write_failed;
    int64_t last_write_ms;
};

/* Opens or creates the file, checks it and brings the schema up. */
enum rt_status journal_open(struct journal *journal, const char *path, struct rt_error *err);
void journal_close(struct journal *journal);

/* The error of the last call on the journal, for `action` ("submit a job"). */
enum rt_status journal_fail(struct journal *journal, const char *action, struct rt_error *err);

/* Prepares `sql` and binds `kinds` ('t' const char *, NULL allowed; 'i' int64_t) to ?1, ?2, ... */
enum rt_status journal_prepare(struct journal *journal, sqlite3_stmt **out, struct rt_error *err,
                               const char *sql, const char *kinds, ...);
/* Prepares, binds and runs one statement without rows. */
enum rt_status journal_run(struct journal *journal, struct rt_error *err, const char *sql,
                           const char *kinds, ...);

/* A write transaction. journal_end commits on RT_OK, else rolls back; it returns `status` or the
 * error of the commit. */
enum rt_status journal_begin(struct journal *journal, struct rt_error *err);
enum rt_status journal_end(struct journal *journal, enum rt_status status, struct rt_error *err);

int64_t unix_ms(void);

#endif
