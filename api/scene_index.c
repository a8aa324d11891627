/* The rows of the scene cache and what changes them; scene_cache.c loads and unloads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/reply.h"
#include "api/scene_cache_parts.h"
#include "api/scene_store.h"
#include "api/wire_scene.h"
#include "render/io/scene_file.h"

const char *scene_state_name(enum scene_state state) {
    static const char *const names[] = {"unloaded", "loading", "loaded", "unloading", "failed"};
    return names[state];
}

void scene_row_free(struct scene_row *row) {
    free(row->detail_json);
    row->detail_json = NULL;
}

enum rt_status scene_cache_row(struct scene_cache *cache, const char *id, struct scene_row *out,
                               struct rt_error *err) {
    pthread_mutex_lock(&cache->lock);
    struct entry *entry = cache_find(cache, id);
    if (entry != NULL) cache_copy_row(entry, out);
    pthread_mutex_unlock(&cache->lock);
    return entry != NULL ? RT_OK : cache_no_such(err, id);
}

enum rt_status scene_cache_rows(struct scene_cache *cache, struct scene_row **rows, int32_t *n_rows,
                                struct rt_error *err) {
    pthread_mutex_lock(&cache->lock);
    size_t n = 0;
    for (const struct entry *e = cache->entries; e != NULL; e = e->next) n++;
    *rows = calloc(n + 1, sizeof **rows);
    *n_rows = 0;
    for (const struct entry *e = cache->entries; *rows != NULL && e != NULL; e = e->next) {
        cache_copy_row(e, &(*rows)[(*n_rows)++]);
    }
    pthread_mutex_unlock(&cache->lock);
    return *rows != NULL ? RT_OK : rt_fail(err, RT_NO_MEMORY, "no memory to list the scenes");
}

enum rt_status scene_cache_keep(struct scene_cache *cache, const char *id, bool pin,
                                double keep_alive_s, struct rt_error *err) {
    pthread_mutex_lock(&cache->lock);
    struct entry *entry = cache_find(cache, id);
    if (entry != NULL) {
        entry->row.pinned = pin;
        entry->keep_alive_s = keep_alive_s;
        cache_touch(entry);
    }
    pthread_mutex_unlock(&cache->lock);
    return entry != NULL ? RT_OK : cache_no_such(err, id);
}

/* RT_BUSY with the reason when the scene must stay; with the lock held. */
static enum rt_status check_removable(const struct entry *entry, bool force, struct rt_error *err) {
    if (entry->live != NULL) {
        return rt_fail(err, RT_BUSY, "scene %s is being trained", entry->row.id);
    }
    if (entry->row.pinned && !force) {
        return rt_fail(err, RT_BUSY, "scene %s is pinned", entry->row.id);
    }
    return RT_OK;
}

void scene_cache_unload(struct scene_cache *cache, const char *id, const struct scene_wait *wait) {
    struct rt_error err;
    rt_error_clear(&err);
    struct dying *dying = calloc(1, sizeof *dying);
    bool is_waiting = false;
    pthread_mutex_lock(&cache->lock);
    struct entry *entry = cache_find(cache, id);
    enum rt_status status = RT_OK;
    if (entry == NULL) {
        status = cache_no_such(&err, id);
    } else if (dying == NULL) {
        status = rt_fail(&err, RT_NO_MEMORY, "no memory to unload scene %s", id);
    } else {
        status = check_removable(entry, false, &err);
    }
    if (status == RT_OK && entry != NULL && entry->scene != NULL) {
        snprintf(dying->id, sizeof dying->id, "%s", id);
        dying->scene = entry->scene; /* the ticker answers when nobody draws it any more */
        dying->wait = *wait;
        dying->next = cache->dying;
        cache->dying = dying;
        entry->scene = NULL;
        cache_set_state(entry, SCENE_UNLOADING, "requested");
        is_waiting = true;
    }
    pthread_mutex_unlock(&cache->lock);
    /* cppcheck-suppress memleak ; the list owns it */
    if (is_waiting) return;
    free(dying);
    wait->ready(wait->context, NULL, &err);
}

enum rt_status scene_cache_delete(struct scene_cache *cache, const char *id, bool force,
                                  struct rt_error *err) {
    struct waiter *waiters = NULL;
    struct scene_row removed = {0};
    pthread_mutex_lock(&cache->publishing);
    pthread_mutex_lock(&cache->lock);
    struct entry *entry = cache_find(cache, id);
    enum rt_status status = RT_OK;
    if (entry == NULL) {
        status = cache_no_such(err, id);
    } else {
        status = check_removable(entry, force, err);
    }
    if (status == RT_OK && entry != NULL) {
        cache_copy_row(entry, &removed);
        waiters = entry->waiters;
        scene_release(&entry->scene); /* renders in flight keep their reference */
        cache_detach(cache, entry);
    }
    pthread_mutex_unlock(&cache->lock);
    if (status == RT_OK) scene_store_remove(cache->folder, &removed);
    pthread_mutex_unlock(&cache->publishing);
    scene_row_free(&removed);
    struct rt_error gone;
    (void)rt_fail(&gone, RT_NOT_FOUND, "scene \"%.64s\" was deleted", id);
    cache_answer(waiters, NULL, &gone);
    return status;
}

