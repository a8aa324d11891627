/* PNG (libpng), JPEG (libjpeg-turbo), NPY and raw pictures (formats.md section 7, promises.md 5).
 *
 *     struct image picture = {0};
 *     RT_TRY(image_read("0001.jpg", &picture, err));       // by content
 *     struct rt_bytes jpeg = {0};
 *     RT_TRY(image_encode_jpeg(&picture, 90, &jpeg, err));
 *
 * Readers refuse bombs before allocating (sides, pixels, chunk sizes, scans). Deterministic output:
 * equal pictures give equal bytes. */
#ifndef RETAKE_RENDER_IO_IMAGE_FILE_H
#define RETAKE_RENDER_IO_IMAGE_FILE_H

#include "render/core/image.h"

struct rt_bytes {
    void *bytes; /* owned, free() */
    size_t n_bytes;
};
void rt_bytes_free(struct rt_bytes *bytes);

/* U8 with 1, 2, 3 or 4 channels, or U16 for 16-bit PNG (native byte order). JPEG: U8, 1 or 3. */
enum rt_status image_read(const char *path, struct image *out, struct rt_error *err);
enum rt_status image_decode(const void *bytes, size_t n_bytes, struct image *out,
                            struct rt_error *err);
/* Width, height and channels from the header alone. */
enum rt_status image_probe(const char *path, struct image *shape, struct rt_error *err);

/* PNG level 1, sub filter; U8 or U16. sRGB chunk for 3 or 4 channels. */
enum rt_status image_encode_png(const struct image *image, struct rt_bytes *out,
                                struct rt_error *err);
/* quality 1...100; 4:2:0, from 90 4:4:4. U8 with 1 or 3 channels. */
enum rt_status image_encode_jpeg(const struct image *image, int quality, struct rt_bytes *out,
                                 struct rt_error *err);
/* NPY 1.0 of [height][width] (one channel) or [height][width][channels]. */
enum rt_status image_encode_npy(const struct image *image, struct rt_bytes *out,
                                struct rt_error *err);
/* Reads a little-endian C-order f4 NPY with 1 to 4 dimensions; `shape` [4], unused = 1. */
enum rt_status npy_decode_f32(const void *bytes, size_t n_bytes, float **values, int64_t shape[4],
                              struct rt_error *err);
/* Encodes by the path's ending (.png .jpg .npy) and writes atomically. */
enum rt_status image_write(const char *path, const struct image *image, struct rt_error *err);

/* Whole file into memory (limit in bytes); atomic write of a whole file. */
enum rt_status file_read(const char *path, size_t max_bytes, struct rt_bytes *out,
                         struct rt_error *err);
enum rt_status file_write_atomic(const char *path, const void *bytes, size_t n_bytes,
                                 struct rt_error *err);

/* One zip of stored entries in memory, for answers with several outputs (npz is the same thing). */
struct zip_entry {
    const char *name;
    const void *bytes;
    size_t n_bytes;
};
enum rt_status zip_encode(const struct zip_entry *entries, int32_t n_entries, struct rt_bytes *out,
                          struct rt_error *err);

#endif
