#include "api/scene_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/reply.h"
#include "render/core/log.h"
#include "render/io/image_file.h"
#include "render/io/scene_file.h"

enum { SIDECAR_MAX_BYTES = 4 * 1024 * 1024 };

char *path_join(const char *folder, const char *name) {
    size_t n = strlen(folder) + strlen(name) + 2;
    char *path = malloc(n);
    if (path != NULL) snprintf(path, n, "%s/%s", folder, name);
    return path;
}

static enum rt_status fail_errno(struct rt_error *err, const char *what) {
    enum rt_status status = errno == ENOSPC || errno == EDQUOT ? RT_STORAGE_FULL : RT_IO;
    return rt_fail(err, status, "%s: %s", what, strerror(errno));
}

enum rt_status file_digest(const char *path, char digest[SCENE_DIGEST_BYTES], int64_t *n_bytes,
                           struct rt_error *err) {
    enum { CHUNK = 256 * 1024 };
    FILE *file = fopen(path, "rb");
    uint8_t *chunk = malloc(CHUNK);
    enum rt_status status = RT_OK;
    struct sha256_ctx hash;
    sha256_init(&hash);
    *n_bytes = 0;
    if (file == NULL) {
        status = fail_errno(err, "cannot open the file");
        goto out;
    }
    if (chunk == NULL) {
        status = rt_fail(err, RT_NO_MEMORY, "no memory to read the file");
        goto out;
    }
    size_t n;
    while ((n = fread(chunk, 1, CHUNK, file)) > 0) {
        sha256_update(&hash, n, chunk);
        *n_bytes += (int64_t)n;
    }
    if (ferror(file)) {
        status = fail_errno(err, "cannot read the file");
        goto out;
    }
    uint8_t sum[SHA256_DIGEST_SIZE];
    sha256_digest(&hash, sizeof sum, sum);
    for (size_t i = 0; i < sizeof sum; i++) snprintf(digest + 2 * i, 3, "%02x", sum[i]);
out:
    if (file != NULL) fclose(file);
    free(chunk);
    return status;
}

/* -- sidecars -------------------------------------------------------------------------------------
 */

static void take_text(const json_t *object, const char *name, char *out, size_t n_bytes) {
    const char *text = json_string_value(json_object_get(object, name));
    snprintf(out, n_bytes, "%s", text != NULL ? text : "");
}

static int64_t take_int(const json_t *object, const char *name) {
    return json_integer_value(json_object_get(object, name));
}

static void set_version(struct scene_row *row) {
    snprintf(row->version, sizeof row->version, "%.8s", row->digest);
}

/* Members of our own file; what is missing stays zero. */
static bool row_from_json(const char *id, const json_t *root, struct scene_row *row) {
    *row = (struct scene_row){0};
    snprintf(row->id, sizeof row->id, "%s", id);
    take_text(root, "name", row->name, sizeof row->name);
    take_text(root, "kind", row->kind, sizeof row->kind);
    take_text(root, "format", row->format, sizeof row->format);
    take_text(root, "axes", row->axes, sizeof row->axes);
    take_text(root, "digest", row->digest, sizeof row->digest);
    take_text(root, "file", row->file, sizeof row->file);
    take_text(root, "origin_type", row->origin_type, sizeof row->origin_type);
    take_text(root, "origin_id", row->origin_id, sizeof row->origin_id);
    row->file_bytes = take_int(root, "file_bytes");
    row->device_bytes_estimate = take_int(root, "device_bytes_estimate");
    row->n_gaussians = take_int(root, "splats");
    row->sh_degree = (int32_t)take_int(root, "sh_degree");
    row->n_cameras = (int32_t)take_int(root, "cameras");
    row->n_actors = (int32_t)take_int(root, "actors");
    row->n_lidars = (int32_t)take_int(root, "lidars");
    row->t_begin_us = take_int(root, "t_begin_us");
    row->t_end_us = take_int(root, "t_end_us");
    row->created_ms = take_int(root, "created_ms");
    const json_t *detail = json_object_get(root, "detail");
    if (json_is_object(detail)) row->detail_json = json_dumps(detail, JSON_COMPACT);
    snprintf(row->reason, sizeof row->reason, "never-loaded");
    set_version(row);
    bool is_inside = row->file[0] != '\0' && row->file[0] != '.' && !strchr(row->file, '/');
    return strlen(row->digest) == 64 && is_inside;
}

static json_t *row_to_json(const struct scene_row *row) {
    json_t *detail = row->detail_json != NULL
                         ? json_loads(row->detail_json, JSON_REJECT_DUPLICATES, NULL)
                         : NULL;
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:i, s:i, s:i, s:i, s:I, s:I, s:I,"
        " s:o?}",
        "file", row->file, "name", row->name, "kind", row->kind, "format", row->format, "axes",
        row->axes, "digest", row->digest, "origin_type", row->origin_type, "origin_id",
        row->origin_id, "file_bytes", (json_int_t)row->file_bytes, "device_bytes_estimate",
        (json_int_t)row->device_bytes_estimate, "splats", (json_int_t)row->n_gaussians, "sh_degree",
        row->sh_degree, "cameras", row->n_cameras, "actors", row->n_actors, "lidars", row->n_lidars,
        "t_begin_us", (json_int_t)row->t_begin_us, "t_end_us", (json_int_t)row->t_end_us,
        "created_ms", (json_int_t)row->created_ms, "detail", detail);
}

