#include "server/metrics.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/process_metrics.h"
#include "server/text_buffer.h"

enum { MAX_LABELS = 4, N_BUCKETS = 15, MAX_SERIES = 4096, NAME_BYTES = 128 };

static const double bucket_bounds[N_BUCKETS] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                0.5,   1,      2.5,   5,    10,    30,   60};

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

/* One combination of label values. */
struct series {
    struct series *next;
    char *labels; /* owned, written form: route="/v1",code="200"; "" without labels */
    double value; /* sum of a histogram */
    uint64_t count;
    uint64_t buckets[N_BUCKETS]; /* not cumulative */
};

struct metric {
    struct metric *next;
    struct metrics *owner;
    enum metric_kind kind;
    char name[NAME_BYTES];
    char *help;        /* owned */
    char *label_names; /* owned, comma separated */
    struct series *series;
    int32_t n_series;
};

struct metrics {
    pthread_mutex_t mutex; /* leaf */
    struct metric *first;
};

enum rt_status metrics_create(struct metrics **out, struct rt_error *err) {
    struct metrics *m = calloc(1, sizeof *m);
    if (!m) return rt_fail(err, RT_NO_MEMORY, "no memory for the metrics");
    pthread_mutex_init(&m->mutex, NULL);
    *out = m;
    return RT_OK;
}

static void metric_free(struct metric *metric) {
    while (metric->series) {
        struct series *series = metric->series;
        metric->series = series->next;
        free(series->labels);
        free(series);
    }
    free(metric->help);
    free(metric->label_names);
    free(metric);
}

void metrics_destroy(struct metrics **metrics) {
    struct metrics *m = *metrics;
    if (!m) return;
    while (m->first) {
        struct metric *metric = m->first;
        m->first = metric->next;
        metric_free(metric);
    }
    pthread_mutex_destroy(&m->mutex);
    free(m);
    *metrics = NULL;
}

/* Appends in order of registration; an existing name gives the existing metric. */
static struct metric *metric_register(struct metrics *m, enum metric_kind kind, const char *name,
                                      const char *help, const char *labels) {
    struct metric *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->owner = m;
    made->kind = kind;
    snprintf(made->name, sizeof made->name, "%s", name);
    made->help = strdup(help);
    made->label_names = strdup(labels);
    if (!made->help || !made->label_names) {
        metric_free(made);
        return NULL;
    }
    pthread_mutex_lock(&m->mutex);
    struct metric **at = &m->first;
    while (*at && strcmp((*at)->name, name) != 0) at = &(*at)->next;
    struct metric *known = *at;
    if (!known) *at = made;
    pthread_mutex_unlock(&m->mutex);
    if (known) metric_free(made);
    return known ? known : made;
}

struct metric *metrics_counter(struct metrics *m, const char *name, const char *help,
                               const char *labels) {
    return metric_register(m, METRIC_COUNTER, name, help, labels);
}

struct metric *metrics_gauge(struct metrics *m, const char *name, const char *help,
                             const char *labels) {
    return metric_register(m, METRIC_GAUGE, name, help, labels);
}

struct metric *metrics_histogram(struct metrics *m, const char *name, const char *help,
                                 const char *labels) {
    return metric_register(m, METRIC_HISTOGRAM, name, help, labels);
}

/* -- series ----------------------------------------------------------------------------------- */

static void write_escaped(struct text_buffer *out, const char *value) {
    for (; *value; value++) {
        if (*value == '\n') {
            text_add(out, "\\n");
        } else {
            if (*value == '"' || *value == '\\') text_add(out, "\\");
            text_add_bytes(out, value, 1);
        }
    }
}

static char *labels_text(const struct metric *metric, const char *const *values) {
    struct text_buffer out = {0};
    const char *name = metric->label_names;
    text_add(&out, "");
    for (int i = 0; *name && values && i < MAX_LABELS; i++) {
        size_t length = strcspn(name, ",");
        if (i > 0) text_add(&out, ",");
        text_add_bytes(&out, name, length);
        text_add(&out, "=\"");
        write_escaped(&out, values[i]);
        text_add(&out, "\"");
        name += length;
        if (*name == ',') name++;
    }
    return text_take(&out, NULL);
}

