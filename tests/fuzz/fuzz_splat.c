/* Every splat reader behind the content check; the second call reaches .splat, which has no magic.
 */
#include <stdint.h>

#include "render/io/splat_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    struct splat_file file;
    struct rt_error err;
    if (splat_file_parse(bytes, n_bytes, "", NULL, &file, &err) == RT_OK) splat_file_free(&file);
    if (splat_file_parse(bytes, n_bytes, "a.splat", NULL, &file, &err) == RT_OK) {
        splat_file_free(&file);
    }
    return 0;
}
