/* Handlers that read files: answered on a worker, so that connection threads stay free. */
#ifndef RETAKE_API_LATER_H
#define RETAKE_API_LATER_H

#include "api/api.h"

/* Defers the exchange and calls answer(x, api) on one of several threads, which replies;
 * the exchange
 * is finished after it. Answers queue-full when too much is waiting. The handler must return next.
 */
void handle_later(struct api *api, struct http_exchange *x, http_handler answer);
/* The same on one thread, one after the other: for answers that look and then act on it. */
void handle_in_turn(struct api *api, struct http_exchange *x, http_handler answer);

#endif
