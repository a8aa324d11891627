/* A .retake in memory, read as a scene. */
#include <stdint.h>

#include "render/io/scene_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    struct scene_source *source = NULL;
    struct scene *scene = NULL;
    struct rt_error err;
    if (scene_source_open_zip(bytes, n_bytes, &source, &err) != RT_OK) return 0;
    if (scene_parse(source, &scene, &err) == RT_OK) scene_release(&scene);
    scene_source_close(&source);
    return 0;
}
