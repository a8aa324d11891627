#include "recon/report.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CSV_ROW_BYTES = 160 };

/* Every second row goes, but those with an evaluation stay while there is room for them. */
static void thin(struct history *h) {
    h->stride *= 2;
    int32_t n = 0, n_plain = 0;
    for (int32_t i = 0; i < h->n_rows; i++) {
        bool evaluated = !isnan(h->rows[i].psnr_db);
        bool keep = evaluated ? n < HISTORY_ROWS * 3 / 4 : n_plain++ % 2 == 0;
        if (keep) h->rows[n++] = h->rows[i];
    }
    h->n_rows = n;
}

void history_add(struct history *h, const struct history_row *row) {
    if (h->stride < 1) h->stride = 1;
    if (row->step % h->stride != 0 && isnan(row->psnr_db)) return;
    bool again = h->n_rows > 0 && h->rows[h->n_rows - 1].step == row->step;
    if (again) {
        h->rows[h->n_rows - 1] = *row; /* the evaluation of a step that is there already */
        return;
    }
    if (h->n_rows == HISTORY_ROWS) thin(h);
    h->rows[h->n_rows++] = *row;
}

static json_t *number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static enum rt_status dump(json_t *value, size_t flags, char **json, struct rt_error *err) {
    *json = json_dumps(value, flags | JSON_REAL_PRECISION(6));
    json_decref(value);
    return *json ? RT_OK : rt_fail(err, RT_NO_MEMORY, "metrics as JSON: out of memory");
}

enum rt_status history_json(const struct history *h, char **json, struct rt_error *err) {
    static const char *const names[7] = {"step", "seconds", "loss",   "psnr_db",
                                         "ssim", "splats",  "step_ms"};
    json_t *columns[7];
    json_t *object = json_object();
    for (int c = 0; c < 7; c++) {
        columns[c] = json_array();
        json_object_set_new(object, names[c], columns[c]);
    }
    for (int32_t i = 0; i < h->n_rows; i++) {
        const struct history_row *row = &h->rows[i];
        json_array_append_new(columns[0], json_integer(row->step));
        json_array_append_new(columns[1], number(row->seconds));
        json_array_append_new(columns[2], number(row->loss));
        json_array_append_new(columns[3], number(row->psnr_db));
        json_array_append_new(columns[4], number(row->ssim));
        json_array_append_new(columns[5], json_integer(row->n_gaussians));
        json_array_append_new(columns[6], number(row->step_ms));
    }
    return dump(object, JSON_COMPACT, json, err);
}

/* A number, or nothing where it is not known. */
static const char *cell(char text[32], double value) {
    text[0] = '\0';
    if (isfinite(value)) snprintf(text, 32, "%.6g", value);
    return text;
}

enum rt_status history_csv(const struct history *h, char **csv, struct rt_error *err) {
    size_t size = ((size_t)h->n_rows + 1) * CSV_ROW_BYTES;
    char *text = malloc(size);
    if (!text) return rt_fail(err, RT_NO_MEMORY, "metrics.csv: out of memory");
    size_t used = (size_t)snprintf(text, size, "step,seconds,loss,psnr_db,ssim,splats,step_ms\n");
    for (int32_t i = 0; i < h->n_rows; i++) {
        const struct history_row *row = &h->rows[i];
        char a[32], b[32], c[32];
        used += (size_t)snprintf(text + used, size - used, "%d,%.2f,%s,%s,%s,%d,%.2f\n", row->step,
                                 row->seconds, cell(a, row->loss), cell(b, row->psnr_db),
                                 cell(c, row->ssim), row->n_gaussians, row->step_ms);
    }
    *csv = text;
    return RT_OK;
}

static json_t *frame_row(const struct eval_report *report, int32_t index) {
    const struct training_picture *picture = &report->pictures->pictures[index];
    const struct recording *recording = report->pictures->recording;
    const struct recording_camera *camera = &recording->cameras[picture->i_camera];
    const struct recording_frame *frame = &camera->frames[picture->i_frame];
    json_t *row = json_object();
    json_object_set_new(row, "sensor", json_string(camera->id));
    json_object_set_new(row, "t_us", json_integer((json_int_t)frame->t_us));
    if (frame->file) json_object_set_new(row, "file", json_string(frame->file));
    json_object_set_new(row, "holdout", json_boolean(picture->holdout));
    json_object_set_new(row, "width_px", json_integer(picture->rgb.width_px));
    json_object_set_new(row, "height_px", json_integer(picture->rgb.height_px));
    json_object_set_new(row, "psnr_db", number(report->qualities[index].psnr_db));
    json_object_set_new(row, "ssim", number(report->qualities[index].ssim));
    return row;
}

static json_t *mean_of(const struct eval_report *report, bool holdout) {
    struct quality_sum sum = {0};
    for (int32_t i = 0; i < report->pictures->n_pictures; i++) {
        if (report->pictures->pictures[i].holdout == holdout) {
            quality_add(&sum, &report->qualities[i]);
        }
    }
    struct picture_quality mean = quality_mean(&sum);
    json_t *object = json_object();
    json_object_set_new(object, "psnr_db", number(mean.psnr_db));
    json_object_set_new(object, "ssim", number(mean.ssim));
    json_object_set_new(object, "n", json_integer(sum.n));
    return object;
}

enum rt_status report_eval_json(const struct eval_report *report, bool frames, char **json,
                                struct rt_error *err) {
    const struct picture_set *pictures = report->pictures;
    json_t *object = json_object();
    json_object_set_new(object, "holdout", mean_of(report, true));
    json_object_set_new(object, "train", mean_of(report, false));
    json_object_set_new(object, "resolution", number((double)pictures->scale));
    json_object_set_new(object, "width_px", json_integer(pictures->pictures[0].rgb.width_px));
    json_object_set_new(object, "height_px", json_integer(pictures->pictures[0].rgb.height_px));
    json_object_set_new(object, "steps", json_integer(report->steps));
    json_object_set_new(object, "splats", json_integer(report->n_gaussians));
    json_object_set_new(object, "seconds", number(report->seconds));
    if (frames) {
        json_t *rows = json_array();
        for (int32_t i = 0; i < pictures->n_pictures; i++) {
            json_array_append_new(rows, frame_row(report, i));
        }
        json_object_set_new(object, "frames", rows);
    }
    return dump(object, frames ? JSON_INDENT(1) : JSON_COMPACT, json, err);
}
