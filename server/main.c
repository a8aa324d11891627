/* The composition root: the table of subcommands. */
#include <stdio.h>
#include <string.h>

#include "server/commands.h"

struct command {
    const char *name;
    const char *text;
    int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
    {"synth", "make a synthetic street recording with exact ground truth", command_synth},
    {"reconstruct", "make a scene of posed photos", command_reconstruct},
    {"info", "say what a scene, a splat file or a recording holds", command_info},
    {"convert", "write a scene or splat file in another format", command_convert},
    {"render", "draw one picture of a scene file", command_render},
    {"serve", "serve scenes over HTTP", command_serve},
    {"version", "print the version", command_version},
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static void print_help(FILE *out) {
    fprintf(out,
            "Retake turns a recording of a drive, or a set of posed photos, into a scene of 3D\n"
            "Gaussians and serves any view of it over HTTP.\n\n"
            "usage: retake COMMAND [OPTIONS]      (retake COMMAND --help for its options)\n\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].text);
    }
}

int main(int argc, char **argv) {
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return argc < 2 ? 2 : 0;
    }
    const char *name = strcmp(argv[1], "--version") == 0 ? "version" : argv[1];
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp(name, commands[i].name) == 0) return commands[i].run(argc - 1, argv + 1);
    }
    fprintf(stderr, "retake: unknown command \"%s\"\n\n", argv[1]);
    print_help(stderr);
    return 2;
}
