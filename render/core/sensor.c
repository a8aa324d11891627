#include "render/core/sensor.h"

#include <math.h>

#include "render/core/limits.h"

struct camera camera_ideal(int32_t width_px, int32_t height_px, float fov_y_deg) {
    const float half_rad = fov_y_deg * 0.00872664626f;
    float focal_px = 0.5f * (float)height_px / tanf(half_rad);
    return (struct camera){.model = CAMERA_PINHOLE,
                           .width_px = width_px,
                           .height_px = height_px,
                           .focal_px = {focal_px, focal_px},
                           .principal_px = {0.5f * (float)width_px, 0.5f * (float)height_px}};
}

struct camera camera_scaled(const struct camera *camera, int32_t width_px, int32_t height_px) {
    struct camera scaled = *camera;
    float ratio_x = (float)width_px / (float)camera->width_px;
    float ratio_y = (float)height_px / (float)camera->height_px;
    scaled.width_px = width_px;
    scaled.height_px = height_px;
    scaled.focal_px[0] *= ratio_x;
    scaled.focal_px[1] *= ratio_y;
    scaled.principal_px[0] *= ratio_x;
    scaled.principal_px[1] *= ratio_y;
    return scaled;
}

int camera_is_distorted(const struct camera *camera) {
    for (int i = 0; i < 6; i++) {
        if (camera->radial_k[i] != 0.0f) return 1;
    }
    for (int i = 0; i < 4; i++) {
        if (camera->thin_prism_s[i] != 0.0f) return 1;
    }
    return camera->tangential_p[0] != 0.0f || camera->tangential_p[1] != 0.0f;
}

static int all_finite(const float *values, int n) {
    for (int i = 0; i < n; i++) {
        if (!isfinite(values[i])) return 0;
    }
    return 1;
}

enum rt_status camera_validate(const struct camera *camera, struct rt_error *err) {
    if (camera->width_px < 1 || camera->width_px > RT_MAX_SIDE_PX || camera->height_px < 1 ||
        camera->height_px > RT_MAX_SIDE_PX) {
        return rt_fail(err, RT_INVALID, "size %d x %d px: both sides must be 1...%d",
                       camera->width_px, camera->height_px, RT_MAX_SIDE_PX);
    }
    if ((int64_t)camera->width_px * camera->height_px > RT_MAX_PIXELS) {
        return rt_fail(err, RT_LIMIT, "size %d x %d px exceeds %d pixels", camera->width_px,
                       camera->height_px, RT_MAX_PIXELS);
    }
    for (int i = 0; i < 2; i++) {
        if (!isfinite(camera->focal_px[i]) || camera->focal_px[i] <= 0.0f) {
            return rt_fail(err, RT_INVALID, "focal_px[%d] = %g must be > 0", i,
                           (double)camera->focal_px[i]);
        }
    }
    if (!all_finite(camera->principal_px, 2) || !all_finite(camera->radial_k, 6) ||
        !all_finite(camera->tangential_p, 2) || !all_finite(camera->thin_prism_s, 4)) {
        return rt_fail(err, RT_INVALID, "principal point and distortion must be finite");
    }
    return RT_OK;
}
