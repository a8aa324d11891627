#include "api/wire_recording.h"

#include <stdio.h>
#include <string.h>

#include "api/reply.h"

static const char *severity_name(enum finding_severity severity) {
    static const char *const names[] = {"info", "warning", "error"};
    return names[severity];
}

static json_t *finding_json(const char *severity, const char *code, const char *file,
                            const char *message) {
    return json_pack("{s:s, s:s?, s:s?, s:n, s:n, s:s}", "severity", severity, "code",
                     code && code[0] ? code : NULL, "file", file, "sensor", "t_us", "message",
                     message);
}

json_t *wire_recording_findings(const struct recording *recording) {
    json_t *findings = json_array();
    for (int32_t i = 0; i < recording->n_findings; i++) {
        const struct recording_finding *finding = &recording->findings[i];
        json_array_append_new(
            findings, finding_json(severity_name(finding->severity), finding->code, finding->file,
                                   finding->message));
    }
    return findings;
}

json_t *wire_recording_refusal(const struct rt_error *err) {
    return finding_json("error", err->code, NULL, err->message);
}

static const char *model_name(enum camera_model model) {
    static const char *const names[] = {"pinhole", "fisheye", "ftheta"};
    return names[model];
}

static json_t *sensor_json(const struct recording_camera *camera) {
    json_t *first = json_null(), *last = json_null();
    if (camera->n_frames > 0) {
        first = json_integer(camera->frames[0].t_us);
        last = json_integer(camera->frames[camera->n_frames - 1].t_us);
    }
    return json_pack("{s:s, s:s, s:s, s:[i,i], s:b, s:{s:i, s:o, s:o}}", "id", camera->id, "kind",
                     "camera", "model", model_name(camera->camera.model), "size_px",
                     camera->camera.width_px, camera->camera.height_px, "distorted",
                     camera_is_distorted(&camera->camera), "frames", "count", camera->n_frames,
                     "first_us", first, "last_us", last);
}

static void set_content(json_t *row, const struct recording *recording) {
    json_t *sensors = json_array();
    int64_t n_frames = 0, begin_us = INT64_MAX, end_us = INT64_MIN;
    for (int32_t i = 0; i < recording->n_cameras; i++) {
        const struct recording_camera *camera = &recording->cameras[i];
        json_array_append_new(sensors, sensor_json(camera));
        n_frames += camera->n_frames;
        for (int32_t k = 0; k < camera->n_frames; k++) {
            const struct recording_frame *frame = &camera->frames[k];
            if (frame->t_us < begin_us) begin_us = frame->t_us;
            if (frame->t_end_us > end_us) end_us = frame->t_end_us;
        }
    }
    json_object_set_new(row, "name", json_string(recording->name ? recording->name : ""));
    json_object_set_new(row, "format", json_string(recording->format));
    json_object_set_new(row, "static", json_boolean(recording->is_static));
    json_object_set_new(row, "metric", json_boolean(recording->metric));
    json_object_set_new(row, "sensors", sensors);
    json_object_set_new(row, "frames", json_integer(n_frames));
    json_object_set_new(row, "frames_missing", json_integer(recording->n_frames_missing));
    json_object_set_new(row, "points", json_integer(recording->points.n_points));
    json_object_set_new(row, "lidars", json_integer(recording->n_lidars));
    json_object_set_new(row, "tracks", json_integer(recording->n_tracks));
    json_object_set_new(row, "t_begin_us", n_frames ? json_integer(begin_us) : json_null());
    json_object_set_new(row, "t_end_us", n_frames ? json_integer(end_us) : json_null());
    json_object_set_new(row, "findings", wire_recording_findings(recording));
}

json_t *wire_recording_row(const struct recording_origin *origin, const struct recording *recording,
                           const struct rt_error *err) {
    char digest[80], self[96];
    snprintf(digest, sizeof digest, "sha256:%s", origin->digest);
    snprintf(self, sizeof self, "/v1/recordings/%s", origin->id);
    json_t *row = json_pack("{s:s, s:I, s:s?, s:b, s:o, s:{s:s}}", "id", origin->id, "bytes",
                            (json_int_t)origin->n_bytes, "digest",
                            origin->digest[0] ? digest : NULL, "imported", origin->is_imported,
                            "created_at", time_json(origin->created_ms), "links", "self", self);
    if (!row) return NULL;
    if (recording) {
        set_content(row, recording);
    } else {
        json_object_set_new(row, "format", json_null());
        json_object_set_new(row, "frames", json_integer(0));
        json_object_set_new(row, "findings", json_pack("[o]", wire_recording_refusal(err)));
    }
    return row;
}
