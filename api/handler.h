/* Small steps that handlers share. */
#ifndef RETAKE_API_HANDLER_H
#define RETAKE_API_HANDLER_H

#include "api/api.h"
#include "api/wire_json.h"

/* Capture `id`; false when it is no valid id, answered with 404 then. */
bool take_scene_id(struct api *api, struct http_exchange *x, const char **id);
/* Answers an unknown scene with 404 and up to 20 known ids, any other error as it is. */
void reply_scene_error(struct api *api, struct http_exchange *x, const char *id,
                       const struct rt_error *err);
/* The current row as 200 (or `status`). */
void reply_scene_row(struct api *api, struct http_exchange *x, const char *id, int status);
/* Answers the query's faults (names outside `known`); true when there were some. */
bool refuse_unknown_query(struct api *api, struct http_exchange *x, const char *const *known);

/* A deferred request that needs the loaded scene: `ready` gets it (borrowed) and must answer, it
 * may run on another thread. `id` is copied; 30 s deadline. */
typedef void (*scene_ready)(struct api *api, struct http_exchange *x, const char *id,
                            struct scene *scene);
void with_scene(struct api *api, struct http_exchange *x, const char *id, scene_ready ready);

#endif
