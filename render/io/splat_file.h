/* Splat files of formats.md section 3: one entry for all formats, chosen by content.
 *
 *     struct splat_file file = {0};
 *     RT_TRY(splat_file_read("garden.ply", NULL, &file, err));
 *     file.gaussians, file.format, file.warnings
 *     splat_file_free(&file);
 *
 * Ownership: the reader fills an owned struct. Errors: RT_BAD_FILE with a finding code and offset,
 * RT_UNSUPPORTED with code "unsupported-format" for formats recognised by name and not read yet,
 * RT_IO, RT_NO_MEMORY. Declared counts are compared with the bytes that are there before anything
 * is allocated. Threading: no shared state. */
#ifndef RETAKE_RENDER_IO_SPLAT_FILE_H
#define RETAKE_RENDER_IO_SPLAT_FILE_H

#include <stdbool.h>

#include "render/core/gaussians.h"
#include "render/core/pose.h"

struct splat_file {
    struct gaussians *gaussians; /* owned, sanitised; the file's own numbers (axes not applied) */
    char format[16];             /* "ply", "compressed-ply", "splat", "spz v4", ... */
    char axes[4]; /* flu rdf rub luf: declared by the file, else the format's default */
    bool antialiased;
    struct gaussians_report report;
    char **warnings; /* owned [n_warnings] */
    int32_t n_warnings;
};

/* `format_hint`: NULL or "splat" etc. (formats without magic); the file name's ending counts too.
 */
enum rt_status splat_file_read(const char *path, const char *format_hint, struct splat_file *out,
                               struct rt_error *err);
/* The same from memory; `name` is used for its ending and in messages (may be ""). */
enum rt_status splat_file_parse(const void *bytes, size_t n_bytes, const char *name,
                                const char *format_hint, struct splat_file *out,
                                struct rt_error *err);
void splat_file_free(struct splat_file *file);

/* Writes .ply, .splat or .spz by `format` ("ply", "splat", "spz"), atomically (temporary name in
 * the same folder, fsync, rename). `lossy` (may be NULL, RT_MESSAGE_BYTES) receives a sentence on
 * what the format cannot hold (SH of .splat). */
struct splat_write {
    const struct gaussians *gaussians; /* borrowed */
    const char *axes;                  /* of the numbers; written as a comment in PLY */
    bool antialiased;
    int32_t spz_sh_bits; /* 0 = default (5 bits degree 1, 4 above), 8 = keep all */
};
enum rt_status splat_file_write(const char *path, const char *format,
                                const struct splat_write *what, char *lossy, struct rt_error *err);

/* T_world_file rotation for "flu", "rdf", "rub", "luf" (formats.md section 2); RT_INVALID
 * otherwise. */
enum rt_status axes_to_pose(const char *axes, struct pose *T_world_file, struct rt_error *err);

#endif
