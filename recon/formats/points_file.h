/* Initial points of a recording from a PLY file (formats.md section 6.4). */
#ifndef RETAKE_RECON_FORMATS_POINTS_FILE_H
#define RETAKE_RECON_FORMATS_POINTS_FILE_H

#include "recon/formats/reader.h"

/* Adds the points of `file` to the recording, turned into its world. A missing file is a finding,
 * not an error: training then starts from random points. */
enum rt_status points_file_read(struct reader *reader, const char *file, struct rt_error *err);

/* Makes room for n more points; the caller fills xyz and rgb from n_points on and raises n_points.
 */
enum rt_status points_reserve(struct recording_points *points, int64_t n, struct rt_error *err);

#endif
