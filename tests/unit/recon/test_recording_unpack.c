/* Archives written here with libarchive, good and hostile. */
#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/recon/recording_fixture.h"

struct item {
    const char *name;
    const char *text; /* NULL: a folder */
    const char *link; /* symbolic link when set */
    bool is_hardlink;
};

static char archive_path[128];
static char target[128];

static int begin(void **state) {
    if (make_folder(state) != 0) return -1;
    snprintf(archive_path, sizeof archive_path, "%s/upload", folder);
    snprintf(target, sizeof target, "%s/recording", folder);
    return 0;
}

static void add(struct archive *archive, const struct item *item) {
    struct archive_entry *entry = archive_entry_new();
    archive_entry_set_pathname(entry, item->name);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_filetype(entry, item->text ? AE_IFREG : AE_IFDIR);
    archive_entry_set_size(entry, item->text ? (int64_t)strlen(item->text) : 0);
    if (item->link && item->is_hardlink) {
        archive_entry_set_hardlink(entry, item->link);
    } else if (item->link) {
        archive_entry_set_filetype(entry, AE_IFLNK);
        archive_entry_set_symlink(entry, item->link);
    }
    assert_int_equal(archive_write_header(archive, entry), ARCHIVE_OK);
    if (item->text) archive_write_data(archive, item->text, strlen(item->text));
    archive_entry_free(entry);
}

enum kind { TAR, TAR_GZ, ZIP };

static struct archive *start(enum kind kind) {
    struct archive *archive = archive_write_new();
    if (kind == ZIP) {
        archive_write_set_format_zip(archive);
        archive_write_zip_set_compression_deflate(archive);
    } else {
        archive_write_set_format_ustar(archive);
        if (kind == TAR_GZ) archive_write_add_filter_gzip(archive);
    }
    assert_int_equal(archive_write_open_filename(archive, archive_path), ARCHIVE_OK);
    return archive;
}

static void finish(struct archive *archive) {
    assert_int_equal(archive_write_close(archive), ARCHIVE_OK);
    archive_write_free(archive);
}

static void write_archive(enum kind kind, const struct item *items, size_t n) {
    struct archive *archive = start(kind);
    for (size_t i = 0; i < n; i++) add(archive, &items[i]);
    finish(archive);
}

/* Only the archive itself may be in the folder. */
static void nothing_left_behind(void) {
    DIR *dir = opendir(folder);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "upload") == 0) continue;
        fail_msg("left behind: %s", entry->d_name);
    }
    closedir(dir);
}

static void refuse_archive(const char *code, const char *part) {
    rt_error_clear(&err);
    assert_int_equal(recording_unpack(archive_path, target, &err), RT_BAD_RECORDING);
    if (!err.code || strcmp(err.code, code) != 0 || !strstr(err.message, part)) {
        fail_msg("%s: %s", err.code ? err.code : "(none)", err.message);
    }
    nothing_left_behind();
}

static void check_text(const char *name, const char *text) {
    char path[256];
    struct rt_bytes bytes = {0};
    snprintf(path, sizeof path, "%s/%s", target, name);
    MUST(file_read(path, 1000, &bytes, &err));
    assert_int_equal(bytes.n_bytes, strlen(text));
    assert_memory_equal(bytes.bytes, text, bytes.n_bytes);
    rt_bytes_free(&bytes);
}

static void test_three_formats(void **state) {
    (void)state;
    static const struct item items[] = {{"./", NULL, NULL, false},
                                        {"./top/", NULL, NULL, false},
                                        {"./top/transforms.json", "{}", NULL, false},
                                        {"top/a/b c \xc3\xa4.txt", "deep", NULL, false},
                                        {"__MACOSX/._x", "fork", NULL, false}};
    for (enum kind kind = TAR; kind <= ZIP; kind++) {
        write_archive(kind, items, sizeof items / sizeof items[0]);
        MUST(recording_unpack(archive_path, target, &err));
        check_text("top/transforms.json", "{}");
        check_text("top/a/b c \xc3\xa4.txt", "deep");
        char path[256];
        snprintf(path, sizeof path, "%s/__MACOSX", target);
        assert_int_not_equal(access(path, F_OK), 0);
        assert_int_equal(recording_unpack(archive_path, target, &err), RT_EXISTS);
        snprintf(path, sizeof path, "rm -rf '%s'", target);
        assert_int_equal(system(path), 0);
    }
}

