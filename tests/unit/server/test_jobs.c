/* The journal of jobs: states, order, persistence, idempotency, events, kill -9. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "server/jobs.h"

static char folder[64], path[96];

static void remove_files(void) {
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    char name[128];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s%s", path, endings[i]);
        unlink(name);
    }
}

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/retake-jobs-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/jobs.sqlite", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    remove_files();
    return rmdir(folder);
}

static struct jobs *open_jobs(void) {
    struct rt_error err = {0};
    struct jobs *jobs = NULL;
    if (jobs_open(&jobs, path, &(struct jobs_options){.max_queued = 100}, &err) != RT_OK) {
        fail_msg("%s", err.message);
    }
    return jobs;
}

static void submit(struct jobs *jobs, const char *subject, int32_t priority, char *id) {
    struct job_row row;
    struct job_submission submission = {
        .subject = subject, .object = "scene", .request = "{\"a\":1}", .priority = priority};
    assert_int_equal(jobs_submit(jobs, &submission, &row, NULL, NULL), RT_OK);
    assert_int_equal(row.state, JOB_QUEUED);
    assert_string_equal(row.request, "{\"a\":1}");
    if (id) memcpy(id, row.id, JOB_ID_BYTES);
    job_row_free(&row);
}

static void take(struct jobs *jobs, const char *subject, char *id) {
    struct job_row row;
    assert_int_equal(jobs_take(jobs, &row, NULL), RT_OK);
    assert_string_equal(row.subject, subject);
    assert_int_equal(row.state, JOB_RUNNING);
    assert_true(row.started_ms >= row.created_ms);
    if (id) memcpy(id, row.id, JOB_ID_BYTES);
    job_row_free(&row);
}

static enum rt_status move(struct jobs *jobs, const char *id, enum job_state to) {
    return jobs_transition(jobs, id, &(struct job_change){.to = to}, NULL);
}

static void expect(struct jobs *jobs, const char *id, enum job_state state, int32_t attempt) {
    struct job_row row;
    assert_int_equal(jobs_get(jobs, id, &row, NULL), RT_OK);
    assert_string_equal(job_state_name(row.state), job_state_name(state));
    assert_int_equal(row.attempt, attempt);
    job_row_free(&row);
}

static void test_order_is_priority_then_age(void **state) {
    (void)state;
    struct jobs *jobs = open_jobs();
    struct job_row row;
    char low[JOB_ID_BYTES];
    submit(jobs, "low", 0, low);
    submit(jobs, "first", 1, NULL);
    submit(jobs, "second", 1, NULL);
    submit(jobs, "high", 2, NULL);
    assert_int_equal(jobs_get(jobs, low, &row, NULL), RT_OK);
    assert_int_equal(row.queue_position, 3);
    job_row_free(&row);
    take(jobs, "high", NULL);
    take(jobs, "first", NULL);
    take(jobs, "second", NULL);
    take(jobs, "low", NULL);
    assert_int_equal(jobs_take(jobs, &row, NULL), RT_NOT_FOUND);
    jobs_close(&jobs);
    remove_files();
}

static void test_transitions_follow_the_table(void **state) {
    (void)state;
    static const char *const allowed[] = {
        "queued running",    "queued paused",   "queued cancelled", "queued succeeded",
        "running queued",    "running paused",  "running failed",   "running cancelled",
        "running succeeded", "paused queued",   "paused cancelled", "paused succeeded",
        "failed queued",     "cancelled queued"};
    for (int from = JOB_QUEUED; from <= JOB_CANCELLED; from++) {
        for (int to = JOB_QUEUED; to <= JOB_CANCELLED; to++) {
            char pair[40];
            bool listed = false;
            snprintf(pair, sizeof pair, "%s %s", job_state_name(from), job_state_name(to));
            for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
                if (strcmp(allowed[i], pair) == 0) listed = true;
            }
            if (job_transition_allowed(from, to) != listed) fail_msg("%s", pair);
        }
    }
    assert_string_equal(job_states_after(JOB_FAILED), "queued");
}

static void test_illegal_change_names_what_is_allowed(void **state) {
    (void)state;
    struct jobs *jobs = open_jobs();
    struct rt_error err = {0};
    char id[JOB_ID_BYTES];
    submit(jobs, "a", 1, id);
    assert_int_equal(jobs_transition(jobs, id, &(struct job_change){.to = JOB_FAILED}, &err),
                     RT_TRANSITION);
    assert_non_null(strstr(err.message, "running paused succeeded cancelled"));
    expect(jobs, id, JOB_QUEUED, 1);
    assert_int_equal(jobs_request(jobs, id, "pause", NULL), RT_TRANSITION);
    assert_int_equal(jobs_delete(jobs, id, NULL), RT_BUSY);
    assert_int_equal(move(jobs, id, JOB_CANCELLED), RT_OK);
    assert_int_equal(jobs_delete(jobs, id, NULL), RT_OK);
    assert_int_equal(move(jobs, id, JOB_QUEUED), RT_NOT_FOUND);
    jobs_close(&jobs);
    remove_files();
}

static void test_results_survive_a_reopen(void **state) {
    (void)state;
    struct jobs *jobs = open_jobs();
    struct job_row row;
    char id[JOB_ID_BYTES];
    submit(jobs, "a", 1, id);
    take(jobs, "a", NULL);
    struct job_change change = {
        .to = JOB_SUCCEEDED, .reason = "stopped-early", .result = "{\"psnr_db\":30}"};
    assert_int_equal(jobs_transition(jobs, id, &change, NULL), RT_OK);
    jobs_close(&jobs);
    jobs = open_jobs();
    assert_int_equal(jobs_get(jobs, id, &row, NULL), RT_OK);
    assert_int_equal(row.state, JOB_SUCCEEDED);
    assert_string_equal(row.reason, "stopped-early");
    assert_string_equal(row.result, "{\"psnr_db\":30}");
    assert_true(row.finished_ms >= row.started_ms);
    job_row_free(&row);
    jobs_close(&jobs);
    remove_files();
}

/* A loss is a reopen while the job runs. */
static void lose_once(struct jobs **jobs) {
    jobs_close(jobs);
    *jobs = open_jobs();
}

