/* `retake reconstruct`: a recording on disk to a scene file, with a progress bar. */
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "recon/reconstruction.h"
#include "server/commands.h"

enum { EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

static volatile sig_atomic_t interrupted = 0;

static void on_interrupt(int number) {
    (void)number;
    interrupted = 1;
}

static void print_help(void) {
    printf(
        "usage: retake reconstruct CAPTURE -o SCENE [OPTIONS]\n\n"
        "  CAPTURE               folder with recording.json, COLMAP or transforms.json\n"
        "  -o SCENE              scene to write: NAME.retake or a folder\n"
        "  --preset NAME         preview (default), balanced, quality\n"
        "  --config NAME=VALUE   a parameter of the table below; repeatable\n"
        "  --work FOLDER         checkpoints and figures (SCENE.work)\n"
        "  --resume              continue from the checkpoint in the work folder\n\n"
        "Ctrl-C stops after the step in progress and keeps a checkpoint.\n\nparameters:\n");
    int32_t n = 0;
    const struct config_row *rows = config_rows(&n);
    for (int32_t i = 0; i < n; i++) {
        if (rows[i].type == CONFIG_CHOICE) {
            printf("  %-20s %s (%s)\n", rows[i].name, rows[i].text, rows[i].choices);
        } else {
            printf("  %-20s %s (%g, %g to %g%s%s)\n", rows[i].name, rows[i].text,
                   rows[i].default_value, rows[i].minimum, rows[i].maximum,
                   rows[i].unit[0] ? " " : "", rows[i].unit);
        }
    }
}

struct arguments {
    const char *capture, *output, *work;
    struct recon_config config;
};

static enum rt_status take_config(const char *text, struct recon_config *config,
                                  struct rt_error *err) {
    char name[64];
    const char *equals = strchr(text, '=');
    if (!equals || (size_t)(equals - text) >= sizeof name) {
        return rt_fail(err, RT_INVALID, "--config %.60s: must be NAME=VALUE", text);
    }
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = '\0';
    return config_set(config, name, equals + 1, err);
}

/* Presets come before single parameters, wherever they stand on the line. */
static enum rt_status parse(int argc, char **argv, struct arguments *out, struct rt_error *err) {
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'}, {"preset", required_argument, NULL, 'p'},
        {"config", required_argument, NULL, 'c'}, {"work", required_argument, NULL, 'w'},
        {"resume", no_argument, NULL, 'r'},       {NULL, 0, NULL, 0}};
    for (int pass = 0; pass < 2; pass++) {
        optind = 1;
        for (int key; (key = getopt_long(argc, argv, "o:", options, NULL)) != -1;) {
            if (key == '?') return rt_fail(err, RT_INVALID, "see retake reconstruct --help");
            if (key == 'o') out->output = optarg;
            if (key == 'w') out->work = optarg;
            if (key == 'p' && pass == 0) RT_TRY(config_preset(optarg, &out->config, err));
            if (key == 'c' && pass == 1) RT_TRY(take_config(optarg, &out->config, err));
        }
    }
    if (optind + 1 != argc) return rt_fail(err, RT_INVALID, "name one CAPTURE folder");
    if (!out->output) return rt_fail(err, RT_INVALID, "name the scene to write: -o NAME.retake");
    out->capture = argv[optind];
    return RT_OK;
}

static void print_progress(const struct recon_progress *p, bool is_terminal) {
    static const char *const phases[] = {"reading",    "initialising", "training",
                                         "evaluating", "publishing",   "done"};
    char bar[31];
    int n_full = (int)(p->fraction * 30.0);
    for (int i = 0; i < 30; i++) bar[i] = i < n_full ? '#' : '.';
    bar[30] = '\0';
    char psnr[32] = "";
    double shown_db = isnan(p->psnr_db) ? p->train_psnr_db : p->psnr_db;
    if (isfinite(shown_db) && shown_db > 0.0) snprintf(psnr, sizeof psnr, "%.2f dB  ", shown_db);
    fprintf(stderr, "%s[%s] %s  step %d of %d  %.1f steps/s  %s%d splats  %.0f s left%s",
            is_terminal ? "\r\033[K" : "", bar, phases[p->phase], p->step, p->n_steps,
            p->step_ms > 0.0 ? 1000.0 / p->step_ms : 0.0, psnr, p->n_gaussians,
            p->eta_s > 0.0 ? p->eta_s : 0.0, is_terminal ? "" : "\n");
}

