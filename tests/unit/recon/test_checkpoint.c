/* Checkpoints load completely or not at all: truncations, flipped bits, wrong keys, a folder that
 * cannot be written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recon/checkpoint.h"
#include "render/core/rng.h"

enum { N_VALUES = 20000, N_HEAD = 96 + 2 * 64 + 32 };

static char folder[64];
static const struct checkpoint_key key = {.config = {1, 2, 3}, .recording = {4, 5, 6}};
static float values[N_VALUES];
static int64_t counter;

static const struct checkpoint_section sections[2] = {{"values", values, sizeof values},
                                                      {"counter", &counter, sizeof counter}};
static const struct checkpoint_content content = {sections, 2};

static void save(int32_t step) {
    for (int i = 0; i < N_VALUES; i++) {
        values[i] = rng_uniform(rng_draw(1, 0, (uint32_t)step, (uint64_t)i), 0);
    }
    counter = step;
    struct rt_error err;
    if (checkpoint_write(folder, step, &key, &content, &err) != RT_OK) fail_msg("%s", err.message);
}

static int32_t loaded_step(void) {
    struct checkpoint *c = NULL;
    if (checkpoint_latest(folder, &key, &c, NULL) != RT_OK) return -1;
    size_t n_bytes = 0;
    const void *found = checkpoint_find(c, "counter", &n_bytes);
    assert_int_equal(n_bytes, sizeof counter);
    int64_t step = 0;
    memcpy(&step, found, sizeof step);
    assert_int_equal(step, checkpoint_step(c));
    assert_null(checkpoint_find(c, "nothing", &n_bytes));
    checkpoint_close(&c);
    return (int32_t)step;
}

static void path_of(int32_t step, char path[128]) {
    snprintf(path, 128, "%s/checkpoint_%09d.rtck", folder, (int)step);
}

static int set_up(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/retake-checkpoint-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    checkpoint_prune(folder, 0);
    return rmdir(folder);
}

static void test_newest_is_loaded_and_old_ones_go(void **state) {
    (void)state;
    assert_int_equal(loaded_step(), -1);
    save(10);
    save(200);
    save(30);
    assert_int_equal(loaded_step(), 200);
    checkpoint_prune(folder, 2);
    char path[128];
    path_of(10, path);
    assert_int_equal(access(path, F_OK), -1);
    path_of(30, path);
    assert_int_equal(access(path, F_OK), 0);
    struct checkpoint *c = NULL;
    save(300);
    assert_int_equal(checkpoint_latest(folder, &key, &c, NULL), RT_OK);
    size_t n_bytes = 0;
    assert_memory_equal(checkpoint_find(c, "values", &n_bytes), values, sizeof values);
    checkpoint_close(&c);
}

static void test_truncated_files_fall_back(void **state) {
    (void)state;
    save(1);
    save(2);
    char path[128];
    path_of(2, path);
    long full = N_HEAD + (long)sizeof values + (long)sizeof counter;
    struct stat found;
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_size, full);
    for (long length = full - 1; length >= 0; length -= length > 4096 ? 4096 : 97) {
        assert_int_equal(truncate(path, length), 0);
        assert_int_equal(loaded_step(), 1);
    }
    save(2);
    assert_int_equal(truncate(path, full + 1), 0); /* longer than it says */
    assert_int_equal(loaded_step(), 1);
}

static void flip(const char *path, long at, int bit) {
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, at, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(byte ^ (1 << bit), file);
    fclose(file);
}

static void test_flipped_bits_never_load(void **state) {
    (void)state;
    save(1);
    save(2);
    char path[128];
    path_of(2, path);
    uint64_t size = N_HEAD + sizeof values + sizeof counter;
    for (uint64_t i = 0; i < 400; i++) {
        struct rng_bits bits = rng_draw(7, 0, 0, i);
        long at = (long)(i < 200 ? bits.word[0] % N_HEAD : bits.word[0] % size);
        flip(path, at, (int)(bits.word[1] % 8));
        assert_int_equal(loaded_step(), 1);
        flip(path, at, (int)(bits.word[1] % 8));
    }
    assert_int_equal(loaded_step(), 2);
}

static void test_other_keys_are_refused(void **state) {
    (void)state;
    save(5);
    struct checkpoint *c = NULL;
    struct rt_error err;
    struct checkpoint_key other = key;
    other.config[31] = 1;
    assert_int_equal(checkpoint_latest(folder, &other, &c, &err), RT_INVALID);
    assert_non_null(strstr(err.message, "configuration"));
    other = key;
    other.recording[0] = 0;
    assert_int_equal(checkpoint_latest(folder, &other, &c, &err), RT_INVALID);
    assert_non_null(strstr(err.message, "recording"));
    assert_null(c);
}

static void test_a_folder_that_is_none(void **state) {
    (void)state;
    struct rt_error err;
    assert_int_equal(checkpoint_write("/proc/nothing", 1, &key, &content, &err), RT_IO);
    assert_non_null(strstr(err.message, "checkpoint"));
    /* a device that is always full */
    char link[128];
    snprintf(link, sizeof link, "%s/checkpoint.part", folder);
    assert_int_equal(symlink("/dev/full", link), 0);
    enum rt_status status = checkpoint_write(folder, 1, &key, &content, &err);
    assert_int_equal(status, RT_STORAGE_FULL);
    assert_non_null(strstr(err.message, "free some space"));
    assert_int_equal(loaded_step(), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_newest_is_loaded_and_old_ones_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_truncated_files_fall_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_flipped_bits_never_load, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_keys_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_folder_that_is_none, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
