#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recon/recording.h"
#include "recon/recording_folder.h"
#include "render/io/file_atomic.h"

enum { BLOCK_BYTES = 256 * 1024, N_SLOTS = 1 << 18, MAGIC_BYTES = 4 };

static const int64_t SLACK_BYTES = 1 << 20; /* small archives of small texts compress well */
static const int64_t MAX_PICTURE_BYTES = 512LL << 20;
static const int64_t MAX_TOTAL_BYTES = 128LL << 30;

struct unpacking {
    struct archive *archive; /* owned */
    int folder_fd;           /* owned */
    unsigned char *block;    /* owned [BLOCK_BYTES] */
    uint64_t *names;         /* owned [N_SLOTS]; hashes of lower-case names, 0 = free */
    int64_t archive_bytes;
    int64_t inflated_bytes; /* of entries that are no pictures */
    int64_t total_bytes;
    int32_t n_entries;
    int32_t n_files;
};

static enum rt_status archive_failed(struct unpacking *unpacking, const char *name,
                                     struct rt_error *err) {
    const char *text = archive_error_string(unpacking->archive);
    if (archive_errno(unpacking->archive) == ENOMEM) {
        return rt_fail(err, RT_NO_MEMORY, "archive: out of memory");
    }
    return rt_fail_file(err, unpacking->n_entries == 0 ? "bad-magic" : "truncated", -1,
                        "%s%s%s (tar, tar.gz and zip are read)", name ? name : "the archive",
                        ": cannot be read: ", text ? text : "unknown fault");
}

/* FNV-1a of the lower-case name; two names of one folder that differ by case only would become one
 * file elsewhere. */
static uint64_t name_hash(const char *name) {
    uint64_t hash = 1469598103934665603ULL;
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;
        if (c >= 'A' && c <= 'Z') c = (unsigned char)(c + 32);
        hash = (hash ^ c) * 1099511628211ULL;
    }
    return hash ? hash : 1;
}

static enum rt_status claim_name(struct unpacking *unpacking, const char *name,
                                 struct rt_error *err) {
    uint64_t hash = name_hash(name);
    size_t slot = (size_t)(hash % N_SLOTS);
    while (unpacking->names[slot] != 0) {
        if (unpacking->names[slot] == hash) {
            return rt_fail_file(err, "bad-value", -1,
                                "%s occurs twice in the archive (upper and lower case count as the "
                                "same)",
                                name);
        }
        slot = (slot + 1) % N_SLOTS;
    }
    unpacking->names[slot] = hash;
    return RT_OK;
}

/* Folders on the way to `name`; existing ones are fine. */
static enum rt_status make_folders(struct unpacking *unpacking, const char *name, bool is_folder,
                                   struct rt_error *err) {
    char part[RT_MAX_PATH_BYTES + 1];
    for (size_t i = 1; i <= strlen(name); i++) {
        bool ends = name[i] == '/' || (is_folder && name[i] == 0);
        if (!ends) continue;
        memcpy(part, name, i);
        part[i] = 0;
        if (mkdirat(unpacking->folder_fd, part, 0777) == 0 || errno == EEXIST) continue;
        return file_fail(err, part, "make folder");
    }
    return RT_OK;
}

static bool is_picture(const unsigned char *bytes, ssize_t n) {
    return n >= MAGIC_BYTES &&
           (memcmp(bytes, "\x89PNG", 4) == 0 || memcmp(bytes, "\xff\xd8\xff", 3) == 0);
}

