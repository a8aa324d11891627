/* COLMAP models, binary or text (formats.md section 6.1). Cameras become sensors `cam{CAMERA_ID}`,
 * the world is turned from right-down-forward to forward-left-up.
 *
 * The parsers take bytes in memory and hand each camera, image and point on as it is read, so that
 * a file of any size needs no second copy. Source of the layouts: COLMAP documentation, "Output
 * Format". */
#ifndef RETAKE_RECON_FORMATS_COLMAP_H
#define RETAKE_RECON_FORMATS_COLMAP_H

#include "recon/formats/reader.h"

enum { COLMAP_MAX_PARAMETERS = 16 };

struct colmap_camera {
    uint32_t id;
    int32_t model;          /* number of the table in colmap.c; -1 = unknown name */
    const char *model_name; /* borrowed or NULL; as the text file writes it */
    uint64_t width, height;
    double parameters[COLMAP_MAX_PARAMETERS];
};

struct colmap_image {
    double q_wxyz[4]; /* T_camera_world */
    double t[3];
    uint32_t camera_id;
    const char *name; /* borrowed */
};

struct colmap_point {
    double xyz[3];
    uint8_t rgb[3];
};

/* What has been read so far. */
struct colmap {
    struct reader *reader; /* borrowed */
    const char *images;    /* borrowed; folder of the pictures with '/', or "" */
    struct colmap_lens {
        uint32_t id;
        int32_t i_camera; /* in the recording */
        struct camera lens;
    } * lenses; /* owned [n_lenses] */
    int32_t n_lenses;
    int32_t i_last; /* lens of the image before: sets with one camera find it at once */
    int64_t n_points_dropped;
};

enum rt_status colmap_read(struct reader *reader, struct rt_error *err);
/* True when the open folder holds a model at one of the known places. */
bool colmap_is_here(const struct recording_folder *folder);

void colmap_begin(struct colmap *colmap, struct reader *reader, const char *images);
void colmap_end(struct colmap *colmap);

/* Called by the parsers. A model number below 0 or unknown is refused by name. */
enum rt_status colmap_add_camera(struct colmap *colmap, const struct colmap_camera *camera,
                                 struct rt_error *err);
enum rt_status colmap_add_image(struct colmap *colmap, const struct colmap_image *image,
                                struct rt_error *err);
/* Room for n points was made with points_reserve(). */
void colmap_add_point(struct colmap *colmap, const struct colmap_point *point);

/* Parameters of a model, or -1; number of a model's name, or -1. */
int32_t colmap_n_parameters(int32_t model);
int32_t colmap_model_by_name(const char *name);

/* One parser per file: the whole content in memory. Cameras before images before points. */
typedef enum rt_status (*colmap_parser)(struct colmap *colmap, const void *bytes, size_t n_bytes,
                                        struct rt_error *err);
enum rt_status colmap_cameras_bin(struct colmap *colmap, const void *bytes, size_t n_bytes,
                                  struct rt_error *err);
enum rt_status colmap_images_bin(struct colmap *colmap, const void *bytes, size_t n_bytes,
                                 struct rt_error *err);
enum rt_status colmap_points_bin(struct colmap *colmap, const void *bytes, size_t n_bytes,
                                 struct rt_error *err);
enum rt_status colmap_cameras_txt(struct colmap *colmap, const void *bytes, size_t n_bytes,
                                  struct rt_error *err);
enum rt_status colmap_images_txt(struct colmap *colmap, const void *bytes, size_t n_bytes,
                                 struct rt_error *err);
enum rt_status colmap_points_txt(struct colmap *colmap, const void *bytes, size_t n_bytes,
                                 struct rt_error *err);

#endif
