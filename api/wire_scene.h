/* Scenes as JSON (api.md sections 4.7 and 4.8). */
#ifndef RETAKE_API_WIRE_SCENE_H
#define RETAKE_API_WIRE_SCENE_H

#include <jansson.h>

#include "api/scene_cache.h"
#include "render/core/scene.h"

/* Object text of what does not change while a file stays the same: T_world_file, bounds,
 * default_view, nodes, outputs, warnings, provenance. Caller frees; NULL when out of memory. */
char *wire_scene_detail(const struct scene *scene);
/* Index row; with `with_detail` also the members of wire_scene_detail. NULL when out of memory. */
json_t *wire_scene_row(const struct scene_row *row, const char *backend, bool with_detail);
/* Cameras of S/sensors, the virtual one included. */
json_t *wire_scene_sensors(const struct scene *scene);
json_t *wire_scene_timeline(const struct scene *scene, const char *version);
/* Poses as columns, of the rig, or of `sensor` when not NULL. RT_NOT_FOUND. */
enum rt_status wire_scene_trajectory(const struct scene *scene, const char *sensor, json_t **out,
                                     struct rt_error *err);
json_t *wire_camera_json(const struct camera *camera);

/* The virtual camera `default`: 960x540, 50 degrees. */
struct camera scene_default_camera(void);

#endif
