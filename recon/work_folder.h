/* The work folder of a reconstruction: config.json, metrics.csv, eval.json and the checkpoints, and
 * the key that ties a checkpoint to its configuration and recording. */
#ifndef RETAKE_RECON_WORK_FOLDER_H
#define RETAKE_RECON_WORK_FOLDER_H

#include "recon/checkpoint.h"
#include "recon/config.h"
#include "recon/recording.h"

/* Creates the folder and its parents. RT_IO with the last part of the path named. */
enum rt_status work_folder_create(const char *folder, struct rt_error *err);
/* Writes folder/name atomically. */
enum rt_status work_folder_write(const char *folder, const char *name, const char *text,
                                 struct rt_error *err);
/* The parameters in folder/config.json. RT_NOT_FOUND without it. */
enum rt_status work_folder_config(const char *folder, struct recon_config *out,
                                  struct rt_error *err);
/* Parameters of the group `service` do not shape the result and are left out; of the recording the
 * files' names, poses, lenses and points count. RT_NO_MEMORY. */
enum rt_status work_folder_key(const struct recon_config *config, const struct recording *recording,
                               struct checkpoint_key *out, struct rt_error *err);

#endif
