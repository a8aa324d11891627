#include "recon/synth.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recon/synth_plan.h"
#include "render/core/limits.h"
#include "render/io/image_file.h"

enum { PATH_BYTES = 4096, JPEG_QUALITY = 95 };
static const float drive_speed = 10.0f; /* m/s */

struct synth_options synth_options_default(bool is_static) {
    struct synth_options options = {.seed = 1,
                                    .is_static = is_static,
                                    .n_photos = 54,
                                    .duration_s = 10.0f,
                                    .n_cameras = 3,
                                    .width_px = 640,
                                    .height_px = 360};
    if (is_static) {
        options.width_px = 480;
        options.height_px = 270;
    }
    return options;
}

enum rt_status synth_options_validate(const struct synth_options *options, struct rt_error *err) {
    if (options->width_px < 16 || options->width_px > 4096 || options->height_px < 16 ||
        options->height_px > 4096) {
        return rt_fail(err, RT_INVALID, "size %d x %d px: both sides must be 16...4096",
                       options->width_px, options->height_px);
    }
    if (options->is_static && (options->n_photos < 2 || options->n_photos > 1000)) {
        return rt_fail(err, RT_INVALID, "%d photos: must be 2...1000", options->n_photos);
    }
    if (options->is_static) return RT_OK;
    if (!(options->duration_s >= 0.2f && options->duration_s <= 120.0f)) {
        return rt_fail(err, RT_INVALID, "duration %g s: must be 0.2...120",
                       (double)options->duration_s);
    }
    if (options->n_cameras < 1 || options->n_cameras > SYNTH_MAX_CAMERAS) {
        return rt_fail(err, RT_INVALID, "%d cameras: must be 1...%d", options->n_cameras,
                       SYNTH_MAX_CAMERAS);
    }
    return RT_OK;
}

/* What one run works on. */
struct recorder {
    const char *folder;
    const struct synth_options *options;
    struct synth_world *world; /* owned */
    struct synth_plan plan;
    struct synth_report report;
};

static enum rt_status join(char out[PATH_BYTES], const struct recorder *recorder, const char *file,
                           struct rt_error *err) {
    int n = snprintf(out, PATH_BYTES, "%s/%s", recorder->folder, file);
    if (n < 0 || n >= PATH_BYTES) return rt_fail(err, RT_INVALID, "%s: the path is too long", file);
    return RT_OK;
}

static enum rt_status make_folder(const struct recorder *recorder, const char *name,
                                  struct rt_error *err) {
    char path[PATH_BYTES];
    RT_TRY(join(path, recorder, name, err));
    if (mkdir(path, 0777) == 0 || errno == EEXIST) return RT_OK;
    bool is_full = errno == ENOSPC || errno == EDQUOT;
    return rt_fail(err, is_full ? RT_STORAGE_FULL : RT_IO, "%s: cannot make the folder: %s", name,
                   strerror(errno));
}

static enum rt_status make_folders(const struct recorder *recorder, struct rt_error *err) {
    char name[64];
    RT_TRY(make_folder(recorder, "images", err));
    for (int32_t i = 0; i < recorder->plan.n_cameras; i++) {
        snprintf(name, sizeof name, "images/%s", recorder->plan.cameras[i].id);
        RT_TRY(make_folder(recorder, name, err));
    }
    if (recorder->plan.n_sweeps == 0) return RT_OK;
    RT_TRY(make_folder(recorder, "lidar", err));
    return make_folder(recorder, "lidar/top", err);
}

static void report_progress(const struct recorder *recorder, const char *what, int32_t n_done,
                            int32_t n_all) {
    const struct synth_options *options = recorder->options;
    if (options->progress) options->progress(options->progress_context, what, n_done, n_all);
}

