#include <string.h>

#include "api/drawing.h"
#include "api/routes.h"
#include "api/wire_view.h"

static void reply_not_acceptable(struct api *api, struct http_exchange *x) {
    json_t *offered = json_pack("[s, s, s, s]", "image/png", "image/jpeg", "application/x-npy",
                                "application/octet-stream");
    problem_reply(api, x, PROBLEM_NOT_ACCEPTABLE, json_pack("{s:o}", "offered", offered),
                  "no format of Accept is offered");
}

static bool wants_stages(struct wire_faults *faults, struct http_exchange *x) {
    static const char *const known[] = {"timing", "timeout_ms", NULL};
    static const char *const timings[] = {"stages", NULL};
    int32_t timing = -1;
    wire_query_members(faults, x, known);
    wire_query_choice(faults, x, "timing", timings, &timing);
    return timing == 0;
}

void post_render_camera(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct drawing_request request = {.cache_control = "no-store"};
    if (!take_scene_id(api, x, &request.id)) return;
    struct wire_faults faults = {0};
    size_t n_bytes = 0;
    const void *text = http_body(x, &n_bytes);
    request.view = view_defaults();
    request.with_stages = wants_stages(&faults, x);
    json_t *body = wire_parse(text, n_bytes, false, &faults);
    if (body != NULL) wire_view_from_json(&faults, body, &request.view);
    json_decref(body);
    wire_query_int(&faults, x, "timeout_ms", 1, 600000, &request.view.timeout_ms);
    if (faults.n_faults > 0) {
        wire_reply_faults(api, x, &faults);
        return;
    }
    if (!request.view.has_format &&
        !wire_negotiate(http_header(x, "Accept"), &request.view.format)) {
        reply_not_acceptable(api, x);
        return;
    }
    drawing_start(api, x, &request);
}
