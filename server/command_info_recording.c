#include <stdint.h>
#include <stdio.h>

#include "recon/recording.h"
#include "server/commands.h"

enum { FINDINGS_SHOWN = 12, CAMERAS_SHOWN = 16 };

static void print_camera(const struct recording_camera *camera) {
    const struct camera *lens = &camera->camera;
    int32_t n_own = 0;
    int32_t n_holdout = 0;
    for (int32_t i = 0; i < camera->n_frames; i++) {
        n_own += camera->frames[i].camera != NULL;
        n_holdout += camera->frames[i].holdout;
    }
    printf("  %-12s %d picture%s, %d x %d px, focal length %.1f x %.1f px, %s", camera->id,
           camera->n_frames, camera->n_frames == 1 ? "" : "s", lens->width_px, lens->height_px,
           (double)lens->focal_px[0], (double)lens->focal_px[1],
           camera_is_distorted(lens) ? "distorted (undistorted when read)" : "no distortion");
    if (n_own > 0) printf(", %d with a lens of their own", n_own);
    if (n_holdout > 0) printf(", %d held out", n_holdout);
    printf("\n");
}

static void print_time(const struct recording *recording) {
    if (recording->is_static) {
        printf("time      static: pictures are numbered by name\n");
        return;
    }
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;
    for (int32_t i = 0; i < recording->n_cameras; i++) {
        const struct recording_camera *camera = &recording->cameras[i];
        if (camera->frames[0].t_us < first) first = camera->frames[0].t_us;
        int64_t end = camera->frames[camera->n_frames - 1].t_end_us;
        if (end > last) last = end;
    }
    printf("time      %.3f s to %.3f s\n", (double)first * 1e-6, (double)last * 1e-6);
}

static void print_findings(const struct recording *recording) {
    static const char *const severities[] = {"note", "warning", "error"};
    printf("findings  %d\n", recording->n_findings);
    for (int32_t i = 0; i < recording->n_findings && i < FINDINGS_SHOWN; i++) {
        const struct recording_finding *finding = &recording->findings[i];
        printf("  %-8s%s%s%s\n", severities[finding->severity], finding->file ? finding->file : "",
               finding->file ? ": " : "", finding->message);
    }
    if (recording->n_findings > FINDINGS_SHOWN) {
        printf("  … and %d more\n", recording->n_findings - FINDINGS_SHOWN);
    }
}

static void print_recording(const struct recording *recording) {
    int32_t n_frames = 0;
    for (int32_t i = 0; i < recording->n_cameras; i++) n_frames += recording->cameras[i].n_frames;
    printf("recording %s (%s)\n", recording->name, recording->format);
    printf("pictures  %d", n_frames);
    if (recording->n_frames_missing > 0) {
        printf(" (%d more are listed, but not there)", recording->n_frames_missing);
    }
    printf("\ncameras   %d\n", recording->n_cameras);
    for (int32_t i = 0; i < recording->n_cameras && i < CAMERAS_SHOWN; i++) {
        print_camera(&recording->cameras[i]);
    }
    if (recording->n_cameras > CAMERAS_SHOWN) {
        printf("  … and %d more\n", recording->n_cameras - CAMERAS_SHOWN);
    }
    print_time(recording);
    printf("points    %d\n", recording->points.n_points);
    if (recording->n_lidars > 0) printf("lidars    %d (carried, not used)\n", recording->n_lidars);
    if (recording->n_tracks > 0) printf("tracks    %d (carried, not used)\n", recording->n_tracks);
    printf("up        %.3f %.3f %.3f\n", (double)recording->up[0], (double)recording->up[1],
           (double)recording->up[2]);
    print_findings(recording);
}

enum rt_status info_recording(const char *folder, bool deep, struct rt_error *err) {
    struct recording *recording = NULL;
    RT_TRY(recording_open(folder, &recording, err));
    enum rt_status status = deep ? recording_check_deep(recording, err) : RT_OK;
    if (status == RT_OK) print_recording(recording);
    recording_close(&recording);
    return status;
}
