#include <string.h>

#include "api/handler.h"
#include "api/routes.h"
#include "api/wire_scene.h"

static void sensors_of(struct api *api, struct http_exchange *x, const char *id,
                       struct scene *scene) {
    (void)id;
    reply_json(api, x, 200, wire_scene_sensors(scene));
}

static void timeline_of(struct api *api, struct http_exchange *x, const char *id,
                        struct scene *scene) {
    struct scene_row row = {0};
    if (scene_cache_row(api->scenes, id, &row, NULL) != RT_OK) row.version[0] = '\0';
    reply_json(api, x, 200, wire_scene_timeline(scene, row.version));
    scene_row_free(&row);
}

static void trajectory_of(struct api *api, struct http_exchange *x, const char *id,
                          struct scene *scene) {
    (void)id;
    json_t *body = NULL;
    struct rt_error err;
    if (wire_scene_trajectory(scene, http_query(x, "sensor"), &body, &err) != RT_OK) {
        problem_reply_error(api, x, &err, json_pack("{s:s}", "resource", "sensor"));
    } else {
        reply_json(api, x, 200, body);
    }
}

static void get_part(struct api *api, struct http_exchange *x, const char *const *known,
                     scene_ready ready) {
    const char *id;
    if (!take_scene_id(api, x, &id) || refuse_unknown_query(api, x, known)) return;
    with_scene(api, x, id, ready);
}

void get_sensors(struct http_exchange *x, void *context) {
    static const char *const known[] = {NULL};
    get_part(context, x, known, sensors_of);
}

void get_timeline(struct http_exchange *x, void *context) {
    static const char *const known[] = {NULL};
    get_part(context, x, known, timeline_of);
}

void get_trajectory(struct http_exchange *x, void *context) {
    static const char *const known[] = {"sensor", "from_us", "to_us", "step_us", NULL};
    static const char *const later[] = {"from_us", "to_us", "step_us"};
    struct api *api = context;
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++) {
        if (http_query(x, later[i]) == NULL) continue;
        problem_reply(api, x, PROBLEM_UNSUPPORTED_FEATURE,
                      json_pack("{s:s}", "capability", "trajectory_resampling"),
                      "%s: trajectories are not resampled in this version", later[i]);
        return;
    }
    get_part(api, x, known, trajectory_of);
}
