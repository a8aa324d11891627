/* Recordings known to the service: folders below DATA/recordings, uploaded, imported or put there
 * by hand.
 *
 *     RT_TRY(recording_store_open(&store, "DATA/recordings", err));
 *     RT_TRY(recording_store_add_archive(store, "fox", "upload.tar", sha256, &row, err));
 *     RT_TRY(recording_store_acquire(store, "fox", &handle, err));
 *     handle->recording …                                   // immutable, shared
 *     recording_handle_release(&handle);
 *
 * On disk: `<id>/sidecar.json` (digest, time, origin) beside `<id>/<id>/` (the content; absent for
 * an import, whose folder the sidecar names). A folder without a sidecar is a recording itself. A
 * recording appears by one rename, when it is whole and was opened successfully; names that begin
 * with a dot are unfinished and are removed at the next start.
 * Threading: any thread; one leaf mutex, never held while files are read. Cost: acquire opens the
 * recording when it is not among the last few used. */
#ifndef RETAKE_API_RECORDING_STORE_H
#define RETAKE_API_RECORDING_STORE_H

#include <stdatomic.h>

#include "recon/recording.h"

struct recording_store;

struct recording_origin {
    char id[RT_ID_BYTES];
    char digest[65]; /* SHA-256 of the archive in hex; "" = not known (imported, put by hand) */
    int64_t created_ms;
    uint64_t n_bytes;
    bool is_imported;
};

struct recording_handle {
    atomic_int n_references;
    struct recording_origin origin;
    char *folder; /* owned; content */
    struct recording
        *recording; /* owned; immutable but for recording_check_deep of a private one */
};

enum rt_status recording_store_open(struct recording_store **out, const char *folder,
                                    struct rt_error *err);
void recording_store_close(struct recording_store **store);

/* Ids in alphabetical order; caller frees the array ([n][RT_ID_BYTES]). */
enum rt_status recording_store_list(struct recording_store *store, char (**ids)[RT_ID_BYTES],
                                    int32_t *n_ids, struct rt_error *err);
bool recording_store_has(struct recording_store *store, const char *id);
/* What is known without opening the content. RT_NOT_FOUND. */
enum rt_status recording_store_origin(struct recording_store *store, const char *id,
                                      struct recording_origin *out, struct rt_error *err);

/* Folder of the content; `out` has FOLDER_PATH_BYTES. RT_NOT_FOUND. */
enum rt_status recording_store_folder(struct recording_store *store, const char *id, char *out,
                                      struct rt_error *err);

/* The opened recording; release it. RT_NOT_FOUND, or what recording_open says. */
enum rt_status recording_store_acquire(struct recording_store *store, const char *id,
                                       struct recording_handle **out, struct rt_error *err);
void recording_handle_release(struct recording_handle **handle);

/* Unpacks, opens, then publishes an upload. An existing recording is RT_EXISTS unless `replace`.
 * RT_BAD_RECORDING, RT_STORAGE_FULL: nothing is left. Slow; not for connection threads. */
enum rt_status recording_store_add_archive(struct recording_store *store, const char *id,
                                           const char *archive, const char *sha256_hex,
                                           bool replace, struct rt_error *err);
/* Registers a folder that stays where it is. */
enum rt_status recording_store_add_folder(struct recording_store *store, const char *id,
                                          const char *folder, struct rt_error *err);
/* Removes the recording; the files of an import stay. Readers that hold a handle keep their numbers
 * but may miss files. RT_NOT_FOUND. */
enum rt_status recording_store_remove(struct recording_store *store, const char *id,
                                      struct rt_error *err);

#endif
