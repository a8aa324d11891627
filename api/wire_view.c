#include "api/wire_view.h"

#include <stdio.h>
#include <string.h>

#include "api/colormap.h"

/* -- lens -----------------------------------------------------------------------------------------
 */

static void refuse_coefficients(struct wire_faults *faults, const json_t *object, const char *at) {
    static const char *const names[] = {"radial_k", "tangential_p", "thin_prism_s"};
    static const size_t counts[] = {6, 2, 4};
    for (int i = 0; i < 3; i++) {
        const json_t *list = json_object_get(object, names[i]);
        if (list == NULL || json_is_null(list)) continue;
        bool is_right = json_is_array(list) && json_array_size(list) <= counts[i];
        bool is_zero = true;
        for (size_t k = 0; is_right && k < json_array_size(list); k++) {
            const json_t *value = json_array_get(list, k);
            is_right = json_is_number(value);
            is_zero = is_zero && json_number_value(value) == 0.0;
        }
        if (!is_right) {
            wire_fault(faults, at, names[i], "must be at most %zu numbers", counts[i]);
        } else if (!is_zero) {
            wire_unsupported(faults, at, names[i], "camera_distortion",
                             "distorted lenses are not drawn in this version");
        }
    }
}

static void read_pinhole(struct wire_faults *faults, const json_t *object, const char *at,
                         struct camera *out) {
    static const char *const needed[] = {"width_px", "height_px", "focal_px"};
    for (int i = 0; i < 3; i++) {
        const json_t *value = json_object_get(object, needed[i]);
        if (value == NULL || json_is_null(value)) wire_fault(faults, at, needed[i], "is missing");
    }
    int64_t width = 1, height = 1;
    double focal[2] = {1.0, 1.0}, principal[2];
    wire_int(faults, object, at, "width_px", (struct wire_range){1, RT_MAX_SIDE_PX, 1}, &width);
    wire_int(faults, object, at, "height_px", (struct wire_range){1, RT_MAX_SIDE_PX, 1}, &height);
    wire_numbers(faults, object, at, "focal_px", (struct wire_range){1e-3, 1e7, 2}, focal);
    principal[0] = 0.5 * (double)width;
    principal[1] = 0.5 * (double)height;
    wire_numbers(faults, object, at, "principal_px", (struct wire_range){-1e6, 1e6, 2}, principal);
    refuse_coefficients(faults, object, at);
    *out = (struct camera){.model = CAMERA_PINHOLE,
                           .width_px = (int32_t)width,
                           .height_px = (int32_t)height,
                           .focal_px = {(float)focal[0], (float)focal[1]},
                           .principal_px = {(float)principal[0], (float)principal[1]}};
}

void wire_camera(struct wire_faults *faults, const json_t *object, const char *at,
                 struct camera *out) {
    static const char *const known[] = {"model",
                                        "width_px",
                                        "height_px",
                                        "principal_px",
                                        "focal_px",
                                        "radial_k",
                                        "tangential_p",
                                        "thin_prism_s",
                                        "shutter",
                                        "windshield",
                                        "max_angle_rad",
                                        "reference",
                                        "linear_cde",
                                        "angle_to_pixel_poly",
                                        "pixel_to_angle_poly",
                                        NULL};
    static const char *const models[] = {"pinhole", "fisheye", "ftheta", NULL};
    static const char *const shutters[] = {"global",
                                           "rolling_top_to_bottom",
                                           "rolling_left_to_right",
                                           "rolling_bottom_to_top",
                                           "rolling_right_to_left",
                                           NULL};
    int32_t model = 0, shutter = 0;
    if (!wire_members(faults, object, at, known)) return;
    if (json_object_get(object, "model") == NULL) wire_fault(faults, at, "model", "is missing");
    wire_choice(faults, object, at, "model", models, &model);
    wire_choice(faults, object, at, "shutter", shutters, &shutter);
    if (model != 0) {
        wire_unsupported(faults, at, "model", models[model],
                         "%s lenses are not drawn in this version", models[model]);
        return;
    }
    if (shutter != 0) {
        wire_unsupported(faults, at, "shutter", "rolling_shutter",
                         "rolling shutters are not drawn in this version");
    }
    const json_t *windshield = json_object_get(object, "windshield");
    if (windshield != NULL && !json_is_null(windshield)) {
        wire_unsupported(faults, at, "windshield", "windshield",
                         "windshields are not drawn in this version");
    }
    read_pinhole(faults, object, at, out);
}

