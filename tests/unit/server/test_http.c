/* Requests and answers as a client meets them, over a real socket. */
#include "toy.h"

static struct toy toy;
static char answer[256 * 1024];

static int ask(const char *request) { return client_ask(&toy, request, answer, sizeof answer); }

static int start(void **state) {
    (void)state;
    struct http_options options = {0};
    toy_start(&toy, &options);
    return 0;
}

static int stop(void **state) {
    (void)state;
    toy_stop(&toy);
    return 0;
}

static void test_routes(void **state) {
    (void)state;
    assert_int_equal(ask("GET /hello HTTP/1.1\r\n" HOST CLOSE "\r\n"), 200);
    assert_non_null(strstr(answer, "\r\n\r\nhello\n"));
    assert_non_null(strstr(answer, "Content-Length: 6\r\n"));
    assert_non_null(strstr(answer, "X-Content-Type-Options: nosniff\r\n"));
    assert_non_null(strstr(answer, "X-Request-Id: "));
    assert_int_equal(ask("GET /show/a.b.png?q=1%202+3 HTTP/1.1\r\n" HOST CLOSE "\r\n"), 200);
    assert_non_null(strstr(answer, "id=a.b ext=png q=1 2 3"));
    assert_int_equal(ask("GET /none HTTP/1.1\r\n" HOST CLOSE "\r\n"), 404);
    assert_int_equal(ask("GET /silent HTTP/1.1\r\n" HOST CLOSE "\r\n"), 500);
    assert_int_equal(ask("DELETE /hello HTTP/1.1\r\n" HOST CLOSE "\r\n"), 405);
    assert_non_null(strstr(answer, "Allow: GET, HEAD\r\n"));
}

static void test_head_has_no_body(void **state) {
    (void)state;
    assert_int_equal(ask("HEAD /hello HTTP/1.1\r\n" HOST CLOSE "\r\n"), 200);
    assert_non_null(strstr(answer, "Content-Length: 6\r\n"));
    assert_null(strstr(answer, "hello"));
}

static void test_request_id_is_kept_when_valid(void **state) {
    (void)state;
    ask("GET /hello HTTP/1.1\r\n" HOST CLOSE "X-Request-Id: a.B-9_z\r\n\r\n");
    assert_non_null(strstr(answer, "X-Request-Id: a.B-9_z\r\n"));
    ask("GET /hello HTTP/1.1\r\n" HOST CLOSE "X-Request-Id: a b\r\n\r\n");
    assert_null(strstr(answer, "a b"));
    assert_non_null(strstr(answer, "X-Request-Id: "));
}

static void test_json_bodies(void **state) {
    (void)state;
    assert_int_equal(
        ask("POST /echo HTTP/1.1\r\n" HOST CLOSE "Content-Type: application/json; charset=utf-8\r\n"
            "Content-Length: 7\r\n\r\n{\"a\":1}"),
        200);
    assert_non_null(strstr(answer, "\r\n\r\n{\"a\":1}"));
    assert_int_equal(ask("POST /echo HTTP/1.1\r\n" HOST CLOSE "Content-Type: application/json\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n"),
                     200);
    assert_non_null(strstr(answer, "\r\n\r\n{\"a\":1}"));
    assert_int_equal(ask("POST /echo HTTP/1.1\r\n" HOST CLOSE "Content-Length: 0\r\n\r\n"), 200);
    assert_int_equal(ask("POST /echo HTTP/1.1\r\n" HOST CLOSE "Content-Type: text/plain\r\n"
                         "Content-Length: 7\r\n\r\n{\"a\":1}"),
                     415);
    assert_int_equal(ask("POST /echo HTTP/1.1\r\n" HOST CLOSE "Content-Length: 7\r\n\r\n{\"a\":1}"),
                     415);
    assert_int_equal(ask("POST /echo HTTP/1.1\r\n" HOST CLOSE "Content-Type: application/json\r\n"
                         "Content-Encoding: gzip\r\nContent-Length: 7\r\n\r\n{\"a\":1}"),
                     415);
    assert_int_equal(ask("GET /hello HTTP/1.1\r\n" HOST CLOSE "\r\n"), 200);
}