/* Counts and times of a scene that has been read. */
static void describe(struct scene_row *row, const struct scene *scene) {
    row->n_gaussians = scene_n_gaussians(scene);
    row->sh_degree = scene_sh_degree(scene);
    row->n_cameras = scene->n_cameras;
    row->n_actors = 0;
    for (int32_t i = 0; i < scene->n_nodes; i++)
        row->n_actors += scene->nodes[i].kind == NODE_ACTOR;
    row->t_begin_us = scene->t_begin_us;
    row->t_end_us = scene->t_end_us;
    row->device_bytes_estimate = (int64_t)scene_bytes(scene);
}

/* The row a file will have; row->detail_json is owned by the caller. */
static enum rt_status row_of_file(const char *id, const char *path, const struct scene_meta *meta,
                                  const struct scene *scene, struct scene_row *row,
                                  struct rt_error *err) {
    struct scene_summary summary = {0};
    RT_TRY(scene_peek(path, &summary, err));
    *row = (struct scene_row){.created_ms = time_now_ms(), .state = SCENE_UNLOADED};
    RT_TRY(file_digest(path, row->digest, &row->file_bytes, err));
    /* Only a .retake names itself; the name of another file is that of a temporary one. */
    bool names_itself = strncmp(summary.format, "retake", 6) == 0;
    const char *name = meta->name != NULL ? meta->name : names_itself ? scene->name : NULL;
    snprintf(row->id, sizeof row->id, "%s", id);
    snprintf(row->name, sizeof row->name, "%s", name != NULL && name[0] != '\0' ? name : id);
    snprintf(row->kind, sizeof row->kind, "%s", meta->kind != NULL ? meta->kind : "scene");
    snprintf(row->format, sizeof row->format, "%s", summary.format);
    snprintf(row->axes, sizeof row->axes, "%s", scene->axes);
    snprintf(row->origin_type, sizeof row->origin_type, "%s",
             meta->origin_type != NULL ? meta->origin_type : "upload");
    snprintf(row->origin_id, sizeof row->origin_id, "%s",
             meta->origin_id != NULL ? meta->origin_id : "");
    snprintf(row->reason, sizeof row->reason, "never-loaded");
    describe(row, scene);
    row->n_lidars = summary.n_lidars;
    row->detail_json = wire_scene_detail(scene);
    return RT_OK;
}

/* Makes the committed row visible; a loaded instance is replaced by the scene just read. */
static enum rt_status show(struct scene_cache *cache, struct scene_row *row, struct scene *scene,
                           struct rt_error *err) {
    enum rt_status status = RT_OK;
    pthread_mutex_lock(&cache->lock);
    struct entry *entry = cache_find(cache, row->id);
    if (entry == NULL) {
        if (cache_insert(cache, row) == NULL) {
            status = rt_fail(err, RT_NO_MEMORY, "no memory for the index of scenes");
        } else {
            row->detail_json = NULL;
        }
    } else {
        row->live = entry->row.live;
        row->live_step = entry->row.live_step;
        row->pinned = entry->row.pinned;
        row->state = entry->row.state;
        memcpy(row->reason, entry->row.reason, sizeof row->reason);
        if (entry->scene != NULL) {
            scene_release(&entry->scene);
            entry->scene = scene_retain(scene);
            row->loaded_ms = time_now_ms();
        }
        if (row->state == SCENE_FAILED) {
            row->state = SCENE_UNLOADED;
            snprintf(row->reason, sizeof row->reason, "never-loaded");
        }
        scene_row_free(&entry->row);
        entry->row = *row;
        row->detail_json = NULL;
    }
    pthread_mutex_unlock(&cache->lock);
    return status;
}

static const char *extension_of(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot != NULL && strchr(dot, '/') == NULL ? dot + 1 : "bin";
}

/* The stored name's ending, so that formats without magic bytes are found again. */
static const char *extension_for(const char *format, const char *path) {
    static const char *const known[] = {"retake", "ply", "splat", "spz"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strncmp(format, known[i], strlen(known[i])) == 0) return known[i];
    }
    return strstr(format, "ply") != NULL ? "ply" : extension_of(path);
}

