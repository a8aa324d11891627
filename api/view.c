#include "api/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/wire_scene.h"

const char *const view_output_names[] = {"rgb", "alpha", "depth", "splat_count", NULL};
const char *const view_format_names[] = {"png", "jpeg",    "raw", "raw_planar",
                                         "npy", "npy_f16", NULL};

const char *view_format_extension(enum view_format format) {
    static const char *const extensions[] = {"png", "jpg", "raw", "raw", "npy", "npy"};
    return extensions[format];
}

struct view view_defaults(void) {
    struct view view = {.i_frame = -1,
                        .n_outputs = 1,
                        .quality = 95,
                        .depth_per_m = 256.0,
                        .colormap = -1,
                        .visual_max = 80.0,
                        .near_m = 0.2,
                        .sh_degree = 3,
                        .timeout_ms = 30000};
    view.T_given_start = pose_identity();
    view.T_given_end = pose_identity();
    view.rig_offset = pose_identity();
    return view;
}

/* -- which frame ---------------------------------------------------------------------------------
 */

struct moment {
    const struct scene_camera *camera; /* NULL for the virtual one and for given lenses */
    int32_t i_frame;                   /* nearest recorded one, or -1 */
    int64_t t_us;
};

static int32_t nearest_frame(const struct scene_frames *frames, int64_t t_us) {
    int32_t low = 0, high = frames->n_frames - 1;
    if (high < 0) return -1;
    while (low < high) { /* last frame that starts at or before t_us */
        int32_t middle = low + (high - low + 1) / 2;
        if (frames->t_us[middle] <= t_us) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    bool next_is_nearer =
        low + 1 < frames->n_frames && frames->t_us[low + 1] - t_us < t_us - frames->t_us[low];
    return next_is_nearer ? low + 1 : low;
}

static enum rt_status find_moment(const struct view *view, const struct scene *scene,
                                  struct moment *moment, struct rt_error *err) {
    *moment = (struct moment){.i_frame = -1, .t_us = scene->t_begin_us};
    bool is_virtual = strcmp(view->sensor, "default") == 0;
    if (view->sensor[0] != '\0') moment->camera = scene_find_camera(scene, view->sensor);
    if (view->sensor[0] != '\0' && !is_virtual && moment->camera == NULL) {
        return rt_fail(err, RT_NOT_FOUND, "the scene has no sensor \"%s\"", view->sensor);
    }
    int32_t n_frames = moment->camera != NULL ? moment->camera->frames.n_frames : 1;
    if (view->i_frame >= n_frames) {
        return rt_fail(err, RT_TIME_RANGE, "frame %d of sensor %s: it has %d frames", view->i_frame,
                       view->sensor, n_frames);
    }
    if (view->has_t_us) moment->t_us = view->t_us;
    if (moment->camera == NULL) return RT_OK;
    if (view->has_t_us && !scene->is_static &&
        (view->t_us < scene->t_begin_us || view->t_us >= scene->t_end_us)) {
        return rt_fail(err, RT_TIME_RANGE, "t_us %lld is outside [%lld, %lld)",
                       (long long)view->t_us, (long long)scene->t_begin_us,
                       (long long)scene->t_end_us);
    }
    moment->i_frame =
        view->i_frame >= 0 ? view->i_frame : nearest_frame(&moment->camera->frames, moment->t_us);
    if (moment->i_frame >= 0) moment->t_us = moment->camera->frames.t_us[moment->i_frame];
    return RT_OK;
}

/* -- lens and size -------------------------------------------------------------------------------
 */

static enum rt_status find_lens(const struct view *view, const struct moment *moment,
                                struct camera *camera, struct rt_error *err) {
    if (view->has_camera) {
        *camera = view->camera;
    } else if (moment->camera != NULL) {
        const struct scene_frames *frames = &moment->camera->frames;
        bool has_own = frames->camera != NULL && moment->i_frame >= 0;
        *camera = has_own ? frames->camera[moment->i_frame] : moment->camera->camera;
    } else if (view->fov_y_deg > 0.0) {
        int32_t width = view->size_px[0] > 0 ? view->size_px[0] : 960;
        int32_t height = view->size_px[1] > 0 ? view->size_px[1] : 540;
        *camera = camera_ideal(width, height, (float)view->fov_y_deg);
    } else {
        *camera = scene_default_camera();
    }
    if (camera->model != CAMERA_PINHOLE || camera_is_distorted(camera)) {
        return rt_fail(err, RT_UNSUPPORTED,
                       "only undistorted pinhole cameras are drawn in this version");
    }
    if (camera->shutter != SHUTTER_GLOBAL) {
        return rt_fail(err, RT_UNSUPPORTED, "rolling shutters are not drawn in this version");
    }
    return RT_OK;
}

static int32_t scaled_side(int32_t side, int32_t wanted, int32_t native) {
    double scaled = round((double)side * wanted / native);
    return scaled < 1.0 ? 1 : scaled > RT_MAX_SIDE_PX ? RT_MAX_SIDE_PX + 1 : (int32_t)scaled;
}

static enum rt_status apply_size(const struct view *view, struct camera *camera,
                                 struct rt_error *err) {
    int32_t width = view->size_px[0], height = view->size_px[1];
    if (width == 0 && height == 0) {
        width = camera->width_px;
        height = camera->height_px;
    } else if (height == 0) {
        height = scaled_side(camera->height_px, width, camera->width_px);
    } else if (width == 0) {
        width = scaled_side(camera->width_px, height, camera->height_px);
    }
    if (width > RT_MAX_SIDE_PX || height > RT_MAX_SIDE_PX ||
        (int64_t)width * height > RT_MAX_PIXELS) {
        return rt_fail(err, RT_LIMIT, "%d x %d pixels: at most %d a side and %d in all", width,
                       height, RT_MAX_SIDE_PX, RT_MAX_PIXELS);
    }
    *camera = camera_scaled(camera, width, height);
    const int32_t *crop = view->crop_px;
    if (crop[2] > 0 &&
        ((int64_t)crop[0] + crop[2] > width || (int64_t)crop[1] + crop[3] > height)) {
        return rt_fail(err, RT_INVALID, "crop_px [%d,%d,%d,%d] leaves the picture of %d x %d",
                       crop[0], crop[1], crop[2], crop[3], width, height);
    }
    return camera_validate(camera, err);
}

/* -- pose ----------------------------------------------------------------------------------------
 */

/* The rig frame of a camera without a mounting: x forward, y left, z up over the camera's x right,
 * y down, z forward (sensors.md section 2). Columns are the rig's axes in the camera. */
static struct pose default_mounting(void) {
    return pose_make(quat_make(0.5f, -0.5f, 0.5f, -0.5f), vec3_make(0.0f, 0.0f, 0.0f));
}

static void find_pose(const struct view *view, const struct scene *scene,
                      const struct moment *moment, struct pose *start, struct pose *end) {
    struct pose T_rig_camera =
        moment->camera != NULL ? moment->camera->T_rig_camera : default_mounting();
    if (view->pose == VIEW_POSE_SENSOR) {
        *start = view->T_given_start;
        *end = view->T_given_end;
        return;
    }
    if (view->pose == VIEW_POSE_RIG) {
        *start = pose_mul(view->T_given_start, T_rig_camera);
        *end = pose_mul(view->T_given_end, T_rig_camera);
    } else if (moment->camera != NULL && moment->i_frame >= 0) {
        *start = moment->camera->frames.T_world_sensor_start[moment->i_frame];
        *end = moment->camera->frames.T_world_sensor_end[moment->i_frame];
    } else {
        *start = scene->default_view;
        *end = scene->default_view;
    }
    if (!view->has_offset) return;
    /* T_world_rig * offset * T_rig_camera, without needing T_world_rig. */
    struct pose moved =
        pose_mul(pose_mul(pose_inverse(T_rig_camera), view->rig_offset), T_rig_camera);
    *start = pose_mul(*start, moved);
    *end = pose_mul(*end, moved);
}

static uint32_t engine_outputs(const struct view *view) {
    uint32_t outputs = 0;
    for (int32_t i = 0; i < view->n_outputs; i++) {
        switch (view->outputs[i]) {
            case VIEW_RGB:
                outputs |= ENGINE_RGB;
                break;
            case VIEW_ALPHA:
                outputs |= ENGINE_ALPHA;
                break;
            case VIEW_DEPTH:
                outputs |= view->depth_median ? ENGINE_DEPTH_MEDIAN : ENGINE_DEPTH_EXPECTED;
                break;
            default:
                outputs |= ENGINE_SPLAT_COUNT;
                break;
        }
    }
    return outputs;
}

enum rt_status view_resolve(const struct view *view, struct scene *scene,
                            struct engine_render *render, struct rt_error *err) {
    struct moment moment;
    struct camera camera;
    RT_TRY(find_moment(view, scene, &moment, err));
    RT_TRY(find_lens(view, &moment, &camera, err));
    RT_TRY(apply_size(view, &camera, err));
    *render = (struct engine_render){.scene = scene,
                                     .outputs = engine_outputs(view),
                                     .near_m = (float)view->near_m,
                                     .sh_degree = view->sh_degree};
    struct sensor *sensor = &render->sensor;
    sensor->kind = SENSOR_CAMERA;
    sensor->camera = camera;
    find_pose(view, scene, &moment, &sensor->T_world_sensor_start, &sensor->T_world_sensor_end);
    sensor->t_us = moment.t_us;
    sensor->t_end_us = moment.t_us + 1;
    for (int c = 0; c < 3; c++) {
        float sky = scene->sky == SKY_COLOUR ? scene->sky_rgb[c] : 0.0f;
        render->background[c] = view->has_background ? view->background[c] : sky;
    }
    return RT_OK;
}

/* -- canonical text ------------------------------------------------------------------------------
 */

struct writer {
    char *text;
    size_t used;
};

static void put(struct writer *w, const char *name, double value) {
    int n = snprintf(w->text + w->used, VIEW_CANONICAL_BYTES - w->used, "%s=%.17g;", name, value);
    if (n > 0 && w->used + (size_t)n < VIEW_CANONICAL_BYTES) w->used += (size_t)n;
}

static void put_pose(struct writer *w, const char *name, const struct pose *pose) {
    const float values[7] = {pose->t.x, pose->t.y, pose->t.z, pose->q.w,
                             pose->q.x, pose->q.y, pose->q.z};
    for (int i = 0; i < 7; i++) put(w, name, (double)values[i]);
}

static void put_camera(struct writer *w, const struct camera *camera) {
    put(w, "cw", camera->width_px);
    put(w, "ch", camera->height_px);
    put(w, "fx", (double)camera->focal_px[0]);
    put(w, "fy", (double)camera->focal_px[1]);
    put(w, "cx", (double)camera->principal_px[0]);
    put(w, "cy", (double)camera->principal_px[1]);
}

static void put_picture(struct writer *w, const struct view *view) {
    for (int32_t i = 0; i < view->n_outputs; i++) put(w, "o", view->outputs[i]);
    put(w, "median", view->depth_median);
    put(w, "format", view->format);
    put(w, "q", view->format == VIEW_JPEG ? view->quality : 0);
    put(w, "dm", view->depth_per_m);
    put(w, "map", view->colormap);
    if (view->colormap >= 0) {
        put(w, "min", view->visual_min);
        put(w, "max", view->visual_max);
        put(w, "log", view->visual_log);
    }
    for (int c = 0; view->has_background && c < 3; c++) put(w, "bg", (double)view->background[c]);
    put(w, "near", view->near_m);
    put(w, "sh", view->sh_degree);
}

void view_canonical(const struct view *view, char text[VIEW_CANONICAL_BYTES]) {
    int n = snprintf(text, VIEW_CANONICAL_BYTES, "s=%s;", view->sensor);
    struct writer w = {text, (size_t)n};
    if (view->has_camera) put_camera(&w, &view->camera);
    put(&w, "fov", view->fov_y_deg);
    for (int i = 0; i < 2; i++) put(&w, "size", view->size_px[i]);
    for (int i = 0; i < 4; i++) put(&w, "crop", view->crop_px[i]);
    put(&w, "i", view->i_frame);
    if (view->has_t_us) put(&w, "t", (double)view->t_us); /* |t| <= 2^53: exact */
    put(&w, "pose", view->pose);
    if (view->pose != VIEW_POSE_DEFAULT) put_pose(&w, "a", &view->T_given_start);
    if (view->pose != VIEW_POSE_DEFAULT) put_pose(&w, "b", &view->T_given_end);
    if (view->has_offset) put_pose(&w, "off", &view->rig_offset);
    put_picture(&w, view);
}
