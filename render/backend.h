/* The rendering backends of this build.
 *
 *     const struct render_ops *ops;
 *     RT_TRY(render_backend_find("auto", &ops, err));
 */
#ifndef RETAKE_RENDER_BACKEND_H
#define RETAKE_RENDER_BACKEND_H

#include "render/stages.h"

/* name: "auto" or NULL (the fastest that is usable), "cpu", "cuda". An explicit name is never
 * replaced by another one: RT_UNSUPPORTED with the reason, RT_INVALID for an unknown name. The
 * table is immutable and lives for ever. */
enum rt_status render_backend_find(const char *name, const struct render_ops **out,
                                   struct rt_error *err);

#endif
