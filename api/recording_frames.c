#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/later.h"
#include "api/recording_store.h"
#include "api/recordings.h"
#include "api/routes.h"
#include "api/wire_json.h"
#include "render/io/image_file.h"

enum { DEFAULT_QUALITY = 90, MAX_KNOWN = 20 };

static int32_t find_camera(const struct recording *recording, const char *id) {
    for (int32_t i = 0; i < recording->n_cameras; i++) {
        if (strcmp(recording->cameras[i].id, id) == 0) return i;
    }
    return -1;
}

enum rt_status recordings_picture(void *store, const struct recorded_ask *ask, struct image *out,
                                  struct rt_error *err) {
    struct recording_handle *handle = NULL;
    struct recording_picture picture = {0};
    RT_TRY(recording_store_acquire(store, ask->recording_id, &handle, err));
    const struct recording *recording = handle->recording;
    int32_t i_camera = find_camera(recording, ask->camera_id);
    enum rt_status status;
    if (i_camera < 0 || ask->i_frame < 0 || ask->i_frame >= recording->cameras[i_camera].n_frames) {
        status = rt_fail(err, RT_NOT_FOUND, "recording %s: no frame %d of camera %s",
                         ask->recording_id, ask->i_frame, ask->camera_id);
    } else {
        status =
            recording_load_picture(recording, i_camera, ask->i_frame, ask->scale, &picture, err);
    }
    if (status == RT_OK) {
        *out = picture.rgb;
        picture.rgb = (struct image){0};
    }
    recording_picture_free(&picture);
    recording_handle_release(&handle);
    return status;
}

/* f{index}, or a time in us: then the frame that starts nearest. -1 when `at` is neither. */
static int32_t find_frame(const struct recording_camera *camera, const char *at) {
    char *end = NULL;
    bool is_index = at[0] == 'f';
    const char *digits = is_index ? at + 1 : at;
    errno = 0;
    long long value = strtoll(digits, &end, 10);
    if (end == digits || *end != '\0' || errno != 0 || camera->n_frames == 0) return -1;
    if (is_index) return value >= 0 && value < camera->n_frames ? (int32_t)value : -1;
    int32_t nearest = 0;
    double best = 1e300;
    for (int32_t i = 0; i < camera->n_frames; i++) {
        double distance = (double)camera->frames[i].t_us - (double)value;
        if (distance < 0.0) distance = -distance;
        if (distance < best) {
            best = distance;
            nearest = i;
        }
    }
    return nearest;
}

struct wanted_frame {
    int32_t i_camera, i_frame;
    bool is_png;
    int64_t width_px; /* 0 = native */
};

/* Finds the frame that the URL names; false when it was answered. */
static bool find_wanted(struct api *api, struct http_exchange *x, const struct recording *recording,
                        struct wanted_frame *out) {
    struct wire_faults faults = {0};
    static const char *const known[] = {"w", NULL};
    const char *ext = http_param(x, "ext"), *sensor = http_param(x, "sensor");
    wire_query_members(&faults, x, known);
    wire_query_int(&faults, x, "w", 1, RT_MAX_SIDE_PX, &out->width_px);
    if (faults.n_faults) {
        wire_reply_faults(api, x, &faults);
        return false;
    }
    out->is_png = strcmp(ext, "png") == 0;
    if (!out->is_png && strcmp(ext, "jpg") != 0) {
        problem_reply(api, x, PROBLEM_NOT_ACCEPTABLE,
                      json_pack("{s:[s,s]}", "offered", "jpg", "png"),
                      "recorded frames come as jpg or png, not as %.16s", ext);
        return false;
    }
    out->i_camera = find_camera(recording, sensor);
    if (out->i_camera < 0) {
        json_t *ids = json_array();
        for (int32_t i = 0; i < recording->n_cameras && i < MAX_KNOWN; i++) {
            json_array_append_new(ids, json_string(recording->cameras[i].id));
        }
        problem_reply(api, x, PROBLEM_NOT_FOUND,
                      json_pack("{s:s, s:o}", "resource", "sensor", "known", ids),
                      "the recording has no sensor \"%.64s\"", sensor);
        return false;
    }
    const struct recording_camera *camera = &recording->cameras[out->i_camera];
    out->i_frame = find_frame(camera, http_param(x, "at"));
    if (out->i_frame >= 0) return true;
    problem_reply(api, x, PROBLEM_NOT_FOUND, json_pack("{s:s}", "resource", "frame"),
                  "\"%.32s\" is neither f0...f%d nor a time in microseconds", http_param(x, "at"),
                  camera->n_frames - 1);
    return false;
}

static void reply_frame(struct api *api, struct http_exchange *x, const struct recording *recording,
                        const struct wanted_frame *wanted) {
    const struct recording_camera *camera = &recording->cameras[wanted->i_camera];
    struct recording_picture picture = {0};
    struct rt_bytes bytes = {0};
    struct rt_error err = {0};
    char text[32];
    float scale = 1.0f;
    if (wanted->width_px > 0 && wanted->width_px < camera->camera.width_px) {
        scale = (float)wanted->width_px / (float)camera->camera.width_px;
    }
    enum rt_status status =
        recording_load_picture(recording, wanted->i_camera, wanted->i_frame, scale, &picture, &err);
    if (status == RT_OK) {
        status = wanted->is_png ? image_encode_png(&picture.rgb, &bytes, &err)
                                : image_encode_jpeg(&picture.rgb, DEFAULT_QUALITY, &bytes, &err);
    }
    recording_picture_free(&picture);
    if (status != RT_OK) {
        if (status == RT_BAD_FILE) err.status = RT_BAD_RECORDING;
        problem_reply_error(api, x, &err, NULL);
        return;
    }
    snprintf(text, sizeof text, "%d", wanted->i_frame);
    http_reply_header(x, "X-Frame-Index", text);
    snprintf(text, sizeof text, "%lld", (long long)camera->frames[wanted->i_frame].t_us);
    http_reply_header(x, "X-Frame-T-Us", text);
    reply_bytes(api, x, wanted->is_png ? "image/png" : "image/jpeg", bytes.bytes, bytes.n_bytes);
}

static void answer_frame(struct http_exchange *x, void *context) {
    struct api *api = context;
    const char *id = http_param(x, "id");
    struct recording_handle *handle = NULL;
    struct rt_error err = {0};
    struct wanted_frame wanted = {0};
    char key[256], etag[ETAG_BYTES];
    if (recording_store_acquire(api->recordings, id, &handle, &err) != RT_OK) {
        json_t *members =
            err.status == RT_NOT_FOUND ? json_pack("{s:s}", "resource", "recording") : NULL;
        problem_reply_error(api, x, &err, members);
        return;
    }
    if (find_wanted(api, x, handle->recording, &wanted)) {
        int n =
            snprintf(key, sizeof key, "%s %s %lld %d %d %d %lld", handle->origin.id,
                     handle->origin.digest, (long long)handle->origin.created_ms, wanted.i_camera,
                     wanted.i_frame, wanted.is_png, (long long)wanted.width_px);
        etag_of_bytes(key, (size_t)n, etag);
        http_reply_header(x, "ETag", etag);
        http_reply_header(x, "Cache-Control", "private, no-cache");
        if (http_etag_matches(x, etag)) {
            reply_empty(api, x, 304);
        } else {
            reply_frame(api, x, handle->recording, &wanted);
        }
    }
    recording_handle_release(&handle);
}

void get_recording_frame(struct http_exchange *x, void *context) {
    handle_later(context, x, answer_frame);
}