static enum rt_status count_bytes(struct unpacking *unpacking, const char *name, bool picture,
                                  int64_t entry_bytes, ssize_t n, struct rt_error *err) {
    unpacking->total_bytes += n;
    if (!picture) unpacking->inflated_bytes += n;
    if (picture && entry_bytes > MAX_PICTURE_BYTES) {
        return rt_fail_file(err, "limit", -1, "%s: picture of more than %lld bytes", name,
                            (long long)MAX_PICTURE_BYTES);
    }
    if (unpacking->total_bytes > MAX_TOTAL_BYTES) {
        return rt_fail_file(err, "limit", -1, "%s: the archive unpacks to more than %lld bytes",
                            name, (long long)MAX_TOTAL_BYTES);
    }
    if (unpacking->inflated_bytes >
        SLACK_BYTES + (int64_t)RT_MAX_INFLATION * unpacking->archive_bytes) {
        return rt_fail_file(err, "limit", -1,
                            "%s: the archive unpacks to more than %d times its size", name,
                            RT_MAX_INFLATION);
    }
    return RT_OK;
}

static enum rt_status copy_entry(struct unpacking *unpacking, const char *name, int fd,
                                 struct rt_error *err) {
    int64_t entry_bytes = 0;
    bool picture = false;
    for (;;) {
        la_ssize_t n = archive_read_data(unpacking->archive, unpacking->block, BLOCK_BYTES);
        if (n == 0) return RT_OK;
        if (n < 0) return archive_failed(unpacking, name, err);
        if (entry_bytes == 0) picture = is_picture(unpacking->block, n);
        entry_bytes += n;
        RT_TRY(count_bytes(unpacking, name, picture, entry_bytes, n, err));
        enum rt_status status = file_write_all(fd, unpacking->block, (size_t)n, err);
        if (status != RT_OK) return rt_prefix(err, status, "%s", name);
    }
}

static enum rt_status write_entry(struct unpacking *unpacking, const char *name,
                                  struct rt_error *err) {
    RT_TRY(claim_name(unpacking, name, err));
    RT_TRY(make_folders(unpacking, name, false, err));
    int fd = openat(unpacking->folder_fd, name,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0 && (errno == EEXIST || errno == ENOTDIR)) {
        return rt_fail_file(err, "bad-value", -1, "%s is a folder and a file in the archive", name);
    }
    if (fd < 0) return file_fail(err, name, "create");
    enum rt_status status = copy_entry(unpacking, name, fd, err);
    if (close(fd) != 0 && status == RT_OK) status = file_fail(err, name, "close");
    unpacking->n_files++;
    return status;
}

/* The entry's path without leading "./" and trailing '/'; false when nothing is left of it. */
static bool entry_name(struct archive_entry *entry, char *name, size_t n_bytes) {
    const char *path = archive_entry_pathname(entry);
    if (!path) path = archive_entry_pathname_utf8(entry);
    if (!path) path = "\xff"; /* a name that is no UTF-8: refused as such */
    while (path[0] == '.' && path[1] == '/') path += 2;
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    if (n >= n_bytes) n = n_bytes - 1; /* too long in any case */
    memcpy(name, path, n);
    name[n] = 0;
    return n > 0 && strcmp(name, ".") != 0;
}

static enum rt_status unpack_entry(struct unpacking *unpacking, struct archive_entry *entry,
                                   struct rt_error *err) {
    char name[2 * RT_MAX_PATH_BYTES];
    if (++unpacking->n_entries > RT_MAX_ARCHIVE_ENTRIES) {
        return rt_fail_file(err, "limit", -1, "more than %d entries in the archive",
                            RT_MAX_ARCHIVE_ENTRIES);
    }
    if (!entry_name(entry, name, sizeof name)) return RT_OK;
    if (strncmp(name, "__MACOSX", 8) == 0) return RT_OK; /* resource forks of macOS zips */
    RT_TRY(recording_path_check(name, err));
    bool is_link = archive_entry_hardlink(entry) || archive_entry_symlink(entry);
    if (!is_link && archive_entry_filetype(entry) == AE_IFDIR) {
        return make_folders(unpacking, name, true, err);
    }
    if (!is_link && archive_entry_filetype(entry) == AE_IFREG) {
        return write_entry(unpacking, name, err);
    }
    return rt_fail_file(err, "bad-value", -1,
                        "%s is a link or a device: only files and folders are taken", name);
}

