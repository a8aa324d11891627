/* A recording: what was captured, as files and numbers, before anything is decoded.
 *
 *     struct recording *recording;
 *     RT_TRY(recording_open("fox", &recording, err));      // format found by content
 *     struct recording_picture picture = {0};
 *     RT_TRY(recording_load_picture(recording, i_camera, i_frame, 0.5f, &picture, err));
 *     recording_picture_free(&picture);
 *     recording_close(&recording);
 *
 * One structure for all formats (formats.md sections 5 and 6). Cameras here have the lens of the
 * file; `camera_stored` is the undistorted pinhole of the same focal length that pictures are
 * delivered in and that a scene stores, until distorted rendering exists. Threading: immutable
 * after open; pictures may be loaded from several threads. */
#ifndef RETAKE_RECON_RECORDING_H
#define RETAKE_RECON_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "render/core/image.h"
#include "render/core/limits.h"
#include "render/core/sensor.h"

struct recording_frame {
    char *file;       /* owned, relative to the recording's folder */
    char *mask_file;  /* owned or NULL; 8-bit, 0 = ignore */
    char *depth_file; /* owned or NULL; u16 mm */
    int64_t t_us;
    int64_t t_end_us;
    struct pose T_world_sensor_start;
    struct pose T_world_sensor_end;
    struct camera *camera; /* owned or NULL: lens of this frame where it differs */
    bool holdout;          /* declared by the recording */
};

struct recording_camera {
    char id[RT_ID_BYTES];
    struct camera camera;        /* as recorded, distortion included */
    struct camera camera_stored; /* undistorted pinhole, same size and focal length */
    struct pose T_rig_camera;
    int64_t shutter_us;
    char *ego_mask_file; /* owned or NULL; 0 = the vehicle itself, ignored in every frame */
    struct recording_frame *frames; /* owned [n_frames], by time then name */
    int32_t n_frames;
};

struct recording_points {
    float *xyz;   /* owned [n][3], world */
    uint8_t *rgb; /* owned [n][3] */
    int32_t n_points;
};

enum finding_severity { FINDING_INFO, FINDING_WARNING, FINDING_ERROR };

/* One thing a person should know about the recording. */
struct recording_finding {
    enum finding_severity severity;
    char code[32]; /* finding code of formats.md section 1, or "" */
    char *file;    /* owned or NULL */
    char *message; /* owned */
};

struct recording {
    char format[24]; /* "retake-recording", "colmap", "nerfstudio" */
    char *name;      /* owned */
    char *folder;    /* owned, absolute */
    bool is_static;
    bool metric;
    float up[3];
    bool has_background; /* RGBA pictures are composited on it */
    float background[3];
    struct pose T_source_world;
    struct recording_camera *cameras; /* owned [n_cameras] */
    int32_t n_cameras;
    struct recording_points points; /* may be empty */
    bool has_declared_holdout;      /* some frame says so; else every holdout_every-th */
    char *carried_json;             /* owned or NULL: lidars, trajectories, tracks as object text */
    int32_t n_lidars, n_tracks;
    struct recording_finding *findings; /* owned [n_findings] */
    int32_t n_findings;
    int32_t n_frames_missing; /* listed, no file: skipped */
};

/* Opens a folder: recording.json, COLMAP, transforms.json / transforms_train.json. A folder of
 * photos without poses is refused with a sentence that says so and points to the README's recipe.
 * RT_BAD_RECORDING with a finding code. Reads no pixels but the headers of pictures. */
enum rt_status recording_open(const char *folder, struct recording **out, struct rt_error *err);
void recording_close(struct recording **recording);

/* Unpacks an uploaded tar, tar.gz or zip into the new folder `folder`, which must not exist. The
 * work is done in a folder beside it that is renamed at the end, so that a failure at any point
 * leaves nothing behind. Limits (promises.md section 5, api.md section 8): entries, names (as
 * recording_path_check, no duplicates, not even by case), only files and folders, 200 bytes out for
 * one in (pictures exempt: up to 512 MiB each), 128 GiB in all. A single top folder is kept;
 * recording_open looks one level down. RT_EXISTS, RT_BAD_RECORDING with a finding code,
 * RT_STORAGE_FULL, RT_IO, RT_NO_MEMORY. */
enum rt_status recording_unpack(const char *archive, const char *folder, struct rt_error *err);

/* Decodes every picture, mask and depth file; what is wrong becomes a finding of severity error.
 * Fails only when there is no memory. Not while other threads use the recording. */
enum rt_status recording_check_deep(struct recording *recording, struct rt_error *err);

struct recording_picture {
    struct image rgb; /* U8, 3 channels, undistorted, composited on the background */
    struct image
        mask; /* U8, 1 channel, 255 = valid, 0 = outside the lens or ignored; may be empty */
    struct camera camera; /* undistorted pinhole of this frame at the delivered size */
};

/* Decodes, composites, undistorts and scales (area average) one picture by `scale` in (0, 1]: sides
 * become max(1, round(scale x side)). */
enum rt_status recording_load_picture(const struct recording *recording, int32_t i_camera,
                                      int32_t i_frame, float scale, struct recording_picture *out,
                                      struct rt_error *err);
void recording_picture_free(struct recording_picture *picture);

/* For readers: appends a finding (copies the text). */
enum rt_status recording_add_finding(struct recording *recording,
                                     const struct recording_finding *what, struct rt_error *err,
                                     const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
