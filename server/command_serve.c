/* `retake serve`: the HTTP service. Exit codes: 0 drained, 64 wrong configuration, 75 drain
 * overran. */
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"
#include "api/routes.h"
#include "api/scene_store.h"
#include "render/core/log.h"
#include "retake_version.h"
#include "server/commands.h"

enum { EXIT_CONFIGURATION = 64, EXIT_DRAIN_OVERRAN = 75, DRAIN_MS = 30000 };

struct serve_options {
    char listen[96];
    const char *data, *data_root, *static_folder, *backend;
    size_t memory_bytes;
    int32_t threads;
    bool print_routes, verbose;
};

struct option_row {
    const char *name;
    const char *value; /* NULL = a flag */
    const char *text;
};

static const struct option_row rows[] = {
    {"listen", "HOST:PORT", "address, loopback only in this version (127.0.0.1:8080)"},
    {"port", "N", "changes only the port; 0 picks a free one"},
    {"data", "DIR", "scenes, recordings, journal ($XDG_DATA_HOME/retake)"},
    {"data-root", "DIR", "where imports by path may read (nowhere)"},
    {"static", "DIR", "viewer files (installed share/retake/static)"},
    {"backend", "NAME", "auto or cpu (auto)"},
    {"memory-bytes", "N", "budget of loaded scenes (a quarter of the memory)"},
    {"threads", "N", "processor threads of rendering (all cores)"},
    {"verbose", NULL, "log more"},
    {"print-routes", NULL, "print the table of routes and exit"},
    {"help", NULL, "this text"},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

static void print_help(void) {
    printf("usage: retake serve [OPTIONS]      (each also as RETAKE_NAME in the environment)\n\n");
    for (int i = 0; i < N_ROWS; i++) {
        char name[40];
        snprintf(name, sizeof name, "--%s %s", rows[i].name,
                 rows[i].value != NULL ? rows[i].value : "");
        printf("  %-24s %s\n", name, rows[i].text);
    }
}

static bool take_count(const char *text, unsigned long long maximum, unsigned long long *out) {
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && *out <= maximum;
}

static bool take_port(struct serve_options *options, const char *value) {
    unsigned long long port;
    if (!take_count(value, 65535, &port)) return false;
    char *colon = strrchr(options->listen, ':');
    if (colon == NULL) return false;
    snprintf(colon, sizeof options->listen - (size_t)(colon - options->listen), ":%llu", port);
    return true;
}

/* False when the value is not usable. */
static bool take_option(struct serve_options *options, const char *name, const char *value) {
    unsigned long long count = 0;
    bool is_good = true;
    if (strcmp(name, "listen") == 0) {
        is_good = strlen(value) < sizeof options->listen && strchr(value, ':') != NULL;
        if (is_good) snprintf(options->listen, sizeof options->listen, "%s", value);
    } else if (strcmp(name, "port") == 0) {
        is_good = take_port(options, value);
    } else if (strcmp(name, "data") == 0) {
        options->data = value;
    } else if (strcmp(name, "data-root") == 0) {
        options->data_root = value;
    } else if (strcmp(name, "static") == 0) {
        options->static_folder = value;
    } else if (strcmp(name, "backend") == 0) {
        options->backend = value;
    } else if (strcmp(name, "memory-bytes") == 0) {
        is_good = take_count(value, 1ULL << 50, &count) && count > 0;
        options->memory_bytes = (size_t)count;
    } else if (strcmp(name, "threads") == 0) {
        is_good = take_count(value, 1024, &count) && count > 0;
        options->threads = (int32_t)count;
    }
    return is_good;
}

static bool refuse(const char *name, const char *value) {
    fprintf(stderr, "retake serve: --%s \"%s\" is not usable; see retake serve --help\n", name,
            value);
    return false;
}

static bool read_environment(struct serve_options *options) {
    for (int i = 0; i < N_ROWS; i++) {
        char name[40] = "RETAKE_";
        size_t n = strlen(name);
        for (const char *c = rows[i].name; *c != '\0'; c++) {
            name[n++] = *c == '-' ? '_' : (char)(*c >= 'a' && *c <= 'z' ? *c - 32 : *c);
        }
        name[n] = '\0';
        const char *value = rows[i].value != NULL ? getenv(name) : NULL;
        if (value != NULL && !take_option(options, rows[i].name, value)) {
            return refuse(rows[i].name, value);
        }
    }
    return true;
}

/* 0 = go on, else exit code + 1. */
static int read_arguments(int argc, char **argv, struct serve_options *options) {
    struct option longs[N_ROWS + 1] = {0};
    for (int i = 0; i < N_ROWS; i++) {
        longs[i].name = rows[i].name;
        longs[i].has_arg = rows[i].value != NULL ? required_argument : no_argument;
    }
    int at = 0;
    for (int c; (c = getopt_long(argc, argv, "", longs, &at)) != -1;) {
        if (c != 0) return EXIT_CONFIGURATION + 1; /* getopt has said why */
        const char *name = rows[at].name;
        if (strcmp(name, "help") == 0) {
            print_help();
            return 1;
        }
        if (strcmp(name, "print-routes") == 0) options->print_routes = true;
        if (strcmp(name, "verbose") == 0) options->verbose = true;
        if (optarg != NULL && !take_option(options, name, optarg)) {
            refuse(name, optarg);
            return EXIT_CONFIGURATION + 1;
        }
    }
    if (optind == argc) return 0;
    fprintf(stderr, "retake serve: unexpected argument \"%s\"\n", argv[optind]);
    return EXIT_CONFIGURATION + 1;
}

/* -- folders -- */

/* $XDG_DATA_HOME/retake, else ~/.local/share/retake; NULL when neither is known. Caller frees. */
static char *default_data_folder(void) {
    const char *home = getenv("XDG_DATA_HOME");
    if (home != NULL && home[0] == '/') return path_join(home, "retake");
    home = getenv("HOME");
    return home != NULL ? path_join(home, ".local/share/retake") : NULL;
}

static bool make_folder(const char *path) {
    char partial[4096];
    if (strlen(path) >= sizeof partial || path[0] == '\0') return false;
    snprintf(partial, sizeof partial, "%s", path);
    for (char *c = partial + 1; *c != '\0'; c++) {
        if (*c != '/') continue;
        *c = '\0';
        if (mkdir(partial, 0777) != 0 && errno != EEXIST) return false;
        *c = '/';
    }
    if (mkdir(partial, 0777) != 0 && errno != EEXIST) return false;
    struct stat status;
    if (stat(partial, &status) == 0 && !S_ISDIR(status.st_mode)) errno = ENOTDIR;
    return S_ISDIR(status.st_mode) && access(partial, W_OK) == 0;
}

static const char *first_existing(const char *installed, const char *in_source) {
    return access(installed, R_OK) == 0 ? installed : in_source;
}

/* -- signals -- */

/* Blocks the signals of the drain in all threads to come; they are taken by sigwait. */
static void block_signals(sigset_t *set) {
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigset_t blocked = *set;
    sigaddset(&blocked, SIGUSR1); /* ends the thread that waits for a second signal */
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is EFBIG of a write, not the end */
}

struct drain {
    struct api *api;
    const sigset_t *signals;
};

/* A second signal ends the waiting: everything queued is answered at once. */
static void *hurry(void *context) {
    struct drain *drain = context;
    sigset_t set = *drain->signals;
    int signal_number = 0;
    sigaddset(&set, SIGUSR1);
    sigwait(&set, &signal_number);
    if (signal_number != SIGUSR1) api_drain(drain->api, true);
    return NULL;
}

/* Order of promises.md section 3. False when requests were still open at the end. */
static bool shut_down(struct http_server **server, struct api *api, const sigset_t *signals) {
    struct drain drain = {api, signals};
    pthread_t thread;
    http_server_drain(*server);
    api_drain(api, false);
    bool has_thread = pthread_create(&thread, NULL, hurry, &drain) == 0;
    bool is_stopped = http_server_stop(server, DRAIN_MS);
    if (!is_stopped) {
        api_drain(api, true);
        is_stopped = http_server_stop(server, 2000);
    }
    if (has_thread) {
        pthread_kill(thread, SIGUSR1);
        pthread_join(thread, NULL);
    }
    return is_stopped;
}

static int serve_until_signal(struct http_server *server, struct api *api, const sigset_t *signals,
                              const struct serve_options *options) {
    char host[96];
    snprintf(host, sizeof host, "%s", options->listen);
    char *colon = strrchr(host, ':');
    if (colon != NULL) *colon = '\0';
    printf("Retake %s serves http://%s:%u/  (data: %s, backend: %s)\n", RETAKE_VERSION, host,
           http_server_port(server), options->data, engine_stats(api->engine).backend);
    fflush(stdout);
    int signal_number = 0;
    sigwait(signals, &signal_number);
    log_info("serve", "signal %d: finishing what runs, taking nothing new", signal_number);
    if (!shut_down(&server, api, signals)) {
        log_error("serve", "requests were still open after the drain");
        _exit(EXIT_DRAIN_OVERRAN);
    }
    api_destroy(&api);
    return 0;
}

/* -- start -- */

static int fail_start(const struct rt_error *err) {
    fprintf(stderr, "retake serve: %s\n", err->message);
    return EXIT_CONFIGURATION;
}

static int run(const struct serve_options *options) {
    struct rt_error err;
    rt_error_clear(&err);
    struct api *api = NULL;
    struct http_server *server = NULL;
    sigset_t signals;
    block_signals(&signals);
    const struct api_options api_options = {
        .folder = options->data,
        .data_root = options->data_root,
        .backend = options->backend,
        .openapi_path = first_existing(RETAKE_INSTALL_SHARE "/openapi.yaml",
                                       RETAKE_SOURCE_FOLDER "/api/openapi.yaml"),
        .memory_bytes = options->memory_bytes};
    if (api_create(&api, &api_options, &err) != RT_OK) return fail_start(&err);
    char *uploads = path_join(options->data, "uploads");
    if (uploads == NULL || !make_folder(uploads)) {
        free(uploads);
        api_destroy(&api);
        fprintf(stderr, "retake serve: cannot write to the data folder %s\n", options->data);
        return EXIT_CONFIGURATION;
    }
    const struct http_options http = {.listen = options->listen,
                                      .static_folder = options->static_folder,
                                      .upload_folder = uploads,
                                      .routes = api_routes,
                                      .context = api,
                                      .fault = problem_on_fault,
                                      .metrics = api->metrics};
    if (http_server_start(&server, &http, &err) != RT_OK) {
        free(uploads);
        api_destroy(&api);
        return fail_start(&err);
    }
    int code = serve_until_signal(server, api, &signals, options);
    free(uploads);
    return code;
}

static void print_routes(void) {
    for (const struct http_route *route = api_routes; route->method != NULL; route++) {
        printf("%s %s\n", route->method, route->pattern);
    }
}

int command_serve(int argc, char **argv) {
    struct serve_options options = {.listen = "127.0.0.1:8080", .backend = "auto"};
    if (!read_environment(&options)) return EXIT_CONFIGURATION;
    int stop = read_arguments(argc, argv, &options);
    if (stop != 0) return stop - 1;
    if (options.print_routes) {
        print_routes();
        return 0;
    }
    log_configure(options.verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO, false);
    /* Pictures come and go by the megabyte: always map them, so that they are given back. */
    mallopt(M_MMAP_THRESHOLD, 256 * 1024);
    if (options.threads > 0) {
        char text[16];
        snprintf(text, sizeof text, "%d", options.threads);
        setenv("OMP_NUM_THREADS", text, 1);
    }
    char *folder = options.data == NULL ? default_data_folder() : NULL;
    if (options.data == NULL) options.data = folder;
    if (options.static_folder == NULL) {
        options.static_folder =
            first_existing(RETAKE_INSTALL_SHARE "/static", RETAKE_SOURCE_FOLDER "/static");
        if (access(options.static_folder, R_OK) != 0) options.static_folder = NULL;
    }
    int code = EXIT_CONFIGURATION;
    if (options.data == NULL || !make_folder(options.data)) {
        fprintf(stderr, "retake serve: cannot write to the data folder %s: %s\n",
                options.data != NULL ? options.data : "(none)", strerror(errno));
    } else {
        code = run(&options);
    }
    free(folder);
    return code;
}
