/* Point clouds from PLY files: initial points of a recording (formats.md 6.4).
 *
 *     struct ply_points points = {0};
 *     RT_TRY(ply_points_read("points3D.ply", &points, err));
 *     vec3 p = vec3_load(points.xyz + 3 * i);
 *     ply_points_free(&points);
 *
 * Points with a non-finite coordinate are left out and counted. Errors as in splat_file.h. */
#ifndef RETAKE_RENDER_IO_PLY_POINTS_H
#define RETAKE_RENDER_IO_PLY_POINTS_H

#include <stddef.h>
#include <stdint.h>

#include "render/core/status.h"

struct ply_points {
    int32_t n_points;
    float *xyz;        /* owned [n_points][3] */
    uint8_t *rgb;      /* owned [n_points][3] sRGB, or NULL without `red green blue` */
    int32_t n_dropped; /* non-finite points */
};

/* `red green blue` may be whole numbers 0...255 or floats 0...1. */
enum rt_status ply_points_read(const char *path, struct ply_points *out, struct rt_error *err);
enum rt_status ply_points_parse(const void *bytes, size_t n_bytes, struct ply_points *out,
                                struct rt_error *err);
void ply_points_free(struct ply_points *points);

#endif
