/* points of a COLMAP model from memory; the first byte chooses binary or text. */
#include <stdint.h>
#include <stdlib.h>

#include "recon/formats/colmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    static const char cameras[] =
        "1 OPENCV 40 30 50 51 20 15 0.1 -0.05 0.001 -0.002\n"
        "7 SIMPLE_PINHOLE 40 30 45 20 15\n";
    const struct recording_folder none = {.fd = -1};
    struct recording *recording = calloc(1, sizeof *recording);
    struct reader reader;
    struct colmap colmap;
    struct rt_error err;
    if (n_bytes == 0) return free(recording), 0;
    rt_error_clear(&err);
    reader_begin(&reader, recording, &none);
    colmap_begin(&colmap, &reader, "images/");
    (void)colmap_cameras_txt(&colmap, cameras, sizeof cameras - 1, &err);
    colmap_parser parse = bytes[0] == 'B' ? colmap_points_bin : colmap_points_txt;
    if (parse(&colmap, bytes + 1, n_bytes - 1, &err) == RT_OK) {
        reader_up_from_cameras(&reader);
        (void)reader_finish(&reader, &err);
    }
    colmap_end(&colmap);
    recording_close(&recording);
    return 0;
}
