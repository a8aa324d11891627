#define _GNU_SOURCE /* O_PATH, syscall */
#include "server/static_files.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif

#include "server/exchange.h"

enum { MAX_PAGE_BYTES = 1 << 20, MAX_PATH_BYTES = 1024 };

struct static_files {
    int folder;
};

enum rt_status static_files_open(struct static_files **out, const char *folder,
                                 struct rt_error *err) {
    int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return rt_fail(err, RT_NOT_FOUND, "static folder \"%s\" cannot be opened: %s", folder,
                       strerror(errno));
    }
    struct static_files *files = calloc(1, sizeof *files);
    if (!files) {
        close(fd);
        return rt_fail(err, RT_NO_MEMORY, "no memory for the static folder");
    }
    files->folder = fd;
    *out = files;
    return RT_OK;
}

void static_files_close(struct static_files **files) {
    if (!*files) return;
    close((*files)->folder);
    free(*files);
    *files = NULL;
}

/* -- safe open -------------------------------------------------------------------------------- */

static bool path_is_plain(const char *path) {
    if (!*path || strlen(path) >= MAX_PATH_BYTES) return false;
    for (const char *at = path; *at; at++) {
        unsigned char c = (unsigned char)*at;
        bool begins = at == path || at[-1] == '/';
        if (c < 0x20 || c == 0x7f || c == '\\') return false;
        if (begins && (c == '.' || c == '/')) return false;
    }
    return true;
}

/* Component by component without following links, for kernels and sandboxes without openat2. */
static int open_by_steps(int folder, const char *path) {
    char name[MAX_PATH_BYTES];
    int at = folder;
    for (;;) {
        size_t length = strcspn(path, "/");
        memcpy(name, path, length);
        name[length] = 0;
        bool is_last = path[length] == 0;
        int flags =
            O_CLOEXEC | O_NOFOLLOW | (is_last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY);
        int next = openat(at, name, flags);
        int error = errno;
        if (at != folder) close(at);
        errno = error;
        if (next < 0 || is_last) return next;
        at = next;
        path += length + 1;
    }
}

static int open_any(int folder, const char *path) {
#if defined(SYS_openat2) && __has_include(<linux/openat2.h>)
    struct open_how how = {
        .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, /* not blocking: never wait on a fifo */
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return fd;
#endif
    return open_by_steps(folder, path);
}

int open_beneath(int folder_fd, const char *path) {
    if (!path_is_plain(path)) {
        errno = ENOENT;
        return -1;
    }
    int fd = open_any(folder_fd, path);
    struct stat file;
    if (fd >= 0 && (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode))) {
        close(fd);
        errno = ENOENT;
        return -1;
    }
    return fd;
}

/* -- serving ---------------------------------------------------------------------------------- */

const char *content_type_of(const char *path) {
    static const struct {
        const char *ending, *type;
    } types[] = {
        {".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".mjs", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".json", "application/json"},
        {".svg", "image/svg+xml"},
        {".png", "image/png"},
        {".jpg", "image/jpeg"},
        {".jpeg", "image/jpeg"},
        {".webp", "image/webp"},
        {".ico", "image/x-icon"},
        {".wasm", "application/wasm"},
        {".txt", "text/plain; charset=utf-8"},
        {".map", "application/json"},
        {".woff2", "font/woff2"},
        {".yaml", "application/yaml"},
        {".md", "text/markdown; charset=utf-8"},
    };
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t n = strlen(types[i].ending);
        if (length > n && strcasecmp(path + length - n, types[i].ending) == 0) return types[i].type;
    }
    return "application/octet-stream";
}

/* The one inline script a page may have is its import map, which cannot be a file: its hash is put
 * into the policy, everything else inline stays forbidden. */
static void allow_import_map(struct http_exchange *x, int fd) {
    struct stat file;
    if (fstat(fd, &file) != 0 || file.st_size <= 0 || file.st_size > MAX_PAGE_BYTES) return;
    size_t size = (size_t)file.st_size;
    char *page = malloc(size + 1);
    ssize_t n = page ? pread(fd, page, size, 0) : -1;
    if (n < 0) n = 0;
    if (page) page[n] = 0;
    char *tag = page ? strstr(page, "<script type=\"importmap\">") : NULL;
    char *begin = tag ? tag + strlen("<script type=\"importmap\">") : NULL;
    char *end = begin ? strstr(begin, "</script>") : NULL;
    if (end) {
        struct sha256_ctx hash;
        uint8_t digest[SHA256_DIGEST_SIZE];
        char text[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1] = {0}, source[96];
        sha256_init(&hash);
        sha256_update(&hash, (size_t)(end - begin), (const uint8_t *)begin);
        sha256_digest(&hash, sizeof digest, digest);
        base64_encode_raw(text, sizeof digest, digest);
        snprintf(source, sizeof source, " 'sha256-%s'", text);
        reply_page_policy(x, source);
    }
    free(page);
}

void static_files_serve(struct static_files *files, struct http_exchange *x, const char *path) {
    const char *name = strcmp(path, "/") == 0 ? "index.html" : path + 1;
    int fd = files ? open_beneath(files->folder, name) : -1;
    if (fd < 0) {
        exchange_fault(x, HTTP_FAULT_NOT_FOUND, "there is no such page or route");
        return;
    }
    const char *type = content_type_of(name);
    if (strncmp(type, "text/html", 9) == 0) allow_import_map(x, fd);
    http_reply_header(x, "Cache-Control", "no-cache");
    reply_descriptor(x, type, fd, NULL);
}
