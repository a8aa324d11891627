#include "recon/pictures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int32_t scaled_side(int32_t side_px, float scale) {
    int32_t side = (int32_t)floorf((float)side_px * scale + 0.5f);
    return side > 0 ? side : 1;
}

static bool is_holdout(const struct recording *recording, const struct recording_frame *frame,
                       int32_t i_frame, int32_t every) {
    if (recording->has_declared_holdout) return frame->holdout;
    return every > 0 && i_frame % every == 0;
}

static void list_pictures(struct picture_set *set, int32_t holdout_every) {
    const struct recording *recording = set->recording;
    for (int32_t c = 0; c < recording->n_cameras; c++) {
        const struct recording_camera *camera = &recording->cameras[c];
        for (int32_t f = 0; f < camera->n_frames; f++) {
            const struct recording_frame *frame = &camera->frames[f];
            bool holdout = is_holdout(recording, frame, f, holdout_every);
            if (!holdout) set->training[set->n_training++] = set->n_pictures;
            set->n_holdout += holdout;
            set->pictures[set->n_pictures++] =
                (struct training_picture){.i_camera = c,
                                          .i_frame = f,
                                          .holdout = holdout,
                                          .T_world_sensor = frame->T_world_sensor_start};
        }
    }
}

/* 4 bytes a pixel: colour and mask. */
static double pixel_bytes(const struct picture_set *set) {
    double bytes = 0.0;
    for (int32_t i = 0; i < set->n_pictures; i++) {
        const struct recording_camera *camera = &set->recording->cameras[set->pictures[i].i_camera];
        const struct recording_frame *frame = &camera->frames[set->pictures[i].i_frame];
        const struct camera *lens = frame->camera ? frame->camera : &camera->camera;
        bytes += 4.0 * (double)lens->width_px * (double)lens->height_px *
                 (double)(set->scale * set->scale);
    }
    return bytes;
}

