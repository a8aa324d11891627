/* Scene files of a data folder: ID.DIGEST16.EXT beside ID.json (the sidecar). The rename of the
 * sidecar commits, so after a crash a scene is wholly old or wholly new; files that no sidecar
 * names are leftovers and are removed by the next scan. Threading: no shared state; the caller
 * keeps two writers of one id apart. */
#ifndef RETAKE_API_SCENE_STORE_H
#define RETAKE_API_SCENE_STORE_H

#include "api/scene_cache.h"

/* Creates the folder and lists what it holds; a scene file ID.EXT put there by hand is adopted.
 * Unreadable sidecars and files are logged and skipped. Caller frees rows and array. */
enum rt_status scene_store_scan(const char *folder, struct scene_row **rows, int32_t *n_rows,
                                struct rt_error *err);

/* Puts the file at `path` below the folder as row->file (set by this call from row->id, digest and
 * `extension`) and writes the sidecar. `old_file` (may be "") is removed afterwards. */
struct scene_store_source {
    const char *path;
    const char *extension;
    bool move; /* rename, else hard link or copy */
    const char *old_file;
};
enum rt_status scene_store_commit(const char *folder, struct scene_row *row,
                                  const struct scene_store_source *source, struct rt_error *err);
void scene_store_remove(const char *folder, const struct scene_row *row);

/* SHA-256 of a file as 64 hex digits. */
enum rt_status file_digest(const char *path, char digest[SCENE_DIGEST_BYTES], int64_t *n_bytes,
                           struct rt_error *err);
/* folder/name; caller frees; NULL when out of memory. */
char *path_join(const char *folder, const char *name);

#endif