/* -- outputs --------------------------------------------------------------------------------------
 */

static void read_output(struct wire_faults *faults, const json_t *item, size_t i,
                        struct view *view) {
    static const char *const later[] = {"normal", "boxes"};
    static const char *const layers[] = {"semantic", "track_id"};
    char index[24];
    snprintf(index, sizeof index, "%zu", i);
    const char *name = json_string_value(item);
    if (name == NULL) {
        wire_fault(faults, "/outputs", index, "must be the name of an output");
        return;
    }
    for (int k = 0; k < 2; k++) {
        if (strcmp(name, later[k]) == 0) {
            wire_unsupported(faults, "/outputs", index, later[k],
                             "output \"%s\" is not drawn in this version", name);
            return;
        }
        if (strcmp(name, layers[k]) == 0) {
            wire_refuse(faults, PROBLEM_OUTPUT_NOT_AVAILABLE, "/outputs", index,
                        "the scene has no layer \"%s\"", name);
            return;
        }
    }
    int32_t output = 0;
    const json_t *holder = json_pack("{s:O}", index, (json_t *)item);
    bool is_known = wire_choice(faults, holder, "/outputs", index, view_output_names, &output);
    json_decref((json_t *)holder);
    for (int32_t k = 0; is_known && k < view->n_outputs; k++) {
        if ((int32_t)view->outputs[k] == output) {
            wire_fault(faults, "/outputs", index, "\"%s\" is listed twice", name);
            return;
        }
    }
    if (is_known) view->outputs[view->n_outputs++] = (enum view_output)output;
}

static void read_outputs(struct wire_faults *faults, const json_t *body, struct view *view) {
    const json_t *list = json_object_get(body, "outputs");
    if (list == NULL || json_is_null(list)) return;
    if (!json_is_array(list) || json_array_size(list) == 0 || json_array_size(list) > 8) {
        wire_fault(faults, "", "outputs", "must be an array of 1...8 names");
        return;
    }
    view->n_outputs = 0;
    for (size_t i = 0; i < json_array_size(list) && view->n_outputs < VIEW_N_OUTPUTS; i++) {
        read_output(faults, json_array_get(list, i), i, view);
    }
}

static void check_visual(struct wire_faults *faults, const char *at, const struct view *view) {
    if (view->colormap < 0) return;
    if (!(view->visual_max > view->visual_min)) {
        wire_fault(faults, at, NULL, "max must be above min");
    } else if (view->visual_log && !(view->visual_min > 0.0)) {
        wire_fault(faults, at, NULL, "with log, min must be above 0");
    }
}

static void read_visual(struct wire_faults *faults, const json_t *body, struct view *view) {
    static const char *const known[] = {"colormap", "min", "max", "log", NULL};
    const json_t *visual = json_object_get(body, "visual");
    if (visual == NULL || json_is_null(visual)) return;
    if (!wire_members(faults, visual, "/visual", known)) return;
    view->colormap = COLORMAP_TURBO;
    wire_choice(faults, visual, "/visual", "colormap", colormap_names, &view->colormap);
    wire_number(faults, visual, "/visual", "min", (struct wire_range){-1e9, 1e9, 1},
                &view->visual_min);
    wire_number(faults, visual, "/visual", "max", (struct wire_range){-1e9, 1e9, 1},
                &view->visual_max);
    wire_bool(faults, visual, "/visual", "log", &view->visual_log);
    check_visual(faults, "/visual", view);
}

static void read_picture(struct wire_faults *faults, const json_t *body, struct view *view) {
    static const char *const depths[] = {"expected", "median", NULL};
    int32_t depth = 0, format = 0;
    int64_t quality = view->quality, sh_degree = view->sh_degree;
    read_outputs(faults, body, view);
    wire_choice(faults, body, "", "depth", depths, &depth);
    view->depth_median = depth == 1;
    view->has_format = wire_choice(faults, body, "", "format", view_format_names, &format);
    view->format = (enum view_format)format;
    wire_int(faults, body, "", "quality", (struct wire_range){1, 100, 1}, &quality);
    view->quality = (int32_t)quality;
    wire_number(faults, body, "", "depth_per_m", (struct wire_range){1.0, 1000.0, 1},
                &view->depth_per_m);
    read_visual(faults, body, view);
    wire_number(faults, body, "", "near_m", (struct wire_range){1e-3, 10.0, 1}, &view->near_m);
    wire_int(faults, body, "", "sh_degree", (struct wire_range){0, RT_MAX_SH_DEGREE, 1},
             &sh_degree);
    view->sh_degree = (int32_t)sh_degree;
    wire_int(faults, body, "", "timeout_ms", (struct wire_range){1, 600000, 1}, &view->timeout_ms);
}

