/* Which splat format some bytes are (formats.md section 1); internal to render/io. */
#ifndef RETAKE_RENDER_IO_SPLAT_DETECT_H
#define RETAKE_RENDER_IO_SPLAT_DETECT_H

#include "render/io/image_codec.h"

enum splat_kind { SPLAT_PLY, SPLAT_ANTIMATTER, SPLAT_SPZ_GZIP, SPLAT_SPZ_ZSTD };

/* By content; name and hint decide only for formats without magic. Formats that are known but not
 * read are RT_UNSUPPORTED "unsupported-format" with their name; anything else is "bad-magic". */
enum rt_status splat_detect(struct byte_span source, const char *name, const char *format_hint,
                            enum splat_kind *kind, struct rt_error *err);

/* True when a zip's local headers name `entry` (a cheap look at the first entries). */
bool zip_names(struct byte_span source, const char *entry);

#endif
