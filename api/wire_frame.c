/* The query of a frame URL, and Accept. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/colormap.h"
#include "api/wire_view.h"

static void read_at(struct wire_faults *faults, const char *at, struct view *view) {
    bool is_index = at[0] == 'f';
    const char *digits = is_index ? at + 1 : at;
    bool is_negative = !is_index && digits[0] == '-';
    size_t n = strspn(digits + is_negative, "0123456789");
    errno = 0;
    long long value = strtoll(digits, NULL, 10);
    bool is_right = n > 0 && n <= 16 && digits[n + is_negative] == '\0' && errno == 0;
    if (!is_right || (is_index && value > RT_MAX_FRAMES)) {
        wire_fault(faults, "/at", NULL, "\"%.40s\" must be a time in us or f and a frame index",
                   at);
        return;
    }
    if (is_index) {
        view->i_frame = (int32_t)value;
    } else {
        view->has_t_us = true;
        view->t_us = value;
    }
}

static void read_offset(struct wire_faults *faults, struct http_exchange *x, struct view *view) {
    static const char *const names[] = {"dx_m", "dy_m", "dz_m"};
    double t[3] = {0}, yaw_deg = 0;
    for (int i = 0; i < 3; i++) wire_query_number(faults, x, names[i], -1e6, 1e6, &t[i]);
    wire_query_number(faults, x, "yaw_deg", -360.0, 360.0, &yaw_deg);
    view->has_offset = t[0] != 0.0 || t[1] != 0.0 || t[2] != 0.0 || yaw_deg != 0.0;
    double half = yaw_deg * (3.14159265358979323846 / 360.0); /* about z, which is up */
    view->rig_offset = pose_make(quat_make((float)cos(half), 0.0f, 0.0f, (float)sin(half)),
                                 vec3_make((float)t[0], (float)t[1], (float)t[2]));
}

static void read_background(struct wire_faults *faults, struct http_exchange *x,
                            struct view *view) {
    const char *text = http_query(x, "background");
    if (text == NULL || strcmp(text, "sky") == 0) return;
    char *end = NULL;
    for (int c = 0; c < 3; c++) {
        double value = strtod(text, &end);
        bool is_right = end != text && value >= 0.0 && value <= 1.0 && *end == (c < 2 ? ',' : '\0');
        if (!is_right) {
            wire_fault(faults, "?background", NULL, "must be sky or r,g,b in 0...1");
            return;
        }
        view->background[c] = (float)value;
        text = end + 1;
    }
    view->has_background = true;
}

static void read_visual(struct wire_faults *faults, struct http_exchange *x, struct view *view) {
    bool is_scalar = view->outputs[0] != VIEW_RGB;
    bool has_map = wire_query_choice(faults, x, "colormap", colormap_names, &view->colormap);
    if (!has_map && is_scalar && view->format == VIEW_JPEG) view->colormap = COLORMAP_TURBO;
    wire_query_number(faults, x, "min", -1e9, 1e9, &view->visual_min);
    wire_query_number(faults, x, "max", -1e9, 1e9, &view->visual_max);
    wire_query_bool(faults, x, "log", &view->visual_log);
    if (!is_scalar) view->colormap = -1; /* a colour picture needs no map */
    if (view->colormap >= 0 && !(view->visual_max > view->visual_min)) {
        wire_fault(faults, "?max", NULL, "must be above min");
    }
    if (view->colormap >= 0 && view->visual_log && !(view->visual_min > 0.0)) {
        wire_fault(faults, "?min", NULL, "must be above 0 with log");
    }
    if (view->colormap >= 0 && view->format >= VIEW_NPY) {
        wire_fault(faults, "?colormap", NULL, "goes with png, jpg and raw");
    }
}

static void read_output(struct wire_faults *faults, struct http_exchange *x, struct view *view) {
    static const char *const depths[] = {"expected", "median", NULL};
    const char *text = http_query(x, "output");
    int32_t output = 0, depth = 0;
    bool is_later = text != NULL && (strcmp(text, "normal") == 0);
    bool is_layer = text != NULL && (strcmp(text, "semantic") == 0 || !strcmp(text, "track_id"));
    if (is_later) {
        wire_unsupported(faults, "?output", NULL, "normal", "is not drawn in this version");
    } else if (is_layer) {
        wire_refuse(faults, PROBLEM_OUTPUT_NOT_AVAILABLE, "?output", NULL,
                    "the scene has no such layer");
    } else if (wire_query_choice(faults, x, "output", view_output_names, &output)) {
        view->outputs[0] = (enum view_output)output;
    }
    wire_query_choice(faults, x, "depth", depths, &depth);
    view->depth_median = depth == 1;
}

static void refuse_later(struct wire_faults *faults, struct http_exchange *x) {
    static const char *const names[] = {"edits", "ego_mask"};
    static const char *const exposures[] = {"mean", "recorded", NULL};
    static const char *const projections[] = {"auto", "ewa", "unscented", NULL};
    static const char *const precisions[] = {"auto", "exact", "fast", NULL};
    for (int i = 0; i < 2; i++) {
        char pointer[32];
        snprintf(pointer, sizeof pointer, "?%s", names[i]);
        const char *text = http_query(x, names[i]);
        if (text != NULL && text[0] != '\0') {
            wire_unsupported(faults, pointer, NULL, names[i], "is not in this version");
        }
    }
    int32_t choice = 0;
    if (wire_query_choice(faults, x, "exposure", exposures, &choice) && choice == 1) {
        wire_unsupported(faults, "?exposure", NULL, "exposure", "recorded is not in this version");
    }
    if (wire_query_choice(faults, x, "projection", projections, &choice) && choice == 2) {
        wire_unsupported(faults, "?projection", NULL, "projection",
                         "unscented is not in this version");
    }
    if (wire_query_choice(faults, x, "precision", precisions, &choice) && choice == 2) {
        wire_unsupported(faults, "?precision", NULL, "precision", "fast is not in this version");
    }
}

