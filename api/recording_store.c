#include "api/recording_store.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/folder.h"
#include "render/core/log.h"
#include "render/core/scene.h"
#include "render/io/image_file.h"

enum { N_CACHED = 4, SIDECAR_MAX_BYTES = 64 * 1024 };

struct recording_store {
    char *folder; /* owned */
    pthread_mutex_t mutex;
    int64_t n_incoming;                        /* numbers unfinished folders */
    struct recording_handle *cached[N_CACHED]; /* most recently used first */
};

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* -- the cache of opened recordings ------------------------------------------------------------ */

void recording_handle_release(struct recording_handle **handle) {
    struct recording_handle *h = *handle;
    *handle = NULL;
    if (!h || atomic_fetch_sub(&h->n_references, 1) != 1) return;
    recording_close(&h->recording);
    free(h->folder);
    free(h);
}

static struct recording_handle *cache_find(struct recording_store *store, const char *id) {
    struct recording_handle *found = NULL;
    pthread_mutex_lock(&store->mutex);
    for (int i = 0; i < N_CACHED && !found; i++) {
        struct recording_handle *handle = store->cached[i];
        if (!handle || strcmp(handle->origin.id, id) != 0) continue;
        found = handle;
        for (int j = i; j > 0; j--) store->cached[j] = store->cached[j - 1];
        store->cached[0] = found;
        atomic_fetch_add(&found->n_references, 1);
    }
    pthread_mutex_unlock(&store->mutex);
    return found;
}

static void cache_insert(struct recording_store *store, struct recording_handle *handle) {
    atomic_fetch_add(&handle->n_references, 1);
    pthread_mutex_lock(&store->mutex);
    struct recording_handle *oldest = store->cached[N_CACHED - 1];
    for (int j = N_CACHED - 1; j > 0; j--) store->cached[j] = store->cached[j - 1];
    store->cached[0] = handle;
    pthread_mutex_unlock(&store->mutex);
    recording_handle_release(&oldest);
}

static void cache_forget(struct recording_store *store, const char *id) {
    for (int i = 0; i < N_CACHED; i++) {
        struct recording_handle *forgotten = NULL;
        pthread_mutex_lock(&store->mutex);
        if (store->cached[i] && (!id || strcmp(store->cached[i]->origin.id, id) == 0)) {
            forgotten = store->cached[i];
            store->cached[i] = NULL;
        }
        pthread_mutex_unlock(&store->mutex);
        recording_handle_release(&forgotten);
    }
}

/* -- sidecars ---------------------------------------------------------------------------------- */

/* Reads the origin and the content's folder `content` [FOLDER_PATH_BYTES] of a recording. */
static enum rt_status read_origin(const struct recording_store *store, const char *id,
                                  struct recording_origin *out, char *content,
                                  struct rt_error *err) {
    char folder[FOLDER_PATH_BYTES], name[FOLDER_PATH_BYTES];
    struct stat status;
    if (!id_is_valid(id, false)) return rt_fail(err, RT_NOT_FOUND, "no recording \"%.64s\"", id);
    RT_TRY(folder_join(store->folder, id, folder, err));
    if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode)) {
        return rt_fail(err, RT_NOT_FOUND, "no recording \"%s\"", id);
    }
    memset(out, 0, sizeof *out);
    snprintf(out->id, sizeof out->id, "%s", id);
    RT_TRY(folder_join(folder, "sidecar.json", name, err));
    json_t *sidecar = json_load_file(name, JSON_REJECT_DUPLICATES, NULL);
    if (!sidecar) { /* put there by hand: the folder is the recording */
        memcpy(content, folder, strlen(folder) + 1);
        out->created_ms = (int64_t)status.st_mtime * 1000;
        out->n_bytes = folder_bytes(folder);
        return RT_OK;
    }
    const char *digest = json_string_value(json_object_get(sidecar, "digest"));
    const char *import = json_string_value(json_object_get(sidecar, "folder"));
    out->created_ms = json_integer_value(json_object_get(sidecar, "created_ms"));
    out->n_bytes = (uint64_t)json_integer_value(json_object_get(sidecar, "bytes"));
    out->is_imported = import != NULL;
    if (digest) snprintf(out->digest, sizeof out->digest, "%s", digest);
    enum rt_status result = RT_OK;
    if (import && strlen(import) < FOLDER_PATH_BYTES) {
        memcpy(content, import, strlen(import) + 1);
    } else {
        result = folder_join(folder, id, content, err); /* its name is the id: readers show it */
    }
    json_decref(sidecar);
    return result;
}

