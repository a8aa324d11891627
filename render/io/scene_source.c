#include "render/io/scene_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <zip.h>

#include "render/core/limits.h"
#include "render/io/file_atomic.h"

struct scene_source {
    char folder[FILE_PATH_BYTES]; /* "" for a zip */
    zip_t *archive;               /* owned; NULL for a folder */
};

enum { LINK_MODE = 0120000, MODE_MASK = 0170000 };

static int compare_names(const void *a, const void *b) {
    return strcasecmp(*(const char *const *)a, *(const char *const *)b);
}

/* Two entries of one name, or of names that differ in case only, are a trap. */
static enum rt_status check_duplicates(const char **names, size_t n, struct rt_error *err) {
    qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 1; i < n; i++) {
        if (strcasecmp(names[i - 1], names[i]) == 0) {
            return rt_fail_file(err, "bad-value", -1, "zip: \"%.80s\" appears twice", names[i]);
        }
    }
    return RT_OK;
}

static bool entry_name_is_safe(const char *name) {
    char copy[RT_MAX_PATH_BYTES + 1];
    size_t n = strlen(name);
    if (n < 1 || n > RT_MAX_PATH_BYTES) return false;
    memcpy(copy, name, n + 1);
    if (copy[n - 1] == '/') copy[n - 1] = '\0'; /* a folder entry */
    return scene_path_is_safe(copy) && !path_ends(name, ".zip") && !path_ends(name, ".retake");
}

static enum rt_status check_entry(zip_t *archive, zip_uint64_t i, zip_uint64_t *stored_bytes,
                                  const char **name, struct rt_error *err) {
    zip_stat_t entry;
    zip_uint8_t system = 0;
    zip_uint32_t attributes = 0;
    *name = zip_get_name(archive, i, ZIP_FL_ENC_STRICT);
    if (!*name || zip_stat_index(archive, i, 0, &entry) != 0) {
        return rt_fail_file(err, "bad-header", -1, "zip: entry %llu has no valid name",
                            (unsigned long long)i);
    }
    if (!entry_name_is_safe(*name)) {
        return rt_fail_file(err, "bad-value", -1, "zip: entry name \"%.80s\" is not allowed",
                            *name);
    }
    zip_file_get_external_attributes(archive, i, 0, &system, &attributes);
    if (system == ZIP_OPSYS_UNIX && (attributes >> 16 & MODE_MASK) == LINK_MODE) {
        return rt_fail_file(err, "bad-value", -1, "zip: \"%.80s\" is a link", *name);
    }
    if (entry.encryption_method != ZIP_EM_NONE ||
        (entry.comp_method != ZIP_CM_STORE && entry.comp_method != ZIP_CM_DEFLATE)) {
        return rt_fail_file(err, "bad-value", -1, "zip: \"%.80s\" must be stored or deflated",
                            *name);
    }
    if (entry.size / RT_MAX_INFLATION > entry.comp_size + 1) {
        return rt_fail_file(err, "limit", -1, "zip: \"%.80s\" inflates more than %d times", *name,
                            RT_MAX_INFLATION);
    }
    *stored_bytes += entry.comp_size;
    return RT_OK;
}

static enum rt_status check_entries(zip_t *archive, zip_uint64_t n_bytes, struct rt_error *err) {
    zip_int64_t n = zip_get_num_entries(archive, 0);
    if (n < 1 || n > RT_MAX_ARCHIVE_ENTRIES) {
        return rt_fail_file(err, n < 1 ? "empty" : "limit", -1, "zip of %lld entries, at most %d",
                            (long long)n, RT_MAX_ARCHIVE_ENTRIES);
    }
    const char **names = calloc((size_t)n, sizeof *names);
    if (!names)
        return rt_fail(err, RT_NO_MEMORY, "zip of %lld entries: out of memory", (long long)n);
    enum rt_status status = RT_OK;
    zip_uint64_t stored_bytes = 0;
    for (zip_int64_t i = 0; i < n && status == RT_OK; i++) {
        status = check_entry(archive, (zip_uint64_t)i, &stored_bytes, &names[i], err);
    }
    /* More content than file means that entries overlap. */
    if (status == RT_OK && stored_bytes > n_bytes) {
        status = rt_fail_file(err, "bad-header", -1, "zip: entries overlap");
    }
    if (status == RT_OK) status = check_duplicates(names, (size_t)n, err);
    free(names);
    return status;
}

static enum rt_status fail_open(struct rt_error *err, int code) {
    if (code == ZIP_ER_MEMORY) return rt_fail(err, RT_NO_MEMORY, "zip: out of memory");
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    enum rt_status status = rt_fail_file(err, code == ZIP_ER_NOZIP ? "truncated" : "bad-header", -1,
                                         "not a whole zip: %.120s", zip_error_strerror(&error));
    zip_error_fini(&error);
    return status;
}

