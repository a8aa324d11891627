#include <math.h>
#include <string.h>

#include "recon/recording.h"
#include "recon/recording_folder.h"
#include "recon/undistort.h"
#include "render/io/image_file.h"

static const size_t MAX_IMAGE_BYTES = (size_t)1 << 30;

static enum rt_status read_image(const struct recording_folder *folder, const char *file,
                                 struct image *out, struct rt_error *err) {
    struct rt_bytes bytes = {0};
    RT_TRY(recording_file_read(folder, file, MAX_IMAGE_BYTES, &bytes, err));
    enum rt_status status = image_decode(bytes.bytes, bytes.n_bytes, out, err);
    rt_bytes_free(&bytes);
    return status == RT_OK ? RT_OK : rt_prefix(err, status, "%s", file);
}

static enum rt_status check_size(const struct image *image, const struct camera *lens,
                                 const char *file, struct rt_error *err) {
    if (image->width_px == lens->width_px && image->height_px == lens->height_px) return RT_OK;
    return rt_fail_file(err, "bad-value", -1, "%s is %d x %d px, expected %d x %d px", file,
                        image->width_px, image->height_px, lens->width_px, lens->height_px);
}

static enum rt_status load_rgb(const struct recording *recording,
                               const struct recording_folder *folder, const char *file,
                               struct image *rgb, struct rt_error *err) {
    struct image decoded = {0};
    RT_TRY(read_image(folder, file, &decoded, err));
    if (decoded.n_channels == 3 && decoded.type == IMAGE_U8) {
        *rgb = decoded;
        return RT_OK;
    }
    enum rt_status status = picture_to_rgb(&decoded, recording->background, rgb, err);
    image_destroy(&decoded);
    return status;
}

/* Multiplies the mask of `file` (NULL = none) into *mask, which may be empty. */
static enum rt_status load_mask(const struct recording_folder *folder, const char *file,
                                const struct camera *lens, struct image *mask,
                                struct rt_error *err) {
    struct image decoded = {0};
    struct image fresh = {0};
    if (!file) return RT_OK;
    RT_TRY(read_image(folder, file, &decoded, err));
    enum rt_status status = check_size(&decoded, lens, file, err);
    if (status == RT_OK) status = picture_to_mask(&decoded, &fresh, err);
    image_destroy(&decoded);
    if (status != RT_OK) return status;
    for (size_t i = 0; mask->pixels && i < image_bytes(mask); i++) {
        image_u8(&fresh)[i] &= image_u8(mask)[i];
    }
    image_destroy(mask);
    *mask = fresh;
    return RT_OK;
}

static void forget_distortion(struct camera *lens) {
    lens->shutter = SHUTTER_GLOBAL;
    memset(lens->radial_k, 0, sizeof lens->radial_k);
    memset(lens->tangential_p, 0, sizeof lens->tangential_p);
    memset(lens->thin_prism_s, 0, sizeof lens->thin_prism_s);
}

/* Each stage replaces rgb and mask of *out by its result. */
static enum rt_status undistort(const struct camera *lens, struct recording_picture *out,
                                struct rt_error *err) {
    if (!camera_is_distorted(lens)) return RT_OK;
    struct image rgb = {0};
    struct image mask = {0};
    const struct undistort_args args = {.lens = lens, .rgb = &out->rgb, .mask = &out->mask};
    RT_TRY(picture_undistort(&args, &rgb, &mask, err));
    image_destroy(&out->rgb);
    image_destroy(&out->mask);
    out->rgb = rgb;
    out->mask = mask;
    return RT_OK;
}

static int32_t scaled_side(int32_t side_px, float scale) {
    int32_t scaled = (int32_t)lroundf(scale * (float)side_px);
    return scaled < 1 ? 1 : scaled;
}

static enum rt_status shrink(float scale, struct recording_picture *out, struct rt_error *err) {
    struct image rgb = {.width_px = scaled_side(out->rgb.width_px, scale),
                        .height_px = scaled_side(out->rgb.height_px, scale)};
    struct image mask = {0};
    if (rgb.width_px == out->rgb.width_px && rgb.height_px == out->rgb.height_px) return RT_OK;
    RT_TRY(picture_shrink(&out->rgb, &out->mask, &rgb, &mask, err));
    image_destroy(&out->rgb);
    image_destroy(&out->mask);
    out->rgb = rgb;
    out->mask = mask;
    out->camera = camera_scaled(&out->camera, rgb.width_px, rgb.height_px);
    return RT_OK;
}

static enum rt_status load(const struct recording *recording, int32_t i_camera, int32_t i_frame,
                           struct recording_picture *out, struct rt_error *err) {
    const struct recording_camera *camera = &recording->cameras[i_camera];
    const struct recording_frame *frame = &camera->frames[i_frame];
    const struct camera *lens = frame->camera ? frame->camera : &camera->camera;
    struct recording_folder folder;
    RT_TRY(recording_folder_open(recording->folder, &folder, err));
    enum rt_status status = load_rgb(recording, &folder, frame->file, &out->rgb, err);
    if (status == RT_OK) status = check_size(&out->rgb, lens, frame->file, err);
    if (status == RT_OK) status = load_mask(&folder, frame->mask_file, lens, &out->mask, err);
    if (status == RT_OK) status = load_mask(&folder, camera->ego_mask_file, lens, &out->mask, err);
    recording_folder_close(&folder);
    if (status == RT_OK) status = undistort(lens, out, err);
    out->camera = *lens;
    forget_distortion(&out->camera);
    return status;
}

enum rt_status recording_load_picture(const struct recording *recording, int32_t i_camera,
                                      int32_t i_frame, float scale, struct recording_picture *out,
                                      struct rt_error *err) {
    memset(out, 0, sizeof *out);
    if (i_camera < 0 || i_camera >= recording->n_cameras || i_frame < 0 ||
        i_frame >= recording->cameras[i_camera].n_frames) {
        return rt_fail(err, RT_NOT_FOUND, "camera %d, frame %d: no such frame", i_camera, i_frame);
    }
    if (!(scale > 0.0f && scale <= 1.0f)) {
        return rt_fail(err, RT_INVALID, "scale = %g must be > 0 and <= 1", (double)scale);
    }
    enum rt_status status = load(recording, i_camera, i_frame, out, err);
    if (status == RT_OK) status = shrink(scale, out, err);
    if (status != RT_OK) recording_picture_free(out);
    return status;
}

void recording_picture_free(struct recording_picture *picture) {
    image_destroy(&picture->rgb);
    image_destroy(&picture->mask);
}
