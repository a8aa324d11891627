#include "recon/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION = 1, MAX_SECTIONS = 64, PATH_BYTES = 4096, MAX_LISTED = 256 };

struct file_header {
    char magic[8];
    uint32_t version;
    uint32_t n_sections;
    uint64_t n_bytes; /* of the file */
    int64_t step;
    struct checkpoint_key key;
};

struct file_section {
    char name[CHECKPOINT_NAME_BYTES];
    uint64_t n_bytes;
    uint8_t digest[CHECKPOINT_DIGEST_BYTES];
};

/* The written form must not depend on padding. */
_Static_assert(sizeof(struct file_header) == 96 && sizeof(struct file_section) == 64, "layout");

struct checkpoint {
    struct file_header header;
    struct file_section sections[MAX_SECTIONS];
    unsigned char *bytes; /* owned: the sections, one after the other */
};

static const char MAGIC[8] = {'R', 'T', 'K', 'C', 'K', 'P', 'T', '\n'};

void checkpoint_digest(const void *bytes, size_t n_bytes, uint8_t digest[CHECKPOINT_DIGEST_BYTES]) {
    struct sha256_ctx sha;
    sha256_init(&sha);
    sha256_update(&sha, n_bytes, bytes);
    sha256_digest(&sha, CHECKPOINT_DIGEST_BYTES, digest);
}

static void head_digest(const struct file_header *header, const struct file_section *sections,
                        uint8_t digest[CHECKPOINT_DIGEST_BYTES]) {
    struct sha256_ctx sha;
    sha256_init(&sha);
    sha256_update(&sha, sizeof *header, (const uint8_t *)header);
    sha256_update(&sha, header->n_sections * sizeof *sections, (const uint8_t *)sections);
    sha256_digest(&sha, CHECKPOINT_DIGEST_BYTES, digest);
}

static size_t head_bytes(uint32_t n_sections) {
    return sizeof(struct file_header) + n_sections * sizeof(struct file_section) +
           CHECKPOINT_DIGEST_BYTES;
}

static enum rt_status system_fault(struct rt_error *err, const char *what) {
    bool full = errno == ENOSPC || errno == EFBIG || errno == EDQUOT;
    return rt_fail(err, full ? RT_STORAGE_FULL : RT_IO, "checkpoint: %s: %s%s", what,
                   strerror(errno), full ? "; free some space and resume" : "");
}

/* -- writing ---------------------------------------------------------------------------------- */

static bool write_all(int fd, const void *bytes, size_t n_bytes) {
    const char *at = bytes;
    while (n_bytes > 0) {
        ssize_t n = write(fd, at, n_bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        n_bytes -= (size_t)n;
    }
    return true;
}

static void fill_head(struct file_header *header, struct file_section *table,
                      const struct checkpoint_content *content) {
    header->n_bytes = head_bytes(header->n_sections);
    for (int32_t i = 0; i < content->n_sections; i++) {
        const struct checkpoint_section *s = &content->sections[i];
        memcpy(table[i].name, s->name, sizeof table[i].name);
        table[i].n_bytes = s->n_bytes;
        checkpoint_digest(s->bytes, s->n_bytes, table[i].digest);
        header->n_bytes += s->n_bytes;
    }
}

static enum rt_status write_file(int fd, const struct file_header *header,
                                 const struct file_section *table,
                                 const struct checkpoint_content *content, struct rt_error *err) {
    uint8_t digest[CHECKPOINT_DIGEST_BYTES];
    head_digest(header, table, digest);
    /* Reserved before the first byte: a full disk is met here, not in the middle. */
    int reserved = posix_fallocate(fd, 0, (off_t)header->n_bytes);
    if (reserved == ENOSPC || reserved == EDQUOT || reserved == EFBIG) {
        errno = reserved;
        return system_fault(err, "reserving space");
    }
    bool written = write_all(fd, header, sizeof *header) &&
                   write_all(fd, table, header->n_sections * sizeof *table) &&
                   write_all(fd, digest, sizeof digest);
    for (int32_t i = 0; written && i < content->n_sections; i++) {
        written = write_all(fd, content->sections[i].bytes, content->sections[i].n_bytes);
    }
    if (!written) return system_fault(err, "writing");
    return fsync(fd) == 0 ? RT_OK : system_fault(err, "fsync");
}

static enum rt_status sync_folder(const char *folder, struct rt_error *err) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return system_fault(err, "opening the folder");
    int result = fsync(fd);
    close(fd);
    return result == 0 ? RT_OK : system_fault(err, "fsync of the folder");
}

