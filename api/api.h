/* What handlers share: the context given to every route. Built once by api_create, owned by
 * `retake serve`. Fields are set before the server starts and do not change afterwards. */
#ifndef RETAKE_API_API_H
#define RETAKE_API_API_H

#include <stdatomic.h>

#include "api/engine.h"
#include "api/problems.h"
#include "api/reply.h"
#include "api/scene_cache.h"
#include "api/workers.h"
#include "render/core/image.h"
#include "server/http.h"
#include "server/metrics.h"

struct event_pump;
struct jobs;
struct recon_runner;
struct recording_store;

struct recorded_ask {
    const char *recording_id, *camera_id;
    int32_t i_frame;
    float scale; /* in (0, 1]; the reader scales, so that masked pixels do not darken their edges */
};

/* The original picture of a recorded frame, U8 with 3 channels, undistorted like the scene's
 * camera, black outside the lens. RT_NOT_FOUND when the recording is gone. Called on a worker
 * thread. */
typedef enum rt_status (*api_recorded_picture)(void *context, const struct recorded_ask *ask,
                                               struct image *out, struct rt_error *err);

struct api_options {
    const char *folder;    /* DATA; exists and is writable */
    const char *data_root; /* where path imports may read; NULL = nowhere */
    const char *backend;
    const char *openapi_path;
    size_t memory_bytes;      /* 0 = default of the scene cache */
    int64_t disk_floor_bytes; /* 0 = 512 MiB */
};

struct api_metrics {
    struct metric *render_requests, *queue_seconds, *device_seconds, *encode_seconds, *pixels;
    struct metric *stage_seconds, *not_modified, *load_seconds, *evictions;
    struct metric *scenes, *scene_bytes, *scene_budget, *queue_length, *queue_capacity;
    struct metric *heartbeat_age, *hits, *misses, *reconstructions, *build;
};

struct api {
    struct engine *engine;
    struct scene_cache *scenes;
    struct workers *encoders; /* pictures */
    struct workers *readers;  /* one thread: scene uploads, submissions */
    struct workers *files;    /* several threads: recordings, previews, histories */
    struct metrics *metrics;
    struct api_metrics m;
    char *folder;    /* owned, DATA */
    char *data_root; /* owned or NULL */
    char *openapi;   /* owned text of openapi.yaml */
    int64_t disk_floor_bytes;
    atomic_bool draining;

    /* Set by the recordings module; NULL = no recorded pictures. */
    api_recorded_picture recorded_picture;
    void *recorded_context;

    /* Recordings and reconstructions; owned (api_jobs.h). */
    struct jobs *jobs; /* journal */
    struct recording_store *recordings;
    struct recon_runner *runner;
    struct event_pump *events;
};

enum rt_status api_create(struct api **out, const struct api_options *options,
                          struct rt_error *err);
/* First phase of the drain: readiness turns off and no new render is taken. `at_once`: what is
 * queued or waits for a scene is answered with RT_DRAINING too. */
void api_drain(struct api *api, bool at_once);
/* After the HTTP server has stopped. */
void api_destroy(struct api **api);
/* True when DATA has fewer free bytes than the floor: uploads and new jobs get 507. */
bool api_storage_is_full(struct api *api);

#endif