static void test_third_loss_in_a_row_fails(void **state) {
    (void)state;
    struct jobs *jobs = open_jobs();
    struct job_row row;
    char id[JOB_ID_BYTES];
    submit(jobs, "a", 1, id);
    for (int32_t attempt = 2; attempt <= 3; attempt++) {
        take(jobs, "a", NULL);
        lose_once(&jobs);
        expect(jobs, id, JOB_QUEUED, attempt);
    }
    take(jobs, "a", NULL);
    lose_once(&jobs);
    assert_int_equal(jobs_get(jobs, id, &row, NULL), RT_OK);
    assert_int_equal(row.state, JOB_FAILED);
    assert_string_equal(row.reason, "device-lost");
    assert_true(row.finished_ms > 0);
    job_row_free(&row);
    /* resumed by hand it counts from the start again */
    assert_int_equal(move(jobs, id, JOB_QUEUED), RT_OK);
    take(jobs, "a", NULL);
    lose_once(&jobs);
    expect(jobs, id, JOB_QUEUED, 4);
    jobs_close(&jobs);
    remove_files();
}

static void test_progress_starts_the_count_anew(void **state) {
    (void)state;
    struct jobs *jobs = open_jobs();
    char id[JOB_ID_BYTES];
    submit(jobs, "a", 1, id);
    for (int i = 0; i < 5; i++) {
        take(jobs, "a", NULL);
        assert_int_equal(jobs_mark_progress(jobs, id, NULL), RT_OK);
        lose_once(&jobs);
    }
    expect(jobs, id, JOB_QUEUED, 6);
    /* the same in one process: the device was lost, not the service */
    take(jobs, "a", NULL);
    assert_int_equal(move(jobs, id, JOB_QUEUED), RT_OK);
    expect(jobs, id, JOB_QUEUED, 7);
    jobs_close(&jobs);
    remove_files();
}

static void test_requests_outlive_a_loss(void **state) {
    (void)state;
    struct jobs *jobs = open_jobs();
    char cancelled[JOB_ID_BYTES], paused[JOB_ID_BYTES];
    submit(jobs, "a", 1, cancelled);
    submit(jobs, "b", 1, paused);
    take(jobs, "a", NULL);
    take(jobs, "b", NULL);
    assert_int_equal(jobs_request(jobs, cancelled, "cancel", NULL), RT_OK);
    assert_int_equal(jobs_request(jobs, paused, "pause", NULL), RT_OK);
    lose_once(&jobs);
    expect(jobs, cancelled, JOB_CANCELLED, 1);
    expect(jobs, paused, JOB_PAUSED, 2);
    jobs_close(&jobs);
    remove_files();
}

