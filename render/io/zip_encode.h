/* Adding stored entries to a libzip archive: what zip_encode() (memory) and scene_zip.c (file)
 * share; internal to render/io. */
#ifndef RETAKE_RENDER_IO_ZIP_ENCODE_H
#define RETAKE_RENDER_IO_ZIP_ENCODE_H

#include <zip.h>

#include "render/io/image_file.h"

/* Adds one stored entry with a fixed time; entry->bytes must stay until the archive is closed. */
enum rt_status zip_add_stored(zip_t *archive, const struct zip_entry *entry, struct rt_error *err);

#endif
