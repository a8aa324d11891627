#include "recon/work_folder.h"

#include <errno.h>
#include <jansson.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "render/io/file_atomic.h"

enum rt_status work_folder_create(const char *folder, struct rt_error *err) {
    char path[FILE_PATH_BYTES];
    if (snprintf(path, sizeof path, "%s", folder) >= (int)sizeof path) {
        return rt_fail(err, RT_IO, "the path of the work folder is too long");
    }
    for (char *slash = path + 1; *slash; slash++) {
        if (*slash != '/') continue;
        *slash = '\0';
        mkdir(path, 0755); /* fails for those that exist: the last one tells */
        *slash = '/';
    }
    if (mkdir(path, 0755) == 0) return RT_OK;
    struct stat found;
    if (errno == EEXIST && stat(path, &found) == 0 && S_ISDIR(found.st_mode)) return RT_OK;
    return file_fail(err, path, "creating the work folder");
}

enum rt_status work_folder_write(const char *folder, const char *name, const char *text,
                                 struct rt_error *err) {
    char path[FILE_PATH_BYTES];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) {
        return rt_fail(err, RT_IO, "the path of %s is too long", name);
    }
    return file_write_atomic(path, text, strlen(text), err);
}

enum rt_status work_folder_config(const char *folder, struct recon_config *out,
                                  struct rt_error *err) {
    char path[FILE_PATH_BYTES];
    struct rt_bytes bytes = {0};
    snprintf(path, sizeof path, "%s/config.json", folder);
    RT_TRY(file_read(path, 1 << 20, &bytes, err));
    json_t *object = json_loadb(bytes.bytes, bytes.n_bytes, JSON_REJECT_DUPLICATES, NULL);
    rt_bytes_free(&bytes);
    const char *preset = json_string_value(json_object_get(object, "preset"));
    enum rt_status status = config_preset(preset ? preset : "", out, err);
    if (status == RT_OK) {
        json_object_del(object, "preset");
        char *rest = json_dumps(object, JSON_REAL_PRECISION(17));
        status = rest ? config_from_json(out, rest, NULL, NULL, err)
                      : rt_fail(err, RT_NO_MEMORY, "out of memory");
        free(rest);
    }
    json_decref(object);
    return status == RT_OK ? RT_OK : rt_prefix(err, status, "config.json");
}

static enum rt_status digest_config(const struct recon_config *config, uint8_t *digest,
                                    struct rt_error *err) {
    struct recon_config shaping = *config, standard;
    int32_t n_rows = 0;
    const struct config_row *rows = config_rows(&n_rows);
    RT_TRY(config_preset("balanced", &standard, err));
    memset(shaping.preset, 0, sizeof shaping.preset);
    for (int32_t i = 0; i < n_rows; i++) {
        if (strcmp(rows[i].group, "service") != 0) continue;
        /* every service parameter is 4 bytes wide */
        memcpy((char *)&shaping + rows[i].offset, (char *)&standard + rows[i].offset, 4);
    }
    char *json = NULL;
    RT_TRY(config_to_json(&shaping, &json, err));
    checkpoint_digest(json, strlen(json), digest);
    free(json);
    return RT_OK;
}

static void add_frame(struct sha256_ctx *sha, const struct recording_frame *frame) {
    const struct camera *lens = frame->camera;
    sha256_update(sha, strlen(frame->file) + 1, (const uint8_t *)frame->file);
    sha256_update(sha, sizeof frame->T_world_sensor_start,
                  (const uint8_t *)&frame->T_world_sensor_start);
    if (lens) sha256_update(sha, sizeof lens->focal_px, (const uint8_t *)lens->focal_px);
}

static void digest_recording(const struct recording *recording, uint8_t *digest) {
    struct sha256_ctx sha;
    sha256_init(&sha);
    for (int32_t c = 0; c < recording->n_cameras; c++) {
        const struct recording_camera *camera = &recording->cameras[c];
        sha256_update(&sha, sizeof camera->camera, (const uint8_t *)&camera->camera);
        for (int32_t i = 0; i < camera->n_frames; i++) add_frame(&sha, &camera->frames[i]);
    }
    size_t n_points = (size_t)recording->points.n_points;
    if (n_points > 0) {
        sha256_update(&sha, n_points * 3 * sizeof(float), (const uint8_t *)recording->points.xyz);
    }
    sha256_digest(&sha, CHECKPOINT_DIGEST_BYTES, digest);
}

enum rt_status work_folder_key(const struct recon_config *config, const struct recording *recording,
                               struct checkpoint_key *out, struct rt_error *err) {
    digest_recording(recording, out->recording);
    return digest_config(config, out->config, err);
}
