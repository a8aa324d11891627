/* cameras of a COLMAP model from memory; the first byte chooses binary or text. */
#include <stdint.h>
#include <stdlib.h>

#include "recon/formats/colmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    const struct recording_folder none = {.fd = -1};
    struct recording *recording = calloc(1, sizeof *recording);
    struct reader reader;
    struct colmap colmap;
    struct rt_error err;
    if (n_bytes == 0) return free(recording), 0;
    rt_error_clear(&err);
    reader_begin(&reader, recording, &none);
    colmap_begin(&colmap, &reader, "images/");
    colmap_parser parse = bytes[0] == 'B' ? colmap_cameras_bin : colmap_cameras_txt;
    if (parse(&colmap, bytes + 1, n_bytes - 1, &err) == RT_OK) {
        reader_up_from_cameras(&reader);
        (void)reader_finish(&reader, &err);
    }
    colmap_end(&colmap);
    recording_close(&recording);
    return 0;
}