static enum rt_status run(struct reconstruction *reconstruction, struct rt_error *err) {
    bool is_terminal = isatty(STDERR_FILENO);
    double interval_s = is_terminal ? 0.2 : 5.0;
    struct timespec shown = {0};
    while (!reconstruction_done(reconstruction) && !interrupted) {
        RT_TRY(reconstruction_advance(reconstruction, err));
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        double since_s =
            (double)(now.tv_sec - shown.tv_sec) + (double)(now.tv_nsec - shown.tv_nsec) * 1e-9;
        if (since_s < interval_s && !reconstruction_done(reconstruction)) continue;
        struct recon_progress progress = reconstruction_progress(reconstruction);
        print_progress(&progress, is_terminal);
        shown = now;
    }
    if (is_terminal) fputc('\n', stderr);
    return RT_OK;
}

static int finish(struct reconstruction *reconstruction, const struct arguments *arguments) {
    struct recon_progress p = reconstruction_progress(reconstruction);
    struct rt_error err;
    if (interrupted) {
        if (p.phase < RECON_TRAINING) {
            fprintf(stderr, "stopped before the first step\n");
        } else if (reconstruction_checkpoint(reconstruction, &err) != RT_OK) {
            fprintf(stderr, "stopped; no checkpoint: %s\n", err.message);
        } else {
            fprintf(stderr, "stopped at step %d; the same command continues there\n", p.step);
        }
        return EXIT_INTERRUPTED;
    }
    printf("%s: %d splats, held-out PSNR %.2f dB, SSIM %.4f, %.0f s\n", arguments->output,
           p.n_gaussians, p.psnr_db, p.ssim, p.seconds);
    printf("next: retake render %s -o picture.png\n", arguments->output);
    return 0;
}

static int reconstruct(const struct arguments *arguments) {
    struct rt_error err;
    struct renderer *renderer = NULL;
    struct reconstruction *reconstruction = NULL;
    char work[PATH_MAX];
    snprintf(work, sizeof work, "%s%s", arguments->work ? arguments->work : arguments->output,
             arguments->work ? "" : ".work");
    struct recon_spec spec = {.recording_folder = arguments->capture,
                              .work_folder = work,
                              .output = arguments->output,
                              .name = "scene",
                              .config = arguments->config};
    const char *slash = strrchr(arguments->capture, '/');
    if (slash && slash[1] != '\0') spec.name = slash + 1;
    if (!slash) spec.name = arguments->capture;
    int code = 1;
    enum rt_status status = render_create(&renderer, &(struct render_options){0}, &err);
    spec.renderer = renderer;
    if (status == RT_OK) status = reconstruction_open(&reconstruction, &spec, &err);
    if (status == RT_OK) status = run(reconstruction, &err);
    if (status == RT_OK) {
        code = finish(reconstruction, arguments);
    } else {
        fprintf(stderr, "retake reconstruct: %s\n", err.message);
    }
    reconstruction_close(&reconstruction);
    render_destroy(&renderer);
    return code;
}

int command_reconstruct(int argc, char **argv) {
    struct arguments arguments = {0};
    struct rt_error err;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            print_help();
            return 0;
        }
    }
    if (config_preset("preview", &arguments.config, &err) != RT_OK ||
        parse(argc, argv, &arguments, &err) != RT_OK) {
        fprintf(stderr, "retake reconstruct: %s\n", err.message);
        return EXIT_USAGE;
    }
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
    return reconstruct(&arguments);
}