static void read_background(struct wire_faults *faults, const json_t *body, struct view *view) {
    const json_t *value = json_object_get(body, "background");
    if (value == NULL || json_is_null(value)) return;
    if (json_is_string(value) && strcmp(json_string_value(value), "sky") == 0) return;
    double rgb[3];
    if (!json_is_array(value)) {
        wire_fault(faults, "", "background", "must be \"sky\" or [r,g,b] in 0...1");
    } else if (wire_numbers(faults, body, "", "background", (struct wire_range){0.0, 1.0, 3},
                            rgb)) {
        view->has_background = true;
        for (int c = 0; c < 3; c++) view->background[c] = (float)rgb[c];
    }
}

/* -- members that only have their defaults in this version -- */

static void refuse_list(struct wire_faults *faults, const json_t *body, const char *name) {
    const json_t *list = json_object_get(body, name);
    if (list == NULL || json_is_null(list)) return;
    if (!json_is_array(list)) {
        wire_fault(faults, "", name, "must be an array");
    } else if (json_array_size(list) > 0) {
        wire_unsupported(faults, "", name, name, "not in this version; leave it empty");
    }
}

static void refuse_choice(struct wire_faults *faults, const json_t *body, const char *name,
                          const char *const *names, uint32_t served) {
    int32_t choice = 0;
    if (!wire_choice(faults, body, "", name, names, &choice)) return;
    if ((served >> choice & 1u) == 0) {
        wire_unsupported(faults, "", name, name, "\"%s\" is not in this version", names[choice]);
    }
}

static void refuse_later(struct wire_faults *faults, const json_t *body) {
    static const char *const actors[] = {"recorded", "listed", "none", NULL};
    static const char *const exposures[] = {"mean", "recorded", NULL};
    static const char *const projections[] = {"auto", "ewa", "unscented", NULL};
    static const char *const precisions[] = {"auto", "exact", "fast", NULL};
    static const char *const devices[] = {"auto", "cpu", NULL};
    refuse_list(faults, body, "dynamic_objects");
    refuse_list(faults, body, "edits");
    refuse_choice(faults, body, "actors", actors, 7); /* without actors all mean the same */
    refuse_choice(faults, body, "exposure", exposures, 1);
    refuse_choice(faults, body, "projection", projections, 3);
    refuse_choice(faults, body, "precision", precisions, 3);
    refuse_choice(faults, body, "device", devices, 3);
    const json_t *mask = json_object_get(body, "ego_mask");
    if (mask != NULL && !json_is_null(mask)) {
        wire_unsupported(faults, "", "ego_mask", "ego_mask", "not in this version");
    }
}

/* -- where and when -------------------------------------------------------------------------------
 */

static void read_size(struct wire_faults *faults, const json_t *body, struct view *view) {
    double size[2], crop[4];
    static const char *const names[] = {"size_px", "crop_px"};
    double *values[] = {size, crop};
    for (int k = 0; k < 2; k++) {
        int32_t n = k == 0 ? 2 : 4, before = faults->n_faults;
        const json_t *list = json_object_get(body, names[k]);
        if (!wire_numbers(faults, body, "", names[k], (struct wire_range){0.0, 1e9, n}, values[k]))
            continue;
        for (int32_t i = 0; i < n; i++) {
            char at[32], index[8];
            snprintf(at, sizeof at, "/%s", names[k]);
            snprintf(index, sizeof index, "%d", i);
            bool is_side = k == 0 || i >= 2;
            if (!json_is_integer(json_array_get(list, (size_t)i))) {
                wire_fault(faults, at, index, "must be an integer; %g is written as a real number",
                           values[k][i]);
            } else if (is_side && values[k][i] < 1.0) {
                wire_fault(faults, at, index, "must be at least 1");
            } else if (values[k][i] > RT_MAX_SIDE_PX) {
                wire_refuse(faults, PROBLEM_LIMIT_EXCEEDED, at, index, "%g is above %d",
                            values[k][i], RT_MAX_SIDE_PX);
            }
        }
        if (faults->n_faults != before) continue;
        int32_t *out = k == 0 ? view->size_px : view->crop_px;
        for (int32_t i = 0; i < n; i++) out[i] = (int32_t)values[k][i];
    }
}

