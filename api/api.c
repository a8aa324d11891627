#include "api/api.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "api/api_jobs.h"
#include "api/scene_store.h"
#include "render/core/log.h"
#include "render/io/image_file.h"
#include "retake_version.h"

enum { OPENAPI_MAX_BYTES = 1024 * 1024 };

static void create_metrics(struct api *api) {
    struct metrics *m = api->metrics;
    struct api_metrics *out = &api->m;
    out->render_requests =
        metrics_counter(m, "retake_render_requests_total", "Renders by outcome", "sensor,outcome");
    out->queue_seconds =
        metrics_histogram(m, "retake_render_queue_seconds", "Time in the render queue", "sensor");
    out->device_seconds =
        metrics_histogram(m, "retake_render_device_seconds", "Time of drawing", "sensor");
    out->encode_seconds =
        metrics_histogram(m, "retake_render_encode_seconds", "Time of encoding", "sensor");
    out->pixels = metrics_counter(m, "retake_render_pixels_total", "Pixels drawn", "");
    out->stage_seconds =
        metrics_histogram(m, "retake_render_stage_seconds", "Time of one stage", "stage");
    out->not_modified = metrics_counter(m, "retake_frame_not_modified_total",
                                        "Frames answered 304 before the queue", "");
    out->load_seconds = metrics_histogram(m, "retake_scene_load_seconds", "Time of loading", "");
    out->evictions =
        metrics_counter(m, "retake_scene_evictions_total", "Scenes dropped, by reason", "reason");
    out->scenes = metrics_gauge(m, "retake_scenes", "Scenes by state", "state");
    out->scene_bytes = metrics_gauge(m, "retake_scene_bytes", "Bytes of loaded scenes", "device");
    out->scene_budget =
        metrics_gauge(m, "retake_scene_budget_bytes", "Byte budget of scenes", "device");
    out->queue_length = metrics_gauge(m, "retake_queue_length", "Renders waiting", "device");
    out->queue_capacity = metrics_gauge(m, "retake_queue_capacity", "Room of the queue", "device");
    out->heartbeat_age = metrics_gauge(m, "retake_device_heartbeat_age_seconds",
                                       "Time since the device last did work", "device");
    out->hits = metrics_gauge(m, "retake_scene_cache_hits_total", "Requests for loaded scenes", "");
    out->misses =
        metrics_gauge(m, "retake_scene_cache_misses_total", "Requests that had to load", "");
    out->reconstructions =
        metrics_gauge(m, "retake_reconstructions", "Reconstructions by state", "state");
    out->build = metrics_gauge(m, "retake_build_info", "Always 1", "version,backend,git_hash");
}

static void on_load(void *context, double seconds) {
    metric_observe(((struct api *)context)->m.load_seconds, seconds, NULL);
}

static void on_evict(void *context, const char *reason) {
    metric_add(((struct api *)context)->m.evictions, 1.0, (const char *[]){reason});
}

static enum rt_status copy_text(char **out, const char *text, struct rt_error *err) {
    if (text == NULL) return RT_OK;
    *out = strdup(text);
    return *out != NULL ? RT_OK : rt_fail(err, RT_NO_MEMORY, "no memory to start");
}

static enum rt_status read_openapi(struct api *api, const char *path, struct rt_error *err) {
    struct rt_bytes text = {0};
    RT_TRY(file_read(path, OPENAPI_MAX_BYTES, &text, err));
    api->openapi = calloc(text.n_bytes + 1, 1);
    if (api->openapi != NULL) memcpy(api->openapi, text.bytes, text.n_bytes);
    rt_bytes_free(&text);
    return api->openapi != NULL ? RT_OK : rt_fail(err, RT_NO_MEMORY, "no memory to start");
}

static enum rt_status open_parts(struct api *api, const struct api_options *options,
                                 struct rt_error *err) {
    long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    RT_TRY(copy_text(&api->folder, options->folder, err));
    RT_TRY(copy_text(&api->data_root, options->data_root, err));
    RT_TRY(read_openapi(api, options->openapi_path, err));
    RT_TRY(metrics_create(&api->metrics, err));
    create_metrics(api);
    const struct engine_options engine = {.backend = options->backend};
    RT_TRY(engine_create(&api->engine, &engine, err));
    RT_TRY(workers_create(&api->encoders, n_cores > 4 ? 4 : 2, 256, err));
    RT_TRY(workers_create(&api->readers, 1, 64, err));
    RT_TRY(workers_create(&api->files, 4, 256, err));
    char *folder = path_join(options->folder, "scenes");
    if (folder == NULL) return rt_fail(err, RT_NO_MEMORY, "no memory to start");
    const struct scene_cache_options scenes = {.folder = folder,
                                               .budget_bytes = options->memory_bytes,
                                               .context = api,
                                               .on_load = on_load,
                                               .on_evict = on_evict};
    enum rt_status status = scene_cache_open(&api->scenes, &scenes, err);
    free(folder);
    return status == RT_OK ? api_jobs_open(api, err) : status;
}

enum rt_status api_create(struct api **out, const struct api_options *options,
                          struct rt_error *err) {
    struct api *api = calloc(1, sizeof *api);
    if (api == NULL) return rt_fail(err, RT_NO_MEMORY, "no memory to start");
    api->disk_floor_bytes =
        options->disk_floor_bytes > 0 ? options->disk_floor_bytes : (int64_t)512 << 20;
    enum rt_status status = open_parts(api, options, err);
    if (status != RT_OK) {
        api_destroy(&api);
        return status;
    }
    metric_set(
        api->m.build, 1.0,
        (const char *[]){RETAKE_VERSION, engine_stats(api->engine).backend, RETAKE_GIT_HASH});
    *out = api;
    return RT_OK;
}

void api_drain(struct api *api, bool at_once) {
    bool is_first = !atomic_exchange(&api->draining, true);
    engine_drain(api->engine);
    if (is_first) api_jobs_stop(api);
    if (!at_once) return;
    scene_cache_drain(api->scenes);
    engine_cancel_all(api->engine);
}

/* Readers and the cache hand over to the engine, the engine to the encoders: so in that order. */
void api_destroy(struct api **pointer) {
    struct api *api = *pointer;
    if (api == NULL) return;
    api_jobs_stop(api);
    workers_destroy(&api->readers);
    workers_destroy(&api->files);
    scene_cache_close(&api->scenes);
    engine_destroy(&api->engine);
    workers_destroy(&api->encoders);
    api_jobs_close(api);
    metrics_destroy(&api->metrics);
    free(api->openapi);
    free(api->data_root);
    free(api->folder);
    free(api);
    *pointer = NULL;
}

bool api_storage_is_full(struct api *api) {
    struct statvfs disk;
    if (statvfs(api->folder, &disk) != 0) return false;
    return (int64_t)disk.f_bavail * (int64_t)disk.f_frsize < api->disk_floor_bytes;
}
