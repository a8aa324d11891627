#include "api/scene_cache.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/reply.h"
#include "api/scene_cache_parts.h"
#include "api/scene_store.h"
#include "api/wire_scene.h"
#include "render/core/log.h"
#include "render/io/scene_file.h"

enum { TICK_MS = 50 };

/* -- waiting requests -- */

void scene_cache_get(struct scene_cache *cache, const char *id, const struct scene_wait *wait) {
    struct scene *scene = NULL;
    enum rt_status status = RT_OK;
    const char *message = "";
    char text[128];
    bool is_answered = true;
    pthread_mutex_lock(&cache->lock);
    struct entry *entry = cache_find(cache, id);
    if (entry == NULL) {
        status = RT_NOT_FOUND;
        snprintf(text, sizeof text, "there is no scene \"%.64s\"", id);
        message = text;
    } else if (cache->is_stopping) {
        status = RT_DRAINING;
        message = "the server is shutting down";
    } else if (entry->live != NULL || entry->scene != NULL) {
        cache_touch(entry);
        cache->stats.n_hits++;
        scene = scene_retain(entry->live != NULL ? entry->live : entry->scene);
    } else {
        struct waiter *waiter = calloc(1, sizeof *waiter);
        if (waiter == NULL) {
            status = RT_NO_MEMORY;
            message = "no memory to wait for the scene";
        } else {
            cache_touch(entry);
            cache->stats.n_misses++;
            waiter->wait = *wait;
            waiter->next = entry->waiters;
            entry->waiters = waiter;
            entry->wants_load = entry->row.state != SCENE_LOADING;
            is_answered = false;
            pthread_cond_broadcast(&cache->changed);
        }
    }
    pthread_mutex_unlock(&cache->lock);
    if (is_answered) cache_answer_one(wait, scene, status, message);
}

struct scene *scene_cache_peek(struct scene_cache *cache, const char *id) {
    pthread_mutex_lock(&cache->lock);
    struct entry *entry = cache_find(cache, id);
    struct scene *scene = NULL;
    if (entry != NULL) scene = entry->live != NULL ? entry->live : entry->scene;
    if (scene != NULL) scene_retain(scene);
    pthread_mutex_unlock(&cache->lock);
    return scene;
}

/* -- loader ---------------------------------------------------------------------------------------
 */

static struct entry *next_wanted(struct scene_cache *cache) {
    for (struct entry *e = cache->entries; e != NULL; e = e->next) {
        if (e->wants_load) return e;
    }
    return NULL;
}

static const char *failure_reason(enum rt_status status) {
    bool is_memory = status == RT_NO_MEMORY || status == RT_DEVICE_MEMORY || status == RT_TOO_LARGE;
    return is_memory ? "out-of-memory" : "invalid-file";
}

static void adopt_scene(struct entry *entry, struct scene *scene) {
    scene_release(&entry->scene);
    entry->scene = scene;
    entry->row.loaded_ms = time_now_ms();
    if (entry->row.detail_json == NULL) entry->row.detail_json = wire_scene_detail(scene);
    if (entry->row.axes[0] == '\0') {
        snprintf(entry->row.axes, sizeof entry->row.axes, "%s", scene->axes);
    }
    cache_set_state(entry, SCENE_LOADED, "");
}

static void load_failed(struct entry *entry, enum rt_status status) {
    if (entry->scene != NULL) { /* a failed reload keeps the old instance */
        cache_set_state(entry, SCENE_LOADED, "");
    } else {
        cache_set_state(entry, SCENE_FAILED, failure_reason(status));
    }
}

