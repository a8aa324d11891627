/* Our own recording.json (formats.md section 5). Cameras are read; lidars, tracks and trajectories
 * are checked for shape and carried on as JSON. */
#ifndef RETAKE_RECON_FORMATS_RETAKE_RECORDING_H
#define RETAKE_RECON_FORMATS_RETAKE_RECORDING_H

#include <jansson.h>

#include "recon/formats/reader.h"

/* Reads recording.json of an open folder, reader_finish included. */
enum rt_status retake_recording_read(struct reader *reader, struct rt_error *err);

/* The same for a parsed file, without the files of points. */
enum rt_status retake_recording_parse(struct reader *reader, const json_t *root,
                                      struct rt_error *err);

#endif
