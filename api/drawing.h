/* One picture from request to answer: wait for the scene, queue, draw, encode, reply. Shared by
 * POST S/render/camera and GET S/frames. */
#ifndef RETAKE_API_DRAWING_H
#define RETAKE_API_DRAWING_H

#include "api/handler.h"
#include "api/view.h"

struct drawing_request {
    const char *id; /* copied */
    struct view view;
    char etag[ETAG_BYTES];     /* "" = none (POST) */
    const char *cache_control; /* static */
    bool with_stages;          /* Server-Timing lists the stages */
};

/* Defers x and answers it later; the caller returns. */
void drawing_start(struct api *api, struct http_exchange *x, const struct drawing_request *request);

/* Answers a view that a scene refused: adds the members that go with the problem. */
void drawing_reply_error(struct api *api, struct http_exchange *x, const char *id,
                         const struct scene *scene, const struct rt_error *err);

#endif
