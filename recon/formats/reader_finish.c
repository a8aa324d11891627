#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recon/formats/reader.h"
#include "render/core/camera_pinhole.h"

enum { STATIC_STEP_US = 100000 };

/* A frame by its name, to be numbered. */
struct named {
    struct recording_frame *frame;
};

static int by_name(const void *a, const void *b) {
    const struct named *x = a;
    const struct named *y = b;
    return strcmp(x->frame->file, y->frame->file);
}

static int by_time_then_name(const void *a, const void *b) {
    const struct recording_frame *x = a;
    const struct recording_frame *y = b;
    if (x->t_us != y->t_us) return x->t_us < y->t_us ? -1 : 1;
    return strcmp(x->file, y->file);
}

/* Static sets: 0.1 s from picture to picture in name order over all cameras. */
static enum rt_status number_by_name(struct recording *recording, int32_t n_frames,
                                     struct rt_error *err) {
    struct named *frames = malloc((size_t)n_frames * sizeof *frames);
    if (!frames) return rt_fail(err, RT_NO_MEMORY, "frames: out of memory");
    int32_t n = 0;
    for (int32_t i = 0; i < recording->n_cameras; i++) {
        struct recording_camera *camera = &recording->cameras[i];
        for (int32_t k = 0; k < camera->n_frames; k++) frames[n++].frame = &camera->frames[k];
    }
    qsort(frames, (size_t)n, sizeof *frames, by_name);
    for (int32_t i = 0; i < n; i++) {
        frames[i].frame->t_us = (int64_t)i * STATIC_STEP_US;
        frames[i].frame->t_end_us = frames[i].frame->t_us + 1;
    }
    free(frames);
    return RT_OK;
}

static enum rt_status order_frames(struct recording_camera *camera, struct rt_error *err) {
    qsort(camera->frames, (size_t)camera->n_frames, sizeof *camera->frames, by_time_then_name);
    for (int32_t i = 1; i < camera->n_frames; i++) {
        const struct recording_frame *frame = &camera->frames[i];
        if (frame->t_us > frame[-1].t_us) continue;
        return rt_fail_file(err, "bad-value", -1,
                            "camera \"%s\": %s and %s have the same time %lld us", camera->id,
                            frame[-1].file, frame->file, (long long)frame->t_us);
    }
    return RT_OK;
}

static bool same_numbers(const float *a, const float *b, int n) {
    for (int i = 0; i < n; i++) {
        if (a[i] != b[i]) return false;
    }
    return true;
}

static bool same_lens(const struct camera *a, const struct camera *b) {
    return a->model == b->model && a->shutter == b->shutter && a->width_px == b->width_px &&
           a->height_px == b->height_px && same_numbers(a->focal_px, b->focal_px, 2) &&
           same_numbers(a->principal_px, b->principal_px, 2) &&
           same_numbers(a->radial_k, b->radial_k, 6) &&
           same_numbers(a->tangential_p, b->tangential_p, 2) &&
           same_numbers(a->thin_prism_s, b->thin_prism_s, 4);
}

/* The first frame's lens becomes the camera's; frames that share it give theirs up. */
static void share_lens(struct recording_camera *camera) {
    camera->camera = *camera->frames[0].camera;
    for (int32_t i = 0; i < camera->n_frames; i++) {
        struct recording_frame *frame = &camera->frames[i];
        if (!same_lens(frame->camera, &camera->camera)) continue;
        free(frame->camera);
        frame->camera = NULL;
    }
    camera->camera_stored = camera->camera;
    camera->camera_stored.shutter = SHUTTER_GLOBAL;
    memset(camera->camera_stored.radial_k, 0, sizeof camera->camera_stored.radial_k);
    memset(camera->camera_stored.tangential_p, 0, sizeof camera->camera_stored.tangential_p);
    memset(camera->camera_stored.thin_prism_s, 0, sizeof camera->camera_stored.thin_prism_s);
}

static enum rt_status warn_about_lens(struct reader *reader, struct recording_camera *camera,
                                      struct rt_error *err) {
    struct recording_finding what = {.severity = FINDING_WARNING};
    if (camera->camera.shutter != SHUTTER_GLOBAL) {
        RT_TRY(recording_add_finding(reader->recording, &what, err,
                                     "camera \"%s\": rolling shutter is treated as global, at the "
                                     "pose of the middle of the exposure",
                                     camera->id));
        camera->camera.shutter = SHUTTER_GLOBAL;
    }
    struct rt_error fault;
    rt_error_clear(&fault);
    if (pinhole_check(&camera->camera, &fault) == RT_OK) return RT_OK;
    return recording_add_finding(reader->recording, &what, err,
                                 "camera \"%s\": %s; pixels beyond are masked out", camera->id,
                                 fault.message);
}

static void drop_empty_cameras(struct recording *recording) {
    int32_t n = 0;
    for (int32_t i = 0; i < recording->n_cameras; i++) {
        if (recording->cameras[i].n_frames > 0) {
            recording->cameras[n++] = recording->cameras[i];
        } else {
            free(recording->cameras[i].ego_mask_file);
        }
    }
    recording->n_cameras = n;
}

static enum rt_status warn_in_the_end(struct reader *reader, struct rt_error *err) {
    struct recording *recording = reader->recording;
    struct recording_finding what = {.severity = FINDING_WARNING};
    int32_t n_unnamed = recording->n_frames_missing - READER_MISSING_NAMED;
    if (n_unnamed > 0) {
        strcpy(what.code, "missing-file");
        RT_TRY(recording_add_finding(recording, &what, err, "%d more listed pictures are not there",
                                     n_unnamed));
        what.code[0] = 0;
    }
    if (!reader->has_alpha || recording->has_background) return RT_OK;
    return recording_add_finding(recording, &what, err,
                                 "pictures have an alpha channel and no background is declared: "
                                 "they are placed on black");
}

enum rt_status reader_finish(struct reader *reader, struct rt_error *err) {
    struct recording *recording = reader->recording;
    int32_t n_frames = 0;
    for (int32_t i = 0; i < recording->n_cameras; i++) n_frames += recording->cameras[i].n_frames;
    if (reader->n_listed == 0) {
        return rt_fail_file(err, "empty", -1, "no frames are listed");
    }
    if (n_frames == 0) {
        return rt_fail_file(err, "missing-file", -1,
                            "none of the %d listed pictures is there; the first missing one is %s",
                            reader->n_listed,
                            recording->n_findings > 0 && recording->findings[0].file
                                ? recording->findings[0].file
                                : "(unnamed)");
    }
    drop_empty_cameras(recording);
    recording->is_static = !reader->has_times;
    if (!reader->has_times) RT_TRY(number_by_name(recording, n_frames, err));
    for (int32_t i = 0; i < recording->n_cameras; i++) {
        struct recording_camera *camera = &recording->cameras[i];
        RT_TRY(order_frames(camera, err));
        share_lens(camera);
        RT_TRY(warn_about_lens(reader, camera, err));
    }
    reader_store_world(reader);
    return warn_in_the_end(reader, err);
}
