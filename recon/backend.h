/* The list of training backends; they carry the names of the render backends. */
#ifndef RETAKE_RECON_BACKEND_H
#define RETAKE_RECON_BACKEND_H

#include "recon/stages.h"

/* The stage table for a render backend's name. RT_UNSUPPORTED when this build cannot train on it.
 * Threading: constant tables. */
enum rt_status recon_backend(const char *name, const struct recon_ops **out, struct rt_error *err);

#endif
