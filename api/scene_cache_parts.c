#include "api/scene_cache_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/reply.h"

struct entry *cache_find(struct scene_cache *cache, const char *id) {
    for (struct entry *e = cache->entries; e != NULL; e = e->next) {
        if (strcmp(e->row.id, id) == 0) return e;
    }
    return NULL;
}

enum rt_status cache_no_such(struct rt_error *err, const char *id) {
    return rt_fail(err, RT_NOT_FOUND, "there is no scene \"%.64s\"", id);
}

/* Keeps the list ordered by id. */
struct entry *cache_insert(struct scene_cache *cache, const struct scene_row *row) {
    struct entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL) return NULL;
    entry->row = *row;
    entry->keep_alive_s = -1.0;
    struct entry **at = &cache->entries;
    while (*at != NULL && strcmp((*at)->row.id, row->id) < 0) at = &(*at)->next;
    entry->next = *at;
    *at = entry;
    return entry;
}

void cache_detach(struct scene_cache *cache, struct entry *entry) {
    struct entry **at = &cache->entries;
    while (*at != entry) at = &(*at)->next;
    *at = entry->next;
    scene_row_free(&entry->row);
    free(entry);
}

int32_t cache_references(const struct scene *scene) {
    return scene != NULL ? atomic_load(&((struct scene *)scene)->n_references) : 0;
}

size_t cache_loaded_bytes(const struct scene_cache *cache) {
    size_t n_bytes = 0;
    for (const struct entry *e = cache->entries; e != NULL; e = e->next) {
        if (e->scene != NULL) n_bytes += scene_bytes(e->scene);
        if (e->live != NULL) n_bytes += scene_bytes(e->live);
    }
    for (const struct dying *d = cache->dying; d != NULL; d = d->next) {
        n_bytes += scene_bytes(d->scene);
    }
    return n_bytes;
}

void cache_set_state(struct entry *entry, enum scene_state state, const char *reason) {
    entry->row.state = state;
    snprintf(entry->row.reason, sizeof entry->row.reason, "%s", reason);
}

void cache_touch(struct entry *entry) {
    entry->last_used_ns = time_mono_ns();
    entry->row.last_used_ms = time_now_ms();
}

void cache_copy_row(const struct entry *entry, struct scene_row *out) {
    const struct scene *scene = entry->live != NULL ? entry->live : entry->scene;
    *out = entry->row;
    out->detail_json = entry->row.detail_json != NULL ? strdup(entry->row.detail_json) : NULL;
    out->device_bytes = scene != NULL ? (int64_t)scene_bytes(scene) : 0;
    out->n_in_flight = scene != NULL ? cache_references(scene) - 1 : 0;
    if (entry->keep_alive_s >= 0.0 && entry->scene != NULL) {
        out->expires_ms = entry->row.last_used_ms + (int64_t)(entry->keep_alive_s * 1000.0);
    }
}

void cache_drop_instance(struct scene_cache *cache, struct entry *entry, const char *reason) {
    scene_release(&entry->scene);
    cache_set_state(entry, SCENE_UNLOADED, reason);
    if (strcmp(reason, "evicted") == 0) cache->stats.n_evictions++;
    if (cache->options.on_evict != NULL) cache->options.on_evict(cache->options.context, reason);
}

static struct entry *least_recent_idle(struct scene_cache *cache) {
    struct entry *oldest = NULL;
    for (struct entry *e = cache->entries; e != NULL; e = e->next) {
        if (e->scene == NULL || e->row.pinned || cache_references(e->scene) > 1) continue;
        if (oldest == NULL || e->last_used_ns < oldest->last_used_ns) oldest = e;
    }
    return oldest;
}

enum rt_status cache_make_room(struct scene_cache *cache, const struct entry *wanted,
                               struct rt_error *err) {
    size_t needed = (size_t)wanted->row.device_bytes_estimate;
    size_t budget = cache->stats.budget_bytes;
    if (needed > budget) {
        return rt_fail(err, RT_TOO_LARGE,
                       "scene %s needs %zu bytes, the budget is %zu; raise --memory-bytes",
                       wanted->row.id, needed, budget);
    }
    while (cache_loaded_bytes(cache) + needed > budget) {
        struct entry *oldest = least_recent_idle(cache);
        if (oldest == NULL) {
            return rt_fail(err, RT_DEVICE_MEMORY,
                           "scene %s needs %zu bytes; the budget is held by scenes in use",
                           wanted->row.id, needed);
        }
        cache_drop_instance(cache, oldest, "evicted");
    }
    return RT_OK;
}

/* Answers a list without the lock; each gets its own reference. */
void cache_answer(struct waiter *list, struct scene *scene, const struct rt_error *err) {
    while (list != NULL) {
        struct waiter *next = list->next;
        list->wait.ready(list->wait.context, scene != NULL ? scene_retain(scene) : NULL, err);
        free(list);
        list = next;
    }
}

void cache_answer_one(const struct scene_wait *wait, struct scene *scene, enum rt_status status,
                      const char *message) {
    struct rt_error err;
    rt_error_clear(&err);
    if (status != RT_OK) (void)rt_fail(&err, status, "%s", message);
    wait->ready(wait->context, scene, &err);
}