static void test_idempotency_keys(void **state) {
    (void)state;
    struct jobs *jobs = open_jobs();
    struct job_row first, again;
    struct rt_error err = {0};
    bool repeat = true;
    struct job_submission submission = {.subject = "a",
                                        .object = "s",
                                        .request = "{}",
                                        .idempotency_key = "k1",
                                        .idempotency_digest = "d1"};
    assert_int_equal(jobs_submit(jobs, &submission, &first, &repeat, NULL), RT_OK);
    assert_false(repeat);
    lose_once(&jobs); /* keys are in the journal */
    assert_int_equal(jobs_submit(jobs, &submission, &again, &repeat, NULL), RT_OK);
    assert_true(repeat);
    assert_string_equal(first.id, again.id);
    job_row_free(&again);
    submission.idempotency_digest = "d2";
    assert_int_equal(jobs_submit(jobs, &submission, &again, &repeat, &err), RT_INVALID);
    assert_string_equal(err.code, "idempotency-mismatch");
    submission.idempotency_key = "";
    assert_int_equal(jobs_submit(jobs, &submission, &again, &repeat, &err), RT_INVALID);
    assert_int_equal(jobs_count(jobs, JOB_QUEUED), 1);
    job_row_free(&first);
    jobs_close(&jobs);
    remove_files();
}

static void test_queue_is_bounded(void **state) {
    (void)state;
    struct jobs *jobs = NULL;
    struct job_row row;
    assert_int_equal(jobs_open(&jobs, path, &(struct jobs_options){.max_queued = 2}, NULL), RT_OK);
    submit(jobs, "a", 1, NULL);
    submit(jobs, "b", 1, NULL);
    assert_int_equal(jobs_submit(jobs, &(struct job_submission){.subject = "c"}, &row, NULL, NULL),
                     RT_QUEUE_FULL);
    take(jobs, "a", NULL);
    submit(jobs, "c", 1, NULL);
    jobs_close(&jobs);
    remove_files();
}

static void test_list_pages_newest_first(void **state) {
    (void)state;
    struct jobs *jobs = open_jobs();
    struct job_row *rows;
    int32_t n;
    char subject[8], after[JOB_ID_BYTES] = "";
    for (int i = 0; i < 5; i++) {
        snprintf(subject, sizeof subject, "s%d", i);
        submit(jobs, subject, 1, NULL);
    }
    int seen = 0;
    for (;;) {
        struct jobs_filter filter = {.limit = 2, .after = *after ? after : NULL};
        assert_int_equal(jobs_list(jobs, &filter, &rows, &n, NULL), RT_OK);
        for (int32_t i = 0; i < n; i++) {
            snprintf(subject, sizeof subject, "s%d", 4 - seen++);
            assert_string_equal(rows[i].subject, subject);
            memcpy(after, rows[i].id, sizeof after);
            job_row_free(&rows[i]);
        }
        free(rows);
        if (n == 0) break;
    }
    assert_int_equal(seen, 5);
    struct jobs_filter filter = {.limit = 10, .subject = "s3", .state = "queued"};
    assert_int_equal(jobs_list(jobs, &filter, &rows, &n, NULL), RT_OK);
    assert_int_equal(n, 1);
    job_row_free(&rows[0]);
    free(rows);
    filter.after = "r_nothere";
    assert_int_equal(jobs_list(jobs, &filter, &rows, &n, NULL), RT_INVALID);
    jobs_close(&jobs);
    remove_files();
}

static void test_second_process_is_refused(void **state) {
    (void)state;
    struct jobs *jobs = open_jobs(), *second = NULL;
    struct rt_error err = {0};
    assert_int_equal(jobs_open(&second, path, NULL, &err), RT_BUSY);
    assert_null(second);
    assert_true(jobs_writable(jobs));
    jobs_close(&jobs);
    FILE *file = fopen(path, "wb");
    for (int i = 0; file && i < 300; i++) fputs("not a database. ", file);
    if (file) fclose(file);
    assert_int_equal(jobs_open(&second, path, NULL, &err), RT_BAD_FILE);
    remove_files();
}

static int n_woken;
static void count_wakes(void *context, const char *id) {
    (void)context;
    (void)id;
    n_woken++;
}

