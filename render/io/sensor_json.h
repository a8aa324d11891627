/* Poses and lenses as JSON, one shape in scene.json, recording.json and requests (api.md sections
 * 4.1 and 4.7).
 *
 *     {"t": [1.5, 0, 1.4], "q_wxyz": [0.5, -0.5, 0.5, -0.5]}
 *     {"model": "pinhole", "width_px": 1242, "height_px": 375, "focal_px": [721.5, 721.5], ...}
 *
 * Errors are RT_BAD_FILE: "bad-value" that names the member, "unsupported-camera" for lenses that
 * this version does not render. Threading: no shared state. */
#ifndef RETAKE_RENDER_IO_SENSOR_JSON_H
#define RETAKE_RENDER_IO_SENSOR_JSON_H

#include "render/core/sensor.h"
#include "render/io/json_member.h"

/* Array of the shortest decimals that read back as the same floats; NULL without memory. */
json_t *json_from_floats(const float *values, int n);

/* Absent parts are 0 and the identity; the quaternion is normalised, a zero one refused. */
enum rt_status pose_from_json(const json_t *node, const char *where, struct pose *pose,
                              struct rt_error *err);
/* The member `key` of an object; *pose stays when it is absent. */
enum rt_status json_pose_member(const struct json_at *at, const char *key, struct pose *pose,
                                struct rt_error *err);
/* New reference, NULL without memory. */
json_t *pose_to_json(struct pose pose);

/* A pinhole camera with everything checked by camera_validate(). */
enum rt_status camera_from_json(const json_t *node, const char *where, struct camera *camera,
                                struct rt_error *err);
/* New reference, NULL without memory. Zero distortion is left out. */
json_t *camera_to_json(const struct camera *camera);

#endif
