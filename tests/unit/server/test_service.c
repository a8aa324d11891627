/* Deadlines, streams, static files, overload, drain: what keeps a service up. */
#include "toy.h"

static char answer[512 * 1024];

/* -- deadlines -------------------------------------------------------------------------------- */

static void test_slow_clients_are_cut(void **state) {
    (void)state;
    struct toy toy;
    struct http_options options = {.header_ms = 300, .idle_ms = 300, .body_grace_ms = 300};
    toy_start(&toy, &options);
    int silent = client_open(&toy), head = client_open(&toy), body = client_open(&toy),
        idle = client_open(&toy), work = client_open(&toy);
    const char half[] = "GET /hel",
               part[] = "PUT /files/a HTTP/1.1\r\n" HOST "Content-Length: 1000\r\n\r\nabc";
    const char whole[] = "GET /hello HTTP/1.1\r\n" HOST "\r\n",
               park[] = "GET /park HTTP/1.1\r\n" HOST "\r\n";
    client_send(head, half, sizeof half - 1, 0);
    client_send(body, part, sizeof part - 1, 0);
    client_send(idle, whole, sizeof whole - 1, 0);
    client_send(work, park, sizeof park - 1, 0);
    client_read(idle, answer, sizeof answer, "hello\n", 1000);
    assert_non_null(strstr(answer, "200 OK"));
    for (int i = 0; i < 5; i++) { /* a byte now and then does not help */
        pause_ms(100);
        if (!client_send(head, "l", 1, 0)) break;
    }
    client_read(head, answer, sizeof answer, NULL, 2000);
    assert_memory_equal(answer, "HTTP/1.1 408", 12);
    client_read(body, answer, sizeof answer, NULL, 2000);
    assert_memory_equal(answer, "HTTP/1.1 408", 12);
    assert_true(client_closed(silent, 2000));
    assert_true(client_closed(idle, 2000));
    toy_finish_all(&toy); /* a deferred request has no deadline of the connection */
    client_read(work, answer, sizeof answer, "parked", 1000);
    assert_non_null(strstr(answer, "parked"));
    close(silent);
    close(head);
    close(body);
    close(idle);
    close(work);
    toy_stop(&toy);
}

/* A peer that does not read its answer keeps neither others nor the stop waiting. */
static void test_slow_reader_blocks_nobody(void **state) {
    (void)state;
    struct toy toy;
    struct http_options options = {.write_ms = 300};
    toy_start(&toy, &options);
    char path[128];
    snprintf(path, sizeof path, "%s/digits", toy.folder);
    assert_int_equal(truncate(path, 64 << 20), 0);
    const char request[] = "GET /file HTTP/1.1\r\n" HOST "\r\n";
    int fd = client_open(&toy);
    client_send(fd, request, sizeof request - 1, 0);
    assert_int_equal(
        client_ask(&toy, "GET /hello HTTP/1.1\r\n" HOST CLOSE "\r\n", answer, sizeof answer), 200);
    assert_true(http_server_stop(&toy.server, 100));
    close(fd);
    toy_clean(&toy);
}

/* -- streams ---------------------------------------------------------------------------------- */

static void wait_streams(struct toy *toy, int n) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&toy->mutex);
        bool enough = toy->n_streams >= n;
        pthread_mutex_unlock(&toy->mutex);
        if (enough) return;
        pause_ms(2);
    }
    fail_msg("no stream");
}

