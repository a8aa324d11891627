#include "render/io/splat_detect.h"

#include <stdio.h>
#include <string.h>

#include "render/io/file_atomic.h"
#include "render/io/ply_header.h"

static enum rt_status fail_unsupported(struct rt_error *err, const char *what) {
    return rt_coded(
        err,
        rt_fail(err, RT_UNSUPPORTED,
                "%s is not read by this version: convert it to .ply, .spz or .splat", what),
        "unsupported-format");
}

static bool starts(struct byte_span source, const char *magic, size_t n) {
    return source.n_bytes >= n && memcmp(source.bytes, magic, n) == 0;
}

static bool contains(struct byte_span source, const char *text) {
    size_t n = strlen(text);
    size_t limit = source.n_bytes < 65536 ? source.n_bytes : 65536;
    for (size_t i = 0; i + n <= limit; i++) {
        const unsigned char *at = memchr(source.bytes + i, text[0], limit - n + 1 - i);
        if (!at) return false;
        i = (size_t)(at - source.bytes);
        if (memcmp(at, text, n) == 0) return true;
    }
    return false;
}

static uint32_t load_u32(const unsigned char *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t load_u16(const unsigned char *at) { return (uint32_t)at[0] | (uint32_t)at[1] << 8; }

/* Signatures of the zip records: central directory entry, end of central directory. */
enum { CENTRAL_BYTES = 46, END_BYTES = 22, MAX_COMMENT_BYTES = 65535, MAX_LOOKED_AT = 1000 };

static const unsigned char *find_end_record(struct byte_span source) {
    if (source.n_bytes < END_BYTES) return NULL;
    size_t last = source.n_bytes - END_BYTES;
    size_t first = last > MAX_COMMENT_BYTES ? last - MAX_COMMENT_BYTES : 0;
    for (size_t at = last + 1; at-- > first;) {
        if (memcmp(source.bytes + at, "PK\5\6", 4) == 0) return source.bytes + at;
    }
    return NULL;
}

bool zip_names(struct byte_span source, const char *entry) {
    const unsigned char *end = find_end_record(source);
    if (!end) return false;
    size_t at = load_u32(end + 16);
    size_t n_entry = strlen(entry);
    for (int i = 0; i < MAX_LOOKED_AT; i++) {
        if (at > source.n_bytes || source.n_bytes - at < CENTRAL_BYTES) return false;
        const unsigned char *record = source.bytes + at;
        if (memcmp(record, "PK\1\2", 4) != 0) return false;
        size_t n_name = load_u16(record + 28);
        size_t n_rest = load_u16(record + 30) + load_u16(record + 32);
        if (n_name > source.n_bytes - at - CENTRAL_BYTES) return false;
        if (n_name == n_entry && memcmp(record + CENTRAL_BYTES, entry, n_entry) == 0) return true;
        at += CENTRAL_BYTES + n_name + n_rest;
    }
    return false;
}

static enum rt_status fail_zip(struct byte_span source, struct rt_error *err) {
    if (zip_names(source, "scene.json")) {
        return rt_fail(err, RT_INVALID, "this is a .retake scene, not a splat file");
    }
    if (zip_names(source, "meta.json")) return fail_unsupported(err, "SOG (.sog)");
    if (zip_names(source, "lod-meta.json")) return fail_unsupported(err, "streamed SOG");
    if (zip_names(source, "default.usda")) return fail_unsupported(err, "USDZ (.usdz)");
    return rt_fail_file(err, "bad-magic", 0, "a zip without scene.json, meta.json or default.usda");
}

static enum rt_status fail_json(struct byte_span source, struct rt_error *err) {
    if (contains(source, "\"asset\"")) return fail_unsupported(err, "glTF (.gltf)");
    if (contains(source, "retake-scene")) {
        return rt_fail(err, RT_INVALID, "this is the scene.json of a scene: name its folder");
    }
    if (contains(source, "retake-recording") || contains(source, "\"frames\"")) {
        return rt_fail(err, RT_INVALID, "this describes a recording, not a splat file");
    }
    if (contains(source, "\"means\"")) return fail_unsupported(err, "SOG (meta.json)");
    return rt_fail_file(err, "bad-magic", 0, "a JSON file that describes no known splats");
}

static enum rt_status detect_spz(struct byte_span source, enum splat_kind *kind,
                                 struct rt_error *err) {
    if (source.n_bytes < 8) {
        return rt_fail_file(err, "truncated", (int64_t)source.n_bytes, "SPZ header ends early");
    }
    uint32_t version = load_u32(source.bytes + 4);
    if (version >= 1 && version <= 3) {
        return rt_fail_file(err, "bad-header", 4,
                            "a bare SPZ v1-v3 stream (version %u): the file must be gzipped",
                            version);
    }
    if (version != 4) {
        return rt_fail_file(err, "unsupported-version", 4, "SPZ version %u: must be 1...4",
                            version);
    }
    *kind = SPLAT_SPZ_ZSTD;
    return RT_OK;
}

static bool is_named(const char *name, const char *hint, const char *format) {
    char ending[24];
    snprintf(ending, sizeof ending, ".%s", format);
    return hint ? strcmp(hint, format) == 0 : path_ends(name, ending);
}

enum rt_status splat_detect(struct byte_span source, const char *name, const char *format_hint,
                            enum splat_kind *kind, struct rt_error *err) {
    if (source.n_bytes == 0) return rt_fail_file(err, "empty", 0, "the file has 0 bytes");
    *kind = SPLAT_PLY;
    if (ply_is(source)) return RT_OK;
    *kind = SPLAT_SPZ_GZIP;
    if (starts(source, "\x1f\x8b", 2)) return RT_OK;
    if (starts(source, "NGSP", 4)) return detect_spz(source, kind, err);
    if (starts(source, "PK\3\4", 4)) return fail_zip(source, err);
    if (starts(source, "glTF", 4)) return fail_unsupported(err, "glTF (.glb)");
    /* No magic from here on: the name or the request decides. */
    *kind = SPLAT_ANTIMATTER;
    if (is_named(name, format_hint, "splat")) return RT_OK;
    if (is_named(name, format_hint, "ksplat")) return fail_unsupported(err, "ksplat (.ksplat)");
    if (source.bytes[0] == '{') return fail_json(source, err);
    return rt_fail_file(err, "bad-magic", 0,
                        "starts with none of the known splat formats (.ply, .spz; .splat needs "
                        "its ending or format=splat)");
}
