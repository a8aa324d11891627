/* What the two halves of the scene cache share: its structs and small steps on them. Every function
 * here is called with `lock` held, but for cache_answer and cache_answer_one. */
#ifndef RETAKE_API_SCENE_CACHE_PARTS_H
#define RETAKE_API_SCENE_CACHE_PARTS_H

#include <pthread.h>

#include "api/scene_cache.h"

struct waiter {
    struct waiter *next;
    struct scene_wait wait;
};

struct entry {
    struct entry *next;
    struct scene_row row;   /* counters of instances are filled when copied out */
    struct scene *scene;    /* loaded instance of the file, or NULL */
    struct scene *live;     /* newest training snapshot, or NULL */
    struct waiter *waiters; /* of a load that is queued or running */
    bool wants_load;
    double keep_alive_s;
    int64_t last_used_ns;
};

/* An unloaded instance that renders in flight still hold. */
struct dying {
    struct dying *next;
    char id[RT_ID_BYTES];
    struct scene *scene;
    struct scene_wait wait; /* ready may be NULL */
};

struct scene_cache {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t loader, ticker;
    bool has_loader, has_ticker, is_stopping;
    struct entry *entries; /* owned list, by id */
    struct dying *dying;   /* owned list */
    struct scene_cache_options options;
    char *folder; /* owned */
    struct scene_cache_stats stats;
    pthread_mutex_t publishing; /* one commit to disk at a time; never held with `lock` inside */
};

struct entry *cache_find(struct scene_cache *cache, const char *id);
/* Adds a row, taking its detail over; the list stays ordered by id. NULL when out of memory. */
struct entry *cache_insert(struct scene_cache *cache, const struct scene_row *row);
/* Unlinks and frees an entry without instances and waiters. */
void cache_detach(struct scene_cache *cache, struct entry *entry);
int32_t cache_references(const struct scene *scene);
size_t cache_loaded_bytes(const struct scene_cache *cache);
void cache_set_state(struct entry *entry, enum scene_state state, const char *reason);
void cache_touch(struct entry *entry);
void cache_copy_row(const struct entry *entry, struct scene_row *out);
void cache_drop_instance(struct scene_cache *cache, struct entry *entry, const char *reason);
/* Evicts until the scene fits. RT_TOO_LARGE, RT_DEVICE_MEMORY. */
enum rt_status cache_make_room(struct scene_cache *cache, const struct entry *wanted,
                               struct rt_error *err);
enum rt_status cache_no_such(struct rt_error *err, const char *id);
/* Answers and frees a list; each gets its own reference. */
void cache_answer(struct waiter *list, struct scene *scene, const struct rt_error *err);
void cache_answer_one(const struct scene_wait *wait, struct scene *scene, enum rt_status status,
                      const char *message);

#endif
