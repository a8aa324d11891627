/* A view: what POST S/render/camera and GET S/frames ask for, after parsing and before the scene is
 * known (api.md sections 4.2 and 5); then resolved against a scene into an engine render.
 *
 *     struct view view = view_defaults();
 *     wire_view_from_json(&faults, body, &view);
 *     RT_TRY(view_resolve(&view, scene, &render, err));
 *     view_canonical(&view, text, sizeof text);     // equal views have equal texts
 *
 * A plain value; threading: none shared. */
#ifndef RETAKE_API_VIEW_H
#define RETAKE_API_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "api/engine.h"
#include "render/core/limits.h"

enum view_output { VIEW_RGB, VIEW_ALPHA, VIEW_DEPTH, VIEW_SPLAT_COUNT, VIEW_N_OUTPUTS };
enum view_format {
    VIEW_PNG,
    VIEW_JPEG,
    VIEW_RAW,
    VIEW_RAW_PLANAR,
    VIEW_NPY,
    VIEW_NPY_F16,
    VIEW_N_FORMATS
};
extern const char *const view_output_names[]; /* NULL-terminated, by enum */
extern const char *const view_format_names[];
const char *view_format_extension(enum view_format format);

enum view_pose { VIEW_POSE_DEFAULT, VIEW_POSE_SENSOR, VIEW_POSE_RIG };

struct view {
    char sensor[RT_ID_BYTES]; /* "" = none */
    bool has_camera;
    struct camera camera;
    double fov_y_deg;   /* 0 = not given */
    int32_t size_px[2]; /* 0 = native; one of both 0 keeps the aspect */
    int32_t crop_px[4]; /* x y w h; w = 0: none */
    bool has_t_us;
    int64_t t_us;
    int32_t i_frame; /* -1 = by time */
    enum view_pose pose;
    struct pose T_given_start, T_given_end;
    bool has_offset;
    struct pose rig_offset;

    enum view_output outputs[VIEW_N_OUTPUTS];
    int32_t n_outputs;
    bool depth_median;
    bool has_format;
    enum view_format format;
    int32_t quality;
    double depth_per_m;
    int32_t colormap; /* -1 = none, else enum of colormap.h */
    double visual_min, visual_max;
    bool visual_log;
    bool has_background;
    float background[3];
    double near_m;
    int32_t sh_degree;
    int64_t timeout_ms;
};

struct view view_defaults(void);

/* What a scene makes of the view. The picture is drawn in full and cut to the crop afterwards, so
 * that a crop equals that part of the picture. RT_NOT_FOUND (sensor), RT_TIME_RANGE, RT_LIMIT,
 * RT_INVALID, RT_UNSUPPORTED, RT_CALIBRATION. `render->scene` is borrowed. */
enum rt_status view_resolve(const struct view *view, struct scene *scene,
                            struct engine_render *render, struct rt_error *err);

/* The parameters with defaults filled in, as text for the ETag. */
enum { VIEW_CANONICAL_BYTES = 1024 };
void view_canonical(const struct view *view, char text[VIEW_CANONICAL_BYTES]);

#endif
