/* A few threads for work that is not the engine's: encoding pictures, checking uploads.
 *
 *     RT_TRY(workers_submit(workers, encode, job, err));    // encode(job) on some worker
 *
 * FIFO, bounded. Threading: any thread may submit. */
#ifndef RETAKE_API_WORKERS_H
#define RETAKE_API_WORKERS_H

#include <stdint.h>

#include "render/core/status.h"

struct workers;

enum rt_status workers_create(struct workers **out, int32_t n_threads, int32_t max_queued,
                              struct rt_error *err);
/* Runs what is queued, then joins. */
void workers_destroy(struct workers **workers);
/* RT_QUEUE_FULL. */
enum rt_status workers_submit(struct workers *workers, void (*run)(void *context), void *context,
                              struct rt_error *err);

#endif
