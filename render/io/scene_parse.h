/* The steps of scene_read() that scene_peek() and the fuzz target share; internal to render/io. */
#ifndef RETAKE_RENDER_IO_SCENE_PARSE_H
#define RETAKE_RENDER_IO_SCENE_PARSE_H

#include "render/core/scene.h"
#include "render/io/scene_source.h"

/* Opens a scene folder or .retake; *out stays NULL for anything else (a splat file). RT_BAD_FILE
 * "missing-file" for a folder without scene.json. */
enum rt_status scene_locate(const char *path, struct scene_source **out, struct rt_error *err);
/* The scene of an open source, one reference. */
enum rt_status scene_parse(struct scene_source *source, struct scene **out, struct rt_error *err);

#endif
