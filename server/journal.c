#include "server/journal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SCHEMA_VERSION = 1 };

static const char schema[] =
    "CREATE TABLE jobs("
    " sequence INTEGER PRIMARY KEY AUTOINCREMENT,"
    " id TEXT NOT NULL UNIQUE,"
    " state TEXT NOT NULL,"
    " requested TEXT NOT NULL DEFAULT '',"
    " reason TEXT NOT NULL DEFAULT '',"
    " detail TEXT NOT NULL DEFAULT '',"
    " attempt INTEGER NOT NULL DEFAULT 1,"
    " losses INTEGER NOT NULL DEFAULT 0," /* of workers in a row, without progress */
    " priority INTEGER NOT NULL,"
    " subject TEXT NOT NULL,"
    " object TEXT NOT NULL,"
    " request TEXT NOT NULL,"
    " result TEXT,"
    " created_ms INTEGER NOT NULL,"
    " started_ms INTEGER NOT NULL DEFAULT 0,"
    " finished_ms INTEGER NOT NULL DEFAULT 0);"
    "CREATE INDEX jobs_by_state ON jobs(state, priority, sequence);"
    "CREATE TABLE idempotency("
    " key TEXT PRIMARY KEY, digest TEXT NOT NULL, job TEXT NOT NULL, created_ms INTEGER NOT NULL);"
    "CREATE INDEX idempotency_by_age ON idempotency(created_ms);"
    "CREATE INDEX idempotency_by_job ON idempotency(job);"
    "CREATE TABLE probe(only INTEGER PRIMARY KEY CHECK (only = 1), at_ms INTEGER NOT NULL);"
    "INSERT INTO probe VALUES(1, 0);"
    "PRAGMA user_version = 1;";

int64_t unix_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

enum rt_status journal_fail(struct journal *journal, const char *action, struct rt_error *err) {
    const char *text = sqlite3_errmsg(journal->db);
    switch (sqlite3_errcode(journal->db) & 0xff) {
        case SQLITE_FULL:
            return rt_fail(err, RT_STORAGE_FULL, "cannot %s: the disk of the journal is full",
                           action);
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return rt_fail(err, RT_BUSY,
                           "cannot %s: the journal is in use by another process; stop that one or "
                           "choose another data folder",
                           action);
        case SQLITE_NOMEM:
            return rt_fail(err, RT_NO_MEMORY, "cannot %s: no memory", action);
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
            return rt_fail(err, RT_BAD_FILE,
                           "cannot %s: the journal is damaged (%s); move the file away to start "
                           "with an empty one",
                           action, text);
        default:
            return rt_fail(err, RT_IO, "cannot %s: %s", action, text);
    }
}

static enum rt_status bind_all(struct journal *journal, sqlite3_stmt *statement, const char *kinds,
                               va_list args, struct rt_error *err) {
    int code = SQLITE_OK;
    for (int i = 0; kinds[i] && code == SQLITE_OK; i++) {
        if (kinds[i] == 'i') {
            code = sqlite3_bind_int64(statement, i + 1, va_arg(args, int64_t));
        } else {
            code = sqlite3_bind_text(statement, i + 1, va_arg(args, const char *), -1,
                                     SQLITE_TRANSIENT);
        }
    }
    return code == SQLITE_OK ? RT_OK : journal_fail(journal, "use the journal", err);
}

static enum rt_status prepare(struct journal *journal, sqlite3_stmt **out, struct rt_error *err,
                              const char *sql, const char *kinds, va_list args) {
    *out = NULL;
    if (sqlite3_prepare_v2(journal->db, sql, -1, out, NULL) != SQLITE_OK) {
        return journal_fail(journal, "use the journal", err);
    }
    enum rt_status status = bind_all(journal, *out, kinds, args, err);
    if (status != RT_OK) {
        sqlite3_finalize(*out);
        *out = NULL;
    }
    return status;
}

enum rt_status journal_prepare(struct journal *journal, sqlite3_stmt **out, struct rt_error *err,
                               const char *sql, const char *kinds, ...) {
    va_list args;
    va_start(args, kinds);
    enum rt_status status = prepare(journal, out, err, sql, kinds, args);
    va_end(args);
    return status;
}