static void test_hostile_names(void **state) {
    (void)state;
    static const struct item items[] = {
        {"../evil", "x", NULL, false},      {"/etc/evil", "x", NULL, false},
        {"a/../../evil", "x", NULL, false}, {"a\\evil", "x", NULL, false},
        {"C:/evil", "x", NULL, false},      {"bad\xff name", "x", NULL, false},
        {"new\nline", "x", NULL, false},    {"a//b", "x", NULL, false},
    };
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
        write_archive(TAR, &items[i], 1);
        refuse_archive("bad-value", "path");
    }
}

static void test_links_and_duplicates(void **state) {
    (void)state;
    static const struct item symlinks[] = {{"out", "", "/etc", false},
                                           {"out/evil", "x", NULL, false}};
    write_archive(TAR, symlinks, 2);
    refuse_archive("bad-value", "out is a link");
    static const struct item hardlinks[] = {{"a", "x", NULL, false}, {"b", "", "a", true}};
    write_archive(TAR, hardlinks, 2);
    refuse_archive("bad-value", "b is a link");
    static const struct item twice[] = {{"a.txt", "x", NULL, false}, {"A.txt", "y", NULL, false}};
    write_archive(TAR, twice, 2);
    refuse_archive("bad-value", "A.txt occurs twice");
    static const struct item both[] = {{"a", "x", NULL, false}, {"a/b", "y", NULL, false}};
    write_archive(TAR, both, 2);
    refuse_archive("bad-value", "folder and a file");
}

/* 64 MiB of zeros in 65 kB. */
static void test_bombs(void **state) {
    (void)state;
    enum { BLOCK = 1 << 20, N_BLOCKS = 64 };
    char *zeros = calloc(1, BLOCK);
    for (enum kind kind = TAR_GZ; kind <= ZIP; kind++) {
        struct archive *archive = start(kind);
        struct archive_entry *entry = archive_entry_new();
        archive_entry_set_pathname(entry, "bomb.bin");
        archive_entry_set_perm(entry, 0644);
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_entry_set_size(entry, (int64_t)BLOCK * N_BLOCKS);
        archive_write_header(archive, entry);
        for (int i = 0; i < N_BLOCKS; i++) archive_write_data(archive, zeros, BLOCK);
        archive_entry_free(entry);
        finish(archive);
        refuse_archive("limit", "200 times");
    }
    free(zeros);
}

static void test_garbage_and_truncation(void **state) {
    (void)state;
    write_text("upload",
               "this is no archive at all, but it is long enough to be looked at ........");
    refuse_archive("bad-magic", "tar, tar.gz and zip");
    write_text("upload", "");
    rt_error_clear(&err);
    assert_int_equal(recording_unpack(archive_path, target, &err), RT_BAD_RECORDING);
    nothing_left_behind();
    static const struct item empty[] = {{"folder/", NULL, NULL, false}};
    write_archive(TAR, empty, 1);
    refuse_archive("empty", "no files");
    static const struct item items[] = {
        {"a.txt", "0123456789012345678901234567890123456789", NULL, false}};
    struct rt_bytes whole = {0};
    write_archive(TAR_GZ, items, 1);
    MUST(file_read(archive_path, 100000, &whole, &err));
    for (size_t n = 0; n + 9 < whole.n_bytes; n += 7) { /* the last 8 are gzip's trailer */
        write_bytes("upload", whole.bytes, n);
        rt_error_clear(&err);
        assert_int_equal(recording_unpack(archive_path, target, &err), RT_BAD_RECORDING);
        nothing_left_behind();
    }
    rt_bytes_free(&whole);
    snprintf(archive_path, sizeof archive_path, "%s/none", folder);
    assert_int_equal(recording_unpack(archive_path, target, &err), RT_NOT_FOUND);
    nothing_left_behind();
}

#define IN_FOLDER_2(test) cmocka_unit_test_setup_teardown(test, begin, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER_2(test_three_formats),          IN_FOLDER_2(test_hostile_names),
        IN_FOLDER_2(test_links_and_duplicates),   IN_FOLDER_2(test_bombs),
        IN_FOLDER_2(test_garbage_and_truncation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