static void test_event_streams(void **state) {
    (void)state;
    struct toy toy;
    struct http_options options = {0};
    toy_start(&toy, &options);
    const char request[] = "GET /events HTTP/1.1\r\n" HOST "\r\n";
    int fd = client_open(&toy), leaves = client_open(&toy);
    client_send(fd, request, sizeof request - 1, 0);
    wait_streams(&toy, 1);
    client_send(leaves, request, sizeof request - 1, 0);
    wait_streams(&toy, 2);
    assert_true(http_stream_send(toy.streams[0], "id: 1\n\n", 7));
    assert_true(http_stream_send(toy.streams[0], "id: 2\n\n", 7));
    client_read(fd, answer, sizeof answer, "id: 2\n\n\r\n", 2000);
    assert_non_null(strstr(answer, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(answer, "Content-Type: text/event-stream\r\n"));
    assert_non_null(strstr(answer, "Transfer-Encoding: chunked\r\n"));
    assert_null(strstr(answer, "Content-Length"));
    assert_non_null(strstr(answer, "\r\n\r\n7\r\nid: 1\n\n\r\n7\r\nid: 2\n\n\r\n"));
    close(leaves);
    for (int i = 0; i < 1000 && http_stream_alive(toy.streams[1]); i++) pause_ms(2);
    assert_false(http_stream_alive(toy.streams[1]));
    assert_false(http_stream_send(toy.streams[1], "x", 1));
    http_stream_close(&toy.streams[1]);
    assert_true(http_stream_alive(toy.streams[0]));
    http_stream_send(toy.streams[0], "bye", 3);
    http_stream_close(&toy.streams[0]);
    client_read(fd, answer, sizeof answer, NULL, 2000);
    assert_string_equal(answer, "3\r\nbye\r\n0\r\n\r\n");
    assert_true(client_closed(fd, 2000));
    close(fd);
    toy_stop(&toy);
}

/* The queue of a peer that does not read is bounded; what was queued arrives when it reads. */
static void test_stream_queue_is_bounded(void **state) {
    (void)state;
    struct toy toy;
    struct http_options options = {0};
    toy_start(&toy, &options);
    static char block[16384];
    const char request[] = "GET /events HTTP/1.1\r\n" HOST "\r\n";
    memset(block, 'x', sizeof block);
    int fd = client_open(&toy), n_sent = 0;
    client_send(fd, request, sizeof request - 1, 0);
    wait_streams(&toy, 1);
    for (int quiet = 0; quiet < 20 && n_sent < 4096;) {
        if (http_stream_send(toy.streams[0], block, sizeof block)) {
            n_sent++;
            quiet = 0;
        } else {
            quiet++;
            pause_ms(2);
        }
    }
    assert_true(n_sent < 4096); /* 64 MiB were not taken */
    assert_true(http_stream_queued(toy.streams[0]) <= 300 * 1024);
    http_stream_close(&toy.streams[0]);
    size_t total = 0;
    for (;;) {
        ssize_t n = recv(fd, block, sizeof block, 0);
        if (n <= 0) break;
        total += (size_t)n;
    }
    assert_true(total > (size_t)n_sent * sizeof block);
    close(fd);
    toy_stop(&toy);
}

static void test_streams_end_when_the_service_stops(void **state) {
    (void)state;
    struct toy toy;
    struct http_options options = {0};
    toy_start(&toy, &options);
    const char request[] = "GET /events HTTP/1.1\r\n" HOST "\r\n";
    int fds[20];
    for (int i = 0; i < 20; i++) {
        fds[i] = client_open(&toy);
        client_send(fds[i], request, sizeof request - 1, 0);
    }
    wait_streams(&toy, 20);
    assert_true(http_server_stop(&toy.server, 2000));
    for (int i = 0; i < 20; i++) {
        assert_true(client_closed(fds[i], 1000));
        close(fds[i]);
    }
    toy_clean(&toy); /* handles are closed after the stop, as an owner may do */
}

/* -- static files ----------------------------------------------------------------------------- */

static void write_file(const char *folder, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int get(struct toy *toy, const char *path) {
    char request[4096];
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\n" HOST CLOSE "\r\n", path);
    return client_ask(toy, request, answer, sizeof answer);
}

static void make_site(char *root, size_t n_bytes) {
    char path[256];
    snprintf(root, n_bytes, "/tmp/retake-site-XXXXXX");
    assert_non_null(mkdtemp(root));
    write_file(root, "secret", "SECRET");
    snprintf(path, sizeof path, "%s/www", root);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file(path, "index.html",
               "<script type=\"importmap\">{\"imports\":{}}</script><p>front page");
    write_file(path, ".hidden", "SECRET");
    write_file(path, "hello", "not this one");
    snprintf(path, sizeof path, "%s/www/js", root);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file(path, "a.js", "export {};");
    snprintf(path, sizeof path, "%s/www/link", root);
    assert_int_equal(symlink("../secret", path), 0);
    snprintf(path, sizeof path, "%s/www/up", root);
    assert_int_equal(symlink("..", path), 0);
    snprintf(path, sizeof path, "%s/www/fifo", root);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void test_static_files(void **state) {
    (void)state;
    struct toy toy;
    char root[64], folder[80], command[100];
    make_site(root, sizeof root);
    snprintf(folder, sizeof folder, "%s/www", root);
    struct http_options options = {.static_folder = folder};
    toy_start(&toy, &options);
    assert_int_equal(get(&toy, "/"), 200);
    assert_non_null(strstr(answer, "front page"));
    assert_non_null(strstr(answer, "Content-Type: text/html; charset=utf-8\r\n"));
    /* printf '{"imports":{}}' | openssl dgst -sha256 -binary | base64 */
    assert_non_null(strstr(answer,
                           "script-src 'self' 'sha256-"
                           "URrTy+Il/Nz0lHojVUx275hWqAWhkSF0VsHbUM4/6Hw="
                           "'; "));
    assert_int_equal(get(&toy, "/js/a.js"), 200);
    assert_non_null(strstr(answer, "Content-Type: text/javascript"));
    assert_int_equal(get(&toy, "/hello"), 200); /* routes win */
    assert_non_null(strstr(answer, "\r\n\r\nhello\n"));
    assert_int_equal(get(&toy, "/js"), 404);
    assert_int_equal(get(&toy, "/js/"), 404);
    assert_int_equal(get(&toy, "/none.html"), 404);
    const char *tag = (get(&toy, "/js/a.js"), strstr(answer, "ETag: "));
    assert_non_null(tag);
    char etag[80], request[256];
    assert_int_equal(sscanf(tag, "ETag: %79[^\r]", etag), 1);
    snprintf(request, sizeof request,
             "GET /js/a.js HTTP/1.1\r\n" HOST CLOSE "If-None-Match: %s\r\n\r\n", etag);
    assert_int_equal(client_ask(&toy, request, answer, sizeof answer), 304);
    toy_stop(&toy);
    snprintf(command, sizeof command, "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

/* 240 names that lead out of the folder on some system; none shows a byte from outside. */
static void test_no_name_leaves_the_folder(void **state) {
    (void)state;
    static const char *const ups[] = {"..",           "%2e%2e",
                                      ".%2e",         "%2E.",
                                      "%c0%ae%c0%ae", "%e0%80%ae%e0%80%ae",
                                      "%252e%252e",   "..%00",
                                      "..;",          "..%20",
                                      "...",          "....",
                                      "%uff0e%uff0e", "..%01",
                                      ".%00.",        "%ef%bc%8e%ef%bc%8e",
                                      "up",           "js/..",
                                      "./..",         "..%5c.."};
    static const char *const slashes[] = {"/", "%2f", "\\", "%5c", "//", "%c0%af", "/./", "%252f"};
    static const char *const ends[] = {"secret"};
    static const char *const others[] = {"/link",
                                         "/up/secret",
                                         "/fifo",
                                         "/.hidden",
                                         "/./.hidden",
                                         "//.hidden",
                                         "/js/../.hidden",
                                         "/link/",
                                         "/%2e/link",
                                         "//etc/passwd",
                                         "/etc/passwd",
                                         "/file:///etc/passwd",
                                         "/proc/self/environ",
                                         "/index.html%00.js",
                                         "/.%2fhidden",
                                         "/%2ehidden"};
    struct toy toy;
    char root[64], folder[80], command[100], path[256];
    make_site(root, sizeof root);
    snprintf(folder, sizeof folder, "%s/www", root);
    struct http_options options = {.static_folder = folder};
    toy_start(&toy, &options);
    int n = 0;
    for (size_t i = 0; i < sizeof ups / sizeof ups[0]; i++) {
        for (size_t j = 0; j < sizeof slashes / sizeof slashes[0]; j++) {
            for (int deep = 0; deep < 2; deep++, n++) {
                snprintf(path, sizeof path, "/%s%s%s%s%s", deep ? "js/" : "", ups[i],
                         deep ? slashes[j] : "", deep ? ups[i] : "", "");
                snprintf(path + strlen(path), sizeof path - strlen(path), "%s%s", slashes[j],
                         ends[0]);
                int status = get(&toy, path);
                if (status == 200 || strstr(answer, "SECRET")) fail_msg("%s: %d", path, status);
            }
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++, n++) {
        int status = get(&toy, others[i]);
        if (status == 200 || strstr(answer, "SECRET")) fail_msg("%s: %d", others[i], status);
    }
    assert_true(n >= 200);
    toy_stop(&toy);
    snprintf(command, sizeof command, "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

/* -- overload --------------------------------------------------------------------------------- */

static void test_limits_answer_503(void **state) {
    (void)state;
    struct toy toy;
    struct http_options options = {.max_requests = 3, .max_connections = 6};
    toy_start(&toy, &options);
    const char park[] = "GET /park HTTP/1.1\r\n" HOST "\r\n";
    int fds[6];
    for (int i = 0; i < 3; i++) {
        fds[i] = client_open(&toy);
        client_send(fds[i], park, sizeof park - 1, 0);
    }
    toy_wait_parked(&toy, 3);
    assert_int_equal(get(&toy, "/hello"), 503);
    assert_non_null(strstr(answer, "Retry-After: 1\r\n"));
    toy_finish_all(&toy);
    for (int i = 0; i < 3; i++) client_read(fds[i], answer, sizeof answer, "parked", 1000);
    assert_int_equal(get(&toy, "/hello"), 200);
    for (int i = 3; i < 6; i++) fds[i] = client_open(&toy);
    int status = 0; /* the seventh connection; the sixth may still be on its way in */
    for (int i = 0; i < 100 && status != 503; i++) {
        status = get(&toy, "/hello");
        pause_ms(5);
    }
    assert_int_equal(status, 503);
    assert_non_null(strstr(answer, "queue-full"));
    for (int i = 0; i < 6; i++) close(fds[i]);
    for (int i = 0; i < 400 && status != 200; i++) {
        pause_ms(5);
        status = get(&toy, "/hello");
    }
    assert_int_equal(status, 200);
    toy_stop(&toy);
}

static void word_fault(struct http_exchange *x, enum http_fault fault, const char *detail,
                       void *context) {
    char text[256];
    (void)context;
    int n = snprintf(text, sizeof text, "fault %d: %s", (int)fault, detail);
    http_reply(x, fault == HTTP_FAULT_STORAGE_FULL ? 507 : 503, "application/problem+json", text,
               (size_t)n);
}

static void test_uploads_are_bounded(void **state) {
    (void)state;
    struct toy toy;
    struct http_options options = {.max_uploads = 1, .fault = word_fault};
    toy_start(&toy, &options);
    const char half[] = "PUT /files/a HTTP/1.1\r\n" HOST "Content-Length: 10\r\n\r\nabc";
    const char whole[] = "PUT /files/b HTTP/1.1\r\n" HOST CLOSE "Content-Length: 3\r\n\r\nabc";
    int fd = client_open(&toy), status = 0;
    client_send(fd, half, sizeof half - 1, 0);
    for (int i = 0; i < 200 && status != 503; i++) {
        pause_ms(2);
        status = client_ask(&toy, whole, answer, sizeof answer);
    }
    assert_int_equal(status, 503);
    assert_non_null(strstr(answer, "too many uploads"));
    close(fd); /* the half upload is given up: its slot and its file are free again */
    for (int i = 0; i < 200 && status != 201; i++) {
        pause_ms(2);
        status = client_ask(&toy, whole, answer, sizeof answer);
    }
    assert_int_equal(status, 201);
    char command[160];
    snprintf(command, sizeof command, "test -z \"$(ls %s | grep upload)\"", toy.folder);
    assert_int_equal(system(command), 0);
    toy_stop(&toy);
}

static void test_full_disk_is_507(void **state) {
    (void)state;
    struct toy toy;
    struct http_options options = {.storage_floor_bytes = 1ull << 60, .fault = word_fault};
    toy_start(&toy, &options);
    assert_int_equal(
        client_ask(&toy, "PUT /files/b HTTP/1.1\r\n" HOST CLOSE "Content-Length: 3\r\n\r\nabc",
                   answer, sizeof answer),
        507);
    assert_int_equal(get(&toy, "/hello"), 200);
    toy_stop(&toy);
}

static void test_public_hosts(void **state) {
    (void)state;
    struct toy toy;
    const char *const hosts[] = {"scenes.example", NULL};
    struct http_options options = {.public_hosts = hosts};
    toy_start(&toy, &options);
    assert_int_equal(client_ask(&toy,
                                "GET /hello HTTP/1.1\r\nHost: Scenes.Example:443\r\n" CLOSE
                                "Origin: https://scenes.example:443\r\n\r\n",
                                answer, sizeof answer),
                     200);
    assert_int_equal(client_ask(&toy, "GET /hello HTTP/1.1\r\nHost: a.scenes.example\r\n\r\n",
                                answer, sizeof answer),
                     403);
    toy_stop(&toy);
}

static void test_thousand_connections(void **state) {
    (void)state;
    struct toy toy;
    struct http_options options = {0};
    enum { N = 1000 };
    static int fds[N];
    const char request[] = "GET /hello HTTP/1.1\r\n" HOST "\r\n";
    toy_start(&toy, &options);
    for (int i = 0; i < N; i++) {
        fds[i] = client_open(&toy);
        assert_true(fds[i] >= 0);
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++) client_send(fds[i], request, sizeof request - 1, 0);
        for (int i = 0; i < N; i++) {
            client_read(fds[i], answer, sizeof answer, "hello\n", 5000);
            if (!strstr(answer, "hello\n")) fail_msg("connection %d: %s", i, answer);
        }
    }
    assert_int_equal(atomic_load(&toy.n_handled), 2 * N);
    for (int i = 0; i < N; i++) close(fds[i]);
    toy_stop(&toy);
}

/* -- drain ------------------------------------------------------------------------------------ */

struct load {
    struct toy *toy;
    atomic_bool stop;
    atomic_int n_good, n_refused, n_broken;
};

static void *load_run(void *context) {
    struct load *load = context;
    char text[4096];
    const char request[] = "GET /park HTTP/1.1\r\n" HOST CLOSE "\r\n";
    while (!atomic_load(&load->stop)) {
        int fd = client_open(load->toy);
        if (fd < 0) break; /* the listening socket is closed */
        client_send(fd, request, sizeof request - 1, 0);
        client_read(fd, text, sizeof text, NULL, 5000);
        close(fd);
        if (strstr(text, " 200 ") && strstr(text, "parked")) {
            atomic_fetch_add(&load->n_good, 1);
        } else if (strstr(text, " 503 ")) {
            atomic_fetch_add(&load->n_refused, 1);
        } else if (text[0]) {
            atomic_fetch_add(&load->n_broken, 1);
        }
    }
    return NULL;
}

static void *engine_run(void *context) { /* finishes deferred requests until told to stop */
    struct load *load = context;
    while (!atomic_load(&load->stop)) {
        toy_finish_all(load->toy);
        pause_ms(1);
    }
    toy_finish_all(load->toy);
    return NULL;
}

static void test_drain_under_load(void **state) {
    (void)state;
    enum { N = 8 };
    for (int round = 0; round < 3; round++) {
        struct toy toy;
        struct http_options options = {0};
        struct load load = {.toy = &toy};
        pthread_t clients[N], engine;
        toy_start(&toy, &options);
        pthread_create(&engine, NULL, engine_run, &load);
        for (int i = 0; i < N; i++) pthread_create(&clients[i], NULL, load_run, &load);
        pause_ms(100);
        http_server_drain(toy.server);
        pause_ms(30);
        atomic_store(&load.stop, true);
        for (int i = 0; i < N; i++) pthread_join(clients[i], NULL);
        assert_true(http_server_stop(&toy.server, 3000));
        pthread_join(engine, NULL);
        assert_true(atomic_load(&load.n_good) > 0);
        assert_true(atomic_load(&load.n_refused) > 0);
        assert_int_equal(atomic_load(&load.n_broken), 0);
        toy_clean(&toy);
    }
}

/* With a deferred exchange left the server must not be stopped: the library would abort. */
static void test_stop_waits_for_deferred(void **state) {
    (void)state;
    struct toy toy;
    struct http_options options = {0};
    toy_start(&toy, &options);
    const char park[] = "GET /park HTTP/1.1\r\n" HOST "\r\n";
    int fd = client_open(&toy);
    client_send(fd, park, sizeof park - 1, 0);
    toy_wait_parked(&toy, 1);
    assert_false(http_server_stop(&toy.server, 50));
    assert_non_null(toy.server);
    toy_stop(&toy); /* finishes it, then stops */
    client_read(fd, answer, sizeof answer, "parked", 1000);
    assert_non_null(strstr(answer, "parked"));
    close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_clients_are_cut),
        cmocka_unit_test(test_slow_reader_blocks_nobody),
        cmocka_unit_test(test_event_streams),
        cmocka_unit_test(test_stream_queue_is_bounded),
        cmocka_unit_test(test_streams_end_when_the_service_stops),
        cmocka_unit_test(test_static_files),
        cmocka_unit_test(test_no_name_leaves_the_folder),
        cmocka_unit_test(test_limits_answer_503),
        cmocka_unit_test(test_uploads_are_bounded),
        cmocka_unit_test(test_full_disk_is_507),
        cmocka_unit_test(test_public_hosts),
        cmocka_unit_test(test_thousand_connections),
        cmocka_unit_test(test_drain_under_load),
        cmocka_unit_test(test_stop_waits_for_deferred),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
