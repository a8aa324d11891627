/* Files of a recording, opened without ever leaving its folder: names come from strangers
 * (transforms.json of an upload), so no absolute path, no `..`, no link (promises.md section 5).
 *
 *     struct recording_folder folder;
 *     RT_TRY(recording_folder_open("/data/fox", &folder, err));
 *     struct recording_file file;
 *     if (recording_file_open(&folder, "images/0001.jpg", &file, err) == RT_OK) {
 *         image_read(file.path, &picture, err);     // same file, whatever happens to the name
 *         recording_file_close(&file);
 *     }
 *     recording_folder_close(&folder);
 *
 * Threading: an open folder may be used from several threads. */
#ifndef RETAKE_RECON_RECORDING_FOLDER_H
#define RETAKE_RECON_RECORDING_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "render/io/image_file.h"

struct recording_folder {
    int fd; /* owned; -1 = no folder, nothing can be opened */
};

struct recording_file {
    int fd;        /* owned */
    int64_t bytes; /* of the regular file */
    char path[40]; /* /proc/self/fd/N, for readers that want a name; valid until close */
};

/* Relative, at most RT_MAX_PATH_BYTES, components neither empty nor `.` nor `..`, no backslash, no
 * control bytes, valid UTF-8. RT_BAD_FILE with code "bad-value" that says what is wrong. */
enum rt_status recording_path_check(const char *path, struct rt_error *err);

enum rt_status recording_folder_open(const char *path, struct recording_folder *out,
                                     struct rt_error *err);
void recording_folder_close(struct recording_folder *folder);

/* Opens a regular file for reading. RT_NOT_FOUND when it is not there, RT_BAD_FILE when the name is
 * refused or leads over a symbolic link or to something that is no regular file, RT_IO. */
enum rt_status recording_file_open(const struct recording_folder *folder, const char *path,
                                   struct recording_file *out, struct rt_error *err);
void recording_file_close(struct recording_file *file);
/* Names the file in the message of a reader that was given file->path; returns `status`. */
enum rt_status recording_file_failed(const struct recording_file *file, const char *path,
                                     enum rt_status status, struct rt_error *err);

/* The whole file; caller frees with rt_bytes_free. RT_BAD_FILE "limit" above max_bytes. */
enum rt_status recording_file_read(const struct recording_folder *folder, const char *path,
                                   size_t max_bytes, struct rt_bytes *out, struct rt_error *err);

/* True when `path` names a regular file, or a folder, that may be opened. */
bool recording_has_file(const struct recording_folder *folder, const char *path);
bool recording_has_folder(const struct recording_folder *folder, const char *path);

#endif
