#include "recon/formats/trajectory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/io/json_member.h"

enum { MAX_KEYS = 1000000, MAX_TRAJECTORIES = 4096, BEYOND_US = 200000 };

void trajectories_free(struct trajectories *trajectories) {
    for (int32_t i = 0; i < trajectories->n; i++) {
        free(trajectories->items[i].t_us);
        free(trajectories->items[i].T_world_rig);
    }
    free(trajectories->items);
    memset(trajectories, 0, sizeof *trajectories);
}

/* Column arrays of one trajectory, still JSON. */
struct columns {
    const json_t *t_us, *t, *q;
};

static enum rt_status find_columns(const struct json_at *at, struct columns *columns,
                                   struct rt_error *err) {
    RT_TRY(json_array_member(at, "t_us", &columns->t_us, err));
    RT_TRY(json_array_member(at, "t", &columns->t, err));
    RT_TRY(json_array_member(at, "q_wxyz", &columns->q, err));
    size_t n = json_array_size(columns->t_us);
    if (n < 1 || json_array_size(columns->t) != n || json_array_size(columns->q) != n) {
        return rt_fail_file(err, "bad-value", -1,
                            "%s: t_us, t and q_wxyz must be arrays of one length >= 1 (%zu, %zu, "
                            "%zu)",
                            at->where, n, json_array_size(columns->t), json_array_size(columns->q));
    }
    if (n > MAX_KEYS) {
        return rt_fail_file(err, "limit", -1, "%s: %zu keys, at most %d", at->where, n, MAX_KEYS);
    }
    return RT_OK;
}

static enum rt_status read_key(const struct columns *columns, size_t i, const char *where,
                               struct trajectory *out, struct rt_error *err) {
    const json_t *t_us = json_array_get(columns->t_us, i);
    char named[120];
    double t[3];
    double q[4];
    snprintf(named, sizeof named, "%s: key %zu", where, i);
    if (!json_is_integer(t_us)) {
        return rt_fail_file(err, "bad-value", -1, "%s: t_us must be an integer", named);
    }
    out->t_us[i] = (int64_t)json_integer_value(t_us);
    if (out->t_us[i] < -4000000000000000LL || out->t_us[i] > 4000000000000000LL ||
        (i > 0 && out->t_us[i] <= out->t_us[i - 1])) {
        return rt_fail_file(err, "bad-value", -1, "%s: t_us = %lld must be above the key before",
                            named, (long long)out->t_us[i]);
    }
    RT_TRY(json_array_numbers(json_array_get(columns->t, i), named, 3, t, err));
    RT_TRY(json_array_numbers(json_array_get(columns->q, i), named, 4, q, err));
    double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(length > 1e-6)) {
        return rt_fail_file(err, "bad-value", -1, "%s: q_wxyz has length %g", named, length);
    }
    out->T_world_rig[i] = pose_make(quat_make((float)(q[0] / length), (float)(q[1] / length),
                                              (float)(q[2] / length), (float)(q[3] / length)),
                                    vec3_make((float)t[0], (float)t[1], (float)t[2]));
    return RT_OK;
}

static enum rt_status read_one(const json_t *node, int32_t i, struct trajectory *out,
                               struct rt_error *err) {
    char where[60];
    snprintf(where, sizeof where, "trajectories[%d]", i);
    const struct json_at at = {node, where};
    const json_t *keys = NULL;
    struct columns columns;
    RT_TRY(json_object_member(&at, "T_world_rig", &keys, err));
    if (!keys) return rt_fail_file(err, "bad-value", -1, "%s: T_world_rig is missing", where);
    const struct json_at keys_at = {keys, where};
    RT_TRY(find_columns(&keys_at, &columns, err));
    size_t n = json_array_size(columns.t_us);
    out->t_us = malloc(n * sizeof *out->t_us);
    out->T_world_rig = malloc(n * sizeof *out->T_world_rig);
    if (!out->t_us || !out->T_world_rig) {
        return rt_fail(err, RT_NO_MEMORY, "%s: out of memory", where);
    }
    out->n_keys = (int32_t)n;
    for (size_t k = 0; k < n; k++) RT_TRY(read_key(&columns, k, where, out, err));
    return RT_OK;
}

enum rt_status trajectories_from_json(const json_t *array, struct trajectories *out,
                                      struct rt_error *err) {
    memset(out, 0, sizeof *out);
    size_t n = json_array_size(array);
    if (n == 0) return RT_OK;
    if (n > MAX_TRAJECTORIES) {
        return rt_fail_file(err, "limit", -1, "%zu trajectories, at most %d", n, MAX_TRAJECTORIES);
    }
    out->items = calloc(n, sizeof *out->items);
    if (!out->items) return rt_fail(err, RT_NO_MEMORY, "trajectories: out of memory");
    out->n = (int32_t)n;
    for (int32_t i = 0; i < out->n; i++) {
        enum rt_status status = read_one(json_array_get(array, (size_t)i), i, &out->items[i], err);
        if (status == RT_OK) continue;
        trajectories_free(out);
        return status;
    }
    return RT_OK;
}

/* Distance in time from t_us to the keys, 0 inside. */
static int64_t beyond(const struct trajectory *trajectory, int64_t t_us) {
    int64_t first = trajectory->t_us[0];
    int64_t last = trajectory->t_us[trajectory->n_keys - 1];
    return t_us < first ? first - t_us : t_us > last ? t_us - last : 0;
}

static struct pose pose_at(const struct trajectory *trajectory, int64_t t_us) {
    if (trajectory->n_keys == 1) return trajectory->T_world_rig[0];
    int32_t low = 0;
    int32_t high = trajectory->n_keys - 1;
    while (high - low > 1) {
        int32_t middle = low + (high - low) / 2;
        if (trajectory->t_us[middle] <= t_us) {
            low = middle;
        } else {
            high = middle;
        }
    }
    double u = (double)(t_us - trajectory->t_us[low]) /
               (double)(trajectory->t_us[high] - trajectory->t_us[low]);
    return pose_interpolate(trajectory->T_world_rig[low], trajectory->T_world_rig[high], (float)u);
}

bool trajectories_at(const struct trajectories *trajectories, int64_t t_us, struct pose *out,
                     double *beyond_s) {
    const struct trajectory *nearest = NULL;
    int64_t nearest_us = BEYOND_US + 1;
    for (int32_t i = 0; i < trajectories->n && nearest_us > 0; i++) {
        const struct trajectory *trajectory = &trajectories->items[i];
        int64_t distance_us = trajectory->n_keys == 1 ? 0 : beyond(trajectory, t_us);
        if (distance_us >= nearest_us) continue;
        nearest = trajectory;
        nearest_us = distance_us;
    }
    if (!nearest) return false;
    *out = pose_at(nearest, t_us);
    *beyond_s = (double)nearest_us * 1e-6;
    return true;
}
