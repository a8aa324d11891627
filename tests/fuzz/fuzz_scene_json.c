/* scene.json with its frames in one text: {"scene": …, "frames": …}; what is read is written again.
 */
#include <stdint.h>
#include <stdlib.h>

#include "render/io/json_parse.h"
#include "render/io/scene_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void write_again(const struct scene *scene) {
    struct rt_error err;
    char *text = NULL;
    if (scene_json_write(scene, &text, &err) == RT_OK) free(text);
    if (frames_json_write(scene, &text, &err) == RT_OK) free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    struct json_limits limits = json_limits_recording();
    struct scene *scene = NULL;
    struct scene_json_node *nodes = NULL;
    int32_t n_nodes = 0;
    json_t *root = NULL;
    struct rt_error err;
    if (json_parse((const char *)bytes, n_bytes, &limits, &root, &err) != RT_OK) return 0;
    const json_t *json = json_object_get(root, "scene");
    if (scene_create(&scene, &err) == RT_OK) {
        if (scene_json_read(json, scene, &err) == RT_OK &&
            scene_json_cameras(json, json_object_get(root, "frames"), scene, &err) == RT_OK) {
            write_again(scene);
        }
        if (scene_json_nodes(json, &nodes, &n_nodes, &err) == RT_OK) free(nodes);
        scene_release(&scene);
    }
    json_decref(root);
    return 0;
}
