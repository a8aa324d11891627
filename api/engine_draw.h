/* One render of the engine: scene -> layers -> picture. Split from the queue so that each reads
 * alone. */
#ifndef RETAKE_API_ENGINE_DRAW_H
#define RETAKE_API_ENGINE_DRAW_H

#include "api/engine.h"

/* Draws on the calling thread. `cancel` is borrowed. The caller frees *out. */
enum rt_status engine_draw(struct renderer *renderer, const struct engine_render *render,
                           const atomic_bool *cancel, struct engine_picture **out,
                           struct rt_error *err);

/* A built-in scene of a few splats for the heartbeat, and its render (16x16). */
enum rt_status engine_heartbeat_scene(struct scene **out, struct rt_error *err);
struct engine_render engine_heartbeat_render(struct scene *scene);

#endif
