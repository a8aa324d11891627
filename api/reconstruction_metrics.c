#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/folder.h"
#include "api/later.h"
#include "api/recon_runner.h"
#include "api/reconstructions.h"
#include "api/routes.h"
#include "api/wire_json.h"
#include "render/io/image_file.h"

enum { CSV_MAX_BYTES = 64 << 20, DEFAULT_POINTS = 2000, N_COLUMNS = 7 };

/* Columns of metrics.csv in this order; the answer has lidar_range_error_m beside them. */
static const char *const columns[N_COLUMNS] = {"step", "seconds", "loss",   "psnr_db",
                                               "ssim", "splats",  "step_ms"};

static json_t *empty_history(void) {
    json_t *history = json_object();
    for (int i = 0; i < N_COLUMNS; i++) json_object_set_new(history, columns[i], json_array());
    return history;
}

/* One line of the file; an empty cell is null. */
static void append_line(json_t *history, const char *line, const char *end) {
    for (int i = 0; i < N_COLUMNS; i++) {
        char *after = NULL;
        double value = line < end && *line != ',' ? strtod(line, &after) : NAN;
        bool is_count = i == 0 || i == 5;
        json_t *cell =
            is_count && isfinite(value) ? json_integer((json_int_t)value) : wire_real(value);
        json_array_append_new(json_object_get(history, columns[i]), cell);
        while (line < end && *line != ',') line++;
        if (line < end) line++;
    }
}

/* The file that the reconstruction keeps beside its checkpoints. */
static json_t *read_csv(const char *path) {
    struct rt_bytes bytes = {0};
    json_t *history = empty_history();
    if (file_read(path, CSV_MAX_BYTES, &bytes, NULL) != RT_OK) return history;
    const char *text = bytes.bytes, *end = text + bytes.n_bytes;
    bool is_header = true;
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop) break; /* strtod stays within the text: every line it sees ends in one */
        if (!is_header) append_line(history, text, stop);
        is_header = false;
        text = stop + 1;
    }
    rt_bytes_free(&bytes);
    return history;
}

/* Rows from `since_step` on, at most max_points of them, evenly chosen, the newest included. */
static json_t *thin(json_t *history, int64_t since_step, int64_t max_points) {
    json_t *steps = json_object_get(history, "step");
    json_t *out = empty_history(), *range_error = json_array();
    size_t n = json_array_size(steps), first = 0;
    while (first < n && json_integer_value(json_array_get(steps, first)) < since_step) first++;
    size_t stride = (n - first + (size_t)max_points - 1) / (size_t)max_points;
    for (size_t i = first; i < n; i++) {
        if ((n - 1 - i) % stride != 0) continue;
        for (int k = 0; k < N_COLUMNS; k++) {
            json_t *value = json_array_get(json_object_get(history, columns[k]), i);
            json_array_append(json_object_get(out, columns[k]), value);
        }
        json_array_append_new(range_error, json_null());
    }
    json_object_set_new(out, "lidar_range_error_m", range_error);
    json_decref(history);
    return out;
}

static void answer_metrics(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct job_row job = {0};
    struct wire_faults faults = {0};
    static const char *const known[] = {"since_step", "max_points", NULL};
    int64_t since_step = 0, max_points = DEFAULT_POINTS;
    char path[FOLDER_PATH_BYTES];
    wire_query_members(&faults, x, known);
    wire_query_int(&faults, x, "since_step", 0, INT32_MAX, &since_step);
    wire_query_int(&faults, x, "max_points", 1, 100000, &max_points);
    if (faults.n_faults) {
        wire_reply_faults(api, x, &faults);
        return;
    }
    if (!reconstruction_find(api, x, &job)) return;
    char *text = recon_runner_metrics(api->runner, job.id);
    json_t *history = text ? json_loads(text, 0, NULL) : NULL;
    free(text);
    if (!history && recon_runner_path(api->runner, job.id, "metrics.csv", path, NULL) == RT_OK) {
        history = read_csv(path);
    }
    job_row_free(&job);
    reply_json(api, x, 200, history ? thin(history, since_step, max_points) : NULL);
}

void get_reconstruction_metrics(struct http_exchange *x, void *context) {
    handle_later(context, x, answer_metrics);
}
