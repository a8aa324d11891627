/* What all readers of recordings share: looking at picture files, lenses against picture sizes,
 * world axes, order of frames, what is missing.
 *
 *     struct reader reader;
 *     reader_begin(&reader, recording, folder);
 *     RT_TRY(reader_add_camera(&reader, "front", &i_camera, err));
 *     RT_TRY(reader_find_picture(&reader, "images/1.jpg", &picture, err));
 *     if (picture.found) RT_TRY(reader_add_frame(&reader, i_camera, &frame, &picture, err));
 *     RT_TRY(reader_finish(&reader, err));
 *
 * A reader parses text or bytes in memory and meets the disk only through these functions; with
 * folder.fd = -1 every picture "exists" with the size of its lens, which is how the fuzz targets
 * and the tests of the parsers run. Errors are RT_BAD_FILE with a finding code; recording_open
 * turns them into RT_BAD_RECORDING. Threading: one thread. */
#ifndef RETAKE_RECON_FORMATS_READER_H
#define RETAKE_RECON_FORMATS_READER_H

#include "recon/recording.h"
#include "recon/recording_folder.h"

enum { READER_MISSING_NAMED = 32 }; /* missing pictures beyond this are only counted */

/* T_source_camera in double precision: the source's world, camera axes right, down, forward. */
struct reader_pose {
    double r[3][3]; /* row-major rotation */
    double t[3];
};

struct reader {
    struct recording *recording;           /* borrowed */
    const struct recording_folder *folder; /* borrowed */
    double R_world_source[3][3];           /* identity unless the reader turns the world */
    double origin[3];                      /* subtracted from source positions, then rotated */
    bool has_origin;
    int32_t n_listed;   /* frames named by the source */
    bool has_alpha;     /* some picture has an alpha channel */
    bool has_times;     /* frames carry times; else they are numbered by name */
    double sum_down[3]; /* of the cameras' down axes in the world */
};

struct reader_picture {
    bool found;
    char file[RT_MAX_PATH_BYTES + 1];
    int32_t width_px, height_px, n_channels; /* 0 when there is no folder to look into */
};

struct reader_frame {
    const char *mask_file;  /* borrowed or NULL */
    const char *depth_file; /* borrowed or NULL */
    int64_t t_us, t_end_us;
    struct camera lens; /* of the file; scaled here to the picture's size */
    struct reader_pose start, end;
    bool holdout;
};

void reader_begin(struct reader *reader, struct recording *recording,
                  const struct recording_folder *folder);

/* Appends a camera; `id` must be valid and new. */
enum rt_status reader_add_camera(struct reader *reader, const char *id, int32_t *i_camera,
                                 struct rt_error *err);

/* Looks for a picture and reads its header. `file` loses leading "./"; without an ending .png .jpg
 * .jpeg and upper case are tried. A missing one is counted and becomes a finding. */
enum rt_status reader_find_picture(struct reader *reader, const char *file,
                                   struct reader_picture *picture, struct rt_error *err);

/* A mask or depth file: its name copied to *out, or a finding and NULL when it is not there. */
enum rt_status reader_side_file(struct reader *reader, const char *file, const char *what,
                                char **out, struct rt_error *err);

/* Appends a frame. A lens whose size is not the picture's is scaled when both axes agree on one
 * ratio to one pixel, else refused with the file's name. */
enum rt_status reader_add_frame(struct reader *reader, int32_t i_camera,
                                const struct reader_frame *frame,
                                const struct reader_picture *picture, struct rt_error *err);

/* Order, times of static sets, lenses of the cameras, warnings, "all missing". */
enum rt_status reader_finish(struct reader *reader, struct rt_error *err);

/* The pose of a frame from one in single precision. */
struct reader_pose reader_pose_from(struct pose pose);

/* A point of the source's world in ours. */
vec3 reader_point(const struct reader *reader, const double source[3]);
/* Stores T_source_world; call when R_world_source and the origin are final. */
void reader_store_world(struct reader *reader);
/* `up` := minus the mean down axis of the cameras (COLMAP). */
void reader_up_from_cameras(struct reader *reader);

/* Rotation check: columns of unit length within 1 %, right-handed, finite, |t| < 1e9. */
enum rt_status reader_pose_check(const struct reader_pose *pose, const char *where,
                                 struct rt_error *err);

#endif
