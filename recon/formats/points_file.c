#include "recon/formats/points_file.h"

#include <stdlib.h>
#include <string.h>

#include "render/io/ply_points.h"

static const size_t MAX_FILE_BYTES = (size_t)4 << 30;
static const uint8_t GREY = 128; /* points without a colour */

enum rt_status points_reserve(struct recording_points *points, int64_t n, struct rt_error *err) {
    int64_t total = n + points->n_points;
    if (total > RT_MAX_GAUSSIANS) {
        return rt_fail_file(err, "limit", -1, "%lld initial points: at most %d are read",
                            (long long)total, RT_MAX_GAUSSIANS);
    }
    if (total == 0) return RT_OK;
    float *xyz = realloc(points->xyz, (size_t)total * 3 * sizeof *xyz);
    if (xyz) points->xyz = xyz;
    uint8_t *rgb = realloc(points->rgb, (size_t)total * 3);
    if (rgb) points->rgb = rgb;
    if (xyz && rgb) return RT_OK;
    return rt_fail(err, RT_NO_MEMORY, "%lld initial points: out of memory", (long long)total);
}

static enum rt_status add_points(struct reader *reader, const struct ply_points *source,
                                 struct rt_error *err) {
    struct recording_points *points = &reader->recording->points;
    RT_TRY(points_reserve(points, source->n_points, err));
    for (int32_t i = 0; i < source->n_points; i++) {
        size_t at = 3 * (size_t)points->n_points++;
        double p[3];
        for (size_t k = 0; k < 3; k++) p[k] = (double)source->xyz[3 * (size_t)i + k];
        vec3_store(points->xyz + at, reader_point(reader, p));
        for (size_t k = 0; k < 3; k++) {
            points->rgb[at + k] = source->rgb ? source->rgb[3 * (size_t)i + k] : GREY;
        }
    }
    return RT_OK;
}

enum rt_status points_file_read(struct reader *reader, const char *file, struct rt_error *err) {
    struct recording_finding what = {.severity = FINDING_WARNING, .file = (char *)file};
    struct rt_bytes bytes = {0};
    struct ply_points points = {0};
    while (strncmp(file, "./", 2) == 0) file += 2;
    enum rt_status status = recording_file_read(reader->folder, file, MAX_FILE_BYTES, &bytes, err);
    if (status == RT_NOT_FOUND) {
        memcpy(what.code, "missing-file", sizeof "missing-file");
        return recording_add_finding(reader->recording, &what, err,
                                     "the file of initial points is not there: random points are "
                                     "used instead");
    }
    if (status != RT_OK) return status;
    status = ply_points_parse(bytes.bytes, bytes.n_bytes, &points, err);
    if (status == RT_OK && points.n_dropped > 0) {
        status = recording_add_finding(reader->recording, &what, err,
                                       "%d points are not finite: dropped", points.n_dropped);
    }
    if (status == RT_OK) status = add_points(reader, &points, err);
    ply_points_free(&points);
    rt_bytes_free(&bytes);
    return status == RT_OK ? RT_OK : rt_prefix(err, status, "%s", file);
}
