/* `retake render`: one picture of a scene file, without a server. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/engine_draw.h"
#include "api/picture_encode.h"
#include "api/view.h"
#include "render/io/scene_file.h"
#include "server/commands.h"

enum { EXIT_USAGE = 2 };

struct render_arguments {
    const char *scene, *out, *axes;
    struct view view;
};

static const char help[] =
    "usage: retake render SCENE -o PICTURE [OPTIONS]\n\n"
    "  SCENE            a .retake, .ply, .splat or .spz file, or a folder with scene.json\n"
    "  -o PICTURE       .png, .jpg, .npy or .raw\n"
    "  --sensor ID      a camera of the scene (the view \"default\", which every scene has)\n"
    "  --frame N        a recorded frame of that camera (the first)\n"
    "  --width N        pixels; one of width and height keeps the aspect\n"
    "  --height N\n"
    "  --output NAME    rgb, alpha, depth or splat_count (rgb)\n"
    "  --axes NAME      of a splat file: flu, rdf, rub or luf (the format's default)\n";

static int refuse(const char *what, const char *value) {
    fprintf(stderr, "retake render: %s \"%s\" is not usable; see retake render --help\n", what,
            value);
    return EXIT_USAGE;
}

static bool take_count(const char *text, int64_t maximum, int32_t *out) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < 0 || value > maximum) return false;
    *out = (int32_t)value;
    return true;
}

static bool take_output(const char *name, struct view *view) {
    for (int i = 0; i < VIEW_N_OUTPUTS; i++) {
        if (strcmp(name, view_output_names[i]) != 0) continue;
        view->outputs[0] = (enum view_output)i;
        return true;
    }
    return false;
}

/* Format by the ending of the picture's name. */
static bool take_format(const char *path, struct view *view) {
    static const enum view_format formats[] = {VIEW_PNG, VIEW_JPEG, VIEW_NPY, VIEW_RAW};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof formats / sizeof formats[0]; i++) {
        if (strcmp(dot + 1, view_format_extension(formats[i])) != 0) continue;
        view->format = formats[i];
        if (view->format == VIEW_JPEG && view->outputs[0] != VIEW_RGB) view->colormap = 0;
        return true;
    }
    return false;
}

/* 0 = go on, else exit code. */
static int take_option(int option, struct render_arguments *arguments) {
    struct view *view = &arguments->view;
    bool is_good = true;
    switch (option) {
        case 'o':
            arguments->out = optarg;
            break;
        case 'a':
            arguments->axes = optarg;
            break;
        case 's':
            is_good = id_is_valid(optarg, true);
            if (is_good) snprintf(view->sensor, sizeof view->sensor, "%s", optarg);
            break;
        case 'f':
            is_good = take_count(optarg, RT_MAX_FRAMES, &view->i_frame);
            break;
        case 'w':
            is_good = take_count(optarg, RT_MAX_SIDE_PX, &view->size_px[0]);
            break;
        case 'h':
            is_good = take_count(optarg, RT_MAX_SIDE_PX, &view->size_px[1]);
            break;
        case 'p':
            is_good = take_output(optarg, view);
            break;
        default:
            return EXIT_USAGE; /* getopt has said why */
    }
    return is_good ? 0 : refuse("the value", optarg);
}

static int read_arguments(int argc, char **argv, struct render_arguments *arguments) {
    static const struct option longs[] = {{"sensor", required_argument, NULL, 's'},
                                          {"frame", required_argument, NULL, 'f'},
                                          {"width", required_argument, NULL, 'w'},
                                          {"height", required_argument, NULL, 'h'},
                                          {"output", required_argument, NULL, 'p'},
                                          {"axes", required_argument, NULL, 'a'},
                                          {0}};
    for (int c; (c = getopt_long(argc, argv, "o:", longs, NULL)) != -1;) {
        int code = take_option(c, arguments);
        if (code != 0) return code;
    }
    if (optind + 1 != argc || arguments->out == NULL) {
        fputs(help, stderr);
        return EXIT_USAGE;
    }
    arguments->scene = argv[optind];
    return take_format(arguments->out, &arguments->view) ? 0 : refuse("-o", arguments->out);
}

static enum rt_status draw(const struct render_arguments *arguments, struct scene *scene,
                           struct encoded *encoded, struct rt_error *err) {
    struct renderer *renderer = NULL;
    struct engine_render render;
    struct engine_picture *picture = NULL;
    RT_TRY(view_resolve(&arguments->view, scene, &render, err));
    RT_TRY(render_create(&renderer, &(struct render_options){0}, err));
    enum rt_status status = engine_draw(renderer, &render, NULL, &picture, err);
    if (status == RT_OK) status = picture_encode(picture, &arguments->view, encoded, err);
    engine_picture_free(picture);
    render_destroy(&renderer);
    return status;
}

int command_render(int argc, char **argv) {
    struct render_arguments arguments = {.view = view_defaults()};
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        fputs(help, stdout);
        return 0;
    }
    int code = read_arguments(argc, argv, &arguments);
    if (code != 0) return code;
    struct rt_error err;
    rt_error_clear(&err);
    struct scene *scene = NULL;
    struct encoded encoded = {0};
    const struct scene_read_options options = {.axes = arguments.axes};
    enum rt_status status = scene_read(arguments.scene, &options, &scene, &err);
    if (status == RT_OK) status = draw(&arguments, scene, &encoded, &err);
    if (status == RT_OK) {
        status = file_write_atomic(arguments.out, encoded.bytes.bytes, encoded.bytes.n_bytes, &err);
    }
    if (status != RT_OK) fprintf(stderr, "retake render: %s\n", err.message);
    rt_bytes_free(&encoded.bytes);
    scene_release(&scene);
    return status == RT_OK ? 0 : 1;
}