enum rt_status journal_run(struct journal *journal, struct rt_error *err, const char *sql,
                           const char *kinds, ...) {
    sqlite3_stmt *statement;
    va_list args;
    va_start(args, kinds);
    enum rt_status status = prepare(journal, &statement, err, sql, kinds, args);
    va_end(args);
    if (status != RT_OK) return status;
    if (sqlite3_step(statement) != SQLITE_DONE)
        status = journal_fail(journal, "write the journal", err);
    sqlite3_finalize(statement);
    return status;
}

enum rt_status journal_begin(struct journal *journal, struct rt_error *err) {
    return journal_run(journal, err, "BEGIN IMMEDIATE", "");
}

enum rt_status journal_end(struct journal *journal, enum rt_status status, struct rt_error *err) {
    if (status == RT_OK) status = journal_run(journal, err, "COMMIT", "");
    /* A full disk may have rolled back by itself. */
    if (!sqlite3_get_autocommit(journal->db)) {
        sqlite3_exec(journal->db, "ROLLBACK", NULL, NULL, NULL);
    }
    journal->last_write_failed = status == RT_STORAGE_FULL || status == RT_IO;
    journal->last_write_ms = unix_ms();
    return status;
}

static enum rt_status read_number(struct journal *journal, const char *sql, int64_t *value,
                                  struct rt_error *err) {
    sqlite3_stmt *statement;
    RT_TRY(journal_prepare(journal, &statement, err, sql, ""));
    enum rt_status status = RT_OK;
    if (sqlite3_step(statement) == SQLITE_ROW) {
        *value = sqlite3_column_int64(statement, 0);
    } else {
        status = journal_fail(journal, "read the journal", err);
    }
    sqlite3_finalize(statement);
    return status;
}

static enum rt_status check_whole(struct journal *journal, struct rt_error *err) {
    sqlite3_stmt *statement;
    RT_TRY(journal_prepare(journal, &statement, err, "PRAGMA quick_check(1)", ""));
    enum rt_status status = RT_OK;
    if (sqlite3_step(statement) != SQLITE_ROW) {
        status = journal_fail(journal, "check the journal", err);
    } else if (strcmp((const char *)sqlite3_column_text(statement, 0), "ok") != 0) {
        status = rt_fail(err, RT_BAD_FILE, "the journal is damaged (%s); move the file away",
                         sqlite3_column_text(statement, 0));
    }
    sqlite3_finalize(statement);
    return status;
}

static enum rt_status bring_up(struct journal *journal, struct rt_error *err) {
    int64_t version = 0;
    /* Exclusive: a second service on the same folder is refused instead of running jobs twice. */
    static const char setup[] =
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
        "BEGIN EXCLUSIVE; COMMIT;";
    if (sqlite3_exec(journal->db, setup, NULL, NULL, NULL) != SQLITE_OK) {
        return journal_fail(journal, "open the journal", err);
    }
    RT_TRY(check_whole(journal, err));
    RT_TRY(read_number(journal, "PRAGMA user_version", &version, err));
    if (version > SCHEMA_VERSION) {
        return rt_fail(err, RT_BAD_FILE, "the journal was written by a newer version (%lld > %d)",
                       (long long)version, SCHEMA_VERSION);
    }
    if (version == SCHEMA_VERSION) return RT_OK;
    RT_TRY(journal_begin(journal, err));
    enum rt_status status = RT_OK;
    if (sqlite3_exec(journal->db, schema, NULL, NULL, NULL) != SQLITE_OK) {
        status = journal_fail(journal, "create the journal", err);
    }
    return journal_end(journal, status, err);
}

enum rt_status journal_open(struct journal *journal, const char *path, struct rt_error *err) {
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    memset(journal, 0, sizeof *journal);
    if (sqlite3_open_v2(path, &journal->db, flags, NULL) != SQLITE_OK) {
        enum rt_status status;
        if (journal->db) {
            status = journal_fail(journal, "open the journal", err);
        } else {
            status = rt_fail(err, RT_NO_MEMORY, "no memory to open the journal");
        }
        journal_close(journal);
        return status;
    }
    sqlite3_extended_result_codes(journal->db, 1);
    enum rt_status status = bring_up(journal, err);
    if (status != RT_OK) journal_close(journal);
    return status;
}

void journal_close(struct journal *journal) {
    sqlite3_close(journal->db);
    journal->db = NULL;
}
