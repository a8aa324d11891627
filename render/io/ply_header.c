#include "render/io/ply_header.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_HEADER_BYTES = 64 * 1024, MAX_LINE_BYTES = 4096, MAX_WORDS = 6 };

struct words {
    char text[MAX_LINE_BYTES + 1];
    char *word[MAX_WORDS];
    int n; /* words beyond MAX_WORDS count, but are not kept */
};

bool ply_is(struct byte_span source) {
    return source.n_bytes >= 4 && memcmp(source.bytes, "ply", 3) == 0 &&
           (source.bytes[3] == '\n' || source.bytes[3] == '\r');
}

size_t ply_type_bytes(enum ply_type type) {
    static const size_t sizes[PLY_N_TYPES] = {1, 1, 2, 2, 4, 4, 4, 8};
    return sizes[type];
}

static bool find_type(const char *name, enum ply_type *out) {
    static const char *const names[PLY_N_TYPES][2] = {
        {"char", "int8"}, {"uchar", "uint8"}, {"short", "int16"},   {"ushort", "uint16"},
        {"int", "int32"}, {"uint", "uint32"}, {"float", "float32"}, {"double", "float64"}};
    for (int i = 0; i < PLY_N_TYPES; i++) {
        if (strcmp(name, names[i][0]) == 0 || strcmp(name, names[i][1]) == 0) {
            *out = (enum ply_type)i;
            return true;
        }
    }
    return false;
}

/* Next line without its end (\n or \r\n); *at moves behind the \n. */
static enum rt_status next_line(struct byte_span source, size_t *at, struct words *line,
                                struct rt_error *err) {
    size_t limit = source.n_bytes < MAX_HEADER_BYTES ? source.n_bytes : MAX_HEADER_BYTES;
    const unsigned char *from = source.bytes + *at;
    const unsigned char *end = *at < limit ? memchr(from, '\n', limit - *at) : NULL;
    if (!end) {
        if (limit == MAX_HEADER_BYTES) {
            return rt_fail_file(err, "limit", (int64_t)*at, "PLY header exceeds %d bytes",
                                MAX_HEADER_BYTES);
        }
        return rt_fail_file(err, "truncated", (int64_t)source.n_bytes,
                            "PLY header ends before end_header");
    }
    size_t n = (size_t)(end - from);
    if (n > MAX_LINE_BYTES) {
        return rt_fail_file(err, "limit", (int64_t)*at, "PLY header line of %zu bytes exceeds %d",
                            n, MAX_LINE_BYTES);
    }
    *at += n + 1;
    if (n > 0 && from[n - 1] == '\r') n--;
    memcpy(line->text, from, n);
    line->text[n] = '\0';
    if (strlen(line->text) != n) {
        return rt_fail_file(err, "bad-header", (int64_t)*at, "PLY header holds a zero byte");
    }
    return RT_OK;
}

static void split(struct words *line) {
    line->n = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line->text, " \t\r\v\f", &rest); word;
         word = strtok_r(NULL, " \t\r\v\f", &rest)) {
        if (line->n < MAX_WORDS) line->word[line->n] = word;
        line->n++;
    }
}

static enum rt_status fail_line(struct rt_error *err, size_t at, const char *what) {
    return rt_fail_file(err, "bad-header", (int64_t)at, "PLY header: %s", what);
}

static enum rt_status read_format(const struct words *line, struct ply_header *header, size_t at,
                                  struct rt_error *err) {
    if (line->n != 3) return fail_line(err, at, "format needs an encoding and a version");
    if (strcmp(line->word[1], "ascii") == 0) {
        header->encoding = PLY_ASCII;
    } else if (strcmp(line->word[1], "binary_little_endian") == 0) {
        header->encoding = PLY_LITTLE_ENDIAN;
    } else if (strcmp(line->word[1], "binary_big_endian") == 0) {
        header->encoding = PLY_BIG_ENDIAN;
    } else {
        return fail_line(err, at,
                         "format must be ascii, binary_little_endian or "
                         "binary_big_endian");
    }
    if (strcmp(line->word[2], "1.0") == 0) return RT_OK;
    return rt_fail_file(err, "unsupported-version", (int64_t)at, "PLY version %.20s: must be 1.0",
                        line->word[2]);
}

static bool name_fits(const char *name) { return strlen(name) < PLY_NAME_BYTES; }

static enum rt_status read_element(const struct words *line, struct ply_header *header, size_t at,
                                   struct rt_error *err) {
    if (line->n != 3 || !name_fits(line->word[1])) {
        return fail_line(err, at, "element needs a name and a count");
    }
    if (header->n_elements == PLY_MAX_ELEMENTS) {
        return rt_fail_file(err, "limit", (int64_t)at, "PLY header: more than %d elements",
                            PLY_MAX_ELEMENTS);
    }
    if (ply_find_element(header, line->word[1])) {
        return fail_line(err, at, "an element appears twice");
    }
    uint64_t n = 0;
    for (const char *c = line->word[2]; *c; c++) {
        if (!isdigit((unsigned char)*c)) return fail_line(err, at, "a count is not a number");
        n = n > UINT64_MAX / 10 - 1 ? UINT64_MAX / 10 : n * 10 + (uint64_t)(*c - '0');
    }
    struct ply_element *element = &header->elements[header->n_elements++];
    snprintf(element->name, sizeof element->name, "%s", line->word[1]);
    element->n_rows = n;
    element->i_property = header->n_properties;
    element->header = header;
    return RT_OK;
}