static void read_extension(struct wire_faults *faults, const char *ext, struct view *view) {
    static const enum view_format formats[] = {VIEW_PNG, VIEW_JPEG, VIEW_RAW, VIEW_NPY};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (strcmp(ext, view_format_extension(formats[i])) == 0) {
            view->format = formats[i];
            view->has_format = true;
        }
    }
    if (!view->has_format) {
        wire_refuse(faults, PROBLEM_NOT_FOUND, "/ext", NULL,
                    "frames are .png, .jpg, .npy and .raw, not .%.20s", ext);
    }
}

void wire_view_from_query(struct wire_faults *faults, struct http_exchange *x, struct view *view) {
    static const char *const known[] = {
        "view",       "output", "w",           "h",          "dx_m",       "dy_m",    "dz_m",
        "yaw_deg",    "edits",  "exposure",    "projection", "precision",  "quality", "colormap",
        "min",        "max",    "log",         "ego_mask",   "background", "gain",    "v",
        "timeout_ms", "depth",  "depth_per_m", "near_m",     "sh_degree",  "timing",  NULL};
    wire_query_members(faults, x, known);
    snprintf(view->sensor, sizeof view->sensor, "%s", http_param(x, "sensor"));
    if (!id_is_valid(view->sensor, true)) {
        wire_refuse(faults, PROBLEM_NOT_FOUND, "/sensor", NULL, "is no sensor id");
    }
    read_at(faults, http_param(x, "at"), view);
    read_extension(faults, http_param(x, "ext"), view);
    int64_t width = 0, height = 0, quality = view->quality, sh_degree = view->sh_degree;
    wire_query_int(faults, x, "w", 1, RT_MAX_SIDE_PX, &width);
    wire_query_int(faults, x, "h", 1, RT_MAX_SIDE_PX, &height);
    view->size_px[0] = (int32_t)width;
    view->size_px[1] = (int32_t)height;
    wire_query_int(faults, x, "quality", 1, 100, &quality);
    view->quality = (int32_t)quality;
    wire_query_int(faults, x, "sh_degree", 0, RT_MAX_SH_DEGREE, &sh_degree);
    view->sh_degree = (int32_t)sh_degree;
    wire_query_number(faults, x, "near_m", 1e-3, 10.0, &view->near_m);
    wire_query_number(faults, x, "depth_per_m", 1.0, 1000.0, &view->depth_per_m);
    wire_query_int(faults, x, "timeout_ms", 1, 600000, &view->timeout_ms);
    read_offset(faults, x, view);
    read_output(faults, x, view);
    read_visual(faults, x, view);
    read_background(faults, x, view);
    refuse_later(faults, x);
}

/* -- Accept ---------------------------------------------------------------------------------------
 */

/* Quality of one media range for a type, -1 when it does not match. */
static double range_quality(const char *range, size_t n, const char *type) {
    size_t n_type = 0;
    while (n_type < n && range[n_type] != ';' && range[n_type] != ' ') n_type++;
    const char *slash = strchr(type, '/');
    size_t n_major = (size_t)(slash - type) + 1;
    bool is_any = n_type == 3 && strncmp(range, "*/*", 3) == 0;
    bool is_major =
        n_type == n_major + 1 && range[n_major] == '*' && strncasecmp(range, type, n_major) == 0;
    bool is_same = n_type == strlen(type) && strncasecmp(range, type, n_type) == 0;
    if (!is_any && !is_major && !is_same) return -1.0;
    const char *q = n_type < n ? strstr(range + n_type, "q=") : NULL;
    return q != NULL && q < range + n ? strtod(q + 2, NULL) : 1.0;
}

static double accepted_quality(const char *accept, const char *type) {
    double best = -1.0;
    while (*accept != '\0') {
        accept += strspn(accept, " ,\t");
        size_t n = strcspn(accept, ",");
        double quality = n > 0 ? range_quality(accept, n, type) : -1.0;
        if (quality > best) best = quality;
        accept += n;
    }
    return best;
}

bool wire_negotiate(const char *accept, enum view_format *format) {
    static const struct {
        const char *type;
        enum view_format format;
    } offers[] = {{"image/png", VIEW_PNG},
                  {"image/jpeg", VIEW_JPEG},
                  {"application/x-npy", VIEW_NPY},
                  {"application/octet-stream", VIEW_RAW},
                  {"application/zip", VIEW_PNG}};
    *format = VIEW_PNG;
    /* `curl --json` sends this alone; it asks for no picture format. */
    if (accept == NULL || strcmp(accept, "application/json") == 0) return true;
    double best = 0.0;
    for (size_t i = 0; i < sizeof offers / sizeof offers[0]; i++) {
        double quality = accepted_quality(accept, offers[i].type);
        if (quality > best) {
            best = quality;
            *format = offers[i].format;
        }
    }
    return best > 0.0;
}
