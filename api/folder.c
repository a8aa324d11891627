#define _XOPEN_SOURCE 700 /* realpath */
#include "api/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { MAX_DEPTH = 32 };

enum rt_status folder_fail(struct rt_error *err, int error_number, const char *what) {
    bool is_full = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
    return rt_fail(err, is_full ? RT_STORAGE_FULL : RT_IO, "%s: %s", what, strerror(error_number));
}

enum rt_status folder_create(const char *path, struct rt_error *err) {
    char partial[FOLDER_PATH_BYTES];
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof partial) return rt_fail(err, RT_LIMIT, "folder name too long");
    memcpy(partial, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (partial[i] != '/' && partial[i] != '\0') continue;
        char kept = partial[i];
        partial[i] = '\0';
        if (mkdir(partial, 0700) != 0 && errno != EEXIST) {
            return folder_fail(err, errno, "creating a folder");
        }
        partial[i] = kept;
    }
    if (!folder_exists(path)) return rt_fail(err, RT_IO, "creating a folder: a file is in the way");
    return RT_OK;
}

bool folder_exists(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int64_t folder_file_bytes(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) ? (int64_t)status.st_size : -1;
}

enum rt_status folder_join(const char *folder, const char *name, char *out, struct rt_error *err) {
    int n = snprintf(out, FOLDER_PATH_BYTES, "%s/%s", folder, name);
    if (n < 0 || n >= FOLDER_PATH_BYTES) return rt_fail(err, RT_LIMIT, "path too long");
    return RT_OK;
}

/* Opens the folder `name` below `parent` without following a link; NULL when it cannot. */
static DIR *open_below(int parent, const char *name) {
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return NULL;
    DIR *folder = fdopendir(fd);
    if (!folder) close(fd);
    return folder;
}

static bool is_dot(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

static uint64_t bytes_below(int parent, const char *name, int depth) {
    DIR *folder = depth < MAX_DEPTH ? open_below(parent, name) : NULL;
    if (!folder) return 0;
    uint64_t total = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        struct stat status;
        if (is_dot(entry->d_name)) continue;
        if (fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (S_ISDIR(status.st_mode)) {
            total += bytes_below(dirfd(folder), entry->d_name, depth + 1);
        } else if (S_ISREG(status.st_mode)) {
            total += (uint64_t)status.st_size;
        }
    }
    closedir(folder);
    return total;
}

uint64_t folder_bytes(const char *path) { return bytes_below(AT_FDCWD, path, 0); }

static bool remove_below(int parent, const char *name, int depth) {
    DIR *folder = depth < MAX_DEPTH ? open_below(parent, name) : NULL;
    if (!folder) return unlinkat(parent, name, 0) == 0 || errno == ENOENT;
    bool is_clean = true;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (is_dot(entry->d_name)) continue;
        is_clean = remove_below(dirfd(folder), entry->d_name, depth + 1) && is_clean;
    }
    closedir(folder);
    return unlinkat(parent, name, AT_REMOVEDIR) == 0 && is_clean;
}

bool folder_remove(const char *path) { return remove_below(AT_FDCWD, path, 0); }

enum rt_status folder_resolve_below(const char *root, const char *path, char *out,
                                    struct rt_error *err) {
    char joined[FOLDER_PATH_BYTES];
    if (path[0] == '/') {
        if (strlen(path) >= sizeof joined) return rt_fail(err, RT_LIMIT, "path too long");
        memcpy(joined, path, strlen(path) + 1);
    } else {
        RT_TRY(folder_join(root, path, joined, err));
    }
    char *real_root = realpath(root, NULL);
    char *real_path = realpath(joined, NULL);
    enum rt_status status = RT_OK;
    size_t n_root = real_root ? strlen(real_root) : 0;
    if (!real_root) {
        status = rt_fail(err, RT_NOT_FOUND, "the folder of --data-root does not exist");
    } else if (!real_path) {
        status = rt_fail(err, RT_NOT_FOUND, "no such file or folder below --data-root");
    } else if (strncmp(real_path, real_root, n_root) != 0 ||
               (n_root > 1 && real_path[n_root] != '/' && real_path[n_root] != '\0')) {
        status = rt_fail(err, RT_INVALID, "the path leads out of --data-root");
    } else if (strlen(real_path) >= FOLDER_PATH_BYTES) {
        status = rt_fail(err, RT_LIMIT, "path too long");
    } else {
        memcpy(out, real_path, strlen(real_path) + 1);
    }
    free(real_root);
    free(real_path);
    return status;
}

uint64_t folder_free_bytes(const char *path) {
    struct statvfs status;
    if (statvfs(path, &status) != 0) return UINT64_MAX;
    return (uint64_t)status.f_bavail * (uint64_t)status.f_frsize;
}
