/* An upload from memory, unpacked into a folder below TMPDIR (a memory file system is best). */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recon/recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    const char *root = getenv("TMPDIR");
    char archive[64];
    char folder[512];
    char command[640];
    struct rt_error err;
    int fd = memfd_create("archive", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, n_bytes) != (ssize_t)n_bytes) abort();
    snprintf(archive, sizeof archive, "/proc/self/fd/%d", fd);
    snprintf(folder, sizeof folder, "%s/fuzz_archive_%d", root ? root : "/tmp", (int)getpid());
    rt_error_clear(&err);
    if (recording_unpack(archive, folder, &err) == RT_OK) {
        snprintf(command, sizeof command, "rm -rf '%s'", folder);
        if (system(command) != 0) abort();
    } else if (access(folder, F_OK) == 0) {
        abort(); /* something was left behind */
    }
    close(fd);
    return 0;
}