static void test_declared_length_is_refused_unread(void **state) {
    (void)state;
    int before = atomic_load(&toy.n_handled);
    assert_int_equal(ask("POST /echo HTTP/1.1\r\n" HOST "Content-Type: application/json\r\n"
                         "Content-Length: 300000\r\n\r\n"),
                     413);
    assert_non_null(strstr(answer, "Connection: close\r\n"));
    assert_int_equal(ask("PUT /files/a HTTP/1.1\r\n" HOST "Content-Length: 1048577\r\n\r\n"), 413);
    assert_int_equal(atomic_load(&toy.n_handled), before);
}

/* The length is not declared: the answer comes although the client goes on sending. */
static void test_chunked_body_over_the_limit(void **state) {
    (void)state;
    static char chunk[64 * 1024 + 16];
    int fd = client_open(&toy);
    const char head[] = "PUT /files/a HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n";
    client_send(fd, head, sizeof head - 1, 0);
    int n = snprintf(chunk, sizeof chunk, "10000\r\n");
    memset(chunk + n, 'x', 65536);
    memcpy(chunk + n + 65536, "\r\n", 2);
    for (int i = 0; i < 100; i++) {
        if (!client_send(fd, chunk, (size_t)n + 65538, 0)) break;
    }
    client_read(fd, answer, sizeof answer, NULL, 2000);
    close(fd);
    assert_non_null(strstr(answer, "HTTP/1.1 413 "));
}

