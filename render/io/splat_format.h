/* One parser and, where we write it, one encoder per splat format; internal to render/io. A parser
 * fills gaussians (not sanitised yet), format, axes, antialiased and its own warnings of a zeroed
 * struct splat_file; splat_file.c sanitises, counts and frees on failure. */
#ifndef RETAKE_RENDER_IO_SPLAT_FORMAT_H
#define RETAKE_RENDER_IO_SPLAT_FORMAT_H

#include "render/io/image_codec.h"
#include "render/io/splat_file.h"

struct ply_header;

/* f = (c - 1/2) / C0 for a colour c in 0...1; sensors.md section 6. */
#define SPLAT_C0 0.28209479177387814f

enum rt_status splat_ply_parse(struct byte_span source, struct splat_file *out,
                               struct rt_error *err);
/* Called by splat_ply_parse() for headers with chunks. */
enum rt_status splat_ply_compressed_parse(const struct ply_header *header, struct byte_span source,
                                          struct splat_file *out, struct rt_error *err);
enum rt_status splat_antimatter_parse(struct byte_span source, struct splat_file *out,
                                      struct rt_error *err);
/* v1-v3 in one gzip member; v4 with zstd streams. */
enum rt_status splat_spz_gzip_parse(struct byte_span source, struct splat_file *out,
                                    struct rt_error *err);
enum rt_status splat_spz_zstd_parse(struct byte_span source, struct splat_file *out,
                                    struct rt_error *err);

enum rt_status splat_ply_encode(const struct splat_write *what, struct rt_bytes *out,
                                struct rt_error *err);
enum rt_status splat_antimatter_encode(const struct splat_write *what, struct rt_bytes *out,
                                       struct rt_error *err);
enum rt_status splat_spz_encode(const struct splat_write *what, struct rt_bytes *out,
                                struct rt_error *err);

/* Exporters refuse non-finite values (promises.md section 7): RT_DIVERGED. */
enum rt_status splat_check_finite(const struct gaussians *splats, struct rt_error *err);

/* Adds an owned sentence to file->warnings. */
enum rt_status splat_warn(struct splat_file *file, struct rt_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ln(x / (1 - x)); 0 and 1 give -Inf and +Inf, which sanitising keeps as -20 and 20. */
float splat_logit(float opacity);

/* Coefficients of splat i, [(degree+1)^2][3]. */
static inline float *splat_sh_at(struct gaussians *splats, size_t i) {
    return splats->sh + i * 3 * (size_t)sh_count(splats->sh_degree);
}

#endif
