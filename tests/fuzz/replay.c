/* Runs a fuzz target over the files of the folders given: corpora become plain tests. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static int run_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(size > 0 ? (size_t)size : 1);
    size_t n = bytes && size > 0 ? fread(bytes, 1, (size_t)size, file) : 0;
    fclose(file);
    if (bytes) LLVMFuzzerTestOneInput(bytes, n);
    free(bytes);
    return 1;
}

static int run_folder(const char *folder) {
    DIR *dir = opendir(folder);
    int n = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[4096];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) n += run_file(path);
    }
    if (dir) closedir(dir);
    return n;
}

int main(int argc, char **argv) {
    int n = 0;
    for (int i = 1; i < argc; i++) n += run_folder(argv[i]);
    printf("%d inputs\n", n);
    if (n > 0) return 0;
    fprintf(stderr,
            "no corpus: a fuzz target needs tests/fuzz/corpus/<target>/ with at least one file\n");
    return 1;
}