static void test_upload_has_size_and_digest(void **state) {
    (void)state;
    assert_int_equal(ask("PUT /files/a HTTP/1.1\r\n" HOST CLOSE "Content-Length: 3\r\n\r\nabc"),
                     201);
    assert_non_null(
        strstr(answer, "1 3 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    /* no temporary file is left */
    char command[160];
    snprintf(command, sizeof command, "test -z \"$(ls %s | grep upload)\"", toy.folder);
    assert_int_equal(system(command), 0);
}

static void *finish_later(void *context) {
    struct toy *t = context;
    toy_wait_parked(t, 1);
    pause_ms(20);
    toy_finish_all(t);
    return NULL;
}

static void test_deferred_answer_from_another_thread(void **state) {
    (void)state;
    pthread_t thread;
    pthread_create(&thread, NULL, finish_later, &toy);
    assert_int_equal(ask("POST /park HTTP/1.1\r\n" HOST CLOSE "Content-Type: application/json\r\n"
                         "Content-Length: 2\r\n\r\n{}"),
                     200);
    pthread_join(thread, NULL);
    assert_non_null(strstr(answer, "\r\n\r\nparked"));
}

static void test_client_that_vanishes_is_noticed(void **state) {
    (void)state;
    const char request[] = "GET /park HTTP/1.1\r\n" HOST "\r\n";
    int stays = client_open(&toy), leaves = client_open(&toy);
    atomic_store(&toy.n_gone, 0);
    client_send(stays, request, sizeof request - 1, 0);
    client_send(leaves, request, sizeof request - 1, 0);
    toy_wait_parked(&toy, 2);
    close(leaves);
    pause_ms(20);
    toy_finish_all(&toy);
    assert_int_equal(atomic_load(&toy.n_gone), 1);
    client_read(stays, answer, sizeof answer, "parked", 2000);
    assert_non_null(strstr(answer, "parked"));
    close(stays);
    assert_int_equal(ask("GET /hello HTTP/1.1\r\n" HOST CLOSE "\r\n"), 200);
}

static void test_keep_alive_and_pipelining(void **state) {
    (void)state;
    const char two[] = "GET /hello HTTP/1.1\r\n" HOST "\r\nGET /show/x HTTP/1.1\r\n" HOST "\r\n";
    int fd = client_open(&toy);
    for (int i = 0; i < 50; i++) {
        client_send(fd, two, sizeof two - 1, 0);
        client_read(fd, answer, sizeof answer, "id=x", 2000);
        assert_non_null(strstr(answer, "hello\n"));
        assert_non_null(strstr(answer, "id=x"));
    }
    close(fd);
}

static void test_gzip_for_json_when_accepted(void **state) {
    (void)state;
    assert_int_equal(ask("GET /big HTTP/1.1\r\n" HOST CLOSE "\r\n"), 200);
    assert_non_null(strstr(answer, "Content-Length: 200000\r\n"));
    assert_int_equal(ask("GET /big HTTP/1.1\r\n" HOST CLOSE "Accept-Encoding: br, gzip\r\n\r\n"),
                     200);
    assert_non_null(strstr(answer, "Content-Encoding: gzip\r\n"));
    assert_non_null(strstr(answer, "Vary: Accept, Accept-Encoding\r\n"));
    assert_int_equal(ask("GET /big HTTP/1.1\r\n" HOST CLOSE "Accept-Encoding: gzip;q=0\r\n\r\n"),
                     200);
    assert_null(strstr(answer, "Content-Encoding"));
}

static const char *payload(void) {
    const char *end = strstr(answer, "\r\n\r\n");
    return end ? end + 4 : "";
}

static void test_ranges_of_files(void **state) {
    (void)state;
    assert_int_equal(ask("GET /file HTTP/1.1\r\n" HOST CLOSE "\r\n"), 200);
    assert_int_equal(strlen(payload()), 1000);
    assert_non_null(strstr(answer, "ETag: \"v1\"\r\n"));
    assert_int_equal(ask("GET /file HTTP/1.1\r\n" HOST CLOSE "Range: bytes=10-19\r\n\r\n"), 206);
    assert_string_equal(payload(), "0000000001");
    assert_non_null(strstr(answer, "Content-Range: bytes 10-19/1000\r\n"));
    assert_int_equal(ask("GET /file HTTP/1.1\r\n" HOST CLOSE "Range: bytes=-3\r\n\r\n"), 206);
    assert_string_equal(payload(), "099");
    assert_int_equal(ask("GET /file HTTP/1.1\r\n" HOST CLOSE "Range: bytes=990-\r\n\r\n"), 206);
    assert_string_equal(payload(), "0000000099");
    assert_int_equal(ask("GET /file HTTP/1.1\r\n" HOST CLOSE "Range: bytes=1000-\r\n\r\n"), 416);
    assert_non_null(strstr(answer, "Content-Range: bytes */1000\r\n"));
    assert_int_equal(
        ask("GET /file HTTP/1.1\r\n" HOST CLOSE "Range: bytes=0-1\r\nIf-Range: \"v1\"\r\n\r\n"),
        206);
    assert_int_equal(
        ask("GET /file HTTP/1.1\r\n" HOST CLOSE "Range: bytes=0-1\r\nIf-Range: \"v0\"\r\n\r\n"),
        200);
    assert_int_equal(
        ask("GET /file HTTP/1.1\r\n" HOST CLOSE "If-None-Match: \"x\", W/\"v1\"\r\n\r\n"), 304);
    assert_int_equal(strlen(payload()), 0);
}

static void test_listen_address_is_checked(void **state) {
    (void)state;
    struct rt_error err = {0};
    struct http_server *server = NULL;
    struct http_options options = {.listen = "0.0.0.0:0", .routes = toy_routes};
    assert_int_equal(http_server_start(&server, &options, &err), RT_INVALID);
    assert_non_null(strstr(err.message, "0.0.0.0"));
    options.listen = "127.0.0.1:99999";
    assert_int_equal(http_server_start(&server, &options, &err), RT_INVALID);
    char taken[32];
    snprintf(taken, sizeof taken, "127.0.0.1:%u", (unsigned)http_server_port(toy.server));
    options.listen = taken;
    assert_int_equal(http_server_start(&server, &options, &err), RT_BUSY);
    assert_non_null(strstr(err.message, taken));
    assert_null(server);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_routes),
        cmocka_unit_test(test_head_has_no_body),
        cmocka_unit_test(test_request_id_is_kept_when_valid),
        cmocka_unit_test(test_json_bodies),
        cmocka_unit_test(test_declared_length_is_refused_unread),
        cmocka_unit_test(test_chunked_body_over_the_limit),
        cmocka_unit_test(test_upload_has_size_and_digest),
        cmocka_unit_test(test_deferred_answer_from_another_thread),
        cmocka_unit_test(test_client_that_vanishes_is_noticed),
        cmocka_unit_test(test_keep_alive_and_pipelining),
        cmocka_unit_test(test_gzip_for_json_when_accepted),
        cmocka_unit_test(test_ranges_of_files),
        cmocka_unit_test(test_listen_address_is_checked),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
