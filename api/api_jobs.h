/* Recordings and reconstructions as part of the service: opened, drained and closed by api.c. */
#ifndef RETAKE_API_API_JOBS_H
#define RETAKE_API_API_JOBS_H

#include "api/api.h"

/* Opens DATA/recordings, DATA/reconstructions and DATA/jobs.sqlite; jobs that ran when the service
 * ended are queued again and go on. Needs engine, scenes and workers. */
enum rt_status api_jobs_open(struct api *api, struct rt_error *err);
/* The training in progress writes its checkpoint and stops; event readers are let go. While the
 * engine lives; more than once is fine. */
void api_jobs_stop(struct api *api);
/* After engine and workers are gone. Accepts a half-opened api. */
void api_jobs_close(struct api *api);

#endif
