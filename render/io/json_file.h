/* JSON files into trees (json_parse.h says what is refused).
 *
 *     json_t *root = NULL;
 *     struct json_limits limits = json_limits_recording();
 *     RT_TRY(json_file_read("scene.json", &limits, &root, err));
 *     json_decref(root); */
#ifndef RETAKE_RENDER_IO_JSON_FILE_H
#define RETAKE_RENDER_IO_JSON_FILE_H

#include "render/io/json_parse.h"

/* The caller owns *out. Errors of json_parse and file_read. */
enum rt_status json_file_read(const char *path, const struct json_limits *limits, json_t **out,
                              struct rt_error *err);

#endif