static enum rt_status write_sidecar(const char *folder, const struct recording_origin *origin,
                                    const char *import, struct rt_error *err) {
    char name[FOLDER_PATH_BYTES];
    RT_TRY(folder_join(folder, "sidecar.json", name, err));
    json_t *sidecar = json_pack(
        "{s:s*, s:I, s:I, s:s*}", "digest", origin->digest[0] ? origin->digest : NULL, "created_ms",
        (json_int_t)origin->created_ms, "bytes", (json_int_t)origin->n_bytes, "folder", import);
    char *text = sidecar ? json_dumps(sidecar, JSON_INDENT(1)) : NULL;
    json_decref(sidecar);
    if (!text) return rt_fail(err, RT_NO_MEMORY, "recording: out of memory");
    enum rt_status status = file_write_atomic(name, text, strlen(text), err);
    free(text);
    return status;
}

/* -- opening ----------------------------------------------------------------------------------- */

static void remove_unfinished(const char *folder) {
    DIR *listing = opendir(folder);
    if (!listing) return;
    for (struct dirent *entry; (entry = readdir(listing));) {
        char path[FOLDER_PATH_BYTES];
        const char *name = entry->d_name;
        if (name[0] != '.' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        if (folder_join(folder, name, path, NULL) == RT_OK && !folder_remove(path)) {
            log_warn("recordings", "an unfinished upload could not be removed: %s", name);
        }
    }
    closedir(listing);
}

enum rt_status recording_store_open(struct recording_store **out, const char *folder,
                                    struct rt_error *err) {
    RT_TRY(folder_create(folder, err));
    remove_unfinished(folder);
    struct recording_store *store = calloc(1, sizeof *store);
    char *copy = strdup(folder);
    if (!store || !copy) {
        free(store);
        free(copy);
        return rt_fail(err, RT_NO_MEMORY, "recordings: out of memory");
    }
    store->folder = copy;
    pthread_mutex_init(&store->mutex, NULL);
    *out = store;
    return RT_OK;
}

void recording_store_close(struct recording_store **store) {
    if (!*store) return;
    cache_forget(*store, NULL);
    pthread_mutex_destroy(&(*store)->mutex);
    free((*store)->folder);
    free(*store);
    *store = NULL;
}

static int compare_ids(const void *a, const void *b) { return strcmp(a, b); }

enum rt_status recording_store_list(struct recording_store *store, char (**ids)[RT_ID_BYTES],
                                    int32_t *n_ids, struct rt_error *err) {
    DIR *listing = opendir(store->folder);
    if (!listing) return folder_fail(err, errno, "listing recordings");
    char(*found)[RT_ID_BYTES] = NULL;
    int32_t n = 0, capacity = 0;
    enum rt_status status = RT_OK;
    for (struct dirent *entry; (entry = readdir(listing));) {
        if (!id_is_valid(entry->d_name, false) || !recording_store_has(store, entry->d_name)) {
            continue;
        }
        if (n == capacity) {
            capacity = capacity ? 2 * capacity : 16;
            void *grown = realloc(found, (size_t)capacity * sizeof *found);
            if (!grown) {
                status = rt_fail(err, RT_NO_MEMORY, "recordings: out of memory");
                break;
            }
            found = grown;
        }
        snprintf(found[n++], RT_ID_BYTES, "%.64s", entry->d_name);
    }
    closedir(listing);
    if (status != RT_OK) {
        free(found);
        return status;
    }
    if (n > 0) qsort(found, (size_t)n, sizeof *found, compare_ids);
    *ids = found;
    *n_ids = n;
    return RT_OK;
}

bool recording_store_has(struct recording_store *store, const char *id) {
    char folder[FOLDER_PATH_BYTES];
    if (!id_is_valid(id, false)) return false;
    return folder_join(store->folder, id, folder, NULL) == RT_OK && folder_exists(folder);
}

enum rt_status recording_store_origin(struct recording_store *store, const char *id,
                                      struct recording_origin *out, struct rt_error *err) {
    char content[FOLDER_PATH_BYTES];
    return read_origin(store, id, out, content, err);
}

enum rt_status recording_store_folder(struct recording_store *store, const char *id, char *out,
                                      struct rt_error *err) {
    struct recording_origin origin;
    return read_origin(store, id, &origin, out, err);
}

enum rt_status recording_store_acquire(struct recording_store *store, const char *id,
                                       struct recording_handle **out, struct rt_error *err) {
    struct recording_handle *handle = cache_find(store, id);
    if (handle) {
        *out = handle;
        return RT_OK;
    }
    char content[FOLDER_PATH_BYTES];
    struct recording_origin origin;
    RT_TRY(read_origin(store, id, &origin, content, err));
    handle = calloc(1, sizeof *handle);
    char *folder = strdup(content);
    if (!handle || !folder) {
        free(handle);
        free(folder);
        return rt_fail(err, RT_NO_MEMORY, "recording %s: out of memory", id);
    }
    atomic_init(&handle->n_references, 1);
    handle->origin = origin;
    handle->folder = folder;
    enum rt_status status = recording_open(folder, &handle->recording, err);
    if (status != RT_OK) {
        recording_handle_release(&handle);
        return status;
    }
    cache_insert(store, handle);
    *out = handle;
    return RT_OK;
}

/* -- adding and removing ----------------------------------------------------------------------- */

/* A new folder with a name that no recording can have, on the same file system. */
static enum rt_status create_incoming(struct recording_store *store, char *folder,
                                      struct rt_error *err) {
    char name[64];
    pthread_mutex_lock(&store->mutex);
    int64_t number = ++store->n_incoming;
    pthread_mutex_unlock(&store->mutex);
    snprintf(name, sizeof name, ".incoming-%ld-%lld", (long)getpid(), (long long)number);
    RT_TRY(folder_join(store->folder, name, folder, err));
    return folder_create(folder, err);
}

/* Moves the finished folder to its name; an old one steps aside first and is then removed. */
static enum rt_status publish(struct recording_store *store, const char *id, const char *incoming,
                              bool replace, struct rt_error *err) {
    char target[FOLDER_PATH_BYTES], old[FOLDER_PATH_BYTES];
    RT_TRY(folder_join(store->folder, id, target, err));
    RT_TRY(create_incoming(store, old, err));
    bool had_old = replace && rename(target, old) == 0;
    enum rt_status status = RT_OK;
    /* rename() of a folder onto a folder with content fails: the id was taken meanwhile. */
    if (rename(incoming, target) != 0) {
        if (errno == ENOTEMPTY || errno == EEXIST) {
            status = rt_fail(err, RT_EXISTS, "recording \"%s\" exists already", id);
        } else {
            status = folder_fail(err, errno, "publishing the recording");
        }
        if (had_old && rename(old, target) != 0) {
            log_error("recordings", "recording %s could not be put back", id);
        }
    }
    folder_remove(old);
    cache_forget(store, id);
    return status;
}

static enum rt_status unpack_and_open(const char *incoming, const char *archive,
                                      struct recording_origin *origin, struct rt_error *err) {
    char content[FOLDER_PATH_BYTES];
    RT_TRY(folder_join(incoming, origin->id, content, err));
    RT_TRY(recording_unpack(archive, content, err));
    struct recording *recording = NULL;
    RT_TRY(recording_open(content, &recording, err));
    recording_close(&recording);
    origin->n_bytes = folder_bytes(content);
    origin->created_ms = now_ms();
    return write_sidecar(incoming, origin, NULL, err);
}

enum rt_status recording_store_add_archive(struct recording_store *store, const char *id,
                                           const char *archive, const char *sha256_hex,
                                           bool replace, struct rt_error *err) {
    char incoming[FOLDER_PATH_BYTES];
    if (!replace && recording_store_has(store, id)) {
        return rt_fail(err, RT_EXISTS, "recording \"%s\" exists already", id);
    }
    struct recording_origin origin = {0};
    snprintf(origin.id, sizeof origin.id, "%s", id);
    snprintf(origin.digest, sizeof origin.digest, "%s", sha256_hex ? sha256_hex : "");
    RT_TRY(create_incoming(store, incoming, err));
    enum rt_status status = unpack_and_open(incoming, archive, &origin, err);
    if (status == RT_OK) status = publish(store, id, incoming, replace, err);
    if (status != RT_OK) folder_remove(incoming);
    return status;
}

enum rt_status recording_store_add_folder(struct recording_store *store, const char *id,
                                          const char *folder, struct rt_error *err) {
    char incoming[FOLDER_PATH_BYTES];
    if (recording_store_has(store, id)) {
        return rt_fail(err, RT_EXISTS, "recording \"%s\" exists already", id);
    }
    struct recording *recording = NULL;
    RT_TRY(recording_open(folder, &recording, err));
    recording_close(&recording);
    struct recording_origin origin = {.n_bytes = folder_bytes(folder), .created_ms = now_ms()};
    RT_TRY(create_incoming(store, incoming, err));
    enum rt_status status = write_sidecar(incoming, &origin, folder, err);
    if (status == RT_OK) status = publish(store, id, incoming, false, err);
    if (status != RT_OK) folder_remove(incoming);
    return status;
}

enum rt_status recording_store_remove(struct recording_store *store, const char *id,
                                      struct rt_error *err) {
    char folder[FOLDER_PATH_BYTES], old[FOLDER_PATH_BYTES];
    if (!recording_store_has(store, id)) {
        return rt_fail(err, RT_NOT_FOUND, "no recording \"%.64s\"", id);
    }
    RT_TRY(folder_join(store->folder, id, folder, err));
    RT_TRY(create_incoming(store, old, err));
    if (rename(folder, old) != 0) {
        enum rt_status status = folder_fail(err, errno, "removing the recording");
        folder_remove(old);
        return status;
    }
    cache_forget(store, id);
    folder_remove(old);
    return RT_OK;
}