static void read_pose_members(struct wire_faults *faults, const json_t *body, struct view *view) {
    struct pose start, end;
    bool has_rig = wire_pose_pair(faults, body, "", "T_world_rig", &start, &end);
    if (has_rig) view->pose = VIEW_POSE_RIG;
    if (wire_pose_pair(faults, body, "", "T_world_sensor", &view->T_given_start,
                       &view->T_given_end)) {
        view->pose = VIEW_POSE_SENSOR; /* the first present one counts */
    } else if (has_rig) {
        view->T_given_start = start;
        view->T_given_end = end;
    }
    view->has_offset = wire_pose(faults, body, "", "rig_offset", &view->rig_offset);
    if (view->has_offset && view->pose == VIEW_POSE_SENSOR) {
        wire_fault(faults, "", "rig_offset", "does not go with T_world_sensor");
    }
}

static void read_sensor(struct wire_faults *faults, const json_t *body, struct view *view) {
    const char *sensor = NULL;
    if (wire_string(faults, body, "", "sensor", 64, &sensor)) {
        if (!id_is_valid(sensor, true)) wire_fault(faults, "", "sensor", "is no sensor id");
        snprintf(view->sensor, sizeof view->sensor, "%s", sensor);
    }
    const json_t *camera = json_object_get(body, "camera");
    if (camera != NULL && !json_is_null(camera)) {
        view->has_camera = true;
        wire_camera(faults, camera, "/camera", &view->camera);
    }
    bool has_fov = wire_number(faults, body, "", "fov_y_deg", (struct wire_range){0.1, 179.0, 1},
                               &view->fov_y_deg);
    if (has_fov && (view->has_camera || view->sensor[0] != '\0')) {
        wire_fault(faults, "", "fov_y_deg", "goes without sensor and camera");
    }
    if (faults->n_faults == 0 && !has_fov && !view->has_camera && view->sensor[0] == '\0') {
        wire_fault(faults, "", NULL, "one of sensor, camera, fov_y_deg is needed");
    }
}

static const char *const view_members[] = {
    "sensor",   "camera",         "fov_y_deg",   "size_px",    "crop_px",    "t_us",
    "t_end_us", "T_world_sensor", "T_world_rig", "rig_offset", "actors",     "dynamic_objects",
    "edits",    "outputs",        "depth",       "format",     "quality",    "depth_per_m",
    "visual",   "ego_mask",       "background",  "exposure",   "projection", "precision",
    "near_m",   "sh_degree",      "device",      "timeout_ms", NULL};

static const int64_t max_us = 9007199254740991;

void wire_view_from_json(struct wire_faults *faults, const json_t *body, struct view *view) {
    if (!wire_members(faults, body, "", view_members)) return;
    read_sensor(faults, body, view);
    read_size(faults, body, view);
    read_pose_members(faults, body, view);
    view->has_t_us = wire_int(faults, body, "", "t_us",
                              (struct wire_range){-(double)max_us, (double)max_us, 1}, &view->t_us);
    int64_t t_end_us = 0;
    bool has_end = wire_int(faults, body, "", "t_end_us",
                            (struct wire_range){-(double)max_us, (double)max_us, 1}, &t_end_us);
    if (has_end && (!view->has_t_us || t_end_us <= view->t_us)) {
        wire_fault(faults, "", "t_end_us", "must be after t_us");
    }
    read_picture(faults, body, view);
    read_background(faults, body, view);
    refuse_later(faults, body);
    bool has_scalar = false;
    for (int32_t i = 0; i < view->n_outputs; i++) has_scalar |= view->outputs[i] != VIEW_RGB;
    if (view->has_format && view->format == VIEW_JPEG && has_scalar && view->colormap < 0) {
        wire_fault(faults, "", "visual", "a scalar output as JPEG needs it");
    }
    if (view->has_format && view->format >= VIEW_NPY && view->colormap >= 0) {
        wire_fault(faults, "", "visual", "goes with png, jpeg and raw; npy holds the values");
    }
}
