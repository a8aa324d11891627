/* Options of a command: one table gives the flags (--max-uploads 8, --max-uploads=8), their
 * environment (RETAKE_MAX_UPLOADS), defaults, bounds, --help and the report of what is in effect.
 *
 *     static const struct option table[] = {
 *         {"listen", OPTION_TEXT, "127.0.0.1:8080", "HOST:PORT", "address to serve on", 0, 0,
 * false}, {0}}; static const struct options_spec spec = {.command = "retake serve", .table = table,
 * ...}; RT_TRY(options_parse(&options, &spec, argc, argv, err)); if (options_help_wanted(options))
 * options_print_help(&spec, stdout); const char *listen = options_text(options, "listen");
 *
 * A flag wins over the environment, the environment over the default. Messages name the option, the
 * value, where it came from and what is allowed; an unknown option names the nearest known one.
 * Asking for a name that is not in the table, or with the wrong kind, is a defect (assert).
 * Threading: read-only after options_parse. */
#ifndef RETAKE_SERVER_OPTIONS_H
#define RETAKE_SERVER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "render/core/status.h"

enum option_kind {
    OPTION_TEXT,
    OPTION_INTEGER, /* with min and max */
    OPTION_NUMBER,  /* finite, with min and max */
    OPTION_BYTES,   /* 1048576, 256KiB, 4MiB, 16GiB, 2TiB; with min and max */
    OPTION_FLAG,    /* --demo, --no-demo, --demo=false */
    OPTION_LIST     /* repeatable; comma separated in the environment */
};

struct option {
    const char *name; /* without dashes: "max-uploads" */
    enum option_kind kind;
    const char *fallback; /* written as on the command line; NULL = not set */
    const char *value;    /* placeholder in --help: "HOST:PORT" */
    const char *text;     /* one sentence for --help */
    double min, max;      /* both 0 = any */
    bool secret;          /* reported as "set" */
};

struct options_spec {
    const char *command;        /* "retake serve" */
    const char *arguments;      /* shown in the usage line: "FOLDER"; NULL = none */
    const char *text;           /* what the command does; may have several lines */
    const struct option *table; /* ends with a zeroed row */
    int32_t max_arguments;      /* positional ones */
};

enum option_origin { ORIGIN_DEFAULT, ORIGIN_ENVIRONMENT, ORIGIN_FLAG };

struct options;

/* argv[0] is the command itself. RT_INVALID with one clear line; after --help nothing is checked.
 */
enum rt_status options_parse(struct options **out, const struct options_spec *spec, int argc,
                             char **argv, struct rt_error *err);
void options_free(struct options **options);
bool options_help_wanted(const struct options *options);
void options_print_help(const struct options_spec *spec, FILE *out);

const char *options_text(const struct options *options, const char *name); /* NULL: not set */
int64_t options_integer(const struct options *options, const char *name);  /* INTEGER, BYTES */
double options_number(const struct options *options, const char *name);
bool options_flag(const struct options *options, const char *name);
/* OPTION_LIST: ends with NULL, never NULL itself. */
const char *const *options_list(const struct options *options, const char *name);
bool options_is_set(const struct options *options, const char *name); /* by flag or environment */

int32_t options_n_arguments(const struct options *options);
const char *options_argument(const struct options *options, int32_t index); /* or NULL */

/* The report: row `index` of the table as text, NULL past its end. `*value` is NULL when not set
 * and "set" for secrets. */
const char *options_report(const struct options *options, int32_t index, const char **value,
                           enum option_origin *origin);
const char *option_origin_name(enum option_origin origin); /* "flag", "environment", "default" */

#endif
