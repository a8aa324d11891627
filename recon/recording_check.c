#include <stdio.h>

#include "recon/recording.h"
#include "recon/recording_folder.h"
#include "render/io/image_file.h"

static const size_t MAX_IMAGE_BYTES = (size_t)1 << 30;

/* One file to decode and the size it must have. */
struct expected {
    const char *file;
    const struct camera *lens;
    bool is_depth;
};

static enum rt_status check_image(const struct recording_folder *folder,
                                  const struct expected *expected, struct rt_error *err) {
    struct rt_bytes bytes = {0};
    struct image image = {0};
    RT_TRY(recording_file_read(folder, expected->file, MAX_IMAGE_BYTES, &bytes, err));
    enum rt_status status = image_decode(bytes.bytes, bytes.n_bytes, &image, err);
    rt_bytes_free(&bytes);
    if (status != RT_OK) return status;
    const struct camera *lens = expected->lens;
    if (image.width_px != lens->width_px || image.height_px != lens->height_px) {
        status = rt_fail_file(err, "bad-value", -1, "%d x %d px, expected %d x %d", image.width_px,
                              image.height_px, lens->width_px, lens->height_px);
    } else if (expected->is_depth && (image.type != IMAGE_U16 || image.n_channels != 1)) {
        status =
            rt_fail_file(err, "bad-value", -1, "depth must be a 16-bit grey PNG in millimetres");
    }
    image_destroy(&image);
    return status;
}

static enum rt_status check_file(struct recording *recording, const struct recording_folder *folder,
                                 const struct expected *expected, struct rt_error *err) {
    struct rt_error fault;
    rt_error_clear(&fault);
    if (!expected->file) return RT_OK;
    enum rt_status status = check_image(folder, expected, &fault);
    if (status == RT_OK) return RT_OK;
    if (status == RT_NO_MEMORY) return rt_fail(err, status, "%s", fault.message);
    struct recording_finding what = {.severity = FINDING_ERROR, .file = (char *)expected->file};
    if (status == RT_NOT_FOUND) fault.code = "missing-file";
    if (fault.code) snprintf(what.code, sizeof what.code, "%s", fault.code);
    return recording_add_finding(recording, &what, err, "%s", fault.message);
}

enum rt_status recording_check_deep(struct recording *recording, struct rt_error *err) {
    struct recording_folder folder;
    RT_TRY(recording_folder_open(recording->folder, &folder, err));
    enum rt_status status = RT_OK;
    for (int32_t i = 0; i < recording->n_cameras; i++) {
        const struct recording_camera *camera = &recording->cameras[i];
        const struct expected ego = {camera->ego_mask_file, &camera->camera, false};
        if (status == RT_OK) status = check_file(recording, &folder, &ego, err);
        for (int32_t k = 0; k < camera->n_frames && status == RT_OK; k++) {
            const struct recording_frame *frame = &camera->frames[k];
            const struct camera *lens = frame->camera ? frame->camera : &camera->camera;
            const struct expected files[3] = {{frame->file, lens, false},
                                              {frame->mask_file, lens, false},
                                              {frame->depth_file, lens, true}};
            for (int f = 0; f < 3 && status == RT_OK; f++) {
                status = check_file(recording, &folder, &files[f], err);
            }
        }
    }
    recording_folder_close(&folder);
    return status;
}
