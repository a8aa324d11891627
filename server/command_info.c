/* `retake info`: what a scene, a splat file or a recording holds. */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "render/io/scene_file.h"
#include "render/io/splat_file.h"
#include "server/commands.h"

enum { EXIT_USAGE = 2, CAMERAS_SHOWN = 16 };

static const char help[] =
    "usage: retake info FILE|FOLDER [OPTIONS]\n\n"
    "  FILE or FOLDER   a .retake, .ply, .spz or .splat file, a scene folder, or a folder with a\n"
    "                   recording (recording.json, COLMAP, transforms.json)\n"
    "  --json           one JSON object instead of text (scenes and splat files)\n"
    "  --deep           of a recording: decode every file first\n"
    "  --axes NAME      of a splat file: flu, rdf, rub or luf (the format's default)\n\n"
    "A file that is refused: its finding code and the reason on standard error, exit code 1.\n";

struct info_arguments {
    const char *path, *axes;
    bool as_json, deep;
};

/* What is printed, from either kind of file. */
struct summary {
    char format[16];
    const struct scene *scene;             /* borrowed */
    const struct gaussians_report *report; /* borrowed; NULL of a scene file */
    char *const *warnings;                 /* borrowed [n_warnings] */
    int32_t n_warnings;
};

static const char *axes_or(const char *axes) { return axes[0] ? axes : "flu"; }

static void print_cameras(const struct scene *scene) {
    printf("cameras      %d\n", scene->n_cameras);
    for (int32_t i = 0; i < scene->n_cameras && i < CAMERAS_SHOWN; i++) {
        const struct scene_camera *camera = &scene->cameras[i];
        printf("  %-12s %d frames, %d x %d px\n", camera->id, camera->frames.n_frames,
               camera->camera.width_px, camera->camera.height_px);
    }
    if (scene->n_cameras > CAMERAS_SHOWN) {
        printf("  … and %d more\n", scene->n_cameras - CAMERAS_SHOWN);
    }
    if (scene->is_static) {
        printf("time         static\n");
    } else {
        printf("time         %.3f s to %.3f s\n", (double)scene->t_begin_us * 1e-6,
               (double)scene->t_end_us * 1e-6);
    }
}

static void print_text(const struct summary *summary) {
    const struct scene *scene = summary->scene;
    float low[3];
    float high[3];
    printf("format       %s\n", summary->format);
    if (!summary->report) printf("name         %s\n", scene->name);
    printf("splats       %lld\n", (long long)scene_n_gaussians(scene));
    printf("SH degree    %d\n", scene_sh_degree(scene));
    if (scene_bounds(scene, low, high)) {
        printf(
            "bounds       x %.3f to %.3f, y %.3f to %.3f, z %.3f to %.3f m\n"
            "             (98 %% of the splats; x forward, y left, z up)\n",
            (double)low[0], (double)high[0], (double)low[1], (double)high[1], (double)low[2],
            (double)high[2]);
    }
    printf("axes         %s\n", axes_or(scene->axes));
    printf("antialiased  %s\n", scene->n_nodes > 0 && scene->nodes[0].antialiased ? "yes" : "no");
    if (summary->report) {
        printf("dropped      %d\n", summary->report->n_dropped);
        printf("repaired     %d opacities, %d rotations, %d colours\n",
               summary->report->n_opacity_clamped, summary->report->n_zero_quat,
               summary->report->n_sh_zeroed);
    } else {
        printf("actors       %d\n", scene->n_nodes - 1);
        print_cameras(scene);
    }
    for (int32_t i = 0; i < summary->n_warnings; i++) {
        printf("warning      %s\n", summary->warnings[i]);
    }
}

static json_t *bounds_json(const struct scene *scene) {
    float low[3];
    float high[3];
    if (!scene_bounds(scene, low, high)) return json_null();
    return json_pack("[[f, f, f], [f, f, f]]", (double)low[0], (double)low[1], (double)low[2],
                     (double)high[0], (double)high[1], (double)high[2]);
}

static json_t *cameras_json(const struct scene *scene) {
    json_t *cameras = json_array();
    for (int32_t i = 0; i < scene->n_cameras; i++) {
        const struct scene_camera *camera = &scene->cameras[i];
        json_array_append_new(
            cameras,
            json_pack("{s:s, s:i, s:[i, i]}", "id", camera->id, "frames", camera->frames.n_frames,
                      "size_px", camera->camera.width_px, camera->camera.height_px));
    }
    return cameras;
}

