/* Sensors: what is placed in the world and when it looks. Camera models are those of api.md section
 * 4.1; their mathematics stands in one header per model (camera_pinhole.h). */
#ifndef RETAKE_RENDER_CORE_SENSOR_H
#define RETAKE_RENDER_CORE_SENSOR_H

#include <stdint.h>

#include "render/core/hd.h"
#include "render/core/pose.h"
#include "render/core/status.h"

RT_C_BEGIN

enum sensor_kind { SENSOR_CAMERA, SENSOR_LIDAR };
enum camera_model { CAMERA_PINHOLE, CAMERA_FISHEYE, CAMERA_FTHETA };
enum shutter {
    SHUTTER_GLOBAL,
    SHUTTER_ROLLING_TOP_TO_BOTTOM,
    SHUTTER_ROLLING_LEFT_TO_RIGHT,
    SHUTTER_ROLLING_BOTTOM_TO_TOP,
    SHUTTER_ROLLING_RIGHT_TO_LEFT
};

struct camera {
    enum camera_model model;
    enum shutter shutter;
    int32_t width_px; /* native size the intrinsics refer to */
    int32_t height_px;
    float focal_px[2];
    float principal_px[2]; /* origin: top-left corner of the picture */
    float radial_k[6];     /* pinhole k1...k6, fisheye k1...k4 */
    float tangential_p[2];
    float thin_prism_s[4];
};

struct sensor {
    enum sensor_kind kind;
    struct camera camera;
    struct pose T_world_sensor_start; /* at t_us */
    struct pose T_world_sensor_end;   /* at t_end_us; equal to start when nothing moves */
    int64_t t_us;
    int64_t t_end_us;
};

/* An ideal pinhole with the principal point in the middle. fov_y_deg in (0, 180). */
struct camera camera_ideal(int32_t width_px, int32_t height_px, float fov_y_deg);

/* The same lens for another output size: intrinsics scale by both ratios (corner origin, so there
 * are no half-pixel terms). */
struct camera camera_scaled(const struct camera *camera, int32_t width_px, int32_t height_px);

/* True when any distortion coefficient is non-zero. */
int camera_is_distorted(const struct camera *camera);

/* Finite numbers, positive focal length, size within limits. RT_INVALID with the member named. */
enum rt_status camera_validate(const struct camera *camera, struct rt_error *err);

RT_C_END

#endif
