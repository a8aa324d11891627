#include "recon/recording_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "render/core/limits.h"

/* Bytes of the UTF-8 sequence at `s` (Unicode 3.9 table 3-7), 0 when malformed. */
static size_t utf8_length(const unsigned char *s) {
    if (s[0] < 0x80) return 1;
    if (s[0] < 0xC2 || s[0] > 0xF4) return 0;
    size_t n = s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    unsigned char low = s[0] == 0xE0 ? 0xA0 : s[0] == 0xF0 ? 0x90 : 0x80;
    unsigned char high = s[0] == 0xED ? 0x9F : s[0] == 0xF4 ? 0x8F : 0xBF;
    if (s[1] < low || s[1] > high) return 0;
    for (size_t i = 2; i < n; i++) {
        if (s[i] < 0x80 || s[i] > 0xBF) return 0;
    }
    return n;
}

static const char *bytes_fault(const char *path) {
    const unsigned char *s = (const unsigned char *)path;
    while (*s) {
        if (*s < 0x20 || *s == 0x7F) return "holds a control character";
        if (*s == '\\') return "holds a backslash (use / between folders)";
        size_t n = utf8_length(s);
        if (n == 0) return "is not valid UTF-8";
        s += n;
    }
    return NULL;
}

static const char *component_fault(const char *part, size_t n) {
    if (n == 0) return "has an empty folder name";
    if (n == 1 && part[0] == '.') return "has a folder named '.'";
    if (n == 2 && part[0] == '.' && part[1] == '.') return "leaves the folder with '..'";
    return NULL;
}

static const char *path_fault(const char *path) {
    size_t n = strlen(path);
    if (n == 0) return "is empty";
    if (n > RT_MAX_PATH_BYTES) return "is longer than 255 bytes";
    if (path[0] == '/') return "is absolute (paths are relative to the recording)";
    if (n > 1 && path[1] == ':') return "begins with a drive letter";
    const char *fault = bytes_fault(path);
    for (const char *part = path; !fault && part;) {
        const char *slash = strchr(part, '/');
        fault = component_fault(part, slash ? (size_t)(slash - part) : strlen(part));
        part = slash ? slash + 1 : NULL;
    }
    return fault;
}

enum rt_status recording_path_check(const char *path, struct rt_error *err) {
    const char *fault = path_fault(path);
    if (!fault) return RT_OK;
    char shown[100]; /* never echo control bytes of a stranger */
    size_t n = 0;
    for (; path[n] && n + 1 < sizeof shown; n++) {
        unsigned char c = (unsigned char)path[n];
        shown[n] = c >= 0x20 && c < 0x7F ? (char)c : '?';
    }
    shown[n] = 0;
    return rt_fail_file(err, "bad-value", -1, "path \"%s\" %s", shown, fault);
}

enum rt_status recording_folder_open(const char *path, struct recording_folder *out,
                                     struct rt_error *err) {
    out->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (out->fd >= 0) return RT_OK;
    if (errno == ENOENT) return rt_fail(err, RT_NOT_FOUND, "no such folder");
    if (errno == ENOTDIR) return rt_fail(err, RT_NOT_FOUND, "not a folder");
    return rt_fail(err, RT_IO, "folder cannot be opened: %s", strerror(errno));
}

void recording_folder_close(struct recording_folder *folder) {
    if (folder->fd >= 0) close(folder->fd);
    folder->fd = -1;
}

/* Walks the components one by one with O_NOFOLLOW, so that no link is ever passed. Returns an open
 * descriptor or -1 with errno. */
static int open_beneath(int folder_fd, const char *path, int flags) {
    char part[RT_MAX_PATH_BYTES + 1];
    int at = folder_fd;
    for (;;) {
        const char *slash = strchr(path, '/');
        size_t n = slash ? (size_t)(slash - path) : strlen(path);
        memcpy(part, path, n);
        part[n] = 0;
        int how = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (slash ? O_DIRECTORY : flags);
        int next = openat(at, part, how);
        int failed = errno;
        if (at != folder_fd) close(at);
        errno = failed;
        if (next < 0 || !slash) return next;
        at = next;
        path = slash + 1;
    }
}