enum rt_status checkpoint_write(const char *folder, int32_t step, const struct checkpoint_key *key,
                                const struct checkpoint_content *content, struct rt_error *err) {
    char temporary[PATH_BYTES], path[PATH_BYTES];
    struct file_header header = {
        .version = VERSION, .n_sections = (uint32_t)content->n_sections, .step = step, .key = *key};
    struct file_section table[MAX_SECTIONS];
    memset(table, 0, sizeof table);
    memcpy(header.magic, MAGIC, sizeof MAGIC);
    fill_head(&header, table, content);
    snprintf(temporary, sizeof temporary, "%s/checkpoint.part", folder);
    if (snprintf(path, sizeof path, "%s/checkpoint_%09d.rtck", folder, (int)step) >= PATH_BYTES) {
        return rt_fail(err, RT_IO, "checkpoint: the path of the work folder is too long");
    }
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return system_fault(err, "creating the file");
    enum rt_status status = write_file(fd, &header, table, content, err);
    if (close(fd) != 0 && status == RT_OK) status = system_fault(err, "closing");
    if (status == RT_OK && rename(temporary, path) != 0) status = system_fault(err, "renaming");
    if (status != RT_OK) unlink(temporary);
    return status == RT_OK ? sync_folder(folder, err) : status;
}

/* -- listing ---------------------------------------------------------------------------------- */

/* Step in the name "checkpoint_000002000.rtck", or -1. */
static int64_t step_of_name(const char *name) {
    int step = -1, n_read = 0;
    bool ours = sscanf(name, "checkpoint_%9d.rtck%n", &step, &n_read) == 1 && n_read > 0;
    return ours && name[n_read] == '\0' ? step : -1;
}

static int newest_first(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

static int32_t list_steps(const char *folder, int64_t steps[MAX_LISTED]) {
    DIR *entries = opendir(folder);
    if (!entries) return 0;
    int32_t n = 0;
    for (struct dirent *entry; n < MAX_LISTED && (entry = readdir(entries)) != NULL;) {
        int64_t step = step_of_name(entry->d_name);
        if (step >= 0) steps[n++] = step;
    }
    closedir(entries);
    qsort(steps, (size_t)n, sizeof *steps, newest_first);
    return n;
}

void checkpoint_prune(const char *folder, int32_t kept) {
    int64_t steps[MAX_LISTED];
    int32_t n = list_steps(folder, steps);
    for (int32_t i = kept; i < n; i++) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "%s/checkpoint_%09d.rtck", folder, (int)steps[i]);
        unlink(path);
    }
}

/* -- reading ---------------------------------------------------------------------------------- */