static enum rt_status check_memory(const struct picture_set *set, struct rt_error *err) {
    double limit = 0.5 * (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double bytes = pixel_bytes(set);
    if (bytes <= limit) return RT_OK;
    return rt_fail(err, RT_LIMIT,
                   "%d pictures at resolution %g need %.1f GiB, more than half of this machine's "
                   "memory (%.1f GiB); set resolution to %.2g or less",
                   set->n_pictures, (double)set->scale, bytes / 1073741824.0, limit / 1073741824.0,
                   (double)set->scale * sqrt(limit / bytes));
}

enum rt_status pictures_plan(struct picture_set *set, const struct recording *recording,
                             const struct recon_config *config, struct rt_error *err) {
    *set = (struct picture_set){.recording = recording, .scale = config->resolution};
    size_t n = 0;
    for (int32_t c = 0; c < recording->n_cameras; c++) n += (size_t)recording->cameras[c].n_frames;
    set->pictures = calloc(n + 1, sizeof *set->pictures);
    set->training = calloc(n + 1, sizeof *set->training);
    enum rt_status status = RT_OK;
    if (!set->pictures || !set->training) {
        status = rt_fail(err, RT_NO_MEMORY, "list of %zu pictures: out of memory", n);
    } else {
        list_pictures(set, config->holdout_every);
        status = check_memory(set, err);
    }
    if (status == RT_OK && set->n_training == 0) {
        status = rt_fail(err, RT_INVALID,
                         "no picture is left to train on: %d listed, %d held out; set "
                         "holdout_every to 0",
                         set->n_pictures, set->n_holdout);
    }
    if (status != RT_OK) pictures_free(set);
    return status;
}

static bool all_valid(const struct image *mask) {
    size_t n = image_bytes(mask);
    for (size_t i = 0; i < n; i++) {
        if (image_u8(mask)[i] == 0) return false;
    }
    return true;
}

enum rt_status pictures_load(struct picture_set *set, int32_t index, struct rt_error *err) {
    struct training_picture *picture = &set->pictures[index];
    struct recording_picture loaded = {0};
    enum rt_status status = recording_load_picture(set->recording, picture->i_camera,
                                                   picture->i_frame, set->scale, &loaded, err);
    if (status != RT_OK) return status;
    image_destroy(&picture->rgb);
    image_destroy(&picture->mask);
    picture->rgb = loaded.rgb;
    picture->mask = loaded.mask;
    picture->camera = loaded.camera;
    memset(&loaded.rgb, 0, sizeof loaded.rgb);
    memset(&loaded.mask, 0, sizeof loaded.mask);
    recording_picture_free(&loaded);
    if (picture->mask.pixels && all_valid(&picture->mask)) image_destroy(&picture->mask);
    return RT_OK;
}

void pictures_free(struct picture_set *set) {
    for (int32_t i = 0; i < set->n_pictures; i++) {
        image_destroy(&set->pictures[i].rgb);
        image_destroy(&set->pictures[i].mask);
    }
    free(set->pictures);
    free(set->training);
    *set = (struct picture_set){0};
}

struct render_frame picture_frame(const struct training_picture *picture,
                                  const struct picture_level *level) {
    struct render_frame frame = render_frame_defaults();
    frame.sensor.kind = SENSOR_CAMERA;
    frame.sensor.camera = camera_scaled(&picture->camera, level->width_px, level->height_px);
    frame.sensor.T_world_sensor_start = picture->T_world_sensor;
    frame.sensor.T_world_sensor_end = picture->T_world_sensor;
    return frame;
}

/* Output pixel i covers [lo, hi) of the input; weight of input pixel j is its covered length. */
struct span {
    float lo, hi;
    int32_t first, last;
};

static struct span span_of(int32_t i, float ratio, int32_t side_px) {
    struct span s = {.lo = (float)i * ratio, .hi = (float)(i + 1) * ratio};
    s.first = (int32_t)s.lo;
    s.last = (int32_t)ceilf(s.hi) - 1;
    if (s.last >= side_px) s.last = side_px - 1;
    if (s.first > s.last) s.first = s.last;
    return s;
}

static float covered(const struct span *s, int32_t j) {
    float lo = s->lo > (float)j ? s->lo : (float)j;
    float hi = s->hi < (float)(j + 1) ? s->hi : (float)(j + 1);
    return hi > lo ? hi - lo : 0.0f;
}

static void average(const struct training_picture *p, const struct span *rows,
                    const struct span *columns, uint8_t *rgb, uint8_t *mask) {
    float sum[3] = {0}, valid = 0.0f, all = 0.0f;
    const uint8_t *pixels = image_u8(&p->rgb);
    const uint8_t *valid_px = image_u8(&p->mask);
    for (int32_t y = rows->first; y <= rows->last; y++) {
        float weight_y = covered(rows, y);
        for (int32_t x = columns->first; x <= columns->last; x++) {
            float weight = weight_y * covered(columns, x);
            int64_t at = (int64_t)y * p->rgb.width_px + x;
            all += weight;
            if (valid_px && valid_px[at] == 0) continue;
            valid += weight;
            for (int k = 0; k < 3; k++) sum[k] += weight * (float)pixels[3 * at + k];
        }
    }
    for (int k = 0; k < 3; k++) rgb[k] = valid > 0.0f ? (uint8_t)(sum[k] / valid + 0.5f) : 0;
    if (mask) *mask = valid >= 0.5f * all && valid > 0.0f ? 255 : 0;
}

enum rt_status picture_at_level(const struct training_picture *picture, float scale,
                                struct rt_buffer *buffer, struct picture_level *out,
                                struct rt_error *err) {
    int32_t width = scaled_side(picture->rgb.width_px, scale);
    int32_t height = scaled_side(picture->rgb.height_px, scale);
    *out = (struct picture_level){width, height, image_u8(&picture->rgb), image_u8(&picture->mask)};
    if (width == picture->rgb.width_px && height == picture->rgb.height_px) return RT_OK;
    size_t n = (size_t)width * (size_t)height;
    RT_TRY(rt_buffer_reserve(buffer, n, 4, err));
    uint8_t *rgb = buffer->bytes;
    uint8_t *mask = picture->mask.pixels ? rgb + 3 * n : NULL;
    float ratio_x = (float)picture->rgb.width_px / (float)width;
    float ratio_y = (float)picture->rgb.height_px / (float)height;
#pragma omp parallel for schedule(static)
    for (int32_t y = 0; y < height; y++) {
        struct span rows = span_of(y, ratio_y, picture->rgb.height_px);
        for (int32_t x = 0; x < width; x++) {
            struct span columns = span_of(x, ratio_x, picture->rgb.width_px);
            int64_t at = (int64_t)y * width + x;
            average(picture, &rows, &columns, rgb + 3 * at, mask ? mask + at : NULL);
        }
    }
    out->rgb = rgb;
    out->mask = mask;
    return RT_OK;
}
