#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recon/formats/colmap.h"
#include "recon/formats/points_file.h"

enum { WORD_BYTES = 64, NAME_BYTES = 2 * RT_MAX_PATH_BYTES };

struct span {
    const char *at;
    const char *end;
};

/* Lines of a text in memory, counted for messages. */
struct lines {
    struct span rest;
    int64_t number;
};

/* Next line without its end (\n or \r\n); false at the end of the text. */
static bool next_line(struct lines *lines, struct span *line) {
    if (lines->rest.at >= lines->rest.end) return false;
    const char *end = memchr(lines->rest.at, '\n', (size_t)(lines->rest.end - lines->rest.at));
    line->at = lines->rest.at;
    line->end = end ? end : lines->rest.end;
    lines->rest.at = end ? end + 1 : lines->rest.end;
    lines->number++;
    if (line->end > line->at && line->end[-1] == '\r') line->end--;
    return true;
}

static void skip_blanks(struct span *line) {
    while (line->at < line->end && (*line->at == ' ' || *line->at == '\t')) line->at++;
}

/* Next line that is neither empty nor a comment. */
static bool next_record(struct lines *lines, struct span *line) {
    while (next_line(lines, line)) {
        skip_blanks(line);
        if (line->at < line->end && *line->at != '#') return true;
    }
    return false;
}

/* The next word, NUL-terminated; false when there is none or it is too long. */
static bool next_word(struct span *line, char word[WORD_BYTES]) {
    skip_blanks(line);
    size_t n = 0;
    while (line->at < line->end && *line->at != ' ' && *line->at != '\t' && n + 1 < WORD_BYTES) {
        word[n++] = *line->at++;
    }
    word[n] = 0;
    return n > 0 && n + 1 < WORD_BYTES;
}

static bool next_number(struct span *line, double *value) {
    char word[WORD_BYTES];
    if (!next_word(line, word)) return false;
    char *end = NULL;
    *value = strtod(word, &end);
    return *end == 0 && isfinite(*value);
}

static bool next_integer(struct span *line, uint64_t max, uint64_t *value) {
    char word[WORD_BYTES];
    if (!next_word(line, word) || word[0] < '0' || word[0] > '9') return false;
    char *end = NULL;
    errno = 0;
    unsigned long long parsed = strtoull(word, &end, 10);
    *value = parsed;
    return *end == 0 && errno == 0 && parsed <= max;
}

static enum rt_status bad_line(const struct lines *lines, const char *expected,
                               struct rt_error *err) {
    return rt_fail_file(err, "bad-value", -1, "line %lld: expected %s", (long long)lines->number,
                        expected);
}

static struct lines lines_make(const void *bytes, size_t n_bytes) {
    const char *text = bytes;
    return (struct lines){.rest = {text, text + n_bytes}};
}

enum rt_status colmap_cameras_txt(struct colmap *colmap, const void *bytes, size_t n_bytes,
                                  struct rt_error *err) {
    struct lines lines = lines_make(bytes, n_bytes);
    struct span line;
    while (next_record(&lines, &line)) {
        struct colmap_camera camera = {0};
        uint64_t id = 0;
        char model[WORD_BYTES];
        if (!next_integer(&line, UINT32_MAX, &id) || !next_word(&line, model) ||
            !next_integer(&line, UINT32_MAX, &camera.width) ||
            !next_integer(&line, UINT32_MAX, &camera.height)) {
            return bad_line(&lines, "CAMERA_ID MODEL WIDTH HEIGHT PARAMS[]", err);
        }
        camera.id = (uint32_t)id;
        camera.model = colmap_model_by_name(model);
        camera.model_name = model;
        for (int32_t i = 0; i < colmap_n_parameters(camera.model); i++) {
            if (!next_number(&line, &camera.parameters[i])) {
                return bad_line(&lines, "all parameters of the camera model", err);
            }
        }
        skip_blanks(&line);
        if (camera.model >= 0 && line.at < line.end) {
            return bad_line(&lines, "no more parameters than the camera model has", err);
        }
        RT_TRY(colmap_add_camera(colmap, &camera, err));
    }
    return RT_OK;
}

/* The line after an image: X Y POINT3D_ID triples, often empty. Checked because some tools drop the
 * empty lines, and every second image would then be swallowed without a word. */
static bool is_points_line(struct span line) {
    int64_t n_words = 0;
    for (;;) {
        skip_blanks(&line);
        if (line.at == line.end) return n_words % 3 == 0;
        n_words++;
        for (; line.at < line.end && *line.at != ' ' && *line.at != '\t'; line.at++) {
            if (*line.at == 0 || !strchr("0123456789+-.eEnaif", *line.at)) return false;
        }
    }
}

enum rt_status colmap_images_txt(struct colmap *colmap, const void *bytes, size_t n_bytes,
                                 struct rt_error *err) {
    struct lines lines = lines_make(bytes, n_bytes);
    struct span line;
    while (next_record(&lines, &line)) {
        struct colmap_image image = {0};
        uint64_t id = 0;
        bool good = next_integer(&line, UINT32_MAX, &id);
        for (int i = 0; i < 4; i++) good = good && next_number(&line, &image.q_wxyz[i]);
        for (int i = 0; i < 3; i++) good = good && next_number(&line, &image.t[i]);
        good = good && next_integer(&line, UINT32_MAX, &id);
        skip_blanks(&line);
        size_t n_name = (size_t)(line.end - line.at);
        if (!good || n_name == 0 || n_name >= NAME_BYTES || memchr(line.at, 0, n_name)) {
            return bad_line(&lines, "IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME", err);
        }
        char name[NAME_BYTES]; /* may hold blanks: the rest of the line */
        memcpy(name, line.at, n_name);
        name[n_name] = 0;
        image.name = name;
        image.camera_id = (uint32_t)id;
        RT_TRY(colmap_add_image(colmap, &image, err));
        if (next_line(&lines, &line) && !is_points_line(line)) {
            return bad_line(
                &lines, "the points of the image before (X Y POINT3D_ID, or an empty line)", err);
        }
    }
    return RT_OK;
}

static int64_t count_records(struct lines lines) {
    struct span line;
    int64_t n = 0;
    while (next_record(&lines, &line)) n++;
    return n;
}

enum rt_status colmap_points_txt(struct colmap *colmap, const void *bytes, size_t n_bytes,
                                 struct rt_error *err) {
    struct lines lines = lines_make(bytes, n_bytes);
    struct span line;
    RT_TRY(points_reserve(&colmap->reader->recording->points, count_records(lines), err));
    while (next_record(&lines, &line)) {
        struct colmap_point point = {0};
        uint64_t id = 0;
        uint64_t rgb[3] = {0};
        bool good = next_integer(&line, UINT64_MAX, &id);
        for (int i = 0; i < 3; i++) good = good && next_number(&line, &point.xyz[i]);
        for (int i = 0; i < 3; i++) good = good && next_integer(&line, 255, &rgb[i]);
        if (!good) return bad_line(&lines, "POINT3D_ID X Y Z R G B ERROR TRACK[]", err);
        for (int i = 0; i < 3; i++) point.rgb[i] = (uint8_t)rgb[i];
        colmap_add_point(colmap, &point);
    }
    return RT_OK;
}
