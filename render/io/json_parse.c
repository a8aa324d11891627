#include "render/io/json_parse.h"

enum rt_status json_parse(const char *text, size_t n_bytes, const struct json_limits *limits,
                          json_t **out, struct rt_error *err) {
    *out = NULL;
    RT_TRY(json_scan(text, n_bytes, limits, err));
    json_error_t fault;
    json_t *root = json_loadb(text, n_bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &fault);
    if (!root && json_error_code(&fault) == json_error_out_of_memory) {
        return rt_fail(err, RT_NO_MEMORY, "JSON of %zu bytes: out of memory", n_bytes);
    }
    if (!root) {
        return rt_fail_file(err, "bad-value", fault.position, "JSON, line %d, column %d: %s",
                            fault.line, fault.column, fault.text);
    }
    *out = root;
    return RT_OK;
}