static enum rt_status read_property(const struct words *line, struct ply_header *header, size_t at,
                                    struct rt_error *err) {
    if (header->n_elements == 0) return fail_line(err, at, "property before any element");
    if (header->n_properties == PLY_MAX_PROPERTIES) {
        return rt_fail_file(err, "limit", (int64_t)at, "PLY header: more than %d properties",
                            PLY_MAX_PROPERTIES);
    }
    struct ply_element *element = &header->elements[header->n_elements - 1];
    struct ply_property property = {0};
    property.is_list = line->n == 5 && strcmp(line->word[1], "list") == 0;
    if (!property.is_list && line->n != 3)
        return fail_line(err, at, "property needs type and name");
    const char *type = line->word[property.is_list ? 3 : 1];
    const char *name = line->word[property.is_list ? 4 : 2];
    if (!find_type(type, &property.type) || !name_fits(name)) {
        return fail_line(err, at, "property of unknown type");
    }
    if (property.is_list &&
        (!find_type(line->word[2], &property.count_type) || property.count_type >= PLY_F32)) {
        return fail_line(err, at, "list count must be a whole number type");
    }
    snprintf(property.name, sizeof property.name, "%s", name);
    property.offset_bytes = element->row_bytes;
    for (int32_t i = 0; i < element->n_properties; i++) {
        if (strcmp(ply_property_at(element, i)->name, name) == 0) {
            return fail_line(err, at, "a property appears twice");
        }
    }
    element->row_bytes +=
        (uint32_t)ply_type_bytes(property.is_list ? property.count_type : property.type);
    element->has_list |= property.is_list;
    header->properties[header->n_properties++] = property;
    element->n_properties++;
    return RT_OK;
}

/* Comments with a meaning (formats.md 3.1): Brush, Postshot and our own; last wins. */
static void read_comment(struct words *line, struct ply_header *header) {
    for (int i = 1; i < line->n && i < MAX_WORDS; i++) {
        for (char *c = line->word[i]; *c; c++) *c = (char)tolower((unsigned char)*c);
    }
    if (line->n != 3) return;
    const char *key = line->word[1];
    const char *value = line->word[2];
    if (strcmp(key, "splatrendermode:") == 0) header->antialiased = strcmp(value, "mip") == 0;
    if (strcmp(key, "antialiased") == 0) header->antialiased = strcmp(value, "1") == 0;
    if (strcmp(key, "retake_axes") == 0 && strlen(value) == 3) {
        memcpy(header->axes, value, 4);
    }
}

static enum rt_status read_line(struct words *line, struct ply_header *header, bool *has_format,
                                size_t at, struct rt_error *err) {
    if (line->n == 0) return RT_OK;
    const char *key = line->word[0];
    if (strcmp(key, "comment") == 0 || strcmp(key, "obj_info") == 0) {
        read_comment(line, header);
        return RT_OK;
    }
    if (strcmp(key, "format") == 0) {
        *has_format = true;
        return read_format(line, header, at, err);
    }
    if (strcmp(key, "element") == 0) return read_element(line, header, at, err);
    if (strcmp(key, "property") == 0) return read_property(line, header, at, err);
    return fail_line(err, at, "unknown keyword");
}

static enum rt_status read_lines(struct byte_span source, struct words *line,
                                 struct ply_header *header, struct rt_error *err) {
    size_t at = 0;
    bool has_format = false;
    RT_TRY(next_line(source, &at, line, err)); /* "ply" */
    for (;;) {
        size_t line_at = at;
        RT_TRY(next_line(source, &at, line, err));
        split(line);
        if (line->n == 1 && strcmp(line->word[0], "end_header") == 0) break;
        RT_TRY(read_line(line, header, &has_format, line_at, err));
    }
    header->body_offset = at;
    return has_format ? RT_OK : fail_line(err, 0, "no format line");
}

enum rt_status ply_header_parse(struct byte_span source, struct ply_header **out,
                                struct rt_error *err) {
    *out = NULL;
    if (!ply_is(source)) return rt_fail_file(err, "bad-magic", 0, "not a PLY file");
    struct words *line = malloc(sizeof *line);
    struct ply_header *header = calloc(1, sizeof *header);
    enum rt_status status = line && header
                                ? read_lines(source, line, header, err)
                                : rt_fail(err, RT_NO_MEMORY, "PLY header: out of memory");
    free(line);
    if (status != RT_OK) {
        free(header);
        return status;
    }
    *out = header;
    return RT_OK;
}

void ply_header_destroy(struct ply_header **header) {
    free(*header);
    *header = NULL;
}

const struct ply_element *ply_find_element(const struct ply_header *header, const char *name) {
    for (int32_t i = 0; i < header->n_elements; i++) {
        if (strcmp(header->elements[i].name, name) == 0) return &header->elements[i];
    }
    return NULL;
}

const struct ply_property *ply_property_at(const struct ply_element *element, int32_t column) {
    return &element->header->properties[element->i_property + column];
}

int32_t ply_column(const struct ply_element *element, const char *name) {
    for (int32_t i = 0; i < element->n_properties; i++) {
        const struct ply_property *property = ply_property_at(element, i);
        if (!property->is_list && strcmp(property->name, name) == 0) return i;
    }
    return -1;
}

void ply_list_properties(const struct ply_element *element, char *text, size_t n_bytes) {
    size_t used = 0;
    text[0] = '\0';
    for (int32_t i = 0; i < element->n_properties; i++) {
        int n = snprintf(text + used, n_bytes - used, "%s%s", i ? " " : "",
                         ply_property_at(element, i)->name);
        if (n < 0 || (size_t)n >= n_bytes - used) {
            if (n_bytes >= 4) memcpy(text + n_bytes - 4, "...", 4);
            return;
        }
        used += (size_t)n;
    }
}