/* The series of `values`, made when it is new; NULL at the bound on series, so that a label that
 * varies without end cannot eat the memory. Mutex held; takes `labels`. */
static struct series *series_find(struct metric *metric, char *labels) {
    struct series **at = &metric->series;
    while (*at && strcmp((*at)->labels, labels) != 0) at = &(*at)->next;
    if (!*at && metric->n_series < MAX_SERIES && (*at = calloc(1, sizeof **at))) {
        (*at)->labels = labels;
        metric->n_series++;
        return *at;
    }
    free(labels);
    return *at;
}

enum change { CHANGE_ADD, CHANGE_SET, CHANGE_OBSERVE };

static void metric_change(struct metric *metric, enum change change, double value,
                          const char *const *label_values) {
    if (!metric) return;
    char *labels = labels_text(metric, label_values);
    if (!labels) return;
    pthread_mutex_lock(&metric->owner->mutex);
    struct series *series = series_find(metric, labels);
    if (series) {
        series->value = change == CHANGE_SET ? value : series->value + value;
        series->count++;
        for (int i = 0; change == CHANGE_OBSERVE && i < N_BUCKETS; i++) {
            if (!(value <= bucket_bounds[i])) continue;
            series->buckets[i]++;
            break;
        }
    }
    pthread_mutex_unlock(&metric->owner->mutex);
}

void metric_add(struct metric *metric, double value, const char *const *label_values) {
    metric_change(metric, CHANGE_ADD, value, label_values);
}

void metric_set(struct metric *metric, double value, const char *const *label_values) {
    metric_change(metric, CHANGE_SET, value, label_values);
}

void metric_observe(struct metric *metric, double value, const char *const *label_values) {
    metric_change(metric, CHANGE_OBSERVE, value, label_values);
}

/* -- the text --------------------------------------------------------------------------------- */

static void write_number(struct text_buffer *out, double value) {
    if (isnan(value)) {
        text_add(out, "NaN");
    } else if (isinf(value)) {
        text_add(out, value > 0 ? "+Inf" : "-Inf");
    } else if (value == floor(value) && fabs(value) < 1e15) {
        text_printf(out, "%.0f", value);
    } else {
        text_printf(out, "%.17g", value);
    }
}

static void write_sample(struct text_buffer *out, const char *name, const char *suffix,
                         const char *labels, double value) {
    text_printf(out, "%s%s", name, suffix);
    if (*labels) text_printf(out, "{%s}", labels);
    text_add(out, " ");
    write_number(out, value);
    text_add(out, "\n");
}

static void write_histogram(struct text_buffer *out, const struct metric *metric,
                            const struct series *series) {
    const char *comma = *series->labels ? "," : "";
    uint64_t total = 0;
    for (int i = 0; i < N_BUCKETS; i++) {
        total += series->buckets[i];
        text_printf(out, "%s_bucket{%s%sle=\"%g\"} %llu\n", metric->name, series->labels, comma,
                    bucket_bounds[i], (unsigned long long)total);
    }
    text_printf(out, "%s_bucket{%s%sle=\"+Inf\"} %llu\n", metric->name, series->labels, comma,
                (unsigned long long)series->count);
    write_sample(out, metric->name, "_sum", series->labels, series->value);
    write_sample(out, metric->name, "_count", series->labels, (double)series->count);
}

enum rt_status metrics_text(struct metrics *metrics, char **text, size_t *n_bytes,
                            struct rt_error *err) {
    static const char *const kinds[] = {"counter", "gauge", "histogram"};
    struct text_buffer out = {0};
    pthread_mutex_lock(&metrics->mutex);
    for (const struct metric *metric = metrics->first; metric; metric = metric->next) {
        text_printf(&out, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name,
                    kinds[metric->kind]);
        for (const struct series *series = metric->series; series; series = series->next) {
            if (metric->kind == METRIC_HISTOGRAM) {
                write_histogram(&out, metric, series);
            } else {
                write_sample(&out, metric->name, "", series->labels, series->value);
            }
        }
    }
    pthread_mutex_unlock(&metrics->mutex);
    process_metrics_write(&out);
    *text = text_take(&out, n_bytes);
    return *text ? RT_OK : rt_fail(err, RT_NO_MEMORY, "no memory for the text of the metrics");
}