static void test_event_ring(void **state) {
    (void)state;
    struct jobs *jobs = open_jobs();
    struct job_event *events;
    int32_t n;
    bool gap;
    char text[32];
    n_woken = 0;
    jobs_on_event(jobs, count_wakes, NULL);
    assert_int_equal(jobs_events(jobs, "r_a", 0, &events, &n, &gap, NULL), RT_OK);
    assert_int_equal(n, 0);
    assert_false(gap);
    for (int i = 1; i <= 1500; i++) {
        snprintf(text, sizeof text, "{\"n\":%d}", i);
        jobs_publish(jobs, "r_a", "progress", text);
    }
    assert_int_equal(n_woken, 1500);
    assert_int_equal(jobs_events(jobs, "r_a", 1498, &events, &n, &gap, NULL), RT_OK);
    assert_int_equal(n, 2);
    assert_false(gap);
    assert_string_equal(events[1].text, "{\"n\":1500}");
    assert_int_equal(events[1].sequence, 1500);
    job_events_free(events, n);
    assert_int_equal(jobs_events(jobs, "r_a", 100, &events, &n, &gap, NULL), RT_OK);
    assert_true(gap);
    assert_int_equal(n, 1024);
    assert_int_equal(events[0].sequence, 477);
    assert_string_equal(events[0].text, "{\"n\":477}");
    job_events_free(events, n);
    /* a client from before a restart asks beyond the newest */
    assert_int_equal(jobs_events(jobs, "r_b", 7, &events, &n, &gap, NULL), RT_OK);
    assert_true(gap);
    jobs_close(&jobs);
    remove_files();
}

/* The child acknowledges each accepted or ended job over a pipe, only after the call returned; the
 * parent kills it at a random moment and finds everything acknowledged. */
static void work_until_killed(int acknowledge) {
    struct jobs *jobs = NULL;
    struct job_row row;
    if (jobs_open(&jobs, path, &(struct jobs_options){.max_queued = 100000}, NULL) != RT_OK) {
        _exit(9);
    }
    for (int i = 0;; i++) {
        struct job_submission submission = {.subject = "k", .object = "s", .request = "{}"};
        if (jobs_submit(jobs, &submission, &row, NULL, NULL) != RT_OK) _exit(9);
        dprintf(acknowledge, "+%s\n", row.id);
        job_row_free(&row);
        if (i % 3 == 0 && jobs_take(jobs, &row, NULL) == RT_OK) {
            if (jobs_transition(jobs, row.id, &(struct job_change){.to = JOB_SUCCEEDED}, NULL) !=
                RT_OK) {
                _exit(9);
            }
            dprintf(acknowledge, "-%s\n", row.id);
            job_row_free(&row);
        }
    }
}

static int check_acknowledged(struct jobs *jobs, char *text) {
    int n = 0;
    char *end = strrchr(text, '\n');
    if (end) end[1] = 0;
    for (char *line = strtok(text, "\n"); line && end; line = strtok(NULL, "\n"), n++) {
        struct job_row row;
        if (jobs_get(jobs, line + 1, &row, NULL) != RT_OK) fail_msg("job %s is lost", line + 1);
        if (line[0] == '-') assert_int_equal(row.state, JOB_SUCCEEDED);
        job_row_free(&row);
    }
    return n;
}

static void test_kill_loses_nothing(void **state) {
    (void)state;
    static char text[256 * 1024];
    int total = 0;
    srand(7);
    for (int round = 0; round < 12; round++) {
        int pipes[2];
        assert_int_equal(pipe(pipes), 0);
        pid_t child = fork();
        if (child == 0) {
            close(pipes[0]);
            work_until_killed(pipes[1]);
        }
        close(pipes[1]);
        nanosleep(&(struct timespec){.tv_nsec = (20 + rand() % 60) * 1000000l}, NULL);
        kill(child, SIGKILL);
        size_t n = 0;
        for (ssize_t got; (got = read(pipes[0], text + n, sizeof text - 1 - n)) > 0;)
            n += (size_t)got;
        text[n] = 0;
        close(pipes[0]);
        int status;
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status));
        struct jobs *jobs = open_jobs();
        total += check_acknowledged(jobs, text);
        jobs_close(&jobs);
    }
    assert_true(total > 0);
    remove_files();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_is_priority_then_age),
        cmocka_unit_test(test_transitions_follow_the_table),
        cmocka_unit_test(test_illegal_change_names_what_is_allowed),
        cmocka_unit_test(test_results_survive_a_reopen),
        cmocka_unit_test(test_third_loss_in_a_row_fails),
        cmocka_unit_test(test_progress_starts_the_count_anew),
        cmocka_unit_test(test_requests_outlive_a_loss),
        cmocka_unit_test(test_idempotency_keys),
        cmocka_unit_test(test_queue_is_bounded),
        cmocka_unit_test(test_list_pages_newest_first),
        cmocka_unit_test(test_second_process_is_refused),
        cmocka_unit_test(test_event_ring),
        cmocka_unit_test(test_kill_loses_nothing),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
