/* Scenes by id: an index of files below DATA/scenes, and the loaded ones within a byte budget.
 *
 *     struct scene_cache *cache;
 *     RT_TRY(scene_cache_open(&cache, &options, err));
 *     scene_cache_get(cache, "garden", &wait);       // wait.ready(context, scene, err), maybe
 * later scene_cache_close(&cache);
 *
 * On disk: DATA/scenes/ID.DIGEST16.EXT (or ID.EXT put there by hand before the start) and ID.json,
 * whose atomic rename is the commit point of an upload. A loader thread reads files, so neither the
 * engine nor connections wait for the disk; a ticker thread expires waiting requests and keep-alive
 * times. Scenes are immutable snapshots: an unload or replacement never disturbs renders in flight,
 * and a failed reload keeps the old instance. Threading: any thread; callbacks are called without
 * the lock, on the calling, the loader or the ticker thread. */
#ifndef RETAKE_API_SCENE_CACHE_H
#define RETAKE_API_SCENE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "render/core/limits.h"
#include "render/core/scene.h"

struct scene_cache;

enum scene_state { SCENE_UNLOADED, SCENE_LOADING, SCENE_LOADED, SCENE_UNLOADING, SCENE_FAILED };
const char *scene_state_name(enum scene_state state);

enum { SCENE_NAME_BYTES = 128, SCENE_DIGEST_BYTES = 68, SCENE_REASON_BYTES = 24 };

/* What is known of a scene without its splats (api.md section 4.8); a copy, free with
 * scene_row_free. */
struct scene_row {
    char id[RT_ID_BYTES];
    char name[SCENE_NAME_BYTES];
    char kind[8]; /* scene asset */
    char format[16], axes[4];
    enum scene_state state;
    char reason[SCENE_REASON_BYTES]; /* "" = null */
    bool live, pinned;
    int32_t live_step;               /* training step of the live snapshot */
    char digest[SCENE_DIGEST_BYTES]; /* 64 hex digits; "" for a live scene without a file */
    char version[12];                /* first 8 of the digest, or "live" */
    int64_t file_bytes, device_bytes, device_bytes_estimate;
    int32_t n_in_flight; /* references outside the cache */
    int64_t n_gaussians;
    int32_t sh_degree, n_cameras, n_actors, n_lidars;
    int64_t t_begin_us, t_end_us;
    char origin_type[16], origin_id[RT_ID_BYTES]; /* "upload", "reconstruction", "folder" */
    int64_t created_ms, loaded_ms, last_used_ms, expires_ms; /* Unix time, 0 = never */
    char file[RT_ID_BYTES + 40]; /* name below the folder; "" = no file */
    char *detail_json; /* owned object text: bounds, default_view, nodes, warnings…; or NULL */
};
void scene_row_free(struct scene_row *row);

struct scene_cache_options {
    const char *folder;  /* DATA/scenes, created when missing */
    size_t budget_bytes; /* of loaded splats; 0 = a quarter of the machine's memory */
    void *context;       /* for on_load */
    /* May be NULL. Told about loads (seconds) and evictions (reason), for metrics. */
    void (*on_load)(void *context, double seconds);
    void (*on_evict)(void *context, const char *reason);
};

/* RT_IO when the folder cannot be written. Damaged sidecars are logged and skipped. */
enum rt_status scene_cache_open(struct scene_cache **out, const struct scene_cache_options *options,
                                struct rt_error *err);
/* Answers waiting requests with RT_DRAINING; later ones too. */
void scene_cache_drain(struct scene_cache *cache);
void scene_cache_close(struct scene_cache **cache);

/* RT_NOT_FOUND. */
enum rt_status scene_cache_row(struct scene_cache *cache, const char *id, struct scene_row *out,
                               struct rt_error *err);
/* All rows by id; caller frees each row and the array. */
enum rt_status scene_cache_rows(struct scene_cache *cache, struct scene_row **rows, int32_t *n_rows,
                                struct rt_error *err);

/* A request that waits for a scene. ready() is called exactly once, possibly before
 * scene_cache_get returns; it owns one reference of `scene` (NULL on an error: RT_NOT_FOUND,
 * RT_BAD_FILE, RT_TOO_LARGE, RT_DEVICE_MEMORY, RT_DEADLINE = still loading, RT_DRAINING). */
struct scene_wait {
    void (*ready)(void *context, struct scene *scene, const struct rt_error *err);
    void *context;
    int64_t deadline_ns; /* CLOCK_MONOTONIC, 0 = none */
};
void scene_cache_get(struct scene_cache *cache, const char *id, const struct scene_wait *wait);
/* The loaded snapshot, or NULL without loading; caller releases. */
struct scene *scene_cache_peek(struct scene_cache *cache, const char *id);

/* Sets pin and keep-alive (-1 = until evicted, 0 = unload after the last request, else seconds). */
enum rt_status scene_cache_keep(struct scene_cache *cache, const char *id, bool pin,
                                double keep_alive_s, struct rt_error *err);
/* Unloads; ready(context, NULL, err RT_OK) when the bytes are back. RT_BUSY: pinned or live. */
void scene_cache_unload(struct scene_cache *cache, const char *id, const struct scene_wait *wait);
/* Removes the scene and its file. RT_BUSY: pinned (unless force) or live. RT_NOT_FOUND. */
enum rt_status scene_cache_delete(struct scene_cache *cache, const char *id, bool force,
                                  struct rt_error *err);

/* What to publish under an id. */
struct scene_meta {
    const char *name;                    /* NULL = name of the scene in the file */
    const char *kind;                    /* NULL = "scene" */
    const char *axes;                    /* NULL = as the file or format says */
    const char *format;                  /* NULL = by content */
    const char *digest_hex;              /* NULL = computed */
    const char *origin_type, *origin_id; /* NULL = "upload", "" */
    const char *extension;               /* of the stored file, "ply"; NULL = of path */
};
/* Reads and checks the file (that may take seconds), moves or links it below the folder and makes
 * it visible under `id`, replacing what was there; a loaded old instance is replaced in memory too.
 * `move` renames the file away, else it is hard-linked or copied. RT_BAD_FILE, RT_UNSUPPORTED,
 * RT_TOO_LARGE, RT_STORAGE_FULL, RT_IO. */
enum rt_status scene_cache_publish_file(struct scene_cache *cache, const char *id, const char *path,
                                        bool move, const struct scene_meta *meta,
                                        struct rt_error *err);
/* Path of the stored file (caller frees), or RT_NOT_FOUND. */
enum rt_status scene_cache_path(struct scene_cache *cache, const char *id, char **path,
                                struct rt_error *err);

/* Newest snapshot of a training: `id` becomes (or stays) a row with live true. Takes over one
 * reference. `origin_id` is the reconstruction; the name is the scene's. Never evicted. */
enum rt_status scene_cache_set_live(struct scene_cache *cache, const char *id, struct scene *scene,
                                    int32_t step, const char *origin_id, struct rt_error *err);
/* Ends the live state; the row vanishes when it has no file. */
void scene_cache_end_live(struct scene_cache *cache, const char *id);

struct scene_cache_stats {
    size_t loaded_bytes, budget_bytes;
    int32_t n_by_state[SCENE_FAILED + 1];
    int64_t n_hits, n_misses, n_evictions;
};
struct scene_cache_stats scene_cache_stats(struct scene_cache *cache);

#endif
