#include <stdint.h>
#include <stdlib.h>

#include "render/io/image_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    float *values = NULL;
    int64_t shape[4];
    struct rt_error err;
    npy_decode_f32(bytes, n_bytes, &values, shape, &err);
    free(values);
    return 0;
}
