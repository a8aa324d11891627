#include "api/later.h"

#include <stdlib.h>

struct later {
    struct api *api;
    struct http_exchange *x;
    http_handler answer;
};

static void run_later(void *context) {
    struct later later = *(struct later *)context;
    free(context);
    if (http_client_gone(later.x)) {
        reply_empty(later.api, later.x, 499);
    } else {
        later.answer(later.x, later.api);
    }
    http_finish(later.x);
}

static void start(struct api *api, struct http_exchange *x, http_handler answer,
                  struct workers *workers) {
    struct later *later = malloc(sizeof *later);
    struct rt_error err = {0};
    http_defer(x);
    if (later) *later = (struct later){api, x, answer};
    enum rt_status status = later ? workers_submit(workers, run_later, later, &err)
                                  : rt_fail(&err, RT_NO_MEMORY, "out of memory");
    if (status == RT_OK) return;
    free(later);
    problem_reply_error(api, x, &err, NULL);
    http_finish(x);
}

void handle_later(struct api *api, struct http_exchange *x, http_handler answer) {
    start(api, x, answer, api->files);
}

void handle_in_turn(struct api *api, struct http_exchange *x, http_handler answer) {
    start(api, x, answer, api->readers);
}
