/* Counters, gauges and histograms, written as Prometheus text 0.0.4.
 *
 *     struct metric *requests = metrics_counter(m, "retake_http_requests_total", "…",
 * "route,code"); metric_add(requests, 1.0, (const char *[]){"/v1/scenes", "200"});
 *
 * Label values: one C string per label name (NULL when there are none). Never a scene id as label.
 * Threading: any; one leaf mutex. A registry is an object, not a global, so tests can have several.
 */
#ifndef RETAKE_SERVER_METRICS_H
#define RETAKE_SERVER_METRICS_H

#include <stddef.h>

#include "render/core/status.h"

struct metrics;
struct metric;

enum rt_status metrics_create(struct metrics **out, struct rt_error *err);
void metrics_destroy(struct metrics **metrics);

/* `labels`: "" or "a,b,c" (at most 4). Returns NULL only when out of memory; NULL is accepted
 * below. */
struct metric *metrics_counter(struct metrics *m, const char *name, const char *help,
                               const char *labels);
struct metric *metrics_gauge(struct metrics *m, const char *name, const char *help,
                             const char *labels);
struct metric *metrics_histogram(struct metrics *m, const char *name, const char *help,
                                 const char *labels); /* seconds: 1 ms ... 60 s */

void metric_add(struct metric *metric, double value, const char *const *label_values);
void metric_set(struct metric *metric, double value, const char *const *label_values);
void metric_observe(struct metric *metric, double value, const char *const *label_values);

/* Prometheus text; caller frees. Non-finite values are written as NaN, +Inf, -Inf. */
enum rt_status metrics_text(struct metrics *metrics, char **text, size_t *n_bytes,
                            struct rt_error *err);

#endif
