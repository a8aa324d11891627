#include "render/io/image_file.h"

#include <string.h>

#include "render/core/limits.h"
#include "render/io/file_atomic.h"
#include "render/io/image_codec.h"

enum { MAX_IMAGE_BYTES = 1 << 30, HEAD_BYTES = 256 * 1024 };

enum rt_status image_check_size(const char *format, int64_t width_px, int64_t height_px,
                                struct rt_error *err) {
    if (width_px < 1 || height_px < 1) {
        return rt_fail_file(err, "bad-value", -1, "%s of %lld x %lld px: sides must be > 0", format,
                            (long long)width_px, (long long)height_px);
    }
    if (width_px > RT_MAX_SIDE_PX || height_px > RT_MAX_SIDE_PX ||
        width_px * height_px > RT_MAX_PIXELS) {
        return rt_fail_file(
            err, "limit", -1, "%s of %lld x %lld px: sides must be <= %d and %d px in all", format,
            (long long)width_px, (long long)height_px, RT_MAX_SIDE_PX, RT_MAX_PIXELS);
    }
    return RT_OK;
}

static enum rt_status decode(struct byte_span source, bool header_only, struct image *out,
                             struct rt_error *err) {
    memset(out, 0, sizeof *out);
    if (image_is_png(source)) return image_decode_png(source, header_only, out, err);
    if (image_is_jpeg(source)) return image_decode_jpeg(source, header_only, out, err);
    if (source.n_bytes == 0) return rt_fail_file(err, "empty", 0, "picture of 0 bytes");
    return rt_fail_file(err, "bad-magic", 0, "neither PNG nor JPEG");
}

enum rt_status image_decode(const void *bytes, size_t n_bytes, struct image *out,
                            struct rt_error *err) {
    struct byte_span source = {.bytes = bytes, .n_bytes = n_bytes};
    return decode(source, false, out, err);
}

static enum rt_status decode_file(const char *path, bool header_only, struct image *out,
                                  struct rt_error *err) {
    struct rt_bytes bytes = {0};
    RT_TRY(file_read(path, MAX_IMAGE_BYTES, &bytes, err));
    struct byte_span source = {.bytes = bytes.bytes, .n_bytes = bytes.n_bytes};
    enum rt_status status = decode(source, header_only, out, err);
    rt_bytes_free(&bytes);
    return status == RT_OK ? RT_OK : rt_prefix(err, status, "%.200s", path_base(path));
}

enum rt_status image_read(const char *path, struct image *out, struct rt_error *err) {
    memset(out, 0, sizeof *out);
    return decode_file(path, false, out, err);
}

enum rt_status image_probe(const char *path, struct image *shape, struct rt_error *err) {
    memset(shape, 0, sizeof *shape);
    struct rt_bytes head = {0};
    size_t file_bytes = 0;
    RT_TRY(file_read_head(path, HEAD_BYTES, &head, &file_bytes, err));
    struct byte_span source = {.bytes = head.bytes, .n_bytes = head.n_bytes};
    bool is_whole = head.n_bytes == file_bytes;
    enum rt_status status = decode(source, true, shape, err);
    rt_bytes_free(&head);
    /* Large metadata may push the frame header of a JPEG beyond the head. */
    if (status != RT_OK && !is_whole) return decode_file(path, true, shape, err);
    return status == RT_OK ? RT_OK : rt_prefix(err, status, "%.200s", path_base(path));
}

enum rt_status image_write(const char *path, const struct image *image, struct rt_error *err) {
    struct rt_bytes bytes = {0};
    if (path_ends(path, ".png")) {
        RT_TRY(image_encode_png(image, &bytes, err));
    } else if (path_ends(path, ".jpg") || path_ends(path, ".jpeg")) {
        RT_TRY(image_encode_jpeg(image, 95, &bytes, err));
    } else if (path_ends(path, ".npy")) {
        RT_TRY(image_encode_npy(image, &bytes, err));
    } else {
        return rt_fail(err, RT_INVALID, "%.200s: the name must end in .png, .jpg or .npy",
                       path_base(path));
    }
    enum rt_status status = file_write_atomic(path, bytes.bytes, bytes.n_bytes, err);
    rt_bytes_free(&bytes);
    return status;
}
