/* Bodies of POST S/render/camera: whatever comes in is a view within the limits or a fault. */
#include <stdlib.h>
#include <string.h>

#include "api/view.h"
#include "api/wire_view.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    struct wire_faults faults = {0};
    struct view view = view_defaults();
    json_t *body = wire_parse(bytes, n_bytes, false, &faults);
    if (body != NULL) wire_view_from_json(&faults, body, &view);
    json_decref(body);
    if (faults.n_faults > 0) return 0;
    char text[VIEW_CANONICAL_BYTES];
    view_canonical(&view, text);
    bool is_sane = view.n_outputs >= 1 && view.n_outputs <= VIEW_N_OUTPUTS &&
                   view.size_px[0] >= 0 && view.size_px[0] <= RT_MAX_SIDE_PX && view.near_m > 0.0;
    if (!is_sane) abort();
    struct scene *scene = NULL;
    struct engine_render render;
    if (scene_create(&scene, NULL) != RT_OK) return 0;
    struct rt_error err;
    if (view_resolve(&view, scene, &render, &err) == RT_OK &&
        camera_validate(&render.sensor.camera, &err) != RT_OK) {
        abort();
    }
    scene_release(&scene);
    return 0;
}
