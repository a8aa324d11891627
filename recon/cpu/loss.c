/* L1 + SSIM, forward and backward. A thread owns whole rows; a row is worked through in chunks that
 * stay in the first-level cache: columns are blurred first (contiguous loads of 11 rows), then the
 * chunk itself. Channels stay interleaved, so the horizontal taps lie 3 floats apart. */
#include "recon/loss.h"

#include <stdbool.h>
#include <string.h>

#include "recon/cpu/loss_variants.h"

enum { HALF = 5, TAPS = 11, CHUNK = 480, PAD = 3 * HALF, LINE = CHUNK + 2 * PAD };

struct planes {
    const float *x; /* prediction [h][w*3] */
    float *y;       /* target as float, equal to x where masked [h][w*3] */
    float *map[3];  /* [h][w*3] each */
    double *sums;   /* [h][4]: |d|, d^2, S, valid pixels */
    int32_t n_row;  /* 3 w */
    int32_t height_px;
};

enum { SUM_L1, SUM_SQUARES, SUM_SSIM, SUM_VALID };

/* Weighted sums of 11 values that lie at r[0][i] ... r[10][i]. */
static inline float blur(const float *const r[TAPS], int i) {
    return 0.0010283801f * (r[0][i] + r[10][i]) + 0.0075987581f * (r[1][i] + r[9][i]) +
           0.0360007721f * (r[2][i] + r[8][i]) + 0.1093606895f * (r[3][i] + r[7][i]) +
           0.2130055377f * (r[4][i] + r[6][i]) + 0.2660117249f * r[5][i];
}

static inline float blur_product(const float *const r[TAPS], const float *const s[TAPS], int i) {
    return 0.0010283801f * (r[0][i] * s[0][i] + r[10][i] * s[10][i]) +
           0.0075987581f * (r[1][i] * s[1][i] + r[9][i] * s[9][i]) +
           0.0360007721f * (r[2][i] * s[2][i] + r[8][i] * s[8][i]) +
           0.1093606895f * (r[3][i] * s[3][i] + r[7][i] * s[7][i]) +
           0.2130055377f * (r[4][i] * s[4][i] + r[6][i] * s[6][i]) +
           0.2660117249f * (r[5][i] * s[5][i]);
}

/* Pointers to column `begin` of the 11 rows around `row`; rows outside read zeros. */
static void rows_around(const float *plane, const struct planes *p, int32_t row, int32_t begin,
                        const float *out[TAPS]) {
    static const float zeros[LINE];
    for (int k = 0; k < TAPS; k++) {
        int32_t i = row + k - HALF;
        bool inside = i >= 0 && i < p->height_px;
        out[k] = inside ? plane + (int64_t)i * p->n_row + begin : zeros;
    }
}

static void taps_of_line(const float *line, const float *out[TAPS]) {
    for (int k = 0; k < TAPS; k++) out[k] = line + 3 * k;
}

/* The part of columns [begin, begin + LINE) that exists: line[lo...hi) gets values, the rest 0. */
static void line_range(const struct planes *p, int32_t chunk, int *lo, int *hi) {
    *lo = chunk < PAD ? PAD - chunk : 0;
    int64_t end = (int64_t)p->n_row - chunk + PAD;
    *hi = end < LINE ? (int)end : LINE;
}

static void prepare_row(const struct loss_args *a, const struct planes *p, int32_t row) {
    int64_t at = (int64_t)row * p->n_row;
    const float *x = p->x + at;
    float *y = p->y + at;
    const uint8_t *target = a->target + at;
    for (int32_t i = 0; i < p->n_row; i++) y[i] = (float)target[i] * (1.0f / 255.0f);
    int64_t n_valid = a->width_px;
    if (a->mask) {
        const uint8_t *mask = a->mask + (int64_t)row * a->width_px;
        n_valid = 0;
        for (int32_t i = 0; i < a->width_px; i++) {
            n_valid += mask[i] != 0;
            if (mask[i] == 0) memcpy(y + 3 * i, x + 3 * i, 3 * sizeof(float));
        }
    }
    float l1 = 0.0f, squares = 0.0f;
#pragma omp simd reduction(+ : l1, squares)
    for (int32_t i = 0; i < p->n_row; i++) {
        float d = x[i] - y[i];
        l1 += d < 0.0f ? -d : d;
        squares += d * d;
    }
    double *sums = p->sums + 4 * row;
    sums[SUM_L1] = (double)l1;
    sums[SUM_SQUARES] = (double)squares;
    sums[SUM_SSIM] = 0.0;
    sums[SUM_VALID] = (double)n_valid;
}

static void blur_five_columns(const struct planes *p, int32_t row, int32_t chunk,
                              float line[5][LINE]) {
    const float *x[TAPS], *y[TAPS];
    int lo = 0, hi = 0;
    line_range(p, chunk, &lo, &hi);
    rows_around(p->x, p, row, chunk - PAD + lo, x);
    rows_around(p->y, p, row, chunk - PAD + lo, y);
    if (hi - lo < LINE) memset(line, 0, 5 * sizeof line[0]);
    float *mx = line[0] + lo, *my = line[1] + lo, *xx = line[2] + lo, *yy = line[3] + lo;
    float *xy = line[4] + lo;
#pragma omp simd
    for (int i = 0; i < hi - lo; i++) {
        mx[i] = blur(x, i);
        my[i] = blur(y, i);
    }
#pragma omp simd
    for (int i = 0; i < hi - lo; i++) {
        xx[i] = blur_product(x, x, i);
        yy[i] = blur_product(y, y, i);
        xy[i] = blur_product(x, y, i);
    }
}

