#include "recon/formats/colmap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t MAX_FILE_BYTES = (size_t)16 << 30;

/* Where each parameter goes; a pinhole lens here has f or fx fy, then cx cy, then distortion. */
enum { K1, K2, P1, P2, K3, K4, K5, K6, NONE };

struct model {
    const char *name;
    int32_t n_parameters;
    bool is_read;
    bool has_two_focals;
    uint8_t distortion[9]; /* NONE-terminated, in file order */
};

static const struct model models[] = {
    {"SIMPLE_PINHOLE", 3, true, false, {NONE}},
    {"PINHOLE", 4, true, true, {NONE}},
    {"SIMPLE_RADIAL", 4, true, false, {K1, NONE}},
    {"RADIAL", 5, true, false, {K1, K2, NONE}},
    {"OPENCV", 8, true, true, {K1, K2, P1, P2, NONE}},
    {"OPENCV_FISHEYE", 8, false, true, {NONE}},
    {"FULL_OPENCV", 12, true, true, {K1, K2, P1, P2, K3, K4, K5, K6, NONE}},
    {"FOV", 5, false, true, {NONE}},
    {"SIMPLE_RADIAL_FISHEYE", 4, false, false, {NONE}},
    {"RADIAL_FISHEYE", 5, false, false, {NONE}},
    {"THIN_PRISM_FISHEYE", 12, false, true, {NONE}},
    {"RAD_TAN_THIN_PRISM_FISHEYE", 16, false, true, {NONE}},
    {"SIMPLE_DIVISION", 4, false, false, {NONE}},
    {"DIVISION", 5, false, true, {NONE}},
    {"SIMPLE_FISHEYE", 3, false, false, {NONE}},
    {"FISHEYE", 4, false, true, {NONE}},
    {"EUCM", 6, false, true, {NONE}},
    {"EQUIRECTANGULAR", 2, false, false, {NONE}},
};

enum { N_MODELS = sizeof models / sizeof models[0] };

int32_t colmap_n_parameters(int32_t model) {
    return model >= 0 && model < N_MODELS ? models[model].n_parameters : -1;
}

int32_t colmap_model_by_name(const char *name) {
    for (int32_t i = 0; i < N_MODELS; i++) {
        if (strcmp(models[i].name, name) == 0) return i;
    }
    return -1;
}

void colmap_begin(struct colmap *colmap, struct reader *reader, const char *images) {
    static const double R_flu_rdf[3][3] = {{0, 0, 1}, {-1, 0, 0}, {0, -1, 0}};
    memset(colmap, 0, sizeof *colmap);
    memcpy(reader->R_world_source, R_flu_rdf, sizeof R_flu_rdf);
    colmap->reader = reader;
    colmap->images = images;
}

void colmap_end(struct colmap *colmap) {
    free(colmap->lenses);
    colmap->lenses = NULL;
    colmap->n_lenses = 0;
}

static float *distortion_place(struct camera *lens, uint8_t which) {
    switch (which) {
        case P1:
            return &lens->tangential_p[0];
        case P2:
            return &lens->tangential_p[1];
        case K1:
        case K2:
            return &lens->radial_k[which - K1];
        default:
            return &lens->radial_k[which - K3 + 2];
    }
}

static enum rt_status refuse_model(const struct colmap_camera *camera, struct rt_error *err) {
    const char *name = camera->model_name;
    if (!name && colmap_n_parameters(camera->model) >= 0) name = models[camera->model].name;
    return rt_fail_file(err, "unsupported-camera", -1,
                        "camera %u: model %s (%d) is not supported in this version; the pinhole "
                        "and radial models up to FULL_OPENCV are (COLMAP's image_undistorter "
                        "converts others)",
                        camera->id, name ? name : "unknown", camera->model);
}

