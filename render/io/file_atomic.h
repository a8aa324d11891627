/* Whole files: a temporary beside the target, fsync, rename, fsync of the folder.
 *
 *     struct file_draft draft;
 *     RT_TRY(file_draft_open(path, &draft, err));
 *     ... write to draft.fd, or replace the file named draft.path ...
 *     RT_TRY(file_draft_commit(&draft, err));       // or file_draft_discard(&draft)
 *
 * A reader of `path` sees the old file or the whole new one, never a part. file_read() and
 * file_write_atomic() of image_file.h are the short forms. Threading: no shared state. */
#ifndef RETAKE_RENDER_IO_FILE_ATOMIC_H
#define RETAKE_RENDER_IO_FILE_ATOMIC_H

#include <stddef.h>

#include "render/core/status.h"
#include "render/io/image_file.h"

enum { FILE_PATH_BYTES = 4096 };

struct file_draft {
    int fd; /* open for writing, or -1 */
    char path[FILE_PATH_BYTES];
    char target[FILE_PATH_BYTES];
};

/* Creates the temporary file in the folder of `path`. RT_NOT_FOUND without that folder, RT_IO,
 * RT_STORAGE_FULL. */
enum rt_status file_draft_open(const char *path, struct file_draft *out, struct rt_error *err);
/* fsync, rename over the target, fsync of the folder; discards the draft on failure. */
enum rt_status file_draft_commit(struct file_draft *draft, struct rt_error *err);
/* Removes the temporary file; harmless after a commit. */
void file_draft_discard(struct file_draft *draft);

enum rt_status file_write_all(int fd, const void *bytes, size_t n_bytes, struct rt_error *err);

/* file_read() of an open file, which stays open; `name` is for messages. */
enum rt_status file_read_fd(int fd, const char *name, size_t max_bytes, struct rt_bytes *out,
                            struct rt_error *err);
/* The first n_bytes of a file at most, and its whole size. */
enum rt_status file_read_head(const char *path, size_t n_bytes, struct rt_bytes *out,
                              size_t *file_bytes, struct rt_error *err);

/* Status for errno: ENOSPC and EDQUOT are RT_STORAGE_FULL, ENOENT is RT_NOT_FOUND ("missing-file"),
 * else RT_IO. The message names the last part of the path only. */
enum rt_status file_fail(struct rt_error *err, const char *path, const char *action);

/* Part after the last slash. */
const char *path_base(const char *path);
/* True when path ends in `ending` (".ply"), ignoring ASCII case. */
int path_ends(const char *path, const char *ending);

#endif
