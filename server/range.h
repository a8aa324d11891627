/* Byte ranges of RFC 9110 section 14, one range per request; a list of ranges or another unit is
 * ignored, as the RFC allows. Pure functions. */
#ifndef RETAKE_SERVER_RANGE_H
#define RETAKE_SERVER_RANGE_H

#include <stdbool.h>
#include <stdint.h>

enum range_result { RANGE_WHOLE, RANGE_PART, RANGE_UNSATISFIABLE };

/* `text`: the Range header or NULL; `size`: bytes of the whole. Fills the part on RANGE_PART, the
 * whole otherwise. */
enum range_result range_parse(const char *text, uint64_t size, uint64_t *begin, uint64_t *n_bytes);

/* Quality above 0 for `coding` in an Accept-Encoding header (or NULL); "*" counts. */
bool accepts_coding(const char *header, const char *coding);

#endif
