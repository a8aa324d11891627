/* Zips of stored entries by libzip. Times are fixed, so equal content gives equal bytes. */
#include "render/io/zip_encode.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* libzip turns times into local calendar fields; a fixed date and time sidesteps the time zone. */
enum { DOS_DATE_1980_01_01 = (1 << 5) | 1 };

static enum rt_status fail_zip(struct rt_error *err, zip_t *archive, const char *name) {
    zip_error_t *fault = zip_get_error(archive);
    enum rt_status status = zip_error_code_zip(fault) == ZIP_ER_MEMORY ? RT_NO_MEMORY : RT_INTERNAL;
    return rt_fail(err, status, "zip entry %.100s: %.150s", name, zip_error_strerror(fault));
}

enum rt_status zip_add_stored(zip_t *archive, const struct zip_entry *entry, struct rt_error *err) {
    zip_source_t *source = zip_source_buffer(archive, entry->bytes, entry->n_bytes, 0);
    if (!source) return fail_zip(err, archive, entry->name);
    zip_int64_t index = zip_file_add(archive, entry->name, source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
        zip_source_free(source);
        return fail_zip(err, archive, entry->name);
    }
    if (zip_set_file_compression(archive, (zip_uint64_t)index, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(archive, (zip_uint64_t)index, 0, DOS_DATE_1980_01_01, 0) != 0) {
        return fail_zip(err, archive, entry->name);
    }
    return RT_OK;
}

/* The finished archive lies in `source`, a growable buffer of libzip. */
static enum rt_status copy_out(zip_source_t *source, struct rt_bytes *out, struct rt_error *err) {
    zip_stat_t stat;
    if (zip_source_stat(source, &stat) != 0 || zip_source_open(source) != 0) {
        return rt_fail(err, RT_INTERNAL, "zip: cannot read back");
    }
    out->n_bytes = (size_t)stat.size;
    out->bytes = malloc(out->n_bytes > 0 ? out->n_bytes : 1);
    enum rt_status status = RT_OK;
    if (!out->bytes) {
        status = rt_fail(err, RT_NO_MEMORY, "zip of %zu bytes: out of memory", out->n_bytes);
    } else if (zip_source_read(source, out->bytes, out->n_bytes) != (zip_int64_t)out->n_bytes) {
        status = rt_fail(err, RT_INTERNAL, "zip: cannot read back");
    }
    zip_source_close(source);
    if (status != RT_OK) rt_bytes_free(out);
    return status;
}

enum rt_status zip_encode(const struct zip_entry *entries, int32_t n_entries, struct rt_bytes *out,
                          struct rt_error *err) {
    memset(out, 0, sizeof *out);
    zip_error_t fault;
    zip_error_init(&fault);
    zip_source_t *source = zip_source_buffer_create(NULL, 0, 0, &fault);
    zip_t *archive = source ? zip_open_from_source(source, ZIP_TRUNCATE, &fault) : NULL;
    zip_error_fini(&fault);
    if (!archive) {
        if (source) zip_source_free(source);
        return rt_fail(err, RT_NO_MEMORY, "zip: out of memory");
    }
    zip_source_keep(source);
    enum rt_status status = RT_OK;
    for (int32_t i = 0; i < n_entries && status == RT_OK; i++) {
        status = zip_add_stored(archive, &entries[i], err);
    }
    if (status == RT_OK && zip_close(archive) != 0) status = fail_zip(err, archive, "(closing)");
    if (status == RT_OK) {
        status = copy_out(source, out, err);
    } else {
        zip_discard(archive);
    }
    zip_source_free(source);
    return status;
}
