/* The table of routes, and the handlers it names (one file per noun). A handler's context is the
 * struct api. */
#ifndef RETAKE_API_ROUTES_H
#define RETAKE_API_ROUTES_H

#include "server/http.h"

extern const struct http_route api_routes[]; /* ends with a zeroed row */

/* health.c */
void get_live(struct http_exchange *x, void *context);
void get_ready(struct http_exchange *x, void *context);
void get_version(struct http_exchange *x, void *context);
void get_metadata(struct http_exchange *x, void *context);
void get_devices(struct http_exchange *x, void *context);
void get_metrics(struct http_exchange *x, void *context);
void get_openapi(struct http_exchange *x, void *context);

/* scenes.c, scene_upload.c */
void get_scenes(struct http_exchange *x, void *context);
void put_scene(struct http_exchange *x, void *context);
void post_scene_import(struct http_exchange *x, void *context);
void get_scene(struct http_exchange *x, void *context);
void delete_scene(struct http_exchange *x, void *context);
void post_scene_load(struct http_exchange *x, void *context);
void post_scene_unload(struct http_exchange *x, void *context);

/* sensors.c, export.c */
void get_sensors(struct http_exchange *x, void *context);
void get_trajectory(struct http_exchange *x, void *context);
void get_timeline(struct http_exchange *x, void *context);
void get_export(struct http_exchange *x, void *context);

/* render.c, frames.c */
void post_render_camera(struct http_exchange *x, void *context);
void get_frame(struct http_exchange *x, void *context);

/* recordings.c, recording_frames.c */
void get_recordings(struct http_exchange *x, void *context);
void get_recording(struct http_exchange *x, void *context);
void put_recording(struct http_exchange *x, void *context);
void post_recording_import(struct http_exchange *x, void *context);
void post_recording_check(struct http_exchange *x, void *context);
void delete_recording(struct http_exchange *x, void *context);
void get_recording_frame(struct http_exchange *x, void *context);

/* reconstructions.c, reconstruction_submit.c, reconstruction_files.c,
 * reconstruction_metrics.c */
void get_reconstruction_schema(struct http_exchange *x, void *context);
void post_reconstruction_check(struct http_exchange *x, void *context);
void post_reconstruction(struct http_exchange *x, void *context);
void get_reconstructions(struct http_exchange *x, void *context);
void get_reconstruction(struct http_exchange *x, void *context);
void delete_reconstruction(struct http_exchange *x, void *context);
void post_reconstruction_cancel(struct http_exchange *x, void *context);
void post_reconstruction_pause(struct http_exchange *x, void *context);
void post_reconstruction_resume(struct http_exchange *x, void *context);
void get_reconstruction_events(struct http_exchange *x, void *context);
void get_reconstruction_metrics(struct http_exchange *x, void *context);
void get_reconstruction_log(struct http_exchange *x, void *context);
void get_reconstruction_preview(struct http_exchange *x, void *context);
void get_reconstruction_artifacts(struct http_exchange *x, void *context);
void get_reconstruction_artifact(struct http_exchange *x, void *context);

#endif