static enum rt_status wrap(zip_t *archive, zip_uint64_t n_bytes, struct scene_source **out,
                           struct rt_error *err) {
    enum rt_status status = check_entries(archive, n_bytes, err);
    struct scene_source *source = status == RT_OK ? calloc(1, sizeof *source) : NULL;
    if (status == RT_OK && !source) status = rt_fail(err, RT_NO_MEMORY, "zip: out of memory");
    if (status != RT_OK) {
        zip_discard(archive);
        return status;
    }
    source->archive = archive;
    *out = source;
    return RT_OK;
}

enum rt_status scene_source_open_zip(const void *bytes, size_t n_bytes, struct scene_source **out,
                                     struct rt_error *err) {
    *out = NULL;
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *buffer = zip_source_buffer_create(bytes, n_bytes, 0, &error);
    zip_t *archive =
        buffer ? zip_open_from_source(buffer, ZIP_RDONLY | ZIP_CHECKCONS, &error) : NULL;
    int code = zip_error_code_zip(&error);
    zip_error_fini(&error);
    if (!archive) {
        if (buffer) zip_source_free(buffer);
        return fail_open(err, code);
    }
    return wrap(archive, n_bytes, out, err);
}

static enum rt_status open_folder(const char *path, struct scene_source **out,
                                  struct rt_error *err) {
    struct scene_source *source = calloc(1, sizeof *source);
    if (!source) return rt_fail(err, RT_NO_MEMORY, "scene folder: out of memory");
    if (snprintf(source->folder, sizeof source->folder, "%s", path) >= (int)sizeof source->folder) {
        free(source);
        return rt_fail(err, RT_INVALID, "path of %zu bytes is too long", strlen(path));
    }
    *out = source;
    return RT_OK;
}

enum rt_status scene_source_open(const char *path, struct scene_source **out,
                                 struct rt_error *err) {
    *out = NULL;
    struct stat st;
    if (stat(path, &st) != 0) return file_fail(err, path, "open");
    if (S_ISDIR(st.st_mode)) return open_folder(path, out, err);
    int code = 0;
    zip_t *archive = zip_open(path, ZIP_RDONLY | ZIP_CHECKCONS, &code);
    if (!archive) return fail_open(err, code);
    return wrap(archive, (zip_uint64_t)st.st_size, out, err);
}

void scene_source_close(struct scene_source **source) {
    if (*source && (*source)->archive) zip_discard((*source)->archive);
    free(*source);
    *source = NULL;
}

bool scene_source_has(const struct scene_source *source, const char *name) {
    if (!source->archive) return folder_source_has(source->folder, name);
    return zip_name_locate(source->archive, name, ZIP_FL_ENC_STRICT) >= 0;
}

/* Reading to the end makes libzip compare the sum. */
static enum rt_status read_entry(zip_file_t *entry, const char *name, struct rt_bytes *out,
                                 struct rt_error *err) {
    char beyond;
    zip_int64_t n = zip_fread(entry, out->bytes, out->n_bytes);
    zip_int64_t n_beyond = n < 0 ? -1 : zip_fread(entry, &beyond, 1);
    if (n == (zip_int64_t)out->n_bytes && n_beyond == 0) return RT_OK;
    bool is_sum = zip_error_code_zip(zip_file_get_error(entry)) == ZIP_ER_CRC;
    return rt_fail_file(
        err, is_sum ? "digest" : "truncated", -1,
        is_sum ? "%.200s: content and checksum differ" : "%.200s: content and declared size differ",
        name);
}

static enum rt_status read_zip(zip_t *archive, const char *name, size_t max_bytes,
                               struct rt_bytes *out, struct rt_error *err) {
    zip_stat_t stat;
    if (!scene_path_is_safe(name) || zip_stat(archive, name, ZIP_FL_ENC_STRICT, &stat) != 0) {
        return rt_coded(err, rt_fail(err, RT_NOT_FOUND, "%.200s: is not in the scene", name),
                        "missing-file");
    }
    if (stat.size > max_bytes) {
        return rt_fail_file(err, "limit", -1, "%.200s: %llu bytes exceed the limit of %zu", name,
                            (unsigned long long)stat.size, max_bytes);
    }
    out->n_bytes = (size_t)stat.size;
    out->bytes = malloc(out->n_bytes > 0 ? out->n_bytes : 1);
    zip_file_t *entry = zip_fopen_index(archive, stat.index, 0);
    enum rt_status status = RT_OK;
    if (!out->bytes) {
        status = rt_fail(err, RT_NO_MEMORY, "%.200s: %zu bytes: out of memory", name, out->n_bytes);
    } else if (!entry) {
        status = rt_fail_file(err, "bad-header", -1, "%.200s: %.120s", name, zip_strerror(archive));
    } else {
        status = read_entry(entry, name, out, err);
    }
    if (entry) zip_fclose(entry);
    if (status != RT_OK) rt_bytes_free(out);
    return status;
}

enum rt_status scene_source_read(struct scene_source *source, const char *name, size_t max_bytes,
                                 struct rt_bytes *out, struct rt_error *err) {
    memset(out, 0, sizeof *out);
    if (!source->archive) return folder_source_read(source->folder, name, max_bytes, out, err);
    return read_zip(source->archive, name, max_bytes, out, err);
}
