/* Files below a folder, opened component by component so that no link leads out of it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "render/core/limits.h"
#include "render/io/file_atomic.h"
#include "render/io/scene_source.h"

static bool part_is_safe(const char *part, size_t n) {
    if (n == 0 || (n == 1 && part[0] == '.')) return false;
    if (n == 2 && part[0] == '.' && part[1] == '.') return false;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)part[i];
        if (c < 0x20 || c == 0x7f || c == '\\' || c == ':') return false;
    }
    return true;
}

bool scene_path_is_safe(const char *name) {
    size_t n = strlen(name);
    if (n < 1 || n > RT_MAX_PATH_BYTES) return false;
    for (const char *part = name;;) {
        const char *slash = strchr(part, '/');
        if (!part_is_safe(part, slash ? (size_t)(slash - part) : strlen(part))) return false;
        if (!slash) return true;
        part = slash + 1;
    }
}

int folder_open_beneath(const char *folder, const char *name) {
    int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char part[RT_MAX_PATH_BYTES + 1];
    while (at >= 0) {
        const char *slash = strchr(name, '/');
        size_t n = slash ? (size_t)(slash - name) : strlen(name);
        if (n >= sizeof part) {
            close(at);
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(part, name, n);
        part[n] = '\0';
        int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (slash ? O_DIRECTORY : O_NONBLOCK);
        int next = openat(at, part, flags);
        int number = errno;
        close(at);
        errno = number;
        if (!slash || next < 0) return next;
        at = next;
        name = slash + 1;
    }
    return -1;
}

bool folder_source_has(const char *folder, const char *name) {
    int fd = scene_path_is_safe(name) ? folder_open_beneath(folder, name) : -1;
    if (fd < 0) return false;
    close(fd);
    return true;
}

enum rt_status folder_source_read(const char *folder, const char *name, size_t max_bytes,
                                  struct rt_bytes *out, struct rt_error *err) {
    memset(out, 0, sizeof *out);
    if (!scene_path_is_safe(name)) {
        return rt_fail_file(err, "bad-value", -1, "file name \"%.80s\" is not allowed", name);
    }
    int fd = folder_open_beneath(folder, name);
    if (fd < 0) return file_fail(err, name, "open");
    enum rt_status status = file_read_fd(fd, name, max_bytes, out, err);
    close(fd);
    return status;
}