/* Loads one; with the lock held on entry and return. */
static void load_one(struct scene_cache *cache, struct entry *entry) {
    struct rt_error err;
    rt_error_clear(&err);
    char id[RT_ID_BYTES], axes[4], digest[SCENE_DIGEST_BYTES];
    struct scene *scene = NULL;
    snprintf(id, sizeof id, "%s", entry->row.id);
    snprintf(axes, sizeof axes, "%s", entry->row.axes);
    snprintf(digest, sizeof digest, "%s", entry->row.digest);
    entry->wants_load = false;
    cache_set_state(entry, SCENE_LOADING, "");
    enum rt_status status = cache_make_room(cache, entry, &err);
    char *path = path_join(cache->folder, entry->row.file);
    if (status == RT_OK && path == NULL) status = rt_fail(&err, RT_NO_MEMORY, "no memory");
    pthread_mutex_unlock(&cache->lock);

    int64_t begin_ns = time_mono_ns();
    const struct scene_read_options options = {.axes = axes[0] != '\0' ? axes : NULL};
    if (status == RT_OK) status = scene_read(path, &options, &scene, &err);
    free(path);
    double seconds = (double)(time_mono_ns() - begin_ns) * 1e-9;
    if (status == RT_OK && cache->options.on_load != NULL) {
        cache->options.on_load(cache->options.context, seconds);
    }
    if (status != RT_OK) log_warn("scenes", "loading %s failed: %s", id, err.message);

    pthread_mutex_lock(&cache->lock);
    struct waiter *waiters = NULL;
    entry = cache_find(cache, id);
    if (entry != NULL && strcmp(entry->row.digest, digest) != 0) {
        scene_release(&scene); /* replaced meanwhile: load again, requests go on waiting */
        entry->wants_load = entry->waiters != NULL;
        if (entry->scene != NULL) cache_set_state(entry, SCENE_LOADED, "");
    } else if (entry != NULL) {
        if (status == RT_OK) adopt_scene(entry, scene_retain(scene));
        if (status != RT_OK) load_failed(entry, status);
        waiters = entry->waiters;
        entry->waiters = NULL;
    }
    pthread_mutex_unlock(&cache->lock);
    cache_answer(waiters, scene, &err);
    scene_release(&scene);
    pthread_mutex_lock(&cache->lock);
}

static void *run_loader(void *context) {
    struct scene_cache *cache = context;
    pthread_mutex_lock(&cache->lock);
    while (!cache->is_stopping) {
        struct entry *entry = next_wanted(cache);
        if (entry != NULL) {
            load_one(cache, entry);
        } else {
            pthread_cond_wait(&cache->changed, &cache->lock);
        }
    }
    pthread_mutex_unlock(&cache->lock);
    return NULL;
}

/* -- ticker ---------------------------------------------------------------------------------------
 */

/* Unlinks requests whose deadline has passed. */
static struct waiter *take_expired(struct scene_cache *cache, int64_t now_ns) {
    struct waiter *expired = NULL;
    for (struct entry *e = cache->entries; e != NULL; e = e->next) {
        for (struct waiter **at = &e->waiters; *at != NULL;) {
            struct waiter *waiter = *at;
            if (waiter->wait.deadline_ns == 0 || waiter->wait.deadline_ns > now_ns) {
                at = &waiter->next;
                continue;
            }
            *at = waiter->next;
            waiter->next = expired;
            expired = waiter;
        }
    }
    return expired;
}

static void expire_keep_alive(struct scene_cache *cache, int64_t now_ns) {
    for (struct entry *e = cache->entries; e != NULL; e = e->next) {
        bool is_idle = e->scene != NULL && !e->row.pinned && cache_references(e->scene) == 1;
        if (!is_idle || e->keep_alive_s < 0.0) continue;
        if ((double)(now_ns - e->last_used_ns) * 1e-9 >= e->keep_alive_s) {
            cache_drop_instance(cache, e, "keep-alive-expired");
        }
    }
}

static struct dying *take_dead(struct scene_cache *cache) {
    struct dying *dead = NULL;
    for (struct dying **at = &cache->dying; *at != NULL;) {
        struct dying *item = *at;
        if (cache_references(item->scene) > 1) {
            at = &item->next;
            continue;
        }
        *at = item->next;
        scene_release(&item->scene);
        struct entry *entry = cache_find(cache, item->id);
        if (entry != NULL && entry->row.state == SCENE_UNLOADING) {
            cache_set_state(entry, SCENE_UNLOADED, "requested");
        }
        item->next = dead;
        dead = item;
    }
    return dead;
}

static void bury(struct dying *dead) {
    while (dead != NULL) {
        struct dying *next = dead->next;
        if (dead->wait.ready != NULL) cache_answer_one(&dead->wait, NULL, RT_OK, "");
        free(dead);
        dead = next;
    }
}

static void *run_ticker(void *context) {
    struct scene_cache *cache = context;
    for (;;) {
        pthread_mutex_lock(&cache->lock);
        bool is_stopping = cache->is_stopping;
        int64_t now_ns = time_mono_ns();
        struct waiter *expired = take_expired(cache, now_ns);
        struct dying *dead = take_dead(cache);
        expire_keep_alive(cache, now_ns);
        pthread_mutex_unlock(&cache->lock);
        struct rt_error err;
        (void)rt_fail(&err, RT_DEADLINE, "the scene is still loading");
        cache_answer(expired, NULL, &err);
        bury(dead);
        if (is_stopping) return NULL;
        nanosleep(&(struct timespec){.tv_nsec = TICK_MS * 1000000L}, NULL);
    }
}