static char *sidecar_path(const char *folder, const char *id) {
    char name[RT_ID_BYTES + 8];
    snprintf(name, sizeof name, "%s.json", id);
    return path_join(folder, name);
}

static enum rt_status write_sidecar(const char *folder, const struct scene_row *row,
                                    struct rt_error *err) {
    json_t *root = row_to_json(row);
    char *text = root != NULL ? json_dumps(root, JSON_INDENT(1)) : NULL;
    char *path = sidecar_path(folder, row->id);
    enum rt_status status = RT_OK;
    if (text == NULL || path == NULL) {
        status = rt_fail(err, RT_NO_MEMORY, "no memory to describe scene %s", row->id);
    } else {
        status = file_write_atomic(path, text, strlen(text), err);
    }
    free(path);
    free(text);
    json_decref(root);
    return status;
}

/* -- files ----------------------------------------------------------------------------------------
 */

static enum rt_status copy_file(const char *from, const char *to, struct rt_error *err) {
    enum { CHUNK = 1 << 20 };
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    char *chunk = malloc(CHUNK);
    bool is_good = in != NULL && out != NULL && chunk != NULL;
    size_t n;
    while (is_good && (n = fread(chunk, 1, CHUNK, in)) > 0) {
        is_good = fwrite(chunk, 1, n, out) == n;
    }
    is_good = is_good && !ferror(in) && fflush(out) == 0 && fsync(fileno(out)) == 0;
    enum rt_status status = is_good ? RT_OK : fail_errno(err, "cannot copy the file");
    if (in != NULL) fclose(in);
    if (out != NULL && fclose(out) != 0 && status == RT_OK) {
        status = fail_errno(err, "cannot copy the file");
    }
    if (status != RT_OK) unlink(to);
    free(chunk);
    return status;
}

static enum rt_status sync_file(const char *path, struct rt_error *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fail_errno(err, "cannot open the file");
    enum rt_status status = fsync(fd) == 0 ? RT_OK : fail_errno(err, "cannot write the file");
    close(fd);
    return status;
}

static enum rt_status place_file(const struct scene_store_source *source, const char *to,
                                 struct rt_error *err) {
    if (source->move) {
        RT_TRY(sync_file(source->path, err));
        if (rename(source->path, to) == 0) return RT_OK;
        if (errno != EXDEV) return fail_errno(err, "cannot move the file");
    } else {
        unlink(to); /* a leftover of the same content */
        if (link(source->path, to) == 0) return RT_OK;
    }
    return copy_file(source->path, to, err);
}

enum rt_status scene_store_commit(const char *folder, struct scene_row *row,
                                  const struct scene_store_source *source, struct rt_error *err) {
    snprintf(row->file, sizeof row->file, "%s.%.16s.%.8s", row->id, row->digest, source->extension);
    set_version(row);
    char *path = path_join(folder, row->file);
    if (path == NULL) return rt_fail(err, RT_NO_MEMORY, "no memory for a path");
    bool replaces_itself = strcmp(source->old_file, row->file) == 0;
    enum rt_status status = place_file(source, path, err);
    if (status == RT_OK) status = write_sidecar(folder, row, err);
    if (status != RT_OK && !replaces_itself) unlink(path);
    if (status == RT_OK && source->old_file[0] != '\0' && !replaces_itself) {
        char *old = path_join(folder, source->old_file);
        if (old != NULL) unlink(old); /* renders and downloads in flight hold it open */
        free(old);
    }
    free(path);
    return status;
}

void scene_store_remove(const char *folder, const struct scene_row *row) {
    char *sidecar = sidecar_path(folder, row->id);
    char *file = path_join(folder, row->file);
    if (sidecar != NULL) unlink(sidecar); /* first: without it the file is a leftover */
    if (file != NULL && row->file[0] != '\0') unlink(file);
    free(file);
    free(sidecar);
}

/* -- scan -----------------------------------------------------------------------------------------
 */

struct listing {
    struct scene_row *rows;
    int32_t n_rows, capacity;
};

static bool append(struct listing *listing, const struct scene_row *row) {
    if (listing->n_rows == listing->capacity) {
        int32_t capacity = listing->capacity > 0 ? 2 * listing->capacity : 16;
        struct scene_row *rows = realloc(listing->rows, (size_t)capacity * sizeof *rows);
        if (rows == NULL) return false;
        listing->rows = rows;
        listing->capacity = capacity;
    }
    listing->rows[listing->n_rows++] = *row;
    return true;
}