static enum rt_status lens_of(const struct colmap_camera *camera, struct camera *out,
                              struct rt_error *err) {
    if (colmap_n_parameters(camera->model) < 0 || !models[camera->model].is_read) {
        return refuse_model(camera, err);
    }
    if (camera->width < 1 || camera->width > RT_MAX_SIDE_PX || camera->height < 1 ||
        camera->height > RT_MAX_SIDE_PX) {
        return rt_fail_file(err, "bad-value", -1,
                            "camera %u: size %llu x %llu px: sides must be 1...%d", camera->id,
                            (unsigned long long)camera->width, (unsigned long long)camera->height,
                            RT_MAX_SIDE_PX);
    }
    const struct model *model = &models[camera->model];
    const double *p = camera->parameters;
    *out = (struct camera){.model = CAMERA_PINHOLE,
                           .width_px = (int32_t)camera->width,
                           .height_px = (int32_t)camera->height};
    out->focal_px[0] = (float)*p++;
    out->focal_px[1] = model->has_two_focals ? (float)*p++ : out->focal_px[0];
    out->principal_px[0] = (float)*p++;
    out->principal_px[1] = (float)*p++;
    for (const uint8_t *which = model->distortion; *which != NONE; which++) {
        *distortion_place(out, *which) = (float)*p++;
    }
    struct rt_error fault;
    rt_error_clear(&fault);
    if (camera_validate(out, &fault) == RT_OK) return RT_OK;
    return rt_fail_file(err, "bad-value", -1, "camera %u: %s", camera->id, fault.message);
}

enum rt_status colmap_add_camera(struct colmap *colmap, const struct colmap_camera *camera,
                                 struct rt_error *err) {
    struct colmap_lens fresh = {.id = camera->id};
    char id[RT_ID_BYTES];
    RT_TRY(lens_of(camera, &fresh.lens, err));
    snprintf(id, sizeof id, "cam%u", camera->id);
    RT_TRY(reader_add_camera(colmap->reader, id, &fresh.i_camera, err));
    struct colmap_lens *lenses =
        realloc(colmap->lenses, ((size_t)colmap->n_lenses + 1) * sizeof *lenses);
    if (!lenses) return rt_fail(err, RT_NO_MEMORY, "cameras: out of memory");
    colmap->lenses = lenses;
    lenses[colmap->n_lenses++] = fresh;
    return RT_OK;
}

static const struct colmap_lens *find_lens(struct colmap *colmap, uint32_t camera_id) {
    for (int32_t k = 0; k < colmap->n_lenses; k++) {
        int32_t i = (colmap->i_last + k) % colmap->n_lenses;
        if (colmap->lenses[i].id != camera_id) continue;
        colmap->i_last = i;
        return &colmap->lenses[i];
    }
    return NULL;
}