/* -- life -----------------------------------------------------------------------------------------
 */

static size_t quarter_of_memory(void) {
    long n_pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (n_pages <= 0 || page_bytes <= 0) return (size_t)1 << 30;
    return (size_t)n_pages / 4 * (size_t)page_bytes;
}

static enum rt_status fill_index(struct scene_cache *cache, struct rt_error *err) {
    struct scene_row *rows = NULL;
    int32_t n_rows = 0;
    RT_TRY(scene_store_scan(cache->folder, &rows, &n_rows, err));
    enum rt_status status = RT_OK;
    for (int32_t i = 0; i < n_rows; i++) {
        if (status == RT_OK && cache_insert(cache, &rows[i]) == NULL) {
            status = rt_fail(err, RT_NO_MEMORY, "no memory for the index of scenes");
        }
        if (status != RT_OK) scene_row_free(&rows[i]);
    }
    free(rows);
    return status;
}

enum rt_status scene_cache_open(struct scene_cache **out, const struct scene_cache_options *options,
                                struct rt_error *err) {
    struct scene_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL) return rt_fail(err, RT_NO_MEMORY, "no memory for the scenes");
    pthread_mutex_init(&cache->lock, NULL);
    pthread_mutex_init(&cache->publishing, NULL);
    pthread_cond_init(&cache->changed, NULL);
    cache->options = *options;
    cache->folder = strdup(options->folder);
    cache->stats.budget_bytes =
        options->budget_bytes > 0 ? options->budget_bytes : quarter_of_memory();
    enum rt_status status = RT_OK;
    if (cache->folder == NULL) status = rt_fail(err, RT_NO_MEMORY, "no memory for the scenes");
    if (status == RT_OK) status = fill_index(cache, err);
    if (status == RT_OK) {
        cache->has_loader = pthread_create(&cache->loader, NULL, run_loader, cache) == 0;
        cache->has_ticker = pthread_create(&cache->ticker, NULL, run_ticker, cache) == 0;
        if (!cache->has_loader || !cache->has_ticker) {
            status = rt_fail(err, RT_NO_MEMORY, "no thread for loading scenes");
        }
    }
    if (status != RT_OK) {
        scene_cache_close(&cache);
        return status;
    }
    *out = cache;
    return RT_OK;
}

static void free_entries(struct scene_cache *cache) {
    struct rt_error err;
    (void)rt_fail(&err, RT_DRAINING, "the server is shutting down");
    while (cache->entries != NULL) {
        struct entry *entry = cache->entries;
        cache_answer(entry->waiters, NULL, &err);
        entry->waiters = NULL;
        scene_release(&entry->scene);
        scene_release(&entry->live);
        cache_detach(cache, entry);
    }
    while (cache->dying != NULL) {
        struct dying *next = cache->dying->next;
        scene_release(&cache->dying->scene);
        if (cache->dying->wait.ready != NULL)
            cache_answer_one(&cache->dying->wait, NULL, RT_OK, "");
        free(cache->dying);
        cache->dying = next;
    }
}

void scene_cache_drain(struct scene_cache *cache) {
    pthread_mutex_lock(&cache->lock);
    cache->is_stopping = true;
    struct waiter *waiters = NULL;
    for (struct entry *e = cache->entries; e != NULL; e = e->next) {
        while (e->waiters != NULL) {
            struct waiter *waiter = e->waiters;
            e->waiters = waiter->next;
            waiter->next = waiters;
            waiters = waiter;
        }
    }
    pthread_cond_broadcast(&cache->changed);
    pthread_mutex_unlock(&cache->lock);
    struct rt_error err;
    (void)rt_fail(&err, RT_DRAINING, "the server is shutting down");
    cache_answer(waiters, NULL, &err);
}

void scene_cache_close(struct scene_cache **pointer) {
    struct scene_cache *cache = *pointer;
    if (cache == NULL) return;
    scene_cache_drain(cache);
    if (cache->has_loader) pthread_join(cache->loader, NULL);
    if (cache->has_ticker) pthread_join(cache->ticker, NULL);
    free_entries(cache);
    pthread_cond_destroy(&cache->changed);
    pthread_mutex_destroy(&cache->publishing);
    pthread_mutex_destroy(&cache->lock);
    free(cache->folder);
    free(cache);
    *pointer = NULL;
}
