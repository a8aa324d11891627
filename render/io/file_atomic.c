#include "render/io/file_atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char *path_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int path_ends(const char *path, const char *ending) {
    size_t n = strlen(path);
    size_t m = strlen(ending);
    return n >= m && strcasecmp(path + n - m, ending) == 0;
}

enum rt_status file_fail(struct rt_error *err, const char *path, const char *action) {
    int number = errno;
    enum rt_status status = RT_IO;
    if (number == ENOSPC || number == EDQUOT) status = RT_STORAGE_FULL;
    if (number == ENOENT || number == ENOTDIR) status = RT_NOT_FOUND;
    const char *code = status == RT_NOT_FOUND ? "missing-file" : NULL;
    return rt_coded(
        err,
        rt_fail(err, status, "%.200s: cannot %s: %s", path_base(path), action, strerror(number)),
        code);
}

void rt_bytes_free(struct rt_bytes *bytes) {
    free(bytes->bytes);
    memset(bytes, 0, sizeof *bytes);
}

static enum rt_status regular_size(int fd, const char *path, size_t *n_bytes,
                                   struct rt_error *err) {
    struct stat st;
    if (fstat(fd, &st) != 0) return file_fail(err, path, "stat");
    if (!S_ISREG(st.st_mode)) {
        return rt_fail(err, RT_INVALID, "%.200s: is not a regular file", path_base(path));
    }
    *n_bytes = (size_t)st.st_size;
    return RT_OK;
}

static enum rt_status read_exactly(int fd, const char *path, struct rt_bytes *out,
                                   struct rt_error *err) {
    size_t done = 0;
    while (done < out->n_bytes) {
        ssize_t n = read(fd, (char *)out->bytes + done, out->n_bytes - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return file_fail(err, path, "read");
        if (n == 0) {
            return rt_fail_file(err, "truncated", (int64_t)done,
                                "%.200s: became shorter while it was read", path_base(path));
        }
        done += (size_t)n;
    }
    return RT_OK;
}

static enum rt_status read_open(int fd, const char *path, size_t n_bytes, struct rt_bytes *out,
                                struct rt_error *err) {
    out->bytes = malloc(n_bytes > 0 ? n_bytes : 1);
    out->n_bytes = n_bytes;
    if (!out->bytes) {
        return rt_fail(err, RT_NO_MEMORY, "%.200s: %zu bytes: out of memory", path_base(path),
                       n_bytes);
    }
    enum rt_status status = read_exactly(fd, path, out, err);
    if (status != RT_OK) rt_bytes_free(out);
    return status;
}

enum rt_status file_read_fd(int fd, const char *name, size_t max_bytes, struct rt_bytes *out,
                            struct rt_error *err) {
    size_t n_bytes = 0;
    memset(out, 0, sizeof *out);
    RT_TRY(regular_size(fd, name, &n_bytes, err));
    if (n_bytes > max_bytes) {
        return rt_fail_file(err, "limit", -1, "%.200s: %zu bytes exceed the limit of %zu",
                            path_base(name), n_bytes, max_bytes);
    }
    return read_open(fd, name, n_bytes, out, err);
}

/* O_NONBLOCK: opening a pipe or a device must not hang; it is refused afterwards. */
enum { OPEN_FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK };

enum rt_status file_read(const char *path, size_t max_bytes, struct rt_bytes *out,
                         struct rt_error *err) {
    memset(out, 0, sizeof *out);
    int fd = open(path, OPEN_FLAGS);
    if (fd < 0) return file_fail(err, path, "open");
    enum rt_status status = file_read_fd(fd, path, max_bytes, out, err);
    close(fd);
    return status;
}

enum rt_status file_read_head(const char *path, size_t n_bytes, struct rt_bytes *out,
                              size_t *file_bytes, struct rt_error *err) {
    memset(out, 0, sizeof *out);
    int fd = open(path, OPEN_FLAGS);
    if (fd < 0) return file_fail(err, path, "open");
    enum rt_status status = regular_size(fd, path, file_bytes, err);
    if (status == RT_OK) {
        status = read_open(fd, path, n_bytes < *file_bytes ? n_bytes : *file_bytes, out, err);
    }
    close(fd);
    return status;
}

static void folder_of(const char *path, char *folder, size_t n_bytes) {
    const char *base = path_base(path);
    size_t n = (size_t)(base - path);
    if (n == 0) {
        snprintf(folder, n_bytes, ".");
    } else {
        snprintf(folder, n_bytes, "%.*s", (int)n, path);
    }
}

enum rt_status file_draft_open(const char *path, struct file_draft *out, struct rt_error *err) {
    memset(out, 0, sizeof *out);
    out->fd = -1;
    char folder[FILE_PATH_BYTES];
    folder_of(path, folder, sizeof folder);
    if (snprintf(out->target, sizeof out->target, "%s", path) >= (int)sizeof out->target) {
        return rt_fail(err, RT_INVALID, "path of %zu bytes is too long", strlen(path));
    }
    for (int attempt = 0; attempt < 100; attempt++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        int n = snprintf(out->path, sizeof out->path, "%s/.retake-%ld-%ld-%d.tmp", folder,
                         (long)getpid(), now.tv_nsec, attempt);
        if (n >= (int)sizeof out->path) {
            return rt_fail(err, RT_INVALID, "path of %zu bytes is too long", strlen(path));
        }
        out->fd = open(out->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (out->fd >= 0) return RT_OK;
        if (errno != EEXIST) break;
    }
    out->path[0] = '\0';
    return file_fail(err, path, "create");
}

void file_draft_discard(struct file_draft *draft) {
    if (draft->fd >= 0) close(draft->fd);
    if (draft->path[0]) unlink(draft->path);
    draft->fd = -1;
    draft->path[0] = '\0';
}

/* Best effort: some file systems refuse to fsync a folder, and the rename has already happened. */
static void sync_folder(const char *path) {
    char folder[FILE_PATH_BYTES];
    folder_of(path, folder, sizeof folder);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

enum rt_status file_draft_commit(struct file_draft *draft, struct rt_error *err) {
    enum rt_status status = RT_OK;
    if (fsync(draft->fd) != 0) status = file_fail(err, draft->target, "flush");
    if (close(draft->fd) != 0 && status == RT_OK) status = file_fail(err, draft->target, "close");
    draft->fd = -1;
    if (status == RT_OK && rename(draft->path, draft->target) != 0) {
        status = file_fail(err, draft->target, "replace");
    }
    if (status != RT_OK) {
        file_draft_discard(draft);
        return status;
    }
    draft->path[0] = '\0';
    sync_folder(draft->target);
    return RT_OK;
}

enum rt_status file_write_all(int fd, const void *bytes, size_t n_bytes, struct rt_error *err) {
    size_t done = 0;
    while (done < n_bytes) {
        ssize_t n = write(fd, (const char *)bytes + done, n_bytes - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return file_fail(err, "file", "write");
        done += (size_t)n;
    }
    return RT_OK;
}

enum rt_status file_write_atomic(const char *path, const void *bytes, size_t n_bytes,
                                 struct rt_error *err) {
    struct file_draft draft;
    RT_TRY(file_draft_open(path, &draft, err));
    enum rt_status status = file_write_all(draft.fd, bytes, n_bytes, err);
    if (status != RT_OK) {
        file_draft_discard(&draft);
        return rt_prefix(err, status, "%.200s", path_base(path));
    }
    return file_draft_commit(&draft, err);
}