/* T_camera_world of the file inverted, in double precision. */
static enum rt_status pose_of(const struct colmap_image *image, struct reader_pose *pose,
                              struct rt_error *err) {
    double length = 0.0;
    for (int i = 0; i < 4; i++) length += image->q_wxyz[i] * image->q_wxyz[i];
    length = sqrt(length);
    if (!(length > 1e-6 && length < 1e6)) {
        return rt_fail_file(err, "bad-value", -1, "%s: rotation quaternion of length %g",
                            image->name, length);
    }
    double w = image->q_wxyz[0] / length;
    double x = image->q_wxyz[1] / length;
    double y = image->q_wxyz[2] / length;
    double z = image->q_wxyz[3] / length;
    const double r[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                            {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                            {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
    for (int i = 0; i < 3; i++) {
        pose->t[i] = 0.0;
        for (int j = 0; j < 3; j++) {
            pose->r[i][j] = r[j][i];
            pose->t[i] -= r[j][i] * image->t[j];
        }
    }
    return RT_OK;
}

enum rt_status colmap_add_image(struct colmap *colmap, const struct colmap_image *image,
                                struct rt_error *err) {
    const struct colmap_lens *lens = find_lens(colmap, image->camera_id);
    struct reader_frame frame = {0};
    struct reader_picture picture;
    char file[2 * RT_MAX_PATH_BYTES];
    if (!lens) {
        return rt_fail_file(err, "bad-value", -1, "image \"%.100s\": camera %u is not in the model",
                            image->name, image->camera_id);
    }
    /* Too long a name is refused by the path check, which sees the first 509 bytes of it. */
    snprintf(file, sizeof file, "%s%s", colmap->images, image->name);
    RT_TRY(reader_find_picture(colmap->reader, file, &picture, err));
    RT_TRY(pose_of(image, &frame.start, err));
    if (!picture.found) return RT_OK;
    frame.end = frame.start;
    frame.lens = lens->lens;
    return reader_add_frame(colmap->reader, lens->i_camera, &frame, &picture, err);
}

void colmap_add_point(struct colmap *colmap, const struct colmap_point *point) {
    struct recording_points *points = &colmap->reader->recording->points;
    size_t at = 3 * (size_t)points->n_points;
    for (int k = 0; k < 3; k++) {
        if (fabs(point->xyz[k]) < 1e9) continue; /* NaN fails, too */
        colmap->n_points_dropped++;
        return;
    }
    vec3_store(points->xyz + at, reader_point(colmap->reader, point->xyz));
    memcpy(points->rgb + at, point->rgb, 3);
    points->n_points++;
}

static const char *const model_folders[] = {"sparse/0/", "sparse/", ""};

/* Prefix and ending of the model in this folder; false when there is none. */
static bool find_model(const struct recording_folder *folder, const char **prefix,
                       bool *is_binary) {
    for (size_t i = 0; i < sizeof model_folders / sizeof model_folders[0]; i++) {
        for (int text = 0; text < 2; text++) {
            char cameras[64];
            char images[64];
            const char *ending = text ? "txt" : "bin";
            snprintf(cameras, sizeof cameras, "%scameras.%s", model_folders[i], ending);
            snprintf(images, sizeof images, "%simages.%s", model_folders[i], ending);
            *prefix = model_folders[i];
            *is_binary = !text;
            if (recording_has_file(folder, cameras) && recording_has_file(folder, images)) {
                return true;
            }
        }
    }
    return false;
}

bool colmap_is_here(const struct recording_folder *folder) {
    const char *prefix;
    bool is_binary;
    return find_model(folder, &prefix, &is_binary);
}

static const char *find_images(const struct recording_folder *folder) {
    if (recording_has_folder(folder, "images")) return "images/";
    if (recording_has_folder(folder, "images_2")) return "images_2/";
    if (recording_has_folder(folder, "images_4")) return "images_4/";
    if (recording_has_folder(folder, "images_8")) return "images_8/";
    return "";
}

static enum rt_status read_file(struct colmap *colmap, const char *file, colmap_parser parse,
                                struct rt_error *err) {
    struct rt_bytes bytes = {0};
    RT_TRY(recording_file_read(colmap->reader->folder, file, MAX_FILE_BYTES, &bytes, err));
    enum rt_status status = parse(colmap, bytes.bytes, bytes.n_bytes, err);
    rt_bytes_free(&bytes);
    return status == RT_OK ? RT_OK : rt_prefix(err, status, "%s", file);
}

static enum rt_status read_points(struct colmap *colmap, const char *file, colmap_parser parse,
                                  struct rt_error *err) {
    struct recording *recording = colmap->reader->recording;
    struct recording_finding what = {.severity = FINDING_WARNING, .file = (char *)file};
    if (!recording_has_file(colmap->reader->folder, file)) {
        strcpy(what.code, "missing-file");
        return recording_add_finding(recording, &what, err,
                                     "the model has no points: random points are used instead");
    }
    RT_TRY(read_file(colmap, file, parse, err));
    if (colmap->n_points_dropped == 0) return RT_OK;
    return recording_add_finding(recording, &what, err, "%lld points are not finite: dropped",
                                 (long long)colmap->n_points_dropped);
}

enum rt_status colmap_read(struct reader *reader, struct rt_error *err) {
    static const struct {
        const char *name, *ending;
        colmap_parser parse;
    } files[2][3] = {{{"cameras", "txt", colmap_cameras_txt},
                      {"images", "txt", colmap_images_txt},
                      {"points3D", "txt", colmap_points_txt}},
                     {{"cameras", "bin", colmap_cameras_bin},
                      {"images", "bin", colmap_images_bin},
                      {"points3D", "bin", colmap_points_bin}}};
    const char *prefix = "";
    bool is_binary = false;
    struct colmap colmap;
    snprintf(reader->recording->format, sizeof reader->recording->format, "colmap");
    if (!find_model(reader->folder, &prefix, &is_binary)) {
        return rt_fail_file(err, "missing-file", -1, "no COLMAP model here");
    }
    colmap_begin(&colmap, reader, find_images(reader->folder));
    enum rt_status status = RT_OK;
    for (int i = 0; i < 3 && status == RT_OK; i++) {
        char file[64];
        snprintf(file, sizeof file, "%s%s.%s", prefix, files[is_binary][i].name,
                 files[is_binary][i].ending);
        status = i < 2 ? read_file(&colmap, file, files[is_binary][i].parse, err)
                       : read_points(&colmap, file, files[is_binary][i].parse, err);
    }
    colmap_end(&colmap);
    if (status != RT_OK) return status;
    reader_up_from_cameras(reader);
    return reader_finish(reader, err);
}
