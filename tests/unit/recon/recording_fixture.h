/* A temporary folder per test, pictures and texts written into it, and what recording_open says of
 * it. Include once per test program, after cmocka.h. */
#ifndef RETAKE_TESTS_RECORDING_FIXTURE_H
#define RETAKE_TESTS_RECORDING_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recon/recording.h"
#include "render/io/image_file.h"

static inline const char *data_folder(const char *name) {
    static char path[1024];
    const char *root = getenv("RETAKE_TEST_DATA");
    snprintf(path, sizeof path, "%s/%s", root ? root : "../shared/data", name);
    struct stat st;
    return stat(path, &st) == 0 ? path : NULL;
}

#define MUST(expression)                                                         \
    do {                                                                         \
        if ((expression) != RT_OK) fail_msg("%s: %s", #expression, err.message); \
    } while (0)

static struct rt_error err;
static char folder[64];

static inline int make_folder(void **state) {
    (void)state;
    rt_error_clear(&err);
    strcpy(folder, "/tmp/retake_nerfXXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static inline void write_text(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    MUST(file_write_atomic(path, text, strlen(text), &err));
}

/* A picture whose pixel (x, y) is (x, y, 100), or with alpha = 128 when it has four channels. */
static inline void write_picture(const char *name, int32_t width, int32_t height,
                                 int32_t n_channels) {
    struct image image = {0};
    MUST(image_create(&image, width, height, n_channels, IMAGE_U8, &err));
    for (int32_t i = 0; i < width * height; i++) {
        uint8_t pixel[4] = {(uint8_t)(i % width), (uint8_t)(i / width), 100, 128};
        memcpy(image_u8(&image) + i * n_channels, pixel, (size_t)n_channels);
    }
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    MUST(image_write(path, &image, &err));
    image_destroy(&image);
}

static inline struct recording *open_it(void) {
    struct recording *recording = NULL;
    MUST(recording_open(folder, &recording, &err));
    return recording;
}

static inline void refuse_it(const char *code, const char *part_of_message) {
    struct recording *recording = NULL;
    assert_int_equal(recording_open(folder, &recording, &err), RT_BAD_RECORDING);
    assert_null(recording);
    assert_string_equal(err.code, code);
    if (!strstr(err.message, part_of_message)) fail_msg("%s", err.message);
}

static inline bool has_finding(const struct recording *recording, const char *part) {
    for (int32_t i = 0; i < recording->n_findings; i++) {
        const struct recording_finding *finding = &recording->findings[i];
        if (strstr(finding->message, part)) return true;
        if (finding->file && strstr(finding->file, part)) return true;
    }
    return false;
}

static inline void write_bytes(const char *name, const void *bytes, size_t n_bytes) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    MUST(file_write_atomic(path, bytes, n_bytes, &err));
}

static inline void make_subfolder(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

#endif
