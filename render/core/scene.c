#include "render/core/scene.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum rt_status scene_set_text(char **member, const char *text, struct rt_error *err) {
    char *copy = NULL;
    if (text) {
        copy = strdup(text);
        if (!copy)
            return rt_fail(err, RT_NO_MEMORY, "text of %zu bytes: out of memory", strlen(text));
    }
    free(*member);
    *member = copy;
    return RT_OK;
}

enum rt_status scene_create(struct scene **out, struct rt_error *err) {
    struct scene *scene = calloc(1, sizeof *scene);
    *out = scene;
    if (!scene) return rt_fail(err, RT_NO_MEMORY, "scene: out of memory");
    atomic_init(&scene->n_references, 1);
    scene->up[2] = 1.0f;
    scene->is_static = true;
    scene->t_end_us = 1;
    scene->T_source_world = pose_identity();
    scene->default_view = pose_identity();
    memcpy(scene->axes, "flu", 4);
    enum rt_status status = scene_set_text(&scene->name, "", err);
    if (status != RT_OK) scene_release(out);
    return status;
}

struct scene *scene_retain(struct scene *scene) {
    atomic_fetch_add(&scene->n_references, 1);
    return scene;
}

static void frames_free(struct scene_frames *frames) {
    for (int32_t i = 0; frames->file && i < frames->n_frames; i++) free(frames->file[i]);
    free(frames->t_us);
    free(frames->t_end_us);
    free(frames->T_world_sensor_start);
    free(frames->T_world_sensor_end);
    free(frames->holdout);
    free(frames->file);
    free(frames->camera);
    memset(frames, 0, sizeof *frames);
}

void scene_release(struct scene **scene) {
    struct scene *s = *scene;
    *scene = NULL;
    if (!s || atomic_fetch_sub(&s->n_references, 1) != 1) return;
    for (int32_t i = 0; i < s->n_nodes; i++) {
        free(s->nodes[i].track_id);
        gaussians_destroy(&s->nodes[i].gaussians);
    }
    for (int32_t i = 0; i < s->n_cameras; i++) frames_free(&s->cameras[i].frames);
    for (int32_t i = 0; i < s->n_warnings; i++) free(s->warnings[i]);
    free(s->nodes);
    free(s->cameras);
    free(s->warnings);
    free(s->name);
    free(s->recording_id);
    free(s->generator);
    free(s->provenance_json);
    free(s->carried_json);
    free(s);
}

/* Grows an array of n elements by one zeroed element. */
static void *append(void **array, int32_t *n, size_t element_bytes) {
    unsigned char *grown = realloc(*array, ((size_t)*n + 1) * element_bytes);
    if (!grown) return NULL;
    *array = grown;
    void *element = grown + (size_t)*n * element_bytes;
    memset(element, 0, element_bytes);
    (*n)++;
    return element;
}

static enum rt_status check_new_id(const char *id, bool is_sensor, struct rt_error *err) {
    if (id_is_valid(id, is_sensor)) return RT_OK;
    return rt_fail(err, RT_INVALID, "id \"%.80s\" must match [A-Za-z0-9][A-Za-z0-9_%s-]{0,63}", id,
                   is_sensor ? ":" : "");
}

enum rt_status scene_add_node(struct scene *scene, const char *id, enum node_kind kind,
                              struct gaussians *gaussians, struct rt_error *err) {
    if (strlen(id) >= RT_ID_BYTES || scene->n_nodes >= RT_MAX_NODES) {
        return rt_fail(err, RT_LIMIT, "node \"%.80s\": id too long or too many nodes", id);
    }
    struct scene_node *node = append((void **)&scene->nodes, &scene->n_nodes, sizeof *node);
    if (!node) return rt_fail(err, RT_NO_MEMORY, "node %s: out of memory", id);
    snprintf(node->id, sizeof node->id, "%s", id);
    node->kind = kind;
    node->gaussians = gaussians;
    node->T_world_node = pose_identity();
    return RT_OK;
}

enum rt_status scene_add_camera(struct scene *scene, const char *id, int32_t n_frames,
                                struct scene_camera **out, struct rt_error *err) {
    *out = NULL;
    RT_TRY(check_new_id(id, true, err));
    if (scene_find_camera(scene, id)) return rt_fail(err, RT_EXISTS, "camera %s appears twice", id);
    if (n_frames < 0 || n_frames > RT_MAX_FRAMES || scene->n_cameras >= RT_MAX_SENSORS) {
        return rt_fail(err, RT_LIMIT, "camera %s: too many frames or sensors", id);
    }
    size_t n = n_frames > 0 ? (size_t)n_frames : 1;
    struct scene_frames frames = {.n_frames = n_frames,
                                  .t_us = calloc(n, sizeof(int64_t)),
                                  .t_end_us = calloc(n, sizeof(int64_t)),
                                  .T_world_sensor_start = calloc(n, sizeof(struct pose)),
                                  .T_world_sensor_end = calloc(n, sizeof(struct pose)),
                                  .holdout = calloc(n, 1),
                                  .file = calloc(n, sizeof(char *))};
    bool whole = frames.t_us && frames.t_end_us && frames.T_world_sensor_start &&
                 frames.T_world_sensor_end && frames.holdout && frames.file;
    struct scene_camera *camera = NULL;
    if (whole) camera = append((void **)&scene->cameras, &scene->n_cameras, sizeof *camera);
    if (!camera) {
        frames_free(&frames);
        return rt_fail(err, RT_NO_MEMORY, "camera %s: out of memory", id);
    }
    snprintf(camera->id, sizeof camera->id, "%s", id);
    camera->T_rig_camera = pose_identity();
    camera->frames = frames;
    *out = camera;
    return RT_OK;
}

