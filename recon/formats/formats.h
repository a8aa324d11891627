/* The readers of recordings, in the order in which they are tried; each claims a folder by the
 * files it finds there (formats.md section 1) and ends with reader_finish(). */
#ifndef RETAKE_RECON_FORMATS_FORMATS_H
#define RETAKE_RECON_FORMATS_FORMATS_H

#include "recon/formats/colmap.h"
#include "recon/formats/nerfstudio.h"
#include "recon/formats/reader.h"
#include "recon/formats/retake_recording.h"

#endif
