/* `retake convert`: a scene or splat file in another format. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "render/io/scene_file.h"
#include "render/io/splat_file.h"
#include "server/commands.h"

enum { EXIT_USAGE = 2 };

static const char help[] =
    "usage: retake convert INPUT OUTPUT [OPTIONS]\n\n"
    "  INPUT            a .retake, .ply, .spz or .splat file, or a folder with scene.json\n"
    "  OUTPUT           .retake, .ply, .spz or .splat, or a folder; an existing file is replaced\n"
    "  --axes-in NAME   of a splat input: flu, rdf, rub or luf (declared by the file, else the\n"
    "                   format's default: rdf for .ply and .splat, rub for .spz)\n"
    "  --axes-out NAME  of a splat output (flu for .ply, rdf for .splat, rub for .spz)\n"
    "  --format NAME    of OUTPUT: retake, folder, ply, spz or splat (by its ending)\n"
    "  --spz-sh-bits N  bits kept of each SH coefficient of .spz, 1...8 (5 for degree 1, 4 "
    "above)\n\n"
    "What the output format cannot hold is printed.\n";

struct convert_arguments {
    const char *in, *out, *axes_in, *axes_out, *format;
    int32_t spz_sh_bits;
};

static bool has_ending(const char *path, const char *ending) {
    size_t n = strlen(path);
    size_t m = strlen(ending);
    return n >= m && strcasecmp(path + n - m, ending) == 0;
}

/* Format by the ending of the output; anything without one is a folder. */
static const char *choose_format(const struct convert_arguments *arguments) {
    static const char *const formats[] = {"retake", "ply", "spz", "splat", "folder"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        char ending[16];
        snprintf(ending, sizeof ending, ".%s", formats[i]);
        if (arguments->format ? strcmp(arguments->format, formats[i]) == 0
                              : has_ending(arguments->out, ending)) {
            return formats[i];
        }
    }
    const char *slash = strrchr(arguments->out, '/');
    bool has_dot = strchr(slash ? slash + 1 : arguments->out, '.') != NULL;
    return arguments->format || has_dot ? NULL : "folder";
}

static bool is_same_file(const char *a, const char *b) {
    struct stat x;
    struct stat y;
    if (strcmp(a, b) == 0) return true;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static void print_warnings(const struct scene *scene) {
    for (int32_t i = 0; i < scene->n_warnings; i++) {
        fprintf(stderr, "retake convert: warning: %s\n", scene->warnings[i]);
    }
}

static void print_scene_loss(const struct scene *scene) {
    if (scene->n_nodes > 1) printf("lost: %d moving actors\n", scene->n_nodes - 1);
    if (scene->n_cameras > 0) printf("lost: %d cameras with their frames\n", scene->n_cameras);
    if (scene->sky != SKY_NONE) printf("lost: the sky colour\n");
}

static enum rt_status write_splats(const struct convert_arguments *arguments, const char *format,
                                   const struct scene *scene, struct rt_error *err) {
    const char *axes = arguments->axes_out ? arguments->axes_out : scene_export_axes(format);
    struct gaussians *all = NULL;
    char lossy[RT_MESSAGE_BYTES] = "";
    RT_TRY(scene_bake(scene, axes, &all, err));
    struct splat_write what = {.gaussians = all,
                               .axes = axes,
                               .antialiased = scene->nodes[0].antialiased,
                               .spz_sh_bits = arguments->spz_sh_bits};
    enum rt_status status = splat_file_write(arguments->out, format, &what, lossy, err);
    gaussians_destroy(&all);
    if (status != RT_OK) return status;
    print_scene_loss(scene);
    if (lossy[0]) printf("lost: %s\n", lossy);
    return RT_OK;
}

static enum rt_status convert(const struct convert_arguments *arguments, const char *format,
                              struct rt_error *err) {
    const struct scene_read_options options = {.axes = arguments->axes_in};
    bool is_scene = strcmp(format, "retake") == 0 || strcmp(format, "folder") == 0;
    struct scene *scene = NULL;
    RT_TRY(scene_read(arguments->in, &options, &scene, err));
    print_warnings(scene);
    enum rt_status status = is_scene ? scene_write(arguments->out, scene, err)
                                     : write_splats(arguments, format, scene, err);
    if (status == RT_OK) {
        printf("%lld splats written to %s\n", (long long)scene_n_gaussians(scene), arguments->out);
    }
    scene_release(&scene);
    return status;
}

static int refuse(const char *what) {
    fprintf(stderr, "retake convert: %s; see retake convert --help\n", what);
    return EXIT_USAGE;
}

static bool take_bits(const char *text, int32_t *out) {
    if (text[0] < '1' || text[0] > '8' || text[1] != '\0') return false;
    *out = text[0] - '0';
    return true;
}

static int parse(int argc, char **argv, struct convert_arguments *out) {
    static const struct option options[] = {
        {"axes-in", required_argument, NULL, 'i'}, {"axes-out", required_argument, NULL, 'o'},
        {"format", required_argument, NULL, 'f'},  {"spz-sh-bits", required_argument, NULL, 'b'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (option == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (option == '?') return EXIT_USAGE;
        if (option == 'i') out->axes_in = optarg;
        if (option == 'o') out->axes_out = optarg;
        if (option == 'f') out->format = optarg;
        if (option == 'b' && !take_bits(optarg, &out->spz_sh_bits)) {
            return refuse("--spz-sh-bits must be 1...8");
        }
    }
    if (optind != argc - 2) return refuse("an input and an output are needed");
    out->in = argv[optind];
    out->out = argv[optind + 1];
    return -1;
}

int command_convert(int argc, char **argv) {
    struct convert_arguments arguments = {0};
    struct rt_error err;
    int code = parse(argc, argv, &arguments);
    if (code >= 0) return code;
    const char *format = choose_format(&arguments);
    if (!format) return refuse("the output must end in .retake, .ply, .spz or .splat");
    if (is_same_file(arguments.in, arguments.out)) return refuse("input and output are the same");
    bool is_retake = strcmp(format, "retake") == 0;
    if (is_retake != has_ending(arguments.out, ".retake") &&
        (is_retake || strcmp(format, "folder") == 0)) {
        return refuse("a .retake file must be named so, a folder must not");
    }
    rt_error_clear(&err);
    if (convert(&arguments, format, &err) == RT_OK) return 0;
    fprintf(stderr, "retake convert: %s: %s\n", err.code ? err.code : rt_status_name(err.status),
            err.message);
    return 1;
}
