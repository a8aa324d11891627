#include "api/api_jobs.h"

#include <stdlib.h>

#include "api/event_pump.h"
#include "api/folder.h"
#include "api/recon_runner.h"
#include "api/recording_store.h"
#include "api/recordings.h"
#include "server/jobs.h"

enum rt_status api_jobs_open(struct api *api, struct rt_error *err) {
    char path[FOLDER_PATH_BYTES];
    RT_TRY(folder_join(api->folder, "recordings", path, err));
    RT_TRY(recording_store_open(&api->recordings, path, err));
    api->recorded_picture = recordings_picture;
    api->recorded_context = api->recordings;
    RT_TRY(folder_join(api->folder, "jobs.sqlite", path, err));
    const struct jobs_options jobs = {.max_queued = 256};
    RT_TRY(jobs_open(&api->jobs, path, &jobs, err));
    RT_TRY(folder_join(api->folder, "reconstructions", path, err));
    const struct recon_runner_options runner = {.folder = path,
                                                .jobs = api->jobs,
                                                .engine = api->engine,
                                                .scenes = api->scenes,
                                                .recordings = api->recordings,
                                                .encoders = api->encoders};
    RT_TRY(recon_runner_create(&api->runner, &runner, err));
    RT_TRY(event_pump_create(&api->events, api->jobs, recon_runner_row_text, api->runner, err));
    engine_set_background(api->engine, recon_runner_advance, api->runner);
    recon_runner_wake(api->runner);
    return RT_OK;
}

void api_jobs_stop(struct api *api) {
    if (api->events) event_pump_stop(api->events);
    if (!api->runner) return;
    engine_stop_background(api->engine);
    recon_runner_stop(api->runner);
}

void api_jobs_close(struct api *api) {
    event_pump_destroy(&api->events);
    recon_runner_destroy(&api->runner);
    if (api->jobs) jobs_close(&api->jobs);
    recording_store_close(&api->recordings);
}