/* "ID.json" -> ID. */
static bool id_before(const char *name, const char *dot, char id[RT_ID_BYTES]) {
    size_t n = (size_t)(dot - name);
    if (n == 0 || n >= RT_ID_BYTES) return false;
    memcpy(id, name, n);
    id[n] = '\0';
    return id_is_valid(id, false);
}

static void read_sidecar(const char *folder, const char *name, struct listing *listing) {
    char id[RT_ID_BYTES];
    if (!id_before(name, strrchr(name, '.'), id)) return;
    char *path = path_join(folder, name);
    struct rt_bytes text = {0};
    struct rt_error err;
    rt_error_clear(&err);
    struct scene_row row = {0};
    json_t *root = NULL;
    if (path != NULL && file_read(path, SIDECAR_MAX_BYTES, &text, &err) == RT_OK) {
        root = json_loadb(text.bytes, text.n_bytes, JSON_REJECT_DUPLICATES, NULL);
    }
    bool is_kept = root != NULL && row_from_json(id, root, &row) && append(listing, &row);
    if (!is_kept) {
        log_warn("scenes", "%s is not usable as the description of a scene: skipped", name);
        scene_row_free(&row);
    }
    json_decref(root);
    rt_bytes_free(&text);
    free(path);
}

static bool is_listed(const struct listing *listing, const char *id, const char *file) {
    for (int32_t i = 0; i < listing->n_rows; i++) {
        if (id != NULL && strcmp(listing->rows[i].id, id) == 0) return true;
        if (file != NULL && strcmp(listing->rows[i].file, file) == 0) return true;
    }
    return false;
}

static void adopt_file(const char *folder, const char *name, const char *id,
                       struct listing *listing) {
    struct scene_row row = {.created_ms = time_now_ms()};
    struct scene_summary summary;
    struct rt_error err;
    char *path = path_join(folder, name);
    bool is_good = path != NULL && scene_peek(path, &summary, &err) == RT_OK &&
                   file_digest(path, row.digest, &row.file_bytes, &err) == RT_OK;
    free(path);
    if (!is_good) {
        log_warn("scenes", "%s is not a scene file: skipped", name);
        return;
    }
    snprintf(row.id, sizeof row.id, "%s", id);
    snprintf(row.file, sizeof row.file, "%s", name);
    snprintf(row.name, sizeof row.name, "%s", summary.name[0] != '\0' ? summary.name : id);
    snprintf(row.kind, sizeof row.kind, "scene");
    snprintf(row.format, sizeof row.format, "%s", summary.format);
    snprintf(row.origin_type, sizeof row.origin_type, "folder");
    snprintf(row.reason, sizeof row.reason, "never-loaded");
    row.n_gaussians = summary.n_gaussians;
    row.sh_degree = summary.sh_degree;
    row.n_cameras = summary.n_cameras;
    row.n_actors = summary.n_actors;
    row.n_lidars = summary.n_lidars;
    row.t_begin_us = summary.t_begin_us;
    row.t_end_us = summary.t_end_us;
    row.device_bytes_estimate =
        row.n_gaussians * (11 + 3 * (int64_t)sh_count(row.sh_degree)) * (int64_t)sizeof(float);
    set_version(&row);
    if (!append(listing, &row)) log_warn("scenes", "no memory to list %s", name);
}

/* Leftovers of interrupted uploads are removed, other files adopted when they are scenes. */
static void look_at_file(const char *folder, const char *name, struct listing *listing) {
    char id[RT_ID_BYTES];
    const char *dot = strchr(name, '.');
    if (dot == NULL || name[0] == '.' || !id_before(name, dot, id)) return;
    if (is_listed(listing, NULL, name)) return;
    const char *last = strrchr(name, '.');
    if (last - dot == 17 && strspn(dot + 1, "0123456789abcdef") == 16) {
        char *path = path_join(folder, name);
        if (path != NULL) unlink(path);
        free(path);
        log_info("scenes", "removed %s, left over from an interrupted upload", name);
    } else if (!is_listed(listing, id, NULL)) {
        adopt_file(folder, name, id, listing);
    }
}

static bool is_sidecar(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot != NULL && strcmp(dot, ".json") == 0;
}

enum rt_status scene_store_scan(const char *folder, struct scene_row **rows, int32_t *n_rows,
                                struct rt_error *err) {
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return fail_errno(err, "cannot create the folder of scenes");
    }
    DIR *listed = opendir(folder);
    if (listed == NULL || access(folder, W_OK) != 0) {
        if (listed != NULL) closedir(listed);
        return fail_errno(err, "cannot write to the folder of scenes");
    }
    struct listing listing = {0};
    const struct dirent *item;
    while ((item = readdir(listed)) != NULL) {
        if (is_sidecar(item->d_name)) read_sidecar(folder, item->d_name, &listing);
    }
    rewinddir(listed);
    while ((item = readdir(listed)) != NULL) {
        if (!is_sidecar(item->d_name)) look_at_file(folder, item->d_name, &listing);
    }
    closedir(listed);
    *rows = listing.rows;
    *n_rows = listing.n_rows;
    return RT_OK;
}
