#include "server/options.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ENVIRONMENT_BYTES = 96, MAX_ITEMS = 64, HELP_COLUMN = 30 };

struct setting {
    enum option_origin origin;
    char *text;   /* owned, NULL = not set */
    char **items; /* owned array of owned texts, ends with NULL; OPTION_LIST */
    int32_t n_items;
    double number;
    int64_t integer;
};

struct options {
    const struct options_spec *spec; /* borrowed */
    struct setting *settings;        /* owned, one per row of the table */
    const char **arguments;          /* owned array of argv pointers */
    int32_t n_arguments;
    bool help_wanted;
};

static int32_t count_rows(const struct option *table) {
    int32_t n = 0;
    while (table[n].name) n++;
    return n;
}

static void environment_name(const char *name, char *out) {
    size_t n = (size_t)snprintf(out, ENVIRONMENT_BYTES, "RETAKE_%s", name);
    for (size_t i = 7; i < n && i < ENVIRONMENT_BYTES - 1; i++) {
        out[i] = out[i] == '-' ? '_' : (char)toupper((unsigned char)out[i]);
    }
}

/* -- one value -------------------------------------------------------------------------------- */

/* Where a value came from, for messages: "--max-uploads" or "RETAKE_MAX_UPLOADS". */
struct source {
    enum option_origin origin;
    char name[ENVIRONMENT_BYTES];
};

static enum rt_status refuse(const struct option *option, const struct source *source,
                             const char *text, const char *wanted, struct rt_error *err) {
    if (option->min != 0 || option->max != 0) {
        return rt_fail(err, RT_INVALID, "%s: \"%s\" is not %s from %.15g to %.15g", source->name,
                       text, wanted, option->min, option->max);
    }
    return rt_fail(err, RT_INVALID, "%s: \"%s\" is not %s", source->name, text, wanted);
}

static bool in_bounds(const struct option *option, double value) {
    return (option->min == 0 && option->max == 0) || (value >= option->min && value <= option->max);
}

static bool parse_integer(const char *text, int64_t *value, const char **end) {
    char *rest;
    errno = 0;
    *value = strtoll(text, &rest, 10);
    *end = rest;
    return errno == 0 && rest != text && !isspace((unsigned char)*text);
}

static bool parse_bytes(const char *text, int64_t *value) {
    static const char units[] = "KMGT";
    const char *end;
    if (!parse_integer(text, value, &end) || *value < 0) return false;
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (!unit) return *end == 0 || strcasecmp(end, "B") == 0;
    if (end[1] && strcasecmp(end + 1, "B") != 0 && strcasecmp(end + 1, "iB") != 0) return false;
    int shift = 10 * (int)(unit - units + 1);
    if (*value > (INT64_MAX >> shift)) return false;
    *value <<= shift;
    return true;
}

static bool parse_flag(const char *text, int64_t *value) {
    static const char *const words[] = {"0", "false", "no", "off", "1", "true", "yes", "on"};
    for (int i = 0; i < 8; i++) {
        if (strcasecmp(text, words[i]) != 0) continue;
        *value = i >= 4;
        return true;
    }
    return false;
}

static enum rt_status check_value(const struct option *option, const struct source *source,
                                  const char *text, struct setting *setting, struct rt_error *err) {
    const char *end = "";
    char *rest;
    switch (option->kind) {
        case OPTION_INTEGER:
            if (!parse_integer(text, &setting->integer, &end) || *end ||
                !in_bounds(option, (double)setting->integer)) {
                return refuse(option, source, text, "an integer", err);
            }
            break;
        case OPTION_BYTES:
            if (!parse_bytes(text, &setting->integer) ||
                !in_bounds(option, (double)setting->integer)) {
                return refuse(option, source, text, "a number of bytes (such as 64MiB)", err);
            }
            break;
        case OPTION_NUMBER:
            setting->number = strtod(text, &rest);
            if (rest == text || *rest || !isfinite(setting->number) ||
                !in_bounds(option, setting->number)) {
                return refuse(option, source, text, "a number", err);
            }
            break;
        case OPTION_FLAG:
            if (!parse_flag(text, &setting->integer)) {
                return refuse(option, source, text, "true or false", err);
            }
            break;
        case OPTION_TEXT:
        case OPTION_LIST:
            if (!*text) return rt_fail(err, RT_INVALID, "%s: the value is empty", source->name);
            break;
    }
    return RT_OK;
}

