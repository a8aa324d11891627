/* Recordings over HTTP: what the rest of api/ needs from recordings.c. */
#ifndef RETAKE_API_RECORDINGS_H
#define RETAKE_API_RECORDINGS_H

#include "render/core/image.h"

/* api_recorded_picture; the context is the struct recording_store. */
enum rt_status recordings_picture(void *store, const char *recording_id, const char *camera_id,
                                  int32_t i_frame, struct image *out, struct rt_error *err);

#endif
