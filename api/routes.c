#include "api/routes.h"

#include "api/problems.h"

#define RECORDING_MAX_BYTES (64ULL << 30)
#define LARGE_JSON_BYTES (4ULL << 20)

/* Top to bottom: what the server can do. Limits of 0 are the defaults of api.md section 8. */
const struct http_route api_routes[] = {
    /* system */
    {"GET", "/v1/health/live", HTTP_BODY_NONE, 0, get_live},
    {"GET", "/v1/health/ready", HTTP_BODY_NONE, 0, get_ready},
    {"GET", "/healthz", HTTP_BODY_NONE, 0, get_live},
    {"GET", "/readyz", HTTP_BODY_NONE, 0, get_ready},
    {"GET", "/v2/health/live", HTTP_BODY_NONE, 0, get_live},
    {"GET", "/v2/health/ready", HTTP_BODY_NONE, 0, get_ready},
    {"GET", "/v1/version", HTTP_BODY_NONE, 0, get_version},
    {"GET", "/v1/metadata", HTTP_BODY_NONE, 0, get_metadata},
    {"GET", "/v1/devices", HTTP_BODY_NONE, 0, get_devices},
    {"GET", "/metrics", HTTP_BODY_NONE, 0, get_metrics},
    {"GET", "/openapi.yaml", HTTP_BODY_NONE, 0, get_openapi},
    {"GET", "/problems/{name}", HTTP_BODY_NONE, 0, get_problem_page},
    /* scenes */
    {"GET", "/v1/scenes", HTTP_BODY_NONE, 0, get_scenes},
    {"POST", "/v1/scenes", HTTP_BODY_JSON, 0, post_scene_import},
    {"PUT", "/v1/scenes/{id}", HTTP_BODY_FILE, 0, put_scene},
    {"GET", "/v1/scenes/{id}", HTTP_BODY_NONE, 0, get_scene},
    {"DELETE", "/v1/scenes/{id}", HTTP_BODY_NONE, 0, delete_scene},
    {"POST", "/v1/scenes/{id}/load", HTTP_BODY_JSON, 0, post_scene_load},
    {"POST", "/v1/scenes/{id}/unload", HTTP_BODY_JSON, 0, post_scene_unload},
    {"GET", "/v1/scenes/{id}/sensors", HTTP_BODY_NONE, 0, get_sensors},
    {"GET", "/v1/scenes/{id}/trajectory", HTTP_BODY_NONE, 0, get_trajectory},
    {"GET", "/v1/scenes/{id}/timeline", HTTP_BODY_NONE, 0, get_timeline},
    {"GET", "/v1/scenes/{id}/export.{ext}", HTTP_BODY_NONE, 0, get_export},
    /* pictures */
    {"POST", "/v1/scenes/{id}/render/camera", HTTP_BODY_JSON, 0, post_render_camera},
    {"GET", "/v1/scenes/{id}/frames/{sensor}/{at}.{ext}", HTTP_BODY_NONE, 0, get_frame},
    /* recordings */
    {"GET", "/v1/recordings", HTTP_BODY_NONE, 0, get_recordings},
    {"POST", "/v1/recordings", HTTP_BODY_JSON, 0, post_recording_import},
    {"PUT", "/v1/recordings/{id}", HTTP_BODY_FILE, RECORDING_MAX_BYTES, put_recording},
    {"GET", "/v1/recordings/{id}", HTTP_BODY_NONE, 0, get_recording},
    {"DELETE", "/v1/recordings/{id}", HTTP_BODY_NONE, 0, delete_recording},
    {"POST", "/v1/recordings/{id}/check", HTTP_BODY_JSON, 0, post_recording_check},
    {"GET", "/v1/recordings/{id}/frames/{sensor}/{at}.{ext}", HTTP_BODY_NONE, 0,
     get_recording_frame},
    /* reconstructions */
    {"GET", "/v1/reconstructions/schema", HTTP_BODY_NONE, 0, get_reconstruction_schema},
    {"POST", "/v1/reconstructions/check", HTTP_BODY_JSON, LARGE_JSON_BYTES,
     post_reconstruction_check},
    {"GET", "/v1/reconstructions", HTTP_BODY_NONE, 0, get_reconstructions},
    {"POST", "/v1/reconstructions", HTTP_BODY_JSON, LARGE_JSON_BYTES, post_reconstruction},
    {"GET", "/v1/reconstructions/{id}", HTTP_BODY_NONE, 0, get_reconstruction},
    {"DELETE", "/v1/reconstructions/{id}", HTTP_BODY_NONE, 0, delete_reconstruction},
    {"POST", "/v1/reconstructions/{id}/cancel", HTTP_BODY_JSON, 0, post_reconstruction_cancel},
    {"POST", "/v1/reconstructions/{id}/pause", HTTP_BODY_JSON, 0, post_reconstruction_pause},
    {"POST", "/v1/reconstructions/{id}/resume", HTTP_BODY_JSON, 0, post_reconstruction_resume},
    {"GET", "/v1/reconstructions/{id}/events", HTTP_BODY_NONE, 0, get_reconstruction_events},
    {"GET", "/v1/reconstructions/{id}/metrics", HTTP_BODY_NONE, 0, get_reconstruction_metrics},
    {"GET", "/v1/reconstructions/{id}/log", HTTP_BODY_NONE, 0, get_reconstruction_log},
    {"GET", "/v1/reconstructions/{id}/preview.jpg", HTTP_BODY_NONE, 0, get_reconstruction_preview},
    {"GET", "/v1/reconstructions/{id}/artifacts", HTTP_BODY_NONE, 0, get_reconstruction_artifacts},
    {"GET", "/v1/reconstructions/{id}/artifacts/{name}", HTTP_BODY_NONE, 0,
     get_reconstruction_artifact},
    {0},
};
