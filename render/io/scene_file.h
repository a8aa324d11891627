/* Scenes on disk: a folder or a `.retake` zip of stored entries (formats.md section 4), and any
 * splat file, which becomes a scene with one background node.
 *
 *     struct scene *scene;
 *     RT_TRY(scene_read("street.retake", &options, &scene, err));
 *     RT_TRY(scene_write("copy.retake", scene, err));
 *
 * Writing is atomic (temporary name, fsync, rename, fsync of the folder). Unknown members of
 * scene.json survive a re-write. Errors as in splat_file.h. */
#ifndef RETAKE_RENDER_IO_SCENE_FILE_H
#define RETAKE_RENDER_IO_SCENE_FILE_H

#include "render/core/scene.h"

struct scene_read_options {
    const char *format; /* NULL = by content and ending */
    const char *axes;   /* NULL = declared by the file, else the format's default */
};

/* path: a `.retake` file, a folder with scene.json, or a splat file. Returns one reference. Without
 * recorded cameras `default_view` is scene_overview(). */
enum rt_status scene_read(const char *path, const struct scene_read_options *options,
                          struct scene **out, struct rt_error *err);

/* What scene_read would find, without decoding the splats: cheap enough for an index at start-up.
 */
struct scene_summary {
    char format[16];
    char name[128];
    int64_t n_gaussians;
    int32_t sh_degree, n_cameras, n_actors, n_lidars;
    int64_t t_begin_us, t_end_us;
};
enum rt_status scene_peek(const char *path, struct scene_summary *out, struct rt_error *err);

/* `.retake` when the path ends so, else a folder (created; must not exist or must hold a scene). */
enum rt_status scene_write(const char *path, const struct scene *scene, struct rt_error *err);

/* All static nodes as one set in the numbers of `axes`: T_world_node turns positions, quaternions
 * and harmonics. Moving actors are left out. *out is owned by the caller. RT_INVALID for unknown
 * axes or a scene without static splats, RT_LIMIT, RT_NO_MEMORY. */
enum rt_status scene_bake(const struct scene *scene, const char *axes, struct gaussians **out,
                          struct rt_error *err);

/* scene_bake() and splat_file_write() in one; format "ply", "splat" or "spz", axes NULL = those of
 * scene_export_axes(). RT_DIVERGED for non-finite values. */
enum rt_status scene_export(const char *path, const char *format, const struct scene *scene,
                            const char *axes, struct rt_error *err);
/* The axes a format is written in unless asked otherwise: flu for ply, rdf for splat, rub for spz
 * (formats.md section 2). */
const char *scene_export_axes(const char *format);

#endif