/* O_NOFOLLOW with O_DIRECTORY reports a link as ENOTDIR; tell it from a plain file. */
static bool passes_link(int folder_fd, const char *path) {
    char prefix[RT_MAX_PATH_BYTES + 1];
    for (size_t n = 1; n <= strlen(path); n++) {
        if (path[n] != '/' && path[n] != 0) continue;
        memcpy(prefix, path, n);
        prefix[n] = 0;
        struct stat st;
        if (fstatat(folder_fd, prefix, &st, AT_SYMLINK_NOFOLLOW) != 0) return false;
        if (S_ISLNK(st.st_mode)) return true;
    }
    return false;
}

static enum rt_status open_failed(const struct recording_folder *folder, const char *path,
                                  int failed, struct rt_error *err) {
    if (failed == ELOOP || (failed == ENOTDIR && passes_link(folder->fd, path))) {
        return rt_fail_file(err, "bad-value", -1,
                            "%s is, or lies behind, a symbolic link: links are not followed; put "
                            "the file itself into the recording",
                            path);
    }
    if (failed == ENOENT || failed == ENOTDIR || failed == ENAMETOOLONG) {
        return rt_fail(err, RT_NOT_FOUND, "%s: no such file", path);
    }
    return rt_fail(err, RT_IO, "%s: %s", path, strerror(failed));
}

enum rt_status recording_file_open(const struct recording_folder *folder, const char *path,
                                   struct recording_file *out, struct rt_error *err) {
    memset(out, 0, sizeof *out);
    out->fd = -1;
    RT_TRY(recording_path_check(path, err));
    int fd = folder->fd < 0 ? -1 : open_beneath(folder->fd, path, 0);
    if (fd < 0) return open_failed(folder, path, folder->fd < 0 ? ENOENT : errno, err);
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return rt_fail_file(err, "bad-value", -1, "%s is not a regular file", path);
    }
    out->fd = fd;
    out->bytes = (int64_t)st.st_size;
    snprintf(out->path, sizeof out->path, "/proc/self/fd/%d", fd);
    return RT_OK;
}

void recording_file_close(struct recording_file *file) {
    if (file->fd >= 0) close(file->fd);
    file->fd = -1;
}

enum rt_status recording_file_failed(const struct recording_file *file, const char *path,
                                     enum rt_status status, struct rt_error *err) {
    if (!err) return status;
    const char *number = strrchr(file->path, '/') + 1;
    size_t n = strlen(number);
    if (strncmp(err->message, number, n) == 0 && strncmp(err->message + n, ": ", 2) == 0) {
        memmove(err->message, err->message + n + 2, strlen(err->message + n + 2) + 1);
    }
    return rt_prefix(err, status, "%s", path);
}

enum rt_status recording_file_read(const struct recording_folder *folder, const char *path,
                                   size_t max_bytes, struct rt_bytes *out, struct rt_error *err) {
    struct recording_file file;
    memset(out, 0, sizeof *out);
    RT_TRY(recording_file_open(folder, path, &file, err));
    enum rt_status status = file_read(file.path, max_bytes, out, err);
    if (status != RT_OK) recording_file_failed(&file, path, status, err);
    recording_file_close(&file);
    return status;
}

bool recording_has_file(const struct recording_folder *folder, const char *path) {
    struct recording_file file;
    bool has = recording_file_open(folder, path, &file, NULL) == RT_OK;
    recording_file_close(&file);
    return has;
}

bool recording_has_folder(const struct recording_folder *folder, const char *path) {
    if (folder->fd < 0 || path_fault(path)) return false;
    int fd = open_beneath(folder->fd, path, O_DIRECTORY);
    if (fd >= 0) close(fd);
    return fd >= 0;
}
