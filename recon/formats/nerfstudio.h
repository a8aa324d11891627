/* transforms.json of nerfstudio and instant-ngp, transforms_{train,val,test}.json of NeRF-synthetic
 * (formats.md section 6.2). Camera axes in the file are right, up, back; the world is kept. */
#ifndef RETAKE_RECON_FORMATS_NERFSTUDIO_H
#define RETAKE_RECON_FORMATS_NERFSTUDIO_H

#include <jansson.h>

#include "recon/formats/reader.h"

/* Reads the files of an open folder into the recording of `reader`, reader_finish included. */
enum rt_status nerfstudio_read(struct reader *reader, struct rt_error *err);

/* Adds the frames of one parsed file; all of them are hold-outs when `holdout` is set. */
enum rt_status nerfstudio_parse(struct reader *reader, const json_t *root, bool holdout,
                                struct rt_error *err);

#endif
