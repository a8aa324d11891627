/* Subcommands of `retake`: one function per file command_<name>.c. Each parses its own options,
 * prints its own --help, and returns the exit code: 0 done, 1 failed, 2 wrong usage, 64 wrong
 * configuration of a service, 130 interrupted. */
#ifndef RETAKE_SERVER_COMMANDS_H
#define RETAKE_SERVER_COMMANDS_H

#include <stdbool.h>

#include "render/core/status.h"

/* What `retake info FOLDER` prints of a recording: format, cameras, pictures, points, findings;
 * `deep` decodes every file first. Errors of recording_open. */
enum rt_status info_recording(const char *folder, bool deep, struct rt_error *err);

int command_synth(int argc, char **argv);
int command_reconstruct(int argc, char **argv);
int command_info(int argc, char **argv);
int command_convert(int argc, char **argv);
int command_render(int argc, char **argv);
int command_serve(int argc, char **argv);
int command_version(int argc, char **argv);

#endif