static enum rt_status unpack_all(struct unpacking *unpacking, struct rt_error *err) {
    struct archive_entry *entry = NULL;
    for (;;) {
        int result = archive_read_next_header(unpacking->archive, &entry);
        if (result == ARCHIVE_EOF) break;
        if (result != ARCHIVE_OK && result != ARCHIVE_WARN) {
            return archive_failed(unpacking, NULL, err);
        }
        RT_TRY(unpack_entry(unpacking, entry, err));
    }
    if (unpacking->n_files > 0) return RT_OK;
    return rt_fail_file(err, "empty", -1, "no files in the archive");
}

static enum rt_status open_archive(struct unpacking *unpacking, const char *path,
                                   struct rt_error *err) {
    struct stat st;
    if (stat(path, &st) != 0) return file_fail(err, path, "open");
    unpacking->archive_bytes = (int64_t)st.st_size;
    unpacking->block = malloc(BLOCK_BYTES);
    unpacking->names = calloc(N_SLOTS, sizeof *unpacking->names);
    unpacking->archive = archive_read_new();
    if (!unpacking->block || !unpacking->names || !unpacking->archive) {
        return rt_fail(err, RT_NO_MEMORY, "archive: out of memory");
    }
    archive_read_support_filter_gzip(unpacking->archive);
    archive_read_support_format_tar(unpacking->archive);
    archive_read_support_format_zip_seekable(unpacking->archive);
    if (archive_read_open_filename(unpacking->archive, path, BLOCK_BYTES) == ARCHIVE_OK) {
        return RT_OK;
    }
    return archive_failed(unpacking, NULL, err);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where) {
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

static enum rt_status unpack_into(const char *archive, const char *draft, struct rt_error *err) {
    struct unpacking unpacking = {.folder_fd = -1};
    enum rt_status status = open_archive(&unpacking, archive, err);
    if (status == RT_OK) {
        unpacking.folder_fd = open(draft, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (unpacking.folder_fd < 0) status = file_fail(err, draft, "open");
    }
    if (status == RT_OK) status = unpack_all(&unpacking, err);
    if (unpacking.folder_fd >= 0) close(unpacking.folder_fd);
    if (unpacking.archive) archive_read_free(unpacking.archive);
    free(unpacking.block);
    free(unpacking.names);
    return status;
}

/* libarchive turns names into the characters of the locale; in the C locale everything beyond ASCII
 * is lost. Characters only, this thread only, and only while an archive is read. */
static enum rt_status unpack_in_utf8(const char *archive, const char *draft, struct rt_error *err) {
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
    enum rt_status status = unpack_into(archive, draft, err);
    if (utf8) {
        uselocale(before);
        freelocale(utf8);
    }
    return status;
}

enum rt_status recording_unpack(const char *archive, const char *folder, struct rt_error *err) {
    char draft[FILE_PATH_BYTES];
    struct stat st;
    if (lstat(folder, &st) == 0) {
        return rt_fail(err, RT_EXISTS, "%s exists already", path_base(folder));
    }
    if (snprintf(draft, sizeof draft, "%s.unpacking-XXXXXX", folder) >= (int)sizeof draft) {
        return rt_fail(err, RT_INVALID, "folder name of %zu bytes is too long", strlen(folder));
    }
    if (!mkdtemp(draft)) return file_fail(err, draft, "make folder");
    enum rt_status status = unpack_in_utf8(archive, draft, err);
    if (status == RT_OK && chmod(draft, 0755) != 0) status = file_fail(err, draft, "chmod");
    if (status == RT_OK && rename(draft, folder) != 0) status = file_fail(err, folder, "rename");
    if (status == RT_OK) return RT_OK;
    nftw(draft, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (status == RT_BAD_FILE) {
        status = RT_BAD_RECORDING;
        if (err) err->status = status;
    }
    return status;
}
