#include "render/io/json_file.h"

#include "render/io/image_file.h"

enum rt_status json_file_read(const char *path, const struct json_limits *limits, json_t **out,
                              struct rt_error *err) {
    struct rt_bytes text = {0};
    *out = NULL;
    RT_TRY(file_read(path, limits->max_bytes, &text, err));
    enum rt_status status = json_parse(text.bytes, text.n_bytes, limits, out, err);
    rt_bytes_free(&text);
    return status;
}
