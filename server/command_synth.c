#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recon/synth.h"
#include "server/commands.h"

static void print_help(FILE *out) {
    fprintf(out,
            "usage: retake synth OUT_FOLDER [OPTIONS]\n\n"
            "Writes a synthetic street recording with exact poses: pictures, points and\n"
            "recording.json; a drive also has lidar sweeps, moving actors and their tracks. The\n"
            "same options give the same files.\n\n"
            "  --static         photos of a street where nothing moves (without it: a drive)\n"
            "  --frames N       number of photos, --static only (54)\n"
            "  --seconds S      length of the drive, 0.2...120 (10)\n"
            "  --cameras N      cameras of the drive, 1...6: front, left, right, rear, ... (3)\n"
            "  --size WxH       pixels of a picture (480x270 with --static, else 640x360)\n"
            "  --seed N         another street (1)\n"
            "  --png            PNG pictures instead of JPEG of quality 95\n"
            "  --force          write into a folder that is not empty; files of the same name are\n"
            "                   replaced, others stay\n"
            "  --quiet          no progress\n"
            "  --help           this text\n");
}

struct arguments {
    const char *folder;
    struct synth_options options;
    bool force, quiet, help;
};

static int wrong(const char *option, const char *value, const char *wanted) {
    fprintf(stderr, "retake synth: %s %s: must be %s (retake synth --help)\n", option, value,
            wanted);
    return 2;
}

static bool parse_int(const char *text, int64_t low, int64_t high, int64_t *out) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < low || value > high) return false;
    *out = value;
    return true;
}

static bool parse_size(const char *text, int32_t *width_px, int32_t *height_px) {
    int n = 0, width = 0, height = 0;
    if (sscanf(text, "%5dx%5d%n", &width, &height, &n) != 2 || text[n]) return false;
    *width_px = width;
    *height_px = height;
    return true;
}

/* One option with a value; 0, or the exit code after saying what is wrong. */
static int set_value(struct arguments *arguments, const char *option, const char *value) {
    struct synth_options *options = &arguments->options;
    int64_t number = 0;
    if (strcmp(option, "--seed") == 0) {
        if (!parse_int(value, 0, INT64_MAX, &number)) return wrong(option, value, "a number >= 0");
        options->seed = (uint64_t)number;
    } else if (strcmp(option, "--frames") == 0) {
        if (!options->is_static) {
            fprintf(stderr, "retake synth: --frames needs --static; a drive takes --seconds\n");
            return 2;
        }
        if (!parse_int(value, 2, 1000, &number)) return wrong(option, value, "2...1000");
        options->n_photos = (int32_t)number;
    } else if (strcmp(option, "--size") == 0) {
        if (!parse_size(value, &options->width_px, &options->height_px)) {
            return wrong(option, value, "WIDTHxHEIGHT, for example 640x360");
        }
    } else if (options->is_static) {
        fprintf(stderr, "retake synth: %s belongs to a drive and does not go with --static\n",
                option);
        return 2;
    } else if (strcmp(option, "--seconds") == 0) {
        char *end;
        options->duration_s = strtof(value, &end);
        if (end == value || *end) return wrong(option, value, "a number of seconds");
    } else {
        if (!parse_int(value, 1, SYNTH_MAX_CAMERAS, &number)) return wrong(option, value, "1...6");
        options->n_cameras = (int32_t)number;
    }
    return 0;
}

static bool takes_value(const char *option) {
    static const char *const names[] = {"--seed", "--frames", "--size", "--seconds", "--cameras"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(option, names[i]) == 0) return true;
    }
    return false;
}

