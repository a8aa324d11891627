/* Checkpoints: the whole state of a training in one file, which loads completely or not at all.
 *
 *     struct checkpoint_content content = {sections, n_sections};
 *     RT_TRY(checkpoint_write(folder, step, &key, &content, err));
 *     struct checkpoint *c;
 *     RT_TRY(checkpoint_latest(folder, &key, &c, err));   // RT_NOT_FOUND: start anew
 *     checkpoint_find(c, "mean", &n_bytes)
 *     checkpoint_close(&c);
 *
 * File (little-endian): magic "RTKCKPT\n", version, n_sections, length of the file, step, digest of
 * configuration and recording; per section name, length, SHA-256; SHA-256 of all that; the
 * sections. Written to a temporary name, fsync, rename, fsync of the folder; the last `kept` stay.
 * A damaged file is passed over for the one before it. Threading: one thread per folder. */
#ifndef RETAKE_RECON_CHECKPOINT_H
#define RETAKE_RECON_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "render/core/status.h"

enum { CHECKPOINT_DIGEST_BYTES = 32, CHECKPOINT_NAME_BYTES = 24 };

struct checkpoint_section {
    char name[CHECKPOINT_NAME_BYTES];
    const void *bytes; /* borrowed */
    size_t n_bytes;
};

struct checkpoint_key {
    uint8_t config[CHECKPOINT_DIGEST_BYTES];    /* of the parameters that shape the result */
    uint8_t recording[CHECKPOINT_DIGEST_BYTES]; /* of the pictures' names and poses */
};

struct checkpoint;

/* SHA-256 of bytes. */
void checkpoint_digest(const void *bytes, size_t n_bytes, uint8_t digest[CHECKPOINT_DIGEST_BYTES]);

struct checkpoint_content {
    const struct checkpoint_section *sections; /* borrowed [n_sections] */
    int32_t n_sections;
};

/* Errors: RT_STORAGE_FULL, RT_IO; older checkpoints are untouched then. */
enum rt_status checkpoint_write(const char *folder, int32_t step, const struct checkpoint_key *key,
                                const struct checkpoint_content *content, struct rt_error *err);
/* Removes all but the newest `kept`. */
void checkpoint_prune(const char *folder, int32_t kept);

/* The newest undamaged checkpoint. RT_NOT_FOUND when there is none; RT_INVALID when it belongs to
 * another configuration or recording, saying which; RT_NO_MEMORY. */
enum rt_status checkpoint_latest(const char *folder, const struct checkpoint_key *key,
                                 struct checkpoint **out, struct rt_error *err);
void checkpoint_close(struct checkpoint **checkpoint);
int32_t checkpoint_step(const struct checkpoint *checkpoint);
/* Bytes of a section (unaligned), or NULL; *n_bytes is its length. */
const void *checkpoint_find(const struct checkpoint *checkpoint, const char *name, size_t *n_bytes);

#endif
