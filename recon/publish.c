#include "recon/publish.h"

#include <stdlib.h>
#include <string.h>

#include "retake_version.h"

/* True when no frame of the camera has a lens of its own. */
static bool one_lens(const struct recording_camera *camera) {
    for (int32_t i = 0; i < camera->n_frames; i++) {
        if (camera->frames[i].camera) return false;
    }
    return true;
}

/* The lens in which the picture was trained, at its recorded size. */
static struct camera stored_lens(const struct recording_camera *camera,
                                 const struct training_picture *picture,
                                 const struct recording_frame *frame) {
    if (!frame->camera) return camera->camera_stored;
    if (!picture->rgb.pixels) return *frame->camera;
    return camera_scaled(&picture->camera, frame->camera->width_px, frame->camera->height_px);
}

static enum rt_status fill_frames(const struct recording_camera *from,
                                  const struct training_picture *pictures, struct scene_frames *to,
                                  struct rt_error *err) {
    if (!one_lens(from)) {
        to->camera = calloc((size_t)from->n_frames, sizeof *to->camera);
        if (!to->camera) return rt_fail(err, RT_NO_MEMORY, "lenses of a camera: out of memory");
    }
    for (int32_t i = 0; i < from->n_frames; i++) {
        const struct recording_frame *frame = &from->frames[i];
        to->t_us[i] = frame->t_us;
        to->t_end_us[i] = frame->t_end_us;
        to->T_world_sensor_start[i] = frame->T_world_sensor_start;
        to->T_world_sensor_end[i] = frame->T_world_sensor_end;
        to->holdout[i] = pictures[i].holdout;
        if (to->camera) to->camera[i] = stored_lens(from, &pictures[i], frame);
        RT_TRY(scene_set_text(&to->file[i], frame->file, err));
    }
    return RT_OK;
}

static enum rt_status add_cameras(const struct picture_set *set, struct scene *scene,
                                  struct rt_error *err) {
    int32_t first = 0; /* pictures stand camera after camera */
    for (int32_t c = 0; c < set->recording->n_cameras; c++) {
        const struct recording_camera *from = &set->recording->cameras[c];
        struct scene_camera *to = NULL;
        RT_TRY(scene_add_camera(scene, from->id, from->n_frames, &to, err));
        to->camera = from->camera_stored;
        to->T_rig_camera = from->T_rig_camera;
        to->shutter_us = from->shutter_us;
        RT_TRY(fill_frames(from, set->pictures + first, &to->frames, err));
        first += from->n_frames;
    }
    return RT_OK;
}

static void set_times(const struct recording *recording, struct scene *scene) {
    bool any = false;
    for (int32_t c = 0; c < recording->n_cameras; c++) {
        const struct recording_camera *camera = &recording->cameras[c];
        for (int32_t i = 0; i < camera->n_frames; i++) {
            const struct recording_frame *frame = &camera->frames[i];
            if (!any || frame->t_us < scene->t_begin_us) scene->t_begin_us = frame->t_us;
            if (!any || frame->t_end_us > scene->t_end_us) scene->t_end_us = frame->t_end_us;
            any = true;
        }
    }
    if (scene->t_end_us <= scene->t_begin_us) scene->t_end_us = scene->t_begin_us + 1;
}

static enum rt_status add_background(const struct gaussians *gaussians, struct scene *scene,
                                     struct rt_error *err) {
    struct gaussians *copy = NULL;
    RT_TRY(gaussians_copy(&copy, gaussians, err));
    enum rt_status status = scene_add_node(scene, "background", NODE_BACKGROUND, copy, err);
    if (status != RT_OK) gaussians_destroy(&copy);
    return status;
}

static enum rt_status fill_scene(const struct publish_args *a, struct scene *scene,
                                 struct rt_error *err) {
    const struct recording *recording = a->pictures->recording;
    const char *name = a->name ? a->name : recording->name;
    RT_TRY(scene_set_text(&scene->name, name ? name : "", err));
    RT_TRY(scene_set_text(&scene->recording_id, a->recording_id, err));
    RT_TRY(scene_set_text(&scene->generator, "retake " RETAKE_VERSION, err));
    RT_TRY(scene_set_text(&scene->provenance_json, a->provenance_json, err));
    RT_TRY(scene_set_text(&scene->carried_json, recording->carried_json, err));
    memcpy(scene->up, recording->up, sizeof scene->up);
    scene->metric = recording->metric;
    scene->is_static = recording->is_static;
    scene->T_source_world = recording->T_source_world;
    if (recording->has_background) {
        scene->sky = SKY_COLOUR;
        memcpy(scene->sky_rgb, recording->background, sizeof scene->sky_rgb);
    }
    set_times(recording, scene);
    scene->default_view = a->pictures->pictures[a->pictures->training[0]].T_world_sensor;
    RT_TRY(add_background(a->gaussians, scene, err));
    return add_cameras(a->pictures, scene, err);
}

enum rt_status publish_scene(const struct publish_args *args, struct scene **out,
                             struct rt_error *err) {
    RT_TRY(scene_create(out, err));
    enum rt_status status = fill_scene(args, *out, err);
    if (status != RT_OK) scene_release(out);
    return status;
}
