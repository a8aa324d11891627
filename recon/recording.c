#include "recon/recording.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recon/formats/formats.h"

enum { MAX_FINDINGS = 1000 };

static void camera_free(struct recording_camera *camera) {
    for (int32_t i = 0; i < camera->n_frames; i++) {
        struct recording_frame *frame = &camera->frames[i];
        free(frame->file);
        free(frame->mask_file);
        free(frame->depth_file);
        free(frame->camera);
    }
    free(camera->frames);
    free(camera->ego_mask_file);
}

void recording_close(struct recording **recording) {
    struct recording *closed = *recording;
    if (!closed) return;
    for (int32_t i = 0; i < closed->n_cameras; i++) camera_free(&closed->cameras[i]);
    for (int32_t i = 0; i < closed->n_findings; i++) {
        free(closed->findings[i].file);
        free(closed->findings[i].message);
    }
    free(closed->name);
    free(closed->folder);
    free(closed->cameras);
    free(closed->points.xyz);
    free(closed->points.rgb);
    free(closed->carried_json);
    free(closed->findings);
    free(closed);
    *recording = NULL;
}

enum rt_status recording_add_finding(struct recording *recording,
                                     const struct recording_finding *what, struct rt_error *err,
                                     const char *format, ...) {
    int32_t n = recording->n_findings;
    if (n >= MAX_FINDINGS) return RT_OK;
    struct recording_finding *grown =
        realloc(recording->findings, ((size_t)n + 1) * sizeof *recording->findings);
    if (!grown) return rt_fail(err, RT_NO_MEMORY, "finding: out of memory");
    recording->findings = grown;
    struct recording_finding finding = {.severity = what->severity};
    memcpy(finding.code, what->code, sizeof finding.code);
    char message[RT_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    finding.message = strdup(message);
    finding.file = what->file ? strdup(what->file) : NULL;
    if (!finding.message || (what->file && !finding.file)) {
        free(finding.message);
        free(finding.file);
        return rt_fail(err, RT_NO_MEMORY, "finding: out of memory");
    }
    recording->findings[recording->n_findings++] = finding;
    return RT_OK;
}

static bool is_picture_name(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0 ||
                   strcasecmp(dot, ".png") == 0 || strcasecmp(dot, ".heic") == 0 ||
                   strcasecmp(dot, ".webp") == 0);
}

static bool is_litter(const char *name) { return name[0] == '.' || strcmp(name, "__MACOSX") == 0; }

/* What stands in a folder without poses, for the message and for the look one level down. */
struct folder_contents {
    int32_t n_pictures;
    int32_t n_folders;
    int32_t n_others;
    char folder[RT_MAX_PATH_BYTES + 1]; /* the last one seen */
};

static void list_folder(const char *path, struct folder_contents *out) {
    memset(out, 0, sizeof *out);
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct stat st;
        if (is_litter(entry->d_name)) continue;
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (S_ISDIR(st.st_mode)) {
            out->n_folders++;
            snprintf(out->folder, sizeof out->folder, "%s", entry->d_name);
        } else if (is_picture_name(entry->d_name)) {
            out->n_pictures++;
        } else {
            out->n_others++;
        }
    }
    if (dir) closedir(dir);
}

static enum rt_status refuse_unknown(const char *path, struct rt_error *err) {
    struct folder_contents here;
    struct folder_contents below = {0};
    list_folder(path, &here);
    char images[4096];
    if (snprintf(images, sizeof images, "%s/images", path) < (int)sizeof images) {
        list_folder(images, &below);
    }
    int32_t n_pictures = here.n_pictures + below.n_pictures;
    if (n_pictures > 0) {
        return rt_fail_file(err, "missing-file", -1,
                            "%d photos, but nothing says where they were taken: camera poses are "
                            "needed. The README section \"Bring your own photos\" shows how COLMAP "
                            "(a Debian package) computes them from the photos alone",
                            n_pictures);
    }
    return rt_fail_file(err, "unsupported-format", -1,
                        "no recording here: looked for recording.json, transforms.json, "
                        "transforms_train.json and a COLMAP model (sparse/0, sparse or cameras.bin "
                        "and images.bin)");
}

typedef enum rt_status (*reader_function)(struct reader *reader, struct rt_error *err);

static reader_function find_reader(const struct recording_folder *folder) {
    if (recording_has_file(folder, "recording.json")) return retake_recording_read;
    if (recording_has_file(folder, "transforms.json")) return nerfstudio_read;
    if (recording_has_file(folder, "transforms_train.json")) return nerfstudio_read;
    if (colmap_is_here(folder)) return colmap_read;
    return NULL;
}

/* Descends into a single top folder, as archives have it. `path` is replaced then. */
static enum rt_status find_top(char **path, struct recording_folder *folder, reader_function *read,
                               struct rt_error *err) {
    *read = find_reader(folder);
    struct folder_contents contents;
    list_folder(*path, &contents);
    if (*read || contents.n_folders != 1 || contents.n_pictures > 0) return RT_OK;
    struct recording_folder below;
    size_t n = strlen(*path) + strlen(contents.folder) + 2;
    char *longer = malloc(n);
    if (!longer) return rt_fail(err, RT_NO_MEMORY, "folder name: out of memory");
    snprintf(longer, n, "%s/%s", *path, contents.folder);
    if (recording_folder_open(longer, &below, NULL) == RT_OK) {
        *read = find_reader(&below);
        if (*read) {
            recording_folder_close(folder);
            *folder = below;
            free(*path);
            *path = longer;
            return RT_OK;
        }
        recording_folder_close(&below);
    }
    free(longer);
    return RT_OK;
}

static enum rt_status read_folder(struct recording *recording, const char *path,
                                  struct rt_error *err) {
    struct recording_folder folder = {.fd = -1};
    struct reader reader;
    reader_function read = NULL;
    recording->folder = realpath(path, NULL);
    if (!recording->folder) {
        return rt_fail(err, errno == ENOMEM ? RT_NO_MEMORY : RT_NOT_FOUND, "%s", strerror(errno));
    }
    RT_TRY(recording_folder_open(recording->folder, &folder, err));
    enum rt_status status = find_top(&recording->folder, &folder, &read, err);
    if (status == RT_OK && !read) status = refuse_unknown(recording->folder, err);
    if (status == RT_OK) {
        const char *slash = strrchr(recording->folder, '/');
        recording->name = strdup(slash && slash[1] ? slash + 1 : "recording");
        if (!recording->name) status = rt_fail(err, RT_NO_MEMORY, "name: out of memory");
    }
    if (status == RT_OK) {
        reader_begin(&reader, recording, &folder);
        status = read(&reader, err);
    }
    recording_folder_close(&folder);
    return status;
}

enum rt_status recording_open(const char *folder, struct recording **out, struct rt_error *err) {
    *out = NULL;
    struct recording *recording = calloc(1, sizeof *recording);
    if (!recording) return rt_fail(err, RT_NO_MEMORY, "recording: out of memory");
    enum rt_status status = read_folder(recording, folder, err);
    if (status == RT_BAD_FILE) {
        /* One kind of refusal for the whole recording, whichever file it was. */
        status = RT_BAD_RECORDING;
        if (err) err->status = status;
    }
    if (status != RT_OK) {
        recording_close(&recording);
        return status;
    }
    *out = recording;
    return RT_OK;
}
