#include <string.h>

#include "recon/formats/colmap.h"
#include "recon/formats/points_file.h"

/* Smallest records: a camera with two parameters; an image with an empty name and no points; a
 * point without a track. */
enum { CAMERA_BYTES = 24 + 2 * 8, IMAGE_BYTES = 64 + 1 + 8, POINT_BYTES = 8 + 24 + 3 + 8 + 8 };

/* Everything is read through one cursor; a read beyond the end fails. */
struct cursor {
    const unsigned char *at;
    const unsigned char *end;
    const unsigned char *begin;
};

static struct cursor cursor_make(const void *bytes, size_t n_bytes) {
    const unsigned char *begin = bytes;
    return (struct cursor){.at = begin, .end = begin + n_bytes, .begin = begin};
}

static enum rt_status truncated(const struct cursor *cursor, uint64_t wanted,
                                struct rt_error *err) {
    return rt_fail_file(err, "truncated", (int64_t)(cursor->at - cursor->begin),
                        "%llu bytes expected at byte %lld, %lld are there",
                        (unsigned long long)wanted, (long long)(cursor->at - cursor->begin),
                        (long long)(cursor->end - cursor->at));
}

static enum rt_status skip(struct cursor *cursor, uint64_t n, struct rt_error *err) {
    if (n > (uint64_t)(cursor->end - cursor->at)) return truncated(cursor, n, err);
    cursor->at += n;
    return RT_OK;
}

/* The machine is little-endian like the files (x86-64, aarch64). */
static enum rt_status take(struct cursor *cursor, void *out, size_t n, struct rt_error *err) {
    const unsigned char *from = cursor->at;
    RT_TRY(skip(cursor, n, err));
    memcpy(out, from, n);
    return RT_OK;
}

static enum rt_status take_count(struct cursor *cursor, uint64_t record_bytes, uint64_t *n,
                                 struct rt_error *err) {
    RT_TRY(take(cursor, n, sizeof *n, err));
    uint64_t left = (uint64_t)(cursor->end - cursor->at);
    if (*n <= left / record_bytes) return RT_OK;
    return rt_fail_file(
        err, "count-too-large", (int64_t)(cursor->at - cursor->begin) - 8,
        "%llu records of at least %llu bytes cannot be in the %llu bytes that follow",
        (unsigned long long)*n, (unsigned long long)record_bytes, (unsigned long long)left);
}

static enum rt_status must_be_at_end(const struct cursor *cursor, struct rt_error *err) {
    if (cursor->at == cursor->end) return RT_OK;
    return rt_fail_file(err, "bad-value", (int64_t)(cursor->at - cursor->begin),
                        "%lld bytes after the last record", (long long)(cursor->end - cursor->at));
}

enum rt_status colmap_cameras_bin(struct colmap *colmap, const void *bytes, size_t n_bytes,
                                  struct rt_error *err) {
    struct cursor cursor = cursor_make(bytes, n_bytes);
    uint64_t n = 0;
    RT_TRY(take_count(&cursor, CAMERA_BYTES, &n, err));
    for (uint64_t i = 0; i < n; i++) {
        struct colmap_camera camera = {0};
        RT_TRY(take(&cursor, &camera.id, 4, err));
        RT_TRY(take(&cursor, &camera.model, 4, err));
        RT_TRY(take(&cursor, &camera.width, 8, err));
        RT_TRY(take(&cursor, &camera.height, 8, err));
        int32_t n_parameters = colmap_n_parameters(camera.model);
        if (n_parameters > 0) {
            RT_TRY(take(&cursor, camera.parameters, 8 * (size_t)n_parameters, err));
        }
        RT_TRY(colmap_add_camera(colmap, &camera, err));
    }
    return must_be_at_end(&cursor, err);
}

enum rt_status colmap_images_bin(struct colmap *colmap, const void *bytes, size_t n_bytes,
                                 struct rt_error *err) {
    struct cursor cursor = cursor_make(bytes, n_bytes);
    uint64_t n = 0;
    RT_TRY(take_count(&cursor, IMAGE_BYTES, &n, err));
    for (uint64_t i = 0; i < n; i++) {
        struct colmap_image image;
        uint64_t n_points = 0;
        RT_TRY(skip(&cursor, 4, err)); /* image id */
        RT_TRY(take(&cursor, image.q_wxyz, sizeof image.q_wxyz, err));
        RT_TRY(take(&cursor, image.t, sizeof image.t, err));
        RT_TRY(take(&cursor, &image.camera_id, 4, err));
        image.name = (const char *)cursor.at;
        const unsigned char *nul = memchr(cursor.at, 0, (size_t)(cursor.end - cursor.at));
        if (!nul) {
            return rt_fail_file(err, "truncated", (int64_t)(cursor.at - cursor.begin),
                                "the name of image %llu does not end", (unsigned long long)i);
        }
        cursor.at = nul + 1;
        RT_TRY(take_count(&cursor, 24, &n_points, err));
        RT_TRY(skip(&cursor, 24 * n_points, err));
        RT_TRY(colmap_add_image(colmap, &image, err));
    }
    return must_be_at_end(&cursor, err);
}

enum rt_status colmap_points_bin(struct colmap *colmap, const void *bytes, size_t n_bytes,
                                 struct rt_error *err) {
    struct cursor cursor = cursor_make(bytes, n_bytes);
    uint64_t n = 0;
    RT_TRY(take_count(&cursor, POINT_BYTES, &n, err));
    if (n > RT_MAX_GAUSSIANS) {
        return rt_fail_file(err, "limit", 0, "%llu points: at most %d are read",
                            (unsigned long long)n, RT_MAX_GAUSSIANS);
    }
    RT_TRY(points_reserve(&colmap->reader->recording->points, (int64_t)n, err));
    for (uint64_t i = 0; i < n; i++) {
        struct colmap_point point;
        uint64_t n_track = 0;
        RT_TRY(skip(&cursor, 8, err)); /* point id */
        RT_TRY(take(&cursor, point.xyz, sizeof point.xyz, err));
        RT_TRY(take(&cursor, point.rgb, sizeof point.rgb, err));
        RT_TRY(skip(&cursor, 8, err)); /* reprojection error */
        RT_TRY(take_count(&cursor, 8, &n_track, err));
        RT_TRY(skip(&cursor, 8 * n_track, err));
        colmap_add_point(colmap, &point);
    }
    return must_be_at_end(&cursor, err);
}