static enum rt_status list_add(struct setting *setting, const char *text, size_t length,
                               const struct source *source, struct rt_error *err) {
    if (setting->n_items == MAX_ITEMS) {
        return rt_fail(err, RT_INVALID, "%s: more than %d values", source->name, MAX_ITEMS);
    }
    if (!setting->items) setting->items = calloc(MAX_ITEMS + 1, sizeof *setting->items);
    if (setting->items) setting->items[setting->n_items] = strndup(text, length);
    if (!setting->items || !setting->items[setting->n_items]) {
        return rt_fail(err, RT_NO_MEMORY, "no memory for the options");
    }
    setting->n_items++;
    return RT_OK;
}

static void list_clear(struct setting *setting) {
    for (int32_t i = 0; i < setting->n_items; i++) free(setting->items[i]);
    free(setting->items);
    setting->items = NULL;
    setting->n_items = 0;
}

static enum rt_status list_set(struct setting *setting, const char *text,
                               const struct source *source, struct rt_error *err) {
    if (setting->origin != source->origin) list_clear(setting); /* a flag replaces, then adds */
    if (source->origin == ORIGIN_FLAG) return list_add(setting, text, strlen(text), source, err);
    while (*text) {
        size_t n = strcspn(text, ",");
        if (n > 0) RT_TRY(list_add(setting, text, n, source, err));
        text += n + (text[n] == ',');
    }
    return RT_OK;
}

/* The text of a list is what it holds now, for the report. */
static char *list_join(const struct setting *setting) {
    size_t n = 1;
    for (int32_t i = 0; i < setting->n_items; i++) n += strlen(setting->items[i]) + 1;
    char *text = calloc(1, n);
    for (int32_t i = 0; text && i < setting->n_items; i++) {
        if (i > 0) strcat(text, ",");
        strcat(text, setting->items[i]);
    }
    return text;
}

static enum rt_status set(struct options *options, int32_t row, const char *text,
                          const struct source *source, struct rt_error *err) {
    const struct option *option = &options->spec->table[row];
    struct setting *setting = &options->settings[row];
    RT_TRY(check_value(option, source, text, setting, err));
    if (option->kind == OPTION_LIST) RT_TRY(list_set(setting, text, source, err));
    char *copy = option->kind == OPTION_LIST ? list_join(setting) : strdup(text);
    if (!copy) return rt_fail(err, RT_NO_MEMORY, "no memory for the options");
    free(setting->text);
    setting->text = copy;
    setting->origin = source->origin;
    return RT_OK;
}

/* -- unknown names ---------------------------------------------------------------------------- */

/* Edit distance with one row of a table; names are short. */
static int distance(const char *a, size_t n_a, const char *b) {
    int row[64];
    size_t n_b = strlen(b);
    if (n_b > 62 || n_a > 62) return 99;
    for (size_t j = 0; j <= n_b; j++) row[j] = (int)j;
    for (size_t i = 1; i <= n_a; i++) {
        int corner = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= n_b; j++) {
            int change = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            int move = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = change < move ? change : move;
        }
    }
    return row[n_b];
}

static enum rt_status unknown(const struct options_spec *spec, const char *name, size_t length,
                              struct rt_error *err) {
    const char *nearest = NULL;
    int best = 4; /* more than three changes is another word */
    for (const struct option *option = spec->table; option->name; option++) {
        int d = distance(name, length, option->name);
        if (strncmp(option->name, name, length) == 0 && length >= 3) d = d < 3 ? d : 3;
        if (d >= best) continue;
        best = d;
        nearest = option->name;
    }
    if (nearest) {
        return rt_fail(err, RT_INVALID, "unknown option --%.*s; did you mean --%s?", (int)length,
                       name, nearest);
    }
    return rt_fail(err, RT_INVALID, "unknown option --%.*s; see %s --help", (int)length, name,
                   spec->command);
}