static bool read_all(int fd, void *bytes, size_t n_bytes) {
    char *at = bytes;
    while (n_bytes > 0) {
        ssize_t n = read(fd, at, n_bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        n_bytes -= (size_t)n;
    }
    return true;
}

/* Head of the file, verified; the sizes agree with the file's length then. */
static bool read_head(int fd, struct checkpoint *c) {
    struct file_header *h = &c->header;
    struct stat found;
    uint8_t stored[CHECKPOINT_DIGEST_BYTES], digest[CHECKPOINT_DIGEST_BYTES];
    if (fstat(fd, &found) != 0 || !read_all(fd, h, sizeof *h)) return false;
    if (memcmp(h->magic, MAGIC, sizeof MAGIC) != 0 || h->version != VERSION) return false;
    if (h->n_sections > MAX_SECTIONS || h->n_bytes != (uint64_t)found.st_size) return false;
    if (!read_all(fd, c->sections, h->n_sections * sizeof *c->sections)) return false;
    if (!read_all(fd, stored, sizeof stored)) return false;
    head_digest(h, c->sections, digest);
    if (memcmp(stored, digest, sizeof digest) != 0) return false;
    uint64_t total = head_bytes(h->n_sections);
    for (uint32_t i = 0; i < h->n_sections; i++) {
        if (c->sections[i].n_bytes > h->n_bytes - total) return false;
        total += c->sections[i].n_bytes;
    }
    return total == h->n_bytes;
}

static bool sections_intact(const struct checkpoint *c) {
    const unsigned char *at = c->bytes;
    for (uint32_t i = 0; i < c->header.n_sections; i++) {
        uint8_t digest[CHECKPOINT_DIGEST_BYTES];
        checkpoint_digest(at, c->sections[i].n_bytes, digest);
        if (memcmp(digest, c->sections[i].digest, sizeof digest) != 0) return false;
        at += c->sections[i].n_bytes;
    }
    return true;
}

/* RT_NOT_FOUND for a damaged or vanished file. */
static enum rt_status read_checkpoint(const char *path, struct checkpoint *c,
                                      struct rt_error *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return rt_fail(err, RT_NOT_FOUND, "checkpoint vanished");
    enum rt_status status = RT_OK;
    if (!read_head(fd, c)) {
        status = rt_fail(err, RT_NOT_FOUND, "checkpoint damaged");
    } else {
        size_t n_bytes = (size_t)c->header.n_bytes - head_bytes(c->header.n_sections);
        c->bytes = malloc(n_bytes + 1);
        if (!c->bytes) {
            status = rt_fail(err, RT_NO_MEMORY, "checkpoint of %zu bytes: out of memory", n_bytes);
        } else if (!read_all(fd, c->bytes, n_bytes) || !sections_intact(c)) {
            status = rt_fail(err, RT_NOT_FOUND, "checkpoint damaged");
        }
    }
    close(fd);
    return status;
}

static enum rt_status check_key(const struct checkpoint *c, const struct checkpoint_key *key,
                                struct rt_error *err) {
    if (memcmp(c->header.key.recording, key->recording, sizeof key->recording) != 0) {
        return rt_fail(err, RT_INVALID,
                       "the checkpoint at step %d is of another recording, or files of the "
                       "recording have changed; use another work folder",
                       checkpoint_step(c));
    }
    if (memcmp(c->header.key.config, key->config, sizeof key->config) != 0) {
        return rt_fail(err, RT_INVALID,
                       "the checkpoint at step %d was made with another configuration; give the "
                       "same parameters (config.json beside it) or another work folder",
                       checkpoint_step(c));
    }
    return RT_OK;
}

enum rt_status checkpoint_latest(const char *folder, const struct checkpoint_key *key,
                                 struct checkpoint **out, struct rt_error *err) {
    *out = NULL;
    int64_t steps[MAX_LISTED];
    int32_t n = list_steps(folder, steps);
    for (int32_t i = 0; i < n; i++) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "%s/checkpoint_%09d.rtck", folder, (int)steps[i]);
        struct checkpoint *c = calloc(1, sizeof *c);
        if (!c) return rt_fail(err, RT_NO_MEMORY, "checkpoint: out of memory");
        enum rt_status status = read_checkpoint(path, c, err);
        if (status == RT_OK) status = check_key(c, key, err);
        if (status == RT_OK) {
            *out = c;
            return RT_OK;
        }
        checkpoint_close(&c);
        if (status != RT_NOT_FOUND) return status;
    }
    return rt_fail(err, RT_NOT_FOUND, "no usable checkpoint among %d", n);
}

void checkpoint_close(struct checkpoint **checkpoint) {
    if (!*checkpoint) return;
    free((*checkpoint)->bytes);
    free(*checkpoint);
    *checkpoint = NULL;
}

int32_t checkpoint_step(const struct checkpoint *c) { return (int32_t)c->header.step; }

const void *checkpoint_find(const struct checkpoint *c, const char *name, size_t *n_bytes) {
    const unsigned char *at = c->bytes;
    for (uint32_t i = 0; i < c->header.n_sections; i++) {
        *n_bytes = (size_t)c->sections[i].n_bytes;
        if (strncmp(c->sections[i].name, name, CHECKPOINT_NAME_BYTES) == 0) return at;
        at += c->sections[i].n_bytes;
    }
    *n_bytes = 0;
    return NULL;
}
