/* Files below one folder, for GET requests that no route takes: "/" is index.html. Nothing outside
 * the folder can be named: opens resolve beneath its descriptor, links are refused, and so are
 * names that begin with a dot. Threading: any. */
#ifndef RETAKE_SERVER_STATIC_FILES_H
#define RETAKE_SERVER_STATIC_FILES_H

#include "render/core/status.h"
#include "server/http.h"

struct static_files;

/* RT_NOT_FOUND when the folder cannot be opened. */
enum rt_status static_files_open(struct static_files **out, const char *folder,
                                 struct rt_error *err);
void static_files_close(struct static_files **files);
/* Answers x with the file of `path` (decoded, begins with '/'), or with HTTP_FAULT_NOT_FOUND. */
void static_files_serve(struct static_files *files, struct http_exchange *x, const char *path);

/* Content type by the name's ending; "application/octet-stream" for unknown ones. */
const char *content_type_of(const char *path);

/* Opens a regular file for reading beneath `folder_fd`; -1 with errno set when it is not there, is
 * reached through a link, or lies outside. `path` is relative. */
int open_beneath(int folder_fd, const char *path);

#endif
