#include <stdio.h>

#include "retake_version.h"
#include "server/commands.h"

int command_version(int argc, char **argv) {
    (void)argv;
    if (argc > 1) {
        fprintf(stderr, "retake version takes no arguments\n");
        return 2;
    }
    printf("retake %s (%s)\n", RETAKE_VERSION, RETAKE_GIT_HASH);
    return 0;
}