/* -- the command line ------------------------------------------------------------------------- */

static int32_t find_row(const struct option *table, const char *name, size_t length) {
    for (int32_t i = 0; table[i].name; i++) {
        if (strlen(table[i].name) == length && memcmp(table[i].name, name, length) == 0) return i;
    }
    return -1;
}

/* Handles argv[*i], which begins with "--", and moves *i over its value. */
static enum rt_status parse_flag_argument(struct options *options, int argc, char **argv, int *i,
                                          struct rt_error *err) {
    const struct option *table = options->spec->table;
    const char *name = argv[*i] + 2;
    size_t length = strcspn(name, "=");
    const char *text = name[length] ? name + length + 1 : NULL;
    int32_t row = find_row(table, name, length);
    if (row < 0 && !text && strncmp(name, "no-", 3) == 0) {
        row = find_row(table, name + 3, length - 3);
        if (row >= 0 && table[row].kind != OPTION_FLAG) row = -1;
        text = "false";
    }
    if (row < 0) return unknown(options->spec, name, length, err);
    if (!text && table[row].kind == OPTION_FLAG) text = "true";
    if (!text && *i + 1 < argc && strncmp(argv[*i + 1], "--", 2) != 0) text = argv[++*i];
    if (!text) {
        return rt_fail(err, RT_INVALID, "--%s needs a value: --%s %s", table[row].name,
                       table[row].name, table[row].value ? table[row].value : "VALUE");
    }
    struct source source = {.origin = ORIGIN_FLAG};
    snprintf(source.name, sizeof source.name, "--%s", table[row].name);
    return set(options, row, text, &source, err);
}

static enum rt_status parse_arguments(struct options *options, int argc, char **argv,
                                      struct rt_error *err) {
    bool only_arguments = false;
    for (int i = 1; i < argc; i++) {
        if (!only_arguments && strcmp(argv[i], "--") == 0) {
            only_arguments = true;
        } else if (!only_arguments && strncmp(argv[i], "--", 2) == 0) {
            RT_TRY(parse_flag_argument(options, argc, argv, &i, err));
        } else if (!only_arguments && argv[i][0] == '-' && argv[i][1]) {
            return rt_fail(err, RT_INVALID, "unknown option %s; options begin with two dashes",
                           argv[i]);
        } else if (options->n_arguments < options->spec->max_arguments) {
            options->arguments[options->n_arguments++] = argv[i];
        } else {
            return rt_fail(err, RT_INVALID, "unexpected argument \"%s\"; see %s --help", argv[i],
                           options->spec->command);
        }
    }
    return RT_OK;
}

static enum rt_status read_defaults(struct options *options, struct rt_error *err) {
    for (int32_t i = 0; options->spec->table[i].name; i++) {
        const struct option *option = &options->spec->table[i];
        struct source source = {.origin = ORIGIN_DEFAULT};
        snprintf(source.name, sizeof source.name, "default of --%s", option->name);
        if (option->fallback) RT_TRY(set(options, i, option->fallback, &source, err));
    }
    return RT_OK;
}

static enum rt_status read_environment(struct options *options, struct rt_error *err) {
    for (int32_t i = 0; options->spec->table[i].name; i++) {
        struct source source = {.origin = ORIGIN_ENVIRONMENT};
        environment_name(options->spec->table[i].name, source.name);
        const char *text = getenv(source.name);
        if (text && *text) RT_TRY(set(options, i, text, &source, err));
    }
    return RT_OK;
}

static bool wants_help(int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
    }
    return false;
}

enum rt_status options_parse(struct options **out, const struct options_spec *spec, int argc,
                             char **argv, struct rt_error *err) {
    struct options *options = calloc(1, sizeof *options);
    if (!options) return rt_fail(err, RT_NO_MEMORY, "no memory for the options");
    options->spec = spec;
    options->settings = calloc((size_t)count_rows(spec->table) + 1, sizeof *options->settings);
    options->arguments = calloc((size_t)argc + 1, sizeof *options->arguments);
    options->help_wanted = wants_help(argc, argv);
    enum rt_status status = RT_OK;
    if (!options->settings || !options->arguments) {
        status = rt_fail(err, RT_NO_MEMORY, "no memory for the options");
    }
    if (status == RT_OK) status = read_defaults(options, err);
    if (status == RT_OK && !options->help_wanted) status = read_environment(options, err);
    if (status == RT_OK && !options->help_wanted) {
        status = parse_arguments(options, argc, argv, err);
    }
    if (status != RT_OK) {
        options_free(&options);
        return status;
    }
    *out = options;
    return RT_OK;
}

