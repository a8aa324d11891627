/* retake_recording from memory: no folder, every picture "exists". */
#include <stdint.h>
#include <stdlib.h>

#include "recon/formats/retake_recording.h"
#include "render/io/json_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    const struct json_limits limits = json_limits_recording();
    const struct recording_folder none = {.fd = -1};
    struct recording *recording = calloc(1, sizeof *recording);
    struct reader reader;
    struct rt_error err;
    json_t *root = NULL;
    rt_error_clear(&err);
    reader_begin(&reader, recording, &none);
    if (json_parse((const char *)bytes, n_bytes, &limits, &root, &err) == RT_OK &&
        retake_recording_parse(&reader, root, &err) == RT_OK) {
        (void)reader_finish(&reader, &err);
    }
    json_decref(root);
    recording_close(&recording);
    return 0;
}
