/* Folders below the service's own data folder: measure, remove, resolve.
 *
 *     RT_TRY(folder_create(path, err));                    // with parents, 0700
 *     uint64_t n_bytes = folder_bytes(path);
 *     folder_remove(path);                                 // the tree; links are not followed
 *
 * Threading: no shared state; the caller owns the names. */
#ifndef RETAKE_API_FOLDER_H
#define RETAKE_API_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "render/core/status.h"

enum { FOLDER_PATH_BYTES = 4096 };

/* Creates `path` and missing parents; an existing folder is fine. RT_IO, RT_STORAGE_FULL. */
enum rt_status folder_create(const char *path, struct rt_error *err);
/* Bytes of all regular files in the tree (at most 32 levels deep). 0 when it cannot be read. */
uint64_t folder_bytes(const char *path);
/* Removes the tree; symbolic links are removed, never followed. False when something is left. */
bool folder_remove(const char *path);
bool folder_exists(const char *path);
/* Bytes of a regular file, -1 when there is none. */
int64_t folder_file_bytes(const char *path);

/* "folder/name" into `out` [FOLDER_PATH_BYTES]. RT_LIMIT when it does not fit. */
enum rt_status folder_join(const char *folder, const char *name, char *out, struct rt_error *err);

/* The real path of `path` (absolute, or relative to `root`) when it lies below the real path of
 * `root`; links that lead out are refused. `out` [FOLDER_PATH_BYTES]. RT_NOT_FOUND, RT_INVALID. */
enum rt_status folder_resolve_below(const char *root, const char *path, char *out,
                                    struct rt_error *err);

/* Free bytes of the file system that holds `path`; UINT64_MAX when unknown. */
uint64_t folder_free_bytes(const char *path);

/* RT_STORAGE_FULL for ENOSPC and EDQUOT (and EFBIG), else RT_IO; the message is "`what`: reason".
 */
enum rt_status folder_fail(struct rt_error *err, int error_number, const char *what);

#endif
