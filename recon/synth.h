/* Synthetic street recordings with exact ground truth: demo, tests and benchmarks.
 *
 *     struct synth_options options = synth_options_default(true);       // photos of a still street
 *     RT_TRY(synth_record("street", &options, &report, err));           // recording.json and files
 *
 * or any picture of any time, without files:
 *
 *     RT_TRY(synth_world_create(&settings, &world, err));               // synth_world.h
 *     RT_TRY(synth_render_camera(world, &sensor, &picture, err));
 *
 * The same options give the same bytes for every number of threads. Poses, tracks and lidar points
 * carry no noise. Layout on disk: formats.md section 5. */
#ifndef RETAKE_RECON_SYNTH_H
#define RETAKE_RECON_SYNTH_H

#include "recon/synth_cast.h"
#include "recon/synth_world.h"
#include "render/core/image.h"
#include "render/core/sensor.h"

enum { SYNTH_MAX_CAMERAS = 6 };

struct synth_options {
    uint64_t seed;
    bool is_static;    /* photos of a street where nothing moves, no rig, no lidar */
    int32_t n_photos;  /* static: how many, 2...1000 */
    float duration_s;  /* drive: length, 0.2...120 */
    int32_t n_cameras; /* drive: 1...SYNTH_MAX_CAMERAS */
    int32_t width_px, height_px;
    bool png; /* PNG instead of JPEG of quality 95 */
    /* Called from one thread after each finished unit; may be NULL. */
    void (*progress)(void *context, const char *what, int32_t n_done, int32_t n_all);
    void *progress_context;
};

struct synth_report {
    int32_t n_pictures, n_sweeps, n_tracks, n_points;
    int64_t n_lidar_points;
};

struct synth_options synth_options_default(bool is_static);
/* RT_INVALID with the member named. */
enum rt_status synth_options_validate(const struct synth_options *options, struct rt_error *err);

/* Writes a recording into the folder, which exists; recording.json last, so that an interrupted
 * run is never taken for a recording. RT_STORAGE_FULL, RT_IO, RT_NO_MEMORY. */
enum rt_status synth_record(const char *folder, const struct synth_options *options,
                            struct synth_report *report, struct rt_error *err);

/* The ray of a picture position (origin: top-left corner of the picture), in the world. */
struct synth_ray synth_camera_ray(const struct sensor *sensor, vec2 at_px);

/* One picture, sRGB, U8 with 3 channels, of the sensor's native size; *out is created. Actors stand
 * where they are at the middle of the exposure. RT_UNSUPPORTED for lenses other than an
 * undistorted pinhole and for rolling shutters. */
enum rt_status synth_render_camera(const struct synth_world *world, const struct sensor *sensor,
                                   struct image *out, struct rt_error *err);

/* A spinning lidar of sensors.md section 5 with equal steps and no row offsets. */
struct synth_lidar {
    int32_t n_rows, n_columns;
    float elevation_top_rad, elevation_bottom_rad;
    float range_min, range_max; /* m */
    struct pose T_rig_lidar;
};
struct synth_lidar synth_lidar_default(void);
float synth_lidar_elevation_rad(const struct synth_lidar *lidar, int32_t i_row);
float synth_lidar_azimuth_rad(const struct synth_lidar *lidar, int32_t i_column);

struct synth_sweep {
    float *returns; /* owned [n][6]: x y z (sensor at beam time), intensity, row, time 0...1 */
    int64_t n_returns;
};
/* One sweep over [t_us, t_end_us); returns in the order of columns, then rows. */
enum rt_status synth_render_lidar(const struct synth_world *world, const struct synth_lidar *lidar,
                                  int64_t t_us, int64_t t_end_us, struct synth_sweep *out,
                                  struct rt_error *err);
void synth_sweep_free(struct synth_sweep *sweep);

#endif
