#include "render/io/splat_file.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/io/file_atomic.h"
#include "render/io/ply_header.h"
#include "render/io/splat_detect.h"
#include "render/io/splat_format.h"

static const size_t MAX_FILE_BYTES = (size_t)1 << 36;

float splat_logit(float opacity) {
    if (opacity <= 0.0f) return -INFINITY;
    if (opacity >= 1.0f) return INFINITY;
    return logf(opacity / (1.0f - opacity));
}

enum rt_status splat_warn(struct splat_file *file, struct rt_error *err, const char *format, ...) {
    char text[RT_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *copy = strdup(text);
    char **grown =
        copy ? realloc(file->warnings, ((size_t)file->n_warnings + 1) * sizeof *grown) : NULL;
    if (!grown) {
        free(copy);
        return rt_fail(err, RT_NO_MEMORY, "warning: out of memory");
    }
    file->warnings = grown;
    file->warnings[file->n_warnings++] = copy;
    return RT_OK;
}

void splat_file_free(struct splat_file *file) {
    for (int32_t i = 0; i < file->n_warnings; i++) free(file->warnings[i]);
    free(file->warnings);
    gaussians_destroy(&file->gaussians);
    memset(file, 0, sizeof *file);
}

static enum rt_status warn_report(struct splat_file *file, struct rt_error *err) {
    const struct gaussians_report *report = &file->report;
    if (report->n_dropped > 0) {
        RT_TRY(splat_warn(file, err,
                          "%d splats with non-finite or absurd position, scale or opacity dropped",
                          report->n_dropped));
    }
    if (report->n_opacity_clamped > 0) {
        RT_TRY(splat_warn(file, err, "%d splats with an opacity logit beyond +-20 kept as +-20",
                          report->n_opacity_clamped));
    }
    if (report->n_zero_quat > 0) {
        RT_TRY(splat_warn(file, err, "%d splats with a zero quaternion set to the identity",
                          report->n_zero_quat));
    }
    if (report->n_sh_zeroed > 0) {
        RT_TRY(splat_warn(file, err, "%d splats with non-finite colour coefficients set to 0",
                          report->n_sh_zeroed));
    }
    return RT_OK;
}

static enum rt_status finish(struct splat_file *file, struct rt_error *err) {
    int32_t n = file->gaussians->n_gaussians;
    struct pose unused;
    gaussians_sanitise(file->gaussians, &file->report);
    if (file->gaussians->n_gaussians == 0) {
        return rt_fail_file(err, "empty", -1, "none of the %d splats is usable", n);
    }
    /* A wrong comment must not turn the scene silently. */
    if (axes_to_pose(file->axes, &unused, err) != RT_OK) {
        return rt_fail_file(err, "bad-value", -1,
                            "retake_axes \"%.3s\": must be flu, rdf, rub or luf", file->axes);
    }
    return warn_report(file, err);
}

static enum rt_status parse_as(enum splat_kind kind, struct byte_span source,
                               struct splat_file *out, struct rt_error *err) {
    switch (kind) {
        case SPLAT_PLY:
            return splat_ply_parse(source, out, err);
        case SPLAT_ANTIMATTER:
            return splat_antimatter_parse(source, out, err);
        case SPLAT_SPZ_GZIP:
            return splat_spz_gzip_parse(source, out, err);
        case SPLAT_SPZ_ZSTD:
            return splat_spz_zstd_parse(source, out, err);
    }
    return rt_fail(err, RT_INTERNAL, "splat kind %d", (int)kind);
}

enum rt_status splat_file_parse(const void *bytes, size_t n_bytes, const char *name,
                                const char *format_hint, struct splat_file *out,
                                struct rt_error *err) {
    memset(out, 0, sizeof *out);
    struct byte_span source = {.bytes = bytes, .n_bytes = n_bytes};
    enum splat_kind kind;
    enum rt_status status = splat_detect(source, name, format_hint, &kind, err);
    if (status == RT_OK) status = parse_as(kind, source, out, err);
    if (status == RT_OK) status = finish(out, err);
    if (status == RT_OK) return RT_OK;
    splat_file_free(out);
    return name[0] ? rt_prefix(err, status, "%.200s", path_base(name)) : status;
}

enum rt_status splat_file_read(const char *path, const char *format_hint, struct splat_file *out,
                               struct rt_error *err) {
    memset(out, 0, sizeof *out);
    struct rt_bytes bytes = {0};
    RT_TRY(file_read(path, MAX_FILE_BYTES, &bytes, err));
    enum rt_status status =
        splat_file_parse(bytes.bytes, bytes.n_bytes, path, format_hint, out, err);
    rt_bytes_free(&bytes);
    return status;
}

static bool all_finite(const float *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i])) return false;
    }
    return true;
}

