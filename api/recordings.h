/* Recordings over HTTP: what the rest of api/ needs from recordings.c. */
#ifndef RETAKE_API_RECORDINGS_H
#define RETAKE_API_RECORDINGS_H

#include "api/api.h"
#include "render/core/image.h"

/* api_recorded_picture; the context is the struct recording_store. */
enum rt_status recordings_picture(void *store, const struct recorded_ask *ask, struct image *out,
                                  struct rt_error *err);

#endif
