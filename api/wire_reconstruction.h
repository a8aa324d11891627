/* Reconstructions as JSON (api.md sections 6.1, 6.3 and 6.4).
 *
 *     struct recon_request request;
 *     wire_reconstruction_request(&faults, body, "preview", &request);
 *     char *stored = wire_reconstruction_text(&request);      // what the journal keeps
 *     json_t *row = wire_reconstruction_row(&job, &status, "cpu");
 *     recon_request_free(&request);
 *
 * Threading: values. */
#ifndef RETAKE_API_WIRE_RECONSTRUCTION_H
#define RETAKE_API_WIRE_RECONSTRUCTION_H

#include <jansson.h>

#include "api/wire_json.h"
#include "recon/config.h"
#include "recon/reconstruction.h"
#include "render/core/limits.h"
#include "server/jobs.h"

struct recon_request {
    char recording[RT_ID_BYTES];
    char scene[RT_ID_BYTES];
    struct recon_config config; /* resolved: preset, then what the request changes */
    int32_t priority;           /* 2 high, 1 normal, 0 low */
    bool replace;
    bool load_when_done;
    bool live_as_job; /* the scene serves on while this one is made: the live model has the job's id
                       */
    json_t *changes;  /* owned object or NULL: `config` as it was given */
    json_t *labels;   /* owned object or NULL */
    json_t *findings; /* owned array or NULL */
};
void recon_request_free(struct recon_request *request);

/* Checks the whole body of POST /v1/reconstructions; every fault is noted under its pointer. */
void wire_reconstruction_request(struct wire_faults *faults, const json_t *body,
                                 const char *default_preset, struct recon_request *out);
/* The request with every default filled in, for the journal; caller frees. NULL: out of memory. */
char *wire_reconstruction_text(const struct recon_request *request);
/* Reads what wire_reconstruction_text wrote. RT_INTERNAL when it cannot. */
enum rt_status wire_reconstruction_stored(const char *text, struct recon_request *out,
                                          struct rt_error *err);
/* What a reconstruction will need at most, before it runs. */
struct recon_estimate {
    int32_t splats_max;
    uint64_t device_bytes;
    uint64_t disk_bytes;
    double seconds;
};
/* What the recording and the machine bring. */
struct recon_work {
    int64_t largest_px; /* pixels of the largest picture */
    int64_t total_px;   /* of all pictures */
    int32_t n_threads;
};
/* A rough figure for the CPU backend; the source says what was measured. */
struct recon_estimate wire_reconstruction_estimate(const struct recon_config *config,
                                                   const struct recon_work *work);
json_t *wire_reconstruction_estimate_json(const struct recon_estimate *estimate);
/* The resolved parameters as an object. NULL: out of memory. */
json_t *wire_reconstruction_config(const struct recon_config *config);

/* What is known about the work of a job beside its journal row. Kept in `status.json` of its work
 * folder, so that ended and waiting jobs still show their numbers. */
struct recon_status {
    struct recon_progress progress;
    int64_t checkpoint_ms; /* Unix time, 0 = none */
    int32_t eval_step;     /* of progress.psnr_db, 0 = none */
    int32_t preview_step;  /* -1 = no preview yet */
};
struct recon_status recon_status_none(void);
/* RT_NOT_FOUND when there is no file or it cannot be read: *out is recon_status_none() then. */
enum rt_status recon_status_read(const char *path, struct recon_status *out);
enum rt_status recon_status_write(const char *path, const struct recon_status *status,
                                  struct rt_error *err);

const char *recon_phase_name(enum recon_phase phase);

/* The row. `status` as it is now, `device` the backend's name. */
json_t *wire_reconstruction_row(const struct job_row *job, const struct recon_status *status,
                                const char *device);
json_t *wire_reconstruction_progress(const struct recon_status *status);
json_t *wire_reconstruction_eval(const struct recon_status *status);

#endif
