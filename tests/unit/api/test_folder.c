#include "api/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char root[FOLDER_PATH_BYTES];

static int set_up(void **state) {
    (void)state;
    snprintf(root, sizeof root, "/tmp/retake-folder-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    return folder_remove(root) ? 0 : -1;
}

static const char *below(const char *name) {
    static char path[2][FOLDER_PATH_BYTES + 64];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", root, name);
    return path[turn];
}

static void write_file(const char *path, size_t n_bytes) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (size_t i = 0; i < n_bytes; i++) fputc('x', file);
    fclose(file);
}

static void test_create_measure_remove(void **state) {
    (void)state;
    struct rt_error err;
    assert_int_equal(folder_create(below("a/b/c"), &err), RT_OK);
    assert_int_equal(folder_create(below("a/b/c"), &err), RT_OK);
    write_file(below("a/one"), 10);
    write_file(below("a/b/c/two"), 32);
    assert_int_equal(folder_bytes(below("a")), 42);
    assert_int_equal(folder_file_bytes(below("a/one")), 10);
    assert_int_equal(folder_file_bytes(below("a")), -1);
    assert_int_equal(folder_create(below("a/one"), &err), RT_IO);
    assert_true(folder_remove(below("a")));
    assert_false(folder_exists(below("a")));
}

static void test_links_are_never_followed(void **state) {
    (void)state;
    struct rt_error err;
    assert_int_equal(folder_create(below("kept"), &err), RT_OK);
    write_file(below("kept/precious"), 5);
    assert_int_equal(folder_create(below("gone"), &err), RT_OK);
    assert_int_equal(symlink(below("kept"), below("gone/link")), 0);
    assert_int_equal(folder_bytes(below("gone")), 0);
    assert_true(folder_remove(below("gone")));
    assert_int_equal(folder_file_bytes(below("kept/precious")), 5);
    /* A link named as the folder itself: the link goes, its target stays. */
    assert_int_equal(symlink(below("kept"), below("alias")), 0);
    folder_remove(below("alias"));
    assert_int_equal(folder_file_bytes(below("kept/precious")), 5);
}

static void test_resolve_stays_below_the_root(void **state) {
    (void)state;
    struct rt_error err;
    char out[FOLDER_PATH_BYTES], data_root[FOLDER_PATH_BYTES + 8];
    snprintf(data_root, sizeof data_root, "%s/root", root);
    assert_int_equal(folder_create(below("root/in"), &err), RT_OK);
    assert_int_equal(folder_create(below("root-sibling"), &err), RT_OK);
    assert_int_equal(symlink(below("root-sibling"), below("root/out")), 0);
    assert_int_equal(folder_resolve_below(data_root, "in", out, &err), RT_OK);
    assert_int_equal(folder_resolve_below(data_root, "in/../in/.", out, &err), RT_OK);
    assert_int_equal(folder_resolve_below(data_root, out, out, &err), RT_OK);
    static const char *const outside[] = {"..", "../root-sibling", "out", "/etc"};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        assert_int_equal(folder_resolve_below(data_root, outside[i], out, &err), RT_INVALID);
        assert_null(strstr(err.message, root));
    }
    assert_int_equal(folder_resolve_below(data_root, "nix", out, &err), RT_NOT_FOUND);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_create_measure_remove, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links_are_never_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_resolve_stays_below_the_root, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