enum rt_status scene_cache_publish_file(struct scene_cache *cache, const char *id, const char *path,
                                        bool move, const struct scene_meta *meta,
                                        struct rt_error *err) {
    struct scene *scene = NULL;
    struct scene_row row = {0};
    char old_file[sizeof row.file] = "";
    const struct scene_read_options options = {.format = meta->format, .axes = meta->axes};
    enum rt_status status = scene_read(path, &options, &scene, err);
    if (status == RT_OK) status = row_of_file(id, path, meta, scene, &row, err);
    if (status != RT_OK) goto out;
    pthread_mutex_lock(&cache->publishing);
    pthread_mutex_lock(&cache->lock);
    const struct entry *entry = cache_find(cache, id);
    if (entry != NULL) memcpy(old_file, entry->row.file, sizeof old_file);
    pthread_mutex_unlock(&cache->lock);
    const struct scene_store_source source = {
        .path = path,
        .extension = meta->extension != NULL ? meta->extension : extension_for(row.format, path),
        .move = move,
        .old_file = old_file};
    status = scene_store_commit(cache->folder, &row, &source, err);
    if (status == RT_OK) status = show(cache, &row, scene, err);
    pthread_mutex_unlock(&cache->publishing);
out:
    scene_row_free(&row);
    scene_release(&scene);
    return status;
}

enum rt_status scene_cache_path(struct scene_cache *cache, const char *id, char **path,
                                struct rt_error *err) {
    *path = NULL;
    pthread_mutex_lock(&cache->lock);
    struct entry *entry = cache_find(cache, id);
    bool has_file = entry != NULL && entry->row.file[0] != '\0';
    if (has_file) *path = path_join(cache->folder, entry->row.file);
    pthread_mutex_unlock(&cache->lock);
    if (!has_file) return cache_no_such(err, id);
    return *path != NULL ? RT_OK : rt_fail(err, RT_NO_MEMORY, "no memory for a path");
}

/* -- live scenes -- */

enum rt_status scene_cache_set_live(struct scene_cache *cache, const char *id, struct scene *scene,
                                    int32_t step, const char *origin_id, struct rt_error *err) {
    char *detail = wire_scene_detail(scene);
    pthread_mutex_lock(&cache->lock);
    struct entry *entry = cache_find(cache, id);
    if (entry == NULL) {
        struct scene_row row = {.created_ms = time_now_ms()};
        snprintf(row.id, sizeof row.id, "%s", id);
        snprintf(row.name, sizeof row.name, "%s", scene->name[0] != '\0' ? scene->name : id);
        snprintf(row.kind, sizeof row.kind, "scene");
        snprintf(row.format, sizeof row.format, "live");
        snprintf(row.version, sizeof row.version, "live");
        snprintf(row.origin_type, sizeof row.origin_type, "reconstruction");
        entry = cache_insert(cache, &row);
    }
    struct waiter *waiters = NULL;
    if (entry != NULL) {
        scene_release(&entry->live);
        entry->live = scene_retain(scene);
        describe(&entry->row, scene);
        entry->row.live = true;
        entry->row.live_step = step;
        snprintf(entry->row.origin_id, sizeof entry->row.origin_id, "%s", origin_id);
        snprintf(entry->row.axes, sizeof entry->row.axes, "%s", scene->axes);
        entry->row.loaded_ms = time_now_ms();
        free(entry->row.detail_json);
        entry->row.detail_json = detail;
        detail = NULL;
        cache_set_state(entry, SCENE_LOADED, "");
        waiters = entry->waiters;
        entry->waiters = NULL;
        entry->wants_load = false;
    }
    pthread_mutex_unlock(&cache->lock);
    free(detail);
    struct rt_error none;
    rt_error_clear(&none);
    cache_answer(waiters, scene, &none);
    scene_release(&scene);
    return entry != NULL ? RT_OK : rt_fail(err, RT_NO_MEMORY, "no memory for a live scene");
}

void scene_cache_end_live(struct scene_cache *cache, const char *id) {
    pthread_mutex_lock(&cache->lock);
    struct entry *entry = cache_find(cache, id);
    if (entry != NULL && entry->row.live) {
        scene_release(&entry->live);
        entry->row.live = false;
        entry->row.live_step = 0;
        bool is_loaded = entry->scene != NULL;
        cache_set_state(entry, is_loaded ? SCENE_LOADED : SCENE_UNLOADED,
                        is_loaded ? "" : "never-loaded");
        if (entry->row.file[0] == '\0') cache_detach(cache, entry);
    }
    pthread_mutex_unlock(&cache->lock);
}

struct scene_cache_stats scene_cache_stats(struct scene_cache *cache) {
    pthread_mutex_lock(&cache->lock);
    struct scene_cache_stats stats = cache->stats;
    stats.loaded_bytes = cache_loaded_bytes(cache);
    for (const struct entry *e = cache->entries; e != NULL; e = e->next) {
        stats.n_by_state[e->row.state]++;
    }
    pthread_mutex_unlock(&cache->lock);
    return stats;
}