enum rt_status splat_check_finite(const struct gaussians *splats, struct rt_error *err) {
    size_t n = (size_t)splats->n_gaussians;
    size_t n_sh = 3 * (size_t)sh_count(splats->sh_degree);
    const char *bad = NULL;
    if (!all_finite(splats->mean, 3 * n)) bad = "position";
    if (!all_finite(splats->log_scale, 3 * n)) bad = "scale";
    if (!all_finite(splats->quat, 4 * n)) bad = "rotation";
    if (!all_finite(splats->logit_opacity, n)) bad = "opacity";
    if (!all_finite(splats->sh, n_sh * n)) bad = "colour";
    if (!bad) return RT_OK;
    return rt_fail(err, RT_DIVERGED, "a splat has a non-finite %s: not written", bad);
}

static enum rt_status encode(const char *format, const struct splat_write *what,
                             struct rt_bytes *out, struct rt_error *err) {
    if (strcmp(format, "ply") == 0) return splat_ply_encode(what, out, err);
    if (strcmp(format, "splat") == 0) return splat_antimatter_encode(what, out, err);
    if (strcmp(format, "spz") == 0) return splat_spz_encode(what, out, err);
    return rt_fail(err, RT_UNSUPPORTED, "format \"%.20s\" cannot be written: use ply, splat or spz",
                   format);
}

static void describe_loss(const char *format, const struct splat_write *what, char *text) {
    const struct gaussians *splats = what->gaussians;
    text[0] = '\0';
    if (strcmp(format, "splat") == 0) {
        snprintf(text, RT_MESSAGE_BYTES,
                 ".splat keeps no spherical harmonics (degree %d dropped), 8-bit colour, opacity "
                 "and rotation%s%s",
                 splats->sh_degree, what->antialiased ? ", no antialiasing flag" : "",
                 strcmp(what->axes, "rdf") != 0 ? ", and no axes (readers assume rdf)" : "");
    } else if (strcmp(format, "spz") == 0) {
        snprintf(text, RT_MESSAGE_BYTES,
                 ".spz rounds: positions to a fixed point, scales to 1/16, SH to %d and %d bits",
                 what->spz_sh_bits > 0 ? what->spz_sh_bits : 5,
                 what->spz_sh_bits > 0 ? what->spz_sh_bits : 4);
    }
}

enum rt_status splat_file_write(const char *path, const char *format,
                                const struct splat_write *what, char *lossy, struct rt_error *err) {
    if (lossy) lossy[0] = '\0';
    if (what->gaussians->n_gaussians == 0) {
        return rt_fail_file(err, "empty", -1, "there is no splat to write");
    }
    struct pose unused;
    RT_TRY(axes_to_pose(what->axes, &unused, err));
    RT_TRY(splat_check_finite(what->gaussians, err));
    struct rt_bytes bytes = {0};
    RT_TRY(encode(format, what, &bytes, err));
    enum rt_status status = file_write_atomic(path, bytes.bytes, bytes.n_bytes, err);
    rt_bytes_free(&bytes);
    if (status == RT_OK && lossy) describe_loss(format, what, lossy);
    return status;
}

enum rt_status axes_to_pose(const char *axes, struct pose *T_world_file, struct rt_error *err) {
    static const struct {
        const char *name;
        float q[4];
    } table[] = {{"flu", {1.0f, 0.0f, 0.0f, 0.0f}},
                 {"rdf", {0.5f, -0.5f, 0.5f, -0.5f}},
                 {"rub", {0.5f, 0.5f, -0.5f, -0.5f}},
                 {"luf", {0.5f, 0.5f, 0.5f, 0.5f}}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (axes && strcmp(axes, table[i].name) == 0) {
            *T_world_file = pose_make(quat_load(table[i].q), vec3_make(0.0f, 0.0f, 0.0f));
            return RT_OK;
        }
    }
    return rt_fail(err, RT_INVALID, "axes \"%.20s\": must be flu, rdf, rub or luf",
                   axes ? axes : "");
}
