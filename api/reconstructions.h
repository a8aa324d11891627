/* Reconstructions over HTTP: shared by reconstructions.c and reconstruction_files.c. */
#ifndef RETAKE_API_RECONSTRUCTIONS_H
#define RETAKE_API_RECONSTRUCTIONS_H

#include "api/api.h"
#include "server/jobs.h"

/* The job of the URL; false when it was answered with 404. The caller frees the row. */
bool reconstruction_find(struct api *api, struct http_exchange *x, struct job_row *out);

#endif
