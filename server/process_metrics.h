/* The standard process_* metrics of Prometheus, read from the system at each scrape. */
#ifndef RETAKE_SERVER_PROCESS_METRICS_H
#define RETAKE_SERVER_PROCESS_METRICS_H

#include "server/text_buffer.h"

void process_metrics_write(struct text_buffer *out);

#endif