void options_free(struct options **options) {
    struct options *o = *options;
    if (!o) return;
    for (int32_t i = 0; o->settings && o->spec->table[i].name; i++) {
        free(o->settings[i].text);
        list_clear(&o->settings[i]);
    }
    free(o->settings);
    free(o->arguments);
    free(o);
    *options = NULL;
}

/* -- help ------------------------------------------------------------------------------------- */

static void print_row(const struct option *option, FILE *out) {
    char left[96];
    int n = snprintf(left, sizeof left, "  --%s%s%s", option->name, option->value ? " " : "",
                     option->value ? option->value : "");
    fprintf(out, "%s", left);
    if (n >= HELP_COLUMN) fprintf(out, "\n%*s", HELP_COLUMN, "");
    if (n < HELP_COLUMN) fprintf(out, "%*s", HELP_COLUMN - n, "");
    fprintf(out, "%s", option->text);
    if (option->fallback && option->kind != OPTION_FLAG) fprintf(out, " [%s]", option->fallback);
    if (option->kind == OPTION_LIST) fprintf(out, " (repeatable)");
    fprintf(out, "\n");
}

void options_print_help(const struct options_spec *spec, FILE *out) {
    fprintf(out, "usage: %s%s%s [OPTIONS]\n\n%s\n\noptions (default in brackets):\n", spec->command,
            spec->arguments ? " " : "", spec->arguments ? spec->arguments : "", spec->text);
    for (const struct option *option = spec->table; option->name; option++) print_row(option, out);
    fprintf(out, "  --help%*sthis text\n\n", HELP_COLUMN - 8, "");
    if (spec->table[0].name) {
        char variable[ENVIRONMENT_BYTES];
        environment_name(spec->table[0].name, variable);
        fprintf(out, "Each option can also be set in the environment: --%s is %s.\n",
                spec->table[0].name, variable);
    }
}

/* -- values ----------------------------------------------------------------------------------- */

static const struct setting *get(const struct options *options, const char *name) {
    int32_t row = find_row(options->spec->table, name, strlen(name));
    assert(row >= 0 && "an option that is not in the table");
    return &options->settings[row];
}

bool options_help_wanted(const struct options *options) { return options->help_wanted; }
const char *options_text(const struct options *options, const char *name) {
    return get(options, name)->text;
}
int64_t options_integer(const struct options *options, const char *name) {
    return get(options, name)->integer;
}
double options_number(const struct options *options, const char *name) {
    return get(options, name)->number;
}
bool options_flag(const struct options *options, const char *name) {
    return get(options, name)->integer != 0;
}
bool options_is_set(const struct options *options, const char *name) {
    return get(options, name)->origin != ORIGIN_DEFAULT;
}
const char *const *options_list(const struct options *options, const char *name) {
    static const char *const empty[] = {NULL};
    char *const *items = get(options, name)->items;
    return items ? (const char *const *)items : empty;
}
int32_t options_n_arguments(const struct options *options) { return options->n_arguments; }
const char *options_argument(const struct options *options, int32_t index) {
    return index >= 0 && index < options->n_arguments ? options->arguments[index] : NULL;
}

const char *options_report(const struct options *options, int32_t index, const char **value,
                           enum option_origin *origin) {
    const struct option *option = &options->spec->table[index];
    if (!option->name) return NULL;
    const char *text = options->settings[index].text;
    *value = text && option->secret ? "set" : text;
    *origin = options->settings[index].origin;
    return option->name;
}

const char *option_origin_name(enum option_origin origin) {
    static const char *const names[] = {"default", "environment", "flag"};
    return names[origin];
}
