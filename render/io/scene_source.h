/* The files of a scene, whether it lies in a folder or in a zip; internal to render/io.
 *
 *     struct scene_source *source;
 *     RT_TRY(scene_source_open("street.retake", &source, err));
 *     status = scene_source_read(source, "scene.json", 16 << 20, &bytes, err);
 *     scene_source_close(&source);
 *
 * Names are relative, without "..", backslash or NUL; links are not followed. A zip is checked as a
 * whole when it is opened (promises.md section 5); sums are checked when an entry is read. */
#ifndef RETAKE_RENDER_IO_SCENE_SOURCE_H
#define RETAKE_RENDER_IO_SCENE_SOURCE_H

#include <stdbool.h>

#include "render/io/image_file.h"

struct scene_source;

/* A folder or a zip file. RT_NOT_FOUND, RT_IO, RT_BAD_FILE. */
enum rt_status scene_source_open(const char *path, struct scene_source **out, struct rt_error *err);
/* A zip in memory, borrowed until the source is closed. */
enum rt_status scene_source_open_zip(const void *bytes, size_t n_bytes, struct scene_source **out,
                                     struct rt_error *err);
void scene_source_close(struct scene_source **source);

bool scene_source_has(const struct scene_source *source, const char *name);
/* Whole entry, at most max_bytes. RT_NOT_FOUND "missing-file", RT_BAD_FILE. */
enum rt_status scene_source_read(struct scene_source *source, const char *name, size_t max_bytes,
                                 struct rt_bytes *out, struct rt_error *err);

/* Relative, 1...255 bytes of UTF-8, no empty or dot parts, no backslash, colon or control byte. */
bool scene_path_is_safe(const char *name);

/* Files below a folder: scene_folder.c. */
enum rt_status folder_source_read(const char *folder, const char *name, size_t max_bytes,
                                  struct rt_bytes *out, struct rt_error *err);
bool folder_source_has(const char *folder, const char *name);
/* Opens `name` below `folder` without following any link; -1 with errno set. */
int folder_open_beneath(const char *folder, const char *name);

#endif
