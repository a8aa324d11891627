/* Scenes to folders and zips. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "render/io/file_atomic.h"
#include "render/io/scene_json.h"
#include "render/io/splat_format.h"
#include "render/io/zip_encode.h"

struct part {
    char name[64];
    struct rt_bytes bytes; /* owned */
};

struct parts {
    struct part *items; /* owned [n]: scene.json, frames.json, nodes */
    int32_t n;
};

static void parts_free(struct parts *parts) {
    for (int32_t i = 0; i < parts->n; i++) rt_bytes_free(&parts->items[i].bytes);
    free(parts->items);
}

/* Axes that the node's pose stands for, so that its PLY alone opens the right way up. */
static const char *axes_of(struct pose T_world_node) {
    static const char *const names[] = {"rdf", "rub", "luf"};
    for (int i = 0; i < 3; i++) {
        struct pose pose;
        if (axes_to_pose(names[i], &pose, NULL) == RT_OK &&
            memcmp(&pose, &T_world_node, sizeof pose) == 0) {
            return names[i];
        }
    }
    return "flu";
}

static enum rt_status encode_nodes(const struct scene *scene, struct part *items,
                                   struct rt_error *err) {
    for (int32_t i = 0; i < scene->n_nodes; i++) {
        const struct scene_node *node = &scene->nodes[i];
        struct splat_write what = {.gaussians = node->gaussians,
                                   .axes = axes_of(node->T_world_node),
                                   .antialiased = node->antialiased};
        scene_node_file(scene, i, items[i].name, sizeof items[i].name);
        RT_TRY(splat_check_finite(node->gaussians, err));
        RT_TRY(splat_ply_encode(&what, &items[i].bytes, err));
    }
    return RT_OK;
}

static enum rt_status set_text(struct part *part, const char *name, char *text) {
    snprintf(part->name, sizeof part->name, "%s", name);
    part->bytes = (struct rt_bytes){.bytes = text, .n_bytes = strlen(text)};
    return RT_OK;
}

static enum rt_status encode(const struct scene *scene, struct parts *out, struct rt_error *err) {
    out->n = scene->n_nodes + 2;
    out->items = calloc((size_t)out->n, sizeof *out->items);
    if (!out->items) {
        out->n = 0;
        return rt_fail(err, RT_NO_MEMORY, "scene: out of memory");
    }
    char *text = NULL;
    RT_TRY(scene_json_write(scene, &text, err));
    RT_TRY(set_text(&out->items[0], SCENE_JSON, text));
    RT_TRY(frames_json_write(scene, &text, err));
    RT_TRY(set_text(&out->items[1], FRAMES_JSON, text));
    return encode_nodes(scene, out->items + 2, err);
}

static enum rt_status fail_zip(struct rt_error *err, zip_error_t *error) {
    int code = zip_error_code_system(error);
    enum rt_status status = code == ENOSPC || code == EDQUOT ? RT_STORAGE_FULL : RT_IO;
    return rt_fail(err, status, "scene: cannot write: %.150s", zip_error_strerror(error));
}

static enum rt_status fill_zip(const char *path, const struct parts *parts, struct rt_error *err) {
    int code = 0;
    zip_t *archive = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    if (!archive) {
        zip_error_t error;
        zip_error_init_with_code(&error, code);
        enum rt_status status = fail_zip(err, &error);
        zip_error_fini(&error);
        return status;
    }
    enum rt_status status = RT_OK;
    for (int32_t i = 0; i < parts->n && status == RT_OK; i++) {
        const struct part *part = &parts->items[i];
        struct zip_entry entry = {part->name, part->bytes.bytes, part->bytes.n_bytes};
        status = zip_add_stored(archive, &entry, err);
    }
    if (status == RT_OK && zip_close(archive) == 0) return RT_OK;
    if (status == RT_OK) status = fail_zip(err, zip_get_error(archive));
    zip_discard(archive);
    return status;
}

static enum rt_status write_zip(const char *path, const struct parts *parts, struct rt_error *err) {
    struct file_draft draft;
    RT_TRY(file_draft_open(path, &draft, err));
    enum rt_status status = fill_zip(draft.path, parts, err);
    if (status == RT_OK) {
        /* libzip puts a file of its own in the place of the draft: that one is to be flushed. */
        close(draft.fd);
        draft.fd = open(draft.path, O_RDWR | O_CLOEXEC);
        if (draft.fd < 0) status = file_fail(err, path, "open");
    }
    if (status == RT_OK) return file_draft_commit(&draft, err);
    file_draft_discard(&draft);
    return status;
}

/* A folder is a scene once its scene.json is there, so that one comes last. */
static enum rt_status write_folder(const char *path, const struct parts *parts,
                                   struct rt_error *err) {
    char name[FILE_PATH_BYTES];
    struct stat st;
    snprintf(name, sizeof name, "%s/%s", path, SCENE_JSON);
    if (stat(path, &st) == 0) {
        if (stat(name, &st) != 0) {
            return rt_fail(err, RT_EXISTS, "%.200s: exists and is no scene folder",
                           path_base(path));
        }
    } else if (mkdir(path, 0777) != 0) {
        return file_fail(err, path, "create");
    }
    if (snprintf(name, sizeof name, "%s/nodes", path) >= (int)sizeof name) {
        return rt_fail(err, RT_INVALID, "path of %zu bytes is too long", strlen(path));
    }
    if (mkdir(name, 0777) != 0 && errno != EEXIST) return file_fail(err, name, "create");
    for (int32_t i = parts->n - 1; i >= 0; i--) {
        const struct part *part = &parts->items[i];
        if (snprintf(name, sizeof name, "%s/%s", path, part->name) >= (int)sizeof name) {
            return rt_fail(err, RT_INVALID, "path of %zu bytes is too long", strlen(path));
        }
        RT_TRY(file_write_atomic(name, part->bytes.bytes, part->bytes.n_bytes, err));
    }
    return RT_OK;
}

enum rt_status scene_write(const char *path, const struct scene *scene, struct rt_error *err) {
    struct parts parts = {0};
    if (scene->n_nodes < 1 || scene->nodes[0].kind != NODE_BACKGROUND) {
        return rt_fail(err, RT_INVALID, "scene without a background node is not written");
    }
    enum rt_status status = encode(scene, &parts, err);
    if (status == RT_OK) {
        status = path_ends(path, ".retake") ? write_zip(path, &parts, err)
                                            : write_folder(path, &parts, err);
    }
    parts_free(&parts);
    return status;
}
