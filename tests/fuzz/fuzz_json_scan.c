/* json_scan and the parser behind it: text that passes the limits must parse or fail cleanly. */
#include <stdint.h>

#include "render/io/json_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    struct json_limits limits = json_limits_body(0);
    json_t *root = NULL;
    struct rt_error err;
    rt_error_clear(&err);
    json_parse((const char *)bytes, n_bytes, &limits, &root, &err);
    json_decref(root);
    return 0;
}
