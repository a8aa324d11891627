/* What is told about a training: the history of its metrics (at most 2,000 rows, evenly thinned)
 * and the evaluation of its pictures.
 *
 *     history_add(&history, &row);
 *     RT_TRY(history_json(&history, &json, err));
 *     RT_TRY(report_eval_json(&report, &json, err));
 *
 * Threading: values. */
#ifndef RETAKE_RECON_REPORT_H
#define RETAKE_RECON_REPORT_H

#include "recon/evaluate.h"

enum { HISTORY_ROWS = 2000 };

struct history_row {
    int32_t step;
    int32_t n_gaussians;
    double seconds, loss;
    double psnr_db, ssim; /* of the held-out pictures; NaN = not evaluated at this step */
    double step_ms;
};

struct history {
    struct history_row rows[HISTORY_ROWS];
    int32_t n_rows;
    int32_t stride; /* steps between rows; doubles when the table is full; 0 counts as 1 */
};

/* Adds the row when its step is due; a row with an evaluation is kept in any case. */
void history_add(struct history *history, const struct history_row *row);
/* Columns as in api.md section 6.4; caller frees. */
enum rt_status history_json(const struct history *history, char **json, struct rt_error *err);
/* The same as CSV text; caller frees. */
enum rt_status history_csv(const struct history *history, char **csv, struct rt_error *err);

struct eval_report {
    const struct picture_set *pictures;      /* borrowed */
    const struct picture_quality *qualities; /* borrowed [n_pictures] */
    int32_t steps, n_gaussians;
    double seconds;
};

/* {"holdout":{psnr_db,ssim,n},"train":{…},"width_px",…}; with `frames` one row per picture too.
 * Caller frees. */
enum rt_status report_eval_json(const struct eval_report *report, bool frames, char **json,
                                struct rt_error *err);

#endif
