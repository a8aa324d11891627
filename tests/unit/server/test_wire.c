/* The wire corpus (promises.md P16): heads that parsers read differently. Each is sent whole and in
 * pieces of 7 bytes and must end in a refusal with a closed connection and no request seen, or in
 * exactly the requests an honest reading has. */
#include "toy.h"

#define SMUGGLED "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define JSON "Content-Type: application/json\r\n"
#define BODY SMUGGLED /* 40 bytes that would run as a second request */

struct probe {
    const char *name;
    int status; /* first status line; 0 = no answer needed, only closed */
    int n_seen; /* handler calls */
    const char *bytes;
    size_t n_bytes;
};

#define PROBE(name, status, n_seen, text) \
    { name, status, n_seen, text, sizeof(text) - 1 }
#define GET_WITH(fields) "GET /hello HTTP/1.1\r\n" HOST fields "\r\n"
#define POST_WITH(fields, body) "POST /echo HTTP/1.1\r\n" HOST JSON fields "\r\n" body

static const struct probe refused[] = {
    PROBE("two lengths", 400, 0, POST_WITH("Content-Length: 0\r\nContent-Length: 40\r\n", BODY)),
    PROBE("two equal lengths", 400, 0,
          POST_WITH("Content-Length: 40\r\nContent-Length: 40\r\n", BODY)),
    PROBE("length and chunked", 400, 0,
          POST_WITH("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" SMUGGLED)),
    PROBE("chunked and length", 400, 0,
          POST_WITH("Transfer-Encoding: chunked\r\nContent-Length: 46\r\n", "0\r\n\r\n" SMUGGLED)),
    PROBE("blank before the colon", 400, 0, POST_WITH("Content-Length : 40\r\n", BODY)),
    PROBE("tab before the colon", 400, 0, POST_WITH("Content-Length\t: 40\r\n", BODY)),
    PROBE("blank before the colon of coding", 400, 0,
          POST_WITH("Transfer-Encoding : chunked\r\n", "0\r\n\r\n" SMUGGLED)),
    PROBE("folded length", 400, 0, POST_WITH("Content-Length:\r\n 40\r\n", BODY)),
    PROBE("folded with tab", 400, 0, POST_WITH("Content-Length:\r\n\t40\r\n", BODY)),
    PROBE("folded other field", 400, 0, GET_WITH("X-A: 1\r\n 2\r\n")),
    PROBE("folded coding", 400, 0,
          POST_WITH("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n" SMUGGLED)),
    PROBE("fold behind the request line", 400, 0, "GET /hello HTTP/1.1\r\n X: 1\r\n" HOST "\r\n"),
    PROBE("unknown coding", 400, 0, POST_WITH("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n")),
    PROBE("coding list", 400, 0, POST_WITH("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n")),
    PROBE("coding identity", 400, 0, POST_WITH("Transfer-Encoding: identity\r\n", BODY)),
    PROBE("coding with blank behind", 400, 0,
          POST_WITH("Transfer-Encoding: chunked \r\n", "0\r\n\r\n" SMUGGLED)),
    PROBE("coding with tab before", 400, 0,
          POST_WITH("Transfer-Encoding: \tchunked\x0b\r\n", "0\r\n\r\n" SMUGGLED)),
    PROBE("coding quoted", 400, 0, POST_WITH("Transfer-Encoding: \"chunked\"\r\n", "0\r\n\r\n")),
    PROBE("two codings", 400, 0,
          POST_WITH("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
                    "0\r\n\r\n" SMUGGLED)),
    PROBE("coding on HTTP/1.0", 400, 0,
          "POST /echo HTTP/1.0\r\n" HOST JSON "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    PROBE("length with sign", 400, 0, POST_WITH("Content-Length: +40\r\n", BODY)),
    PROBE("negative length", 400, 0, POST_WITH("Content-Length: -1\r\n", "")),
    PROBE("length list", 400, 0, POST_WITH("Content-Length: 40, 40\r\n", BODY)),
    PROBE("hexadecimal length", 400, 0, POST_WITH("Content-Length: 0x29\r\n", BODY)),
    PROBE("length with blank behind", 400, 0, POST_WITH("Content-Length: 40 \r\n", BODY)),
    PROBE("empty length", 400, 0, POST_WITH("Content-Length:\r\n", BODY)),
    PROBE("length of 2^64 + 40", 0, 0, POST_WITH("Content-Length: 18446744073709551656\r\n", BODY)),
    PROBE("%00", 400, 0, "GET /hello%00b HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("%00 in the query", 400, 0, "GET /hello?a=%00 HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("%2f", 400, 0, "GET /show%2fa HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("%2F", 400, 0, "GET /show%2Fa HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("%5c", 400, 0, "GET /show/..%5ca HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("backslash", 400, 0, "GET /show\\..\\a HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("dot segment", 400, 0, "GET /show/../hello HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("coded dot segment", 400, 0, "GET /show/%2e%2E/hello HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("half coded dot segment", 400, 0, "GET /show/.%2e HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("single dot", 400, 0, "GET /./hello HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("broken escape", 400, 0, "GET /hello%zz HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("cut escape", 400, 0, "GET /hello%4 HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("raw NUL in the target", 400, 0, "GET /hello\0b HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("high byte in the target", 400, 0, "GET /hello\xc3\xa4 HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("control byte in the target", 400, 0, "GET /hello\x01 HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("blank in the target", 400, 0, "GET /hel lo HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("doubled blank", 400, 0, "GET  /hello HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("doubled blank before the version", 400, 0, "GET /hello  HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("fragment", 400, 0, "GET /hello#a HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("no slash", 400, 0, "GET hello HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("asterisk", 400, 0, "OPTIONS * HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("authority form", 400, 0, "CONNECT localhost:80 HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("no Host", 400, 0, "GET /hello HTTP/1.1\r\n\r\n"),
    PROBE("two Hosts", 400, 0, "GET /hello HTTP/1.1\r\n" HOST HOST "\r\n"),
    PROBE("Host with blank before the colon", 400, 0,
          "GET /hello HTTP/1.1\r\nHost : localhost\r\n\r\n"),
    PROBE("foreign Host", 403, 0, "GET /hello HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
    PROBE("Host that begins right", 403, 0,
          "GET /hello HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n"),
    PROBE("Host that looks like loopback", 403, 0,
          "GET /hello HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n"),
    PROBE("Host with user", 403, 0, "GET /hello HTTP/1.1\r\nHost: localhost@evil\r\n\r\n"),
    PROBE("empty Host", 403, 0, "GET /hello HTTP/1.1\r\nHost:\r\n\r\n"),
    PROBE("foreign absolute form", 403, 0,
          "GET http://evil.example/hello HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("foreign Origin", 403, 0, GET_WITH("Origin: http://evil.example\r\n")),
    PROBE("null Origin", 403, 0, GET_WITH("Origin: null\r\n")),
    PROBE("Origin with other port", 403, 0, GET_WITH("Origin: http://localhost:81\r\n")),
    PROBE("HTTP/1.7", 400, 0, "GET /hello HTTP/1.7\r\n" HOST "\r\n"),
    PROBE("HTTP/0.9", 0, 0, "GET /hello HTTP/0.9\r\n" HOST "\r\n"),
    PROBE("HTTP/2.0", 0, 0, "GET /hello HTTP/2.0\r\n" HOST "\r\n"),
    PROBE("no version", 0, 0, "GET /hello\r\n" HOST "\r\n"),
    PROBE("bare CR in a value", 400, 0, GET_WITH("X-A: a\rb\r\n")),
    PROBE("control byte in a value", 400, 0, GET_WITH("X-A: a\x07\r\n")),
    PROBE("NUL in a value", 400, 0, GET_WITH("X-A: a\0b\r\n")),
    PROBE("NUL in a name", 400, 0, GET_WITH("X\0A: a\r\n")),
    PROBE("bare LF behind the request line", 400, 0, "GET /hello HTTP/1.1\n" HOST "\r\n"),
    PROBE("bare LF behind a field", 400, 0, "GET /hello HTTP/1.1\r\n" HOST "X: 1\nY: 2\r\n\r\n"),
    PROBE("bare LF hides a length", 400, 0, POST_WITH("X: 1\nContent-Length: 40\r\n", BODY)),
    PROBE("field without a name", 400, 0, GET_WITH(": 1\r\n")),
    PROBE("field without a colon", 400, 0, GET_WITH("nonsense\r\n")),
    PROBE("umlaut in a name", 400, 0, GET_WITH("X\xc3\xa4: 1\r\n")),
    PROBE("glued name", 400, 0, POST_WITH("Content-Length40: \r\n", BODY)),
    PROBE("body of GET", 400, 0, GET_WITH("Content-Length: 40\r\n") BODY),
    PROBE("chunked body of GET", 400, 0,
          GET_WITH("Transfer-Encoding: chunked\r\n") "0\r\n\r\n" SMUGGLED),
    PROBE("body of HEAD", 400, 0,
          "HEAD /hello HTTP/1.1\r\n" HOST "Content-Length: 40\r\n\r\n" BODY),
    PROBE("body of DELETE", 400, 0,
          "DELETE /hello HTTP/1.1\r\n" HOST "Content-Length: 40\r\n\r\n" BODY),
    PROBE("method with a colon", 400, 0, "GE:T /hello HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("chunk size not hexadecimal", 0, 0,
          POST_WITH("Transfer-Encoding: chunked\r\n", "zz\r\n{}\r\n0\r\n\r\n")),
    PROBE("chunk size of 17 digits", 0, 0,
          POST_WITH("Transfer-Encoding: chunked\r\n", "10000000000000002\r\n{}\r\n0\r\n\r\n")),
};

static const struct probe honest[] = {
    PROBE("two requests", 200, 2, SMUGGLED SMUGGLED),
    PROBE("a length", 200, 2, POST_WITH("Content-Length: 2\r\n", "{}") SMUGGLED),
    PROBE("the second request is a body", 200, 2,
          POST_WITH("Content-Length: 40\r\n", BODY) SMUGGLED),
    PROBE("chunked", 200, 2,
          POST_WITH("Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\n\r\n") SMUGGLED),
    PROBE("chunked in capitals", 200, 1,
          POST_WITH("Transfer-Encoding: CHUNKED\r\n", "2\r\n{}\r\n0\r\n\r\n")),
    PROBE("chunk extension", 200, 1,
          POST_WITH("Transfer-Encoding: chunked\r\n", "2;a=b\r\n{}\r\n0\r\n\r\n")),
    PROBE("absolute form of our own", 200, 1,
          "GET http://localhost/hello HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("HTTP/1.0 without Host", 200, 1, "GET /hello HTTP/1.0\r\n\r\n"),
    PROBE("our Origin", 200, 1,
          "GET /hello HTTP/1.1\r\nHost: 127.0.0.1:1\r\nOrigin: http://127.0.0.1:1\r\n\r\n"),
    PROBE("bracketed Host", 200, 1, "GET /hello HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n"),
    PROBE("blanks and tabs around a value", 200, 1, GET_WITH("X-A:  \t a b\t c\r\n")),
    PROBE("empty value", 200, 1, GET_WITH("X-A:\r\nX-B: 1\r\n")),
    PROBE("value in UTF-8", 200, 1, GET_WITH("X-A: \xc3\xa4\r\n")),
    PROBE("colons in a value", 200, 1, GET_WITH("Referer: http://localhost:1/a?b=c:d\r\n")),
    PROBE("a cookie", 200, 1, GET_WITH("Cookie: a=b; c=\"d e\"; f\r\nX-B: 1\r\n")),
    PROBE("query with escapes", 200, 1,
          "GET /hello?a=%2Fx%2e%2e%5c&b=%C3%A4&&c HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("dots in names", 200, 1, "GET /show/...a..b HTTP/1.1\r\n" HOST "\r\n"),
    PROBE("a browser", 200, 1,
          GET_WITH("User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n"
                   "Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\n"
                   "Accept-Language: de,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n"
                   "Sec-Fetch-Site: none\r\nConnection: keep-alive\r\n"
                   "Upgrade-Insecure-Requests: 1\r\nCookie: a=b\r\nDNT: 1\r\n")),
};

static struct toy toy;

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

static void run_refused(const struct probe *probe, size_t piece) {
    char answer[16384];
    int fd = client_open(&toy), status = 0;
    int before = atomic_load(&toy.n_handled);
    client_send(fd, probe->bytes, probe->n_bytes, piece);
    shutdown(fd, SHUT_WR); /* nothing more comes: an answer that waits for more ends too */
    client_read(fd, answer, sizeof answer, NULL, 3000);
    if (!client_closed(fd, 3000)) fail_msg("%s (%zu): not closed", probe->name, piece);
    close(fd);
    sscanf(answer, "HTTP/1.1 %d", &status);
    if (probe->status && status != probe->status) {
        fail_msg("%s (%zu): status %d, not %d", probe->name, piece, status, probe->status);
    }
    if (status == 200 || atomic_load(&toy.n_handled) != before) {
        fail_msg("%s (%zu): a request was seen", probe->name, piece);
    }
    if (probe->status && strstr(answer, "X-Request-Id") && !strstr(answer, "Connection: close")) {
        fail_msg("%s (%zu): no Connection: close", probe->name, piece);
    }
}

static void test_refused(void **state) {
    (void)state;
    size_t n = sizeof refused / sizeof refused[0];
    assert_true(n >= 45);
    for (size_t i = 0; i < n; i++) {
        run_refused(&refused[i], 0);
        run_refused(&refused[i], 7);
    }
}

/* Exactly the requests meant, and the connection is still usable. */
static void run_honest(const struct probe *probe, size_t piece) {
    char answer[16384];
    int fd = client_open(&toy);
    int before = atomic_load(&toy.n_handled);
    client_send(fd, probe->bytes, probe->n_bytes, piece);
    for (int i = 0; i < 1000 && atomic_load(&toy.n_handled) - before < probe->n_seen; i++) {
        pause_ms(2);
    }
    client_read(fd, answer, sizeof answer, NULL, 20);
    int seen = atomic_load(&toy.n_handled) - before;
    if (seen != probe->n_seen) {
        fail_msg("%s (%zu): %d requests, not %d: %s", probe->name, piece, seen, probe->n_seen,
                 answer);
    }
    if (strncmp(answer, "HTTP/1.1 200", 12) != 0) fail_msg("%s: %s", probe->name, answer);
    close(fd);
}

static void test_honest(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof honest / sizeof honest[0]; i++) {
        run_honest(&honest[i], 0);
        run_honest(&honest[i], 7);
    }
}

/* A large honest head in small pieces passes; one past the limits is refused. */
static void test_large_heads(void **state) {
    (void)state;
    static char head[80 * 1024];
    char answer[16384];
    for (int n_fields = 60; n_fields <= 70; n_fields += 10) {
        size_t n = (size_t)snprintf(head, sizeof head, "GET /hello HTTP/1.1\r\n" HOST);
        for (int i = 0; i < n_fields; i++) {
            n += (size_t)snprintf(head + n, sizeof head - n, "X-Field-%02d: %0400d\r\n", i, i);
        }
        n += (size_t)snprintf(head + n, sizeof head - n, "\r\n");
        int fd = client_open(&toy);
        client_send(fd, head, n, 7);
        client_read(fd, answer, sizeof answer, "\r\n\r\n", 3000);
        close(fd);
        const char *expected = n_fields == 60 ? "HTTP/1.1 200" : "HTTP/1.1 431";
        assert_memory_equal(answer, expected, 12);
    }
    size_t n =
        (size_t)snprintf(head, sizeof head, "GET /hello?%09000d HTTP/1.1\r\n" HOST "\r\n", 1);
    int fd = client_open(&toy);
    client_send(fd, head, n, 0);
    client_read(fd, answer, sizeof answer, NULL, 3000);
    close(fd);
    assert_memory_equal(answer, "HTTP/1.1 414", 12);
    n = (size_t)snprintf(head, sizeof head, "GET /hello HTTP/1.1\r\n" HOST "%065d: 1\r\n\r\n", 1);
    fd = client_open(&toy);
    client_send(fd, head, n, 0);
    client_read(fd, answer, sizeof answer, NULL, 3000);
    close(fd);
    assert_memory_equal(answer, "HTTP/1.1 431", 12);
}

/* One-byte chunks without end: refused after 65536, and memory does not grow with them. */
static void test_chunk_flood(void **state) {
    (void)state;
    static char chunks[6000 + 1];
    char answer[4096];
    for (int i = 0; i < 1000; i++) memcpy(chunks + 6 * i, "1\r\nx\r\n", 6);
    const char head[] = "PUT /files/a HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n";
    int fd = client_open(&toy), n_sent = 0;
    client_send(fd, head, sizeof head - 1, 0);
    while (n_sent < 1000 && client_send(fd, chunks, 6000, 0)) n_sent++;
    client_read(fd, answer, sizeof answer, NULL, 2000);
    close(fd);
    assert_memory_equal(answer, "HTTP/1.1 400", 12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_honest),
        cmocka_unit_test(test_large_heads),
        cmocka_unit_test(test_chunk_flood),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
