/* Subcommands of `retake`: one function per file command_<name>.c. Each parses its own options,
 * prints its own --help, and returns the exit code: 0 done, 1 failed, 2 wrong usage, 64 wrong
 * configuration of a service, 130 interrupted. */
#ifndef RETAKE_SERVER_COMMANDS_H
#define RETAKE_SERVER_COMMANDS_H

int command_version(int argc, char **argv);

#endif