enum rt_status scene_add_warning(struct scene *scene, struct rt_error *err, const char *format,
                                 ...) {
    char text[RT_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char **slot = append((void **)&scene->warnings, &scene->n_warnings, sizeof *slot);
    if (slot) *slot = strdup(text);
    if (slot && *slot) return RT_OK;
    if (slot) scene->n_warnings--;
    return rt_fail(err, RT_NO_MEMORY, "warning: out of memory");
}

const struct scene_camera *scene_find_camera(const struct scene *scene, const char *id) {
    for (int32_t i = 0; i < scene->n_cameras; i++) {
        if (strcmp(scene->cameras[i].id, id) == 0) return &scene->cameras[i];
    }
    return NULL;
}

int64_t scene_n_gaussians(const struct scene *scene) {
    int64_t n = 0;
    for (int32_t i = 0; i < scene->n_nodes; i++) n += scene->nodes[i].gaussians->n_gaussians;
    return n;
}

int32_t scene_sh_degree(const struct scene *scene) {
    int32_t degree = 0;
    for (int32_t i = 0; i < scene->n_nodes; i++) {
        if (scene->nodes[i].gaussians->sh_degree > degree) {
            degree = scene->nodes[i].gaussians->sh_degree;
        }
    }
    return degree;
}

size_t scene_bytes(const struct scene *scene) {
    size_t bytes = 0;
    for (int32_t i = 0; i < scene->n_nodes; i++)
        bytes += gaussians_bytes(scene->nodes[i].gaussians);
    return bytes;
}

static int compare_float(const void *a, const void *b) {
    float x = *(const float *)a;
    float y = *(const float *)b;
    return (x > y) - (x < y);
}

/* World positions of an even sample of the background, axis-major [3][n_sample]. */
static size_t sample_axes(const struct scene *scene, float *axes, size_t max_sample) {
    const struct scene_node *node = &scene->nodes[0];
    size_t n = (size_t)node->gaussians->n_gaussians;
    size_t step = n / max_sample + 1;
    size_t n_sample = 0;
    for (size_t i = 0; i < n && n_sample < max_sample; i += step, n_sample++) {
        vec3 p = pose_apply(node->T_world_node, vec3_load(node->gaussians->mean + 3 * i));
        axes[n_sample] = p.x;
        axes[max_sample + n_sample] = p.y;
        axes[2 * max_sample + n_sample] = p.z;
    }
    return n_sample;
}

bool scene_bounds(const struct scene *scene, float minimum[3], float maximum[3]) {
    enum { MAX_SAMPLE = 16384 };
    if (scene->n_nodes == 0 || scene->nodes[0].gaussians->n_gaussians == 0) return false;
    float *axes = malloc(3 * MAX_SAMPLE * sizeof(float));
    if (!axes) return false;
    size_t n = sample_axes(scene, axes, MAX_SAMPLE);
    for (int k = 0; k < 3; k++) {
        float *axis = axes + (size_t)k * MAX_SAMPLE;
        qsort(axis, n, sizeof(float), compare_float);
        minimum[k] = axis[n / 100];
        maximum[k] = axis[n - 1 - n / 100];
    }
    free(axes);
    return true;
}

struct pose scene_overview(const struct scene *scene) {
    float lo[3] = {-1.0f, -1.0f, -1.0f};
    float hi[3] = {1.0f, 1.0f, 1.0f};
    scene_bounds(scene, lo, hi);
    vec3 middle = vec3_make(0.5f * (lo[0] + hi[0]), 0.5f * (lo[1] + hi[1]), 0.5f * (lo[2] + hi[2]));
    float half_wide = 0.5f * (hi[1] - lo[1]);
    float half_high = 0.5f * (hi[2] - lo[2]);
    float reach = half_wide * 0.5625f > half_high ? half_wide * 0.5625f : half_high;
    if (!(reach > 1e-3f)) reach = 1.0f;
    /* tan(25 deg) = 0.466: the frame's half height at unit distance; 1.15 leaves a margin. */
    float distance = 0.5f * (hi[0] - lo[0]) + 1.15f * reach / 0.466f;
    /* Pitched down by 10 degrees about the camera's x axis; q_rdf looks along +x of the world. */
    quat q_rdf = quat_make(0.5f, -0.5f, 0.5f, -0.5f);
    quat pitch = quat_make(0.99619470f, -0.08715574f, 0.0f, 0.0f);
    vec3 eye = vec3_make(middle.x - distance, middle.y, middle.z + 0.176f * distance);
    return pose_make(quat_mul(q_rdf, pitch), eye);
}

bool id_is_valid(const char *id, bool is_sensor) {
    size_t n = strlen(id);
    if (n < 1 || n > 64 || !isalnum((unsigned char)id[0]) || (unsigned char)id[0] > 0x7f)
        return false;
    for (size_t i = 1; i < n; i++) {
        unsigned char c = (unsigned char)id[i];
        if (c > 0x7f) return false;
        if (!isalnum(c) && c != '_' && c != '-' && !(is_sensor && c == ':')) return false;
    }
    return true;
}