static double ssim_chunk(const struct planes *p, int32_t row, int32_t chunk, int n) {
    float line[5][LINE];
    const float *mx[TAPS], *my[TAPS], *xx[TAPS], *yy[TAPS], *xy[TAPS];
    blur_five_columns(p, row, chunk, line);
    taps_of_line(line[0], mx);
    taps_of_line(line[1], my);
    taps_of_line(line[2], xx);
    taps_of_line(line[3], yy);
    taps_of_line(line[4], xy);
    int64_t at = (int64_t)row * p->n_row + chunk;
    float *p1 = p->map[0] + at, *p2 = p->map[1] + at, *p3 = p->map[2] + at;
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < n; i++) {
        struct ssim_point s =
            ssim_at(blur(mx, i), blur(my, i), blur(xx, i), blur(yy, i), blur(xy, i));
        p1[i] = s.p1;
        p2[i] = s.p2;
        p3[i] = s.p3;
        sum += s.s;
    }
    return (double)sum;
}

static void ssim_row(const struct planes *p, int32_t row) {
    double sum = 0.0;
    for (int32_t chunk = 0; chunk < p->n_row; chunk += CHUNK) {
        int32_t rest = p->n_row - chunk;
        sum += ssim_chunk(p, row, chunk, rest < CHUNK ? rest : CHUNK);
    }
    p->sums[4 * row + SUM_SSIM] = sum;
}

/* v += scale x dS/dx for one chunk of a row. */
static void ssim_chunk_vjp(const struct planes *p, int32_t row, int32_t chunk, float scale,
                           float *v) {
    float line[3][LINE];
    const float *rows[TAPS], *taps[3][TAPS];
    int lo = 0, hi = 0;
    line_range(p, chunk, &lo, &hi);
    if (hi - lo < LINE) memset(line, 0, sizeof line);
    for (int m = 0; m < 3; m++) {
        rows_around(p->map[m], p, row, chunk - PAD + lo, rows);
        float *out = line[m] + lo;
#pragma omp simd
        for (int i = 0; i < hi - lo; i++) out[i] = blur(rows, i);
        taps_of_line(line[m], taps[m]);
    }
    int64_t at = (int64_t)row * p->n_row + chunk;
    const float *x = p->x + at, *y = p->y + at;
    int n = p->n_row - chunk < CHUNK ? p->n_row - chunk : CHUNK;
#pragma omp simd
    for (int i = 0; i < n; i++) {
        v[i] +=
            scale * (blur(taps[0], i) + 2.0f * x[i] * blur(taps[1], i) + y[i] * blur(taps[2], i));
    }
}

static void gradient_row(const struct loss_args *a, const struct planes *p, int32_t row) {
    float n_values = (float)p->n_row * (float)a->height_px;
    float l1_scale = (1.0f - a->ssim_weight) / n_values;
    int64_t at = (int64_t)row * p->n_row;
    const float *x = p->x + at, *y = p->y + at;
    float *v = a->v_prediction + at;
#pragma omp simd
    for (int32_t i = 0; i < p->n_row; i++) {
        v[i] = x[i] > y[i] ? l1_scale : x[i] < y[i] ? -l1_scale : 0.0f;
    }
    if (a->ssim_weight > 0.0f) {
        float scale = -a->ssim_weight / n_values;
        for (int32_t c = 0; c < p->n_row; c += CHUNK) ssim_chunk_vjp(p, row, c, scale, v + c);
    }
    if (!a->mask) return;
    const uint8_t *mask = a->mask + (int64_t)row * a->width_px;
    for (int32_t i = 0; i < a->width_px; i++) {
        if (mask[i] == 0) memset(v + 3 * i, 0, 3 * sizeof(float));
    }
}

static void add_up(const struct loss_args *a, const struct planes *p, struct loss_values *values) {
    double sums[4] = {0};
    for (int32_t row = 0; row < a->height_px; row++) {
        for (int k = 0; k < 4; k++) sums[k] += p->sums[4 * row + k];
    }
    double n_values = (double)p->n_row * (double)a->height_px;
    values->l1 = sums[SUM_L1] / n_values;
    values->ssim = a->ssim_weight > 0.0f ? sums[SUM_SSIM] / n_values : 1.0;
    values->n_valid_px = (int64_t)sums[SUM_VALID];
    values->mse = sums[SUM_VALID] > 0.0 ? sums[SUM_SQUARES] / (3.0 * sums[SUM_VALID]) : 0.0;
    double weight = (double)a->ssim_weight;
    values->loss = (1.0 - weight) * values->l1 + weight * (1.0 - values->ssim);
}

void RT_VARIANT(cpu_loss_rows)(const struct loss_args *args, struct loss_values *values) {
    size_t plane = (size_t)args->width_px * (size_t)args->height_px * 3;
    float *free_floats = args->scratch + 8 * (size_t)args->height_px;
    struct planes p = {
        .x = args->prediction,
        .y = free_floats,
        .map = {free_floats + plane, free_floats + 2 * plane, free_floats + 3 * plane},
        .sums = (double *)(void *)args->scratch,
        .n_row = 3 * args->width_px,
        .height_px = args->height_px};
    int32_t height = args->height_px;
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int32_t row = 0; row < height; row++) prepare_row(args, &p, row);
        if (args->ssim_weight > 0.0f) {
#pragma omp for schedule(static)
            for (int32_t row = 0; row < height; row++) ssim_row(&p, row);
        }
        if (args->v_prediction) {
#pragma omp for schedule(static)
            for (int32_t row = 0; row < height; row++) gradient_row(args, &p, row);
        }
    }
    add_up(args, &p, values);
}