static int parse_one(struct arguments *arguments, int argc, char **argv, int *i) {
    const char *word = argv[*i];
    if (strcmp(word, "--static") == 0) return 0; /* seen in the first pass */
    if (strcmp(word, "--png") == 0) {
        arguments->options.png = true;
    } else if (strcmp(word, "--force") == 0) {
        arguments->force = true;
    } else if (strcmp(word, "--quiet") == 0) {
        arguments->quiet = true;
    } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        arguments->help = true;
    } else if (takes_value(word)) {
        if (*i + 1 >= argc) {
            fprintf(stderr, "retake synth: %s needs a value (retake synth --help)\n", word);
            return 2;
        }
        return set_value(arguments, word, argv[++*i]);
    } else if (word[0] == '-' || arguments->folder) {
        fprintf(stderr, "retake synth: unexpected \"%s\" (retake synth --help)\n", word);
        return 2;
    } else {
        arguments->folder = word;
    }
    return 0;
}

static int parse(struct arguments *arguments, int argc, char **argv) {
    bool is_static = false;
    for (int i = 1; i < argc; i++) is_static = is_static || strcmp(argv[i], "--static") == 0;
    *arguments = (struct arguments){.options = synth_options_default(is_static)};
    for (int i = 1; i < argc; i++) {
        int code = parse_one(arguments, argc, argv, &i);
        if (code) return code;
    }
    if (arguments->help) return 0;
    if (!arguments->folder) {
        fprintf(stderr, "retake synth: where to? usage: retake synth OUT_FOLDER [OPTIONS]\n");
        return 2;
    }
    struct rt_error err;
    if (synth_options_validate(&arguments->options, &err) != RT_OK) {
        fprintf(stderr, "retake synth: %s\n", err.message);
        return 2;
    }
    return 0;
}

/* Makes the folder, or accepts an empty one. */
static int open_folder(const struct arguments *arguments) {
    if (mkdir(arguments->folder, 0777) == 0) return 0;
    int why = errno;
    DIR *folder = why == EEXIST ? opendir(arguments->folder) : NULL;
    if (!folder) {
        if (why == EEXIST) why = errno;
        fprintf(stderr, "retake synth: cannot make the folder %s: %s\n", arguments->folder,
                strerror(why));
        return 1;
    }
    bool is_empty = true;
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) is_empty = false;
    }
    closedir(folder);
    if (is_empty || arguments->force) return 0;
    fprintf(stderr, "retake synth: the folder %s is not empty; choose another or add --force\n",
            arguments->folder);
    return 1;
}

/* On a terminal one line that changes, else a line at every tenth. */
static void show_progress(void *context, const char *what, int32_t n_done, int32_t n_all) {
    bool is_terminal = *(const bool *)context;
    if (is_terminal) {
        fprintf(stderr, "\r%s %d of %d%s", what, n_done, n_all, n_done == n_all ? "\n" : " ");
        fflush(stderr);
    } else if (n_done == n_all || n_done * 10 / n_all != (n_done - 1) * 10 / n_all) {
        fprintf(stderr, "%s %d of %d\n", what, n_done, n_all);
    }
}

int command_synth(int argc, char **argv) {
    struct arguments arguments;
    int code = parse(&arguments, argc, argv);
    if (code) return code;
    if (arguments.help) {
        print_help(stdout);
        return 0;
    }
    code = open_folder(&arguments);
    if (code) return code;
    bool is_terminal = isatty(STDERR_FILENO);
    if (!arguments.quiet) arguments.options.progress = show_progress;
    arguments.options.progress_context = &is_terminal;
    struct synth_report report;
    struct rt_error err;
    if (synth_record(arguments.folder, &arguments.options, &report, &err) != RT_OK) {
        fprintf(stderr, "%sretake synth: %s: %s\n", is_terminal ? "\n" : "", arguments.folder,
                err.message);
        return 1;
    }
    printf("%s: %d pictures of %d x %d px, %d points", arguments.folder, report.n_pictures,
           arguments.options.width_px, arguments.options.height_px, report.n_points);
    if (report.n_sweeps > 0) {
        printf(", %d lidar sweeps with %" PRId64 " returns, %d tracks", report.n_sweeps,
               report.n_lidar_points, report.n_tracks);
    }
    printf("\nnext: retake reconstruct %s -o scene.retake\n", arguments.folder);
    return 0;
}
