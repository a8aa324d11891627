/* Limits a client can meet (api.md section 8) and limits of files (formats.md section 1). Each
 * stands here once; options may lower or raise the ones marked (option). */
#ifndef RETAKE_RENDER_CORE_LIMITS_H
#define RETAKE_RENDER_CORE_LIMITS_H

#define RT_MAX_SIDE_PX 16384             /* width or height (option) */
#define RT_MAX_PIXELS (64 * 1024 * 1024) /* per camera (option) */
#define RT_MAX_PAIRS 2147483647LL        /* splat-tile pairs per frame (option) */
#define RT_MAX_GAUSSIANS 100000000       /* per file */
#define RT_MAX_SH_DEGREE 3
#define RT_MAX_SENSORS 4096
#define RT_MAX_FRAMES 1000000
#define RT_MAX_TRACKS 100000
#define RT_MAX_NODES 100001
#define RT_ID_BYTES 68        /* 64 characters, terminator, padding */
#define RT_MAX_PATH_BYTES 255 /* of a path inside a recording or archive */
#define RT_MAX_ARCHIVE_ENTRIES 100000
#define RT_MAX_INFLATION 200

#endif
