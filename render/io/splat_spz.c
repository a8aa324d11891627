#include "render/io/splat_format.h"
enum rt_status splat_spz_gzip_parse(struct byte_span source, struct splat_file *out,
                                    struct rt_error *err) {
    (void)source;
    (void)out;
    return rt_fail(err, RT_UNSUPPORTED, "SPZ is not read yet");
}
enum rt_status splat_spz_zstd_parse(struct byte_span source, struct splat_file *out,
                                    struct rt_error *err) {
    (void)source;
    (void)out;
    return rt_fail(err, RT_UNSUPPORTED, "SPZ is not read yet");
}
enum rt_status splat_spz_encode(const struct splat_write *what, struct rt_bytes *out,
                                struct rt_error *err) {
    (void)what;
    (void)out;
    return rt_fail(err, RT_UNSUPPORTED, "SPZ is not written yet");
}