static enum rt_status write_picture(struct recorder *recorder, int32_t i_picture,
                                    struct rt_error *err) {
    char file[64], path[PATH_BYTES];
    bool png = recorder->options->png;
    synth_plan_file(&recorder->plan, i_picture, png, file);
    RT_TRY(join(path, recorder, file, err));
    struct image picture = {0};
    struct rt_bytes bytes = {0};
    enum rt_status status =
        synth_render_camera(recorder->world, &recorder->plan.sensors[i_picture], &picture, err);
    if (status == RT_OK) {
        status = png ? image_encode_png(&picture, &bytes, err)
                     : image_encode_jpeg(&picture, JPEG_QUALITY, &bytes, err);
    }
    if (status == RT_OK) status = file_write_atomic(path, bytes.bytes, bytes.n_bytes, err);
    rt_bytes_free(&bytes);
    image_destroy(&picture);
    if (status == RT_OK) recorder->report.n_pictures++;
    return status;
}

static enum rt_status write_sweep(struct recorder *recorder, int32_t i_sweep,
                                  struct rt_error *err) {
    char file[64], path[PATH_BYTES];
    snprintf(file, sizeof file, "lidar/top/%06d.bin", i_sweep);
    RT_TRY(join(path, recorder, file, err));
    struct synth_lidar lidar = synth_lidar_default();
    struct synth_sweep sweep = {0};
    int64_t t_us = (int64_t)i_sweep * SYNTH_SWEEP_US;
    enum rt_status status =
        synth_render_lidar(recorder->world, &lidar, t_us, t_us + SYNTH_SWEEP_US, &sweep, err);
    if (status == RT_OK) {
        status = file_write_atomic(path, sweep.returns, (size_t)sweep.n_returns * 6 * sizeof(float),
                                   err);
    }
    if (status == RT_OK) {
        recorder->report.n_sweeps++;
        recorder->report.n_lidar_points += sweep.n_returns;
    }
    synth_sweep_free(&sweep);
    return status;
}

static enum rt_status write_all(struct recorder *recorder, struct rt_error *err) {
    RT_TRY(make_folders(recorder, err));
    int32_t n_pictures = recorder->plan.n_cameras * recorder->plan.n_frames;
    for (int32_t i = 0; i < n_pictures; i++) {
        RT_TRY(write_picture(recorder, i, err));
        report_progress(recorder, "pictures", i + 1, n_pictures);
    }
    for (int32_t i = 0; i < recorder->plan.n_sweeps; i++) {
        RT_TRY(write_sweep(recorder, i, err));
        report_progress(recorder, "lidar sweeps", i + 1, recorder->plan.n_sweeps);
    }
    RT_TRY(synth_points_write(recorder->folder, recorder->world, &recorder->plan,
                              &recorder->report.n_points, err));
    recorder->report.n_tracks = recorder->world->n_actors;
    return synth_json_write(recorder->folder, recorder->options, recorder->world, &recorder->plan,
                            err);
}

enum rt_status synth_record(const char *folder, const struct synth_options *options,
                            struct synth_report *report, struct rt_error *err) {
    RT_TRY(synth_options_validate(options, err));
    struct recorder recorder = {.folder = folder, .options = options};
    char path[PATH_BYTES];
    RT_TRY(join(path, &recorder, "recording.json", err));
    /* An older recording of this folder ends here: its pictures are about to be replaced. */
    if (unlink(path) != 0 && errno != ENOENT) {
        return rt_fail(err, RT_IO, "recording.json: cannot replace it: %s", strerror(errno));
    }
    /* Whole sweeps, as the plan counts them. */
    struct synth_settings settings = {.seed = options->seed,
                                      .is_static = options->is_static,
                                      .duration_s = roundf(options->duration_s * 10.0f) / 10.0f,
                                      .speed = drive_speed};
    enum rt_status status = synth_world_create(&settings, &recorder.world, err);
    if (status == RT_OK) status = synth_plan_create(options, recorder.world, &recorder.plan, err);
    if (status == RT_OK) status = write_all(&recorder, err);
    if (report) *report = recorder.report;
    synth_plan_free(&recorder.plan);
    synth_world_destroy(&recorder.world);
    return status;
}