static json_t *report_json(const struct gaussians_report *report) {
    if (!report) return json_null();
    return json_pack("{s:i, s:i, s:i, s:i}", "dropped", report->n_dropped, "opacity_clamped",
                     report->n_opacity_clamped, "rotation_repaired", report->n_zero_quat,
                     "colour_zeroed", report->n_sh_zeroed);
}

static enum rt_status print_json(const struct summary *summary, struct rt_error *err) {
    const struct scene *scene = summary->scene;
    json_t *warnings = json_array();
    for (int32_t i = 0; i < summary->n_warnings; i++) {
        json_array_append_new(warnings, json_string(summary->warnings[i]));
    }
    json_t *root = json_pack(
        "{s:s, s:s, s:I, s:i, s:o, s:s, s:b, s:i, s:o, s:b, s:I, s:I, s:o, s:o}", "format",
        summary->format, "name", scene->name, "splats", (json_int_t)scene_n_gaussians(scene),
        "sh_degree", scene_sh_degree(scene), "bounds_m", bounds_json(scene), "axes",
        axes_or(scene->axes), "antialiased", scene->nodes[0].antialiased, "actors",
        scene->n_nodes - 1, "cameras", cameras_json(scene), "static", scene->is_static,
        "t_begin_us", (json_int_t)scene->t_begin_us, "t_end_us", (json_int_t)scene->t_end_us,
        "repairs", report_json(summary->report), "warnings", warnings);
    char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(7)) : NULL;
    json_decref(root);
    if (!text) return rt_fail(err, RT_NO_MEMORY, "out of memory");
    printf("%s\n", text);
    free(text);
    return RT_OK;
}

static enum rt_status print_scene(const struct info_arguments *arguments, bool is_splats,
                                  struct rt_error *err) {
    const struct scene_read_options options = {.axes = arguments->axes};
    struct gaussians_report report = {0};
    struct summary summary = {.format = "retake"};
    struct scene *scene = NULL;
    if (is_splats) { /* the report is in the splat reader alone */
        struct splat_file file = {0};
        RT_TRY(splat_file_read(arguments->path, NULL, &file, err));
        report = file.report;
        memcpy(summary.format, file.format, sizeof summary.format);
        summary.report = &report;
        splat_file_free(&file);
    }
    RT_TRY(scene_read(arguments->path, &options, &scene, err));
    summary.scene = scene;
    summary.warnings = scene->warnings;
    summary.n_warnings = scene->n_warnings;
    enum rt_status status = RT_OK;
    if (arguments->as_json) {
        status = print_json(&summary, err);
    } else {
        print_text(&summary);
    }
    scene_release(&scene);
    return status;
}

static bool holds(const char *folder, const char *name) {
    char path[4096];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &st) == 0;
}

/* Folders with scene.json are scenes, those of SOG are refused by the scene reader with their name,
 * all others are taken for recordings. */
static enum rt_status print_any(const struct info_arguments *arguments, struct rt_error *err) {
    static const char *const scene_files[] = {"scene.json", "meta.json", "lod-meta.json"};
    struct stat st;
    if (stat(arguments->path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        struct scene_summary found;
        RT_TRY(scene_peek(arguments->path, &found, err));
        return print_scene(arguments, strcmp(found.format, "retake") != 0, err);
    }
    for (size_t i = 0; i < sizeof scene_files / sizeof scene_files[0]; i++) {
        if (holds(arguments->path, scene_files[i])) return print_scene(arguments, false, err);
    }
    if (arguments->as_json) {
        return rt_fail(err, RT_UNSUPPORTED, "--json is for scenes and splat files");
    }
    return info_recording(arguments->path, arguments->deep, err);
}

static int parse(int argc, char **argv, struct info_arguments *out) {
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"deep", no_argument, NULL, 'd'},
                                            {"axes", required_argument, NULL, 'a'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (option == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (option == '?') return EXIT_USAGE;
        if (option == 'j') out->as_json = true;
        if (option == 'd') out->deep = true;
        if (option == 'a') out->axes = optarg;
    }
    if (optind != argc - 1) {
        fprintf(stderr, "retake info needs one file or folder; see retake info --help\n");
        return EXIT_USAGE;
    }
    out->path = argv[optind];
    return -1;
}

int command_info(int argc, char **argv) {
    struct info_arguments arguments = {0};
    struct rt_error err;
    int code = parse(argc, argv, &arguments);
    if (code >= 0) return code;
    rt_error_clear(&err);
    if (print_any(&arguments, &err) == RT_OK) return 0;
    fprintf(stderr, "retake info: %s: %s\n", err.code ? err.code : rt_status_name(err.status),
            err.message);
    return 1;
}
