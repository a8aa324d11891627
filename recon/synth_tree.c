/* Bounding-box tree over the static solids. Each node is split where the surface-area cost is least
 * over all three axes [Goldsmith, Salmon 1987; MacDonald, Booth 1990]: a lamp post beside a house
 * then does not inflate the boxes, and pictures take about half the time of a median split. */
#include <math.h>
#include <stdlib.h>

#include "recon/synth_build.h"

enum { LEAF_SOLIDS = 2, DEPTH_FREE = 40 };

struct box {
    vec3 low, high;
};

/* Axis-aligned box of one solid, of its turned half sizes. */
static struct box solid_box(const struct synth_solid *solid) {
    vec3 h = solid->half;
    float cos = fabsf(solid->yaw_cos), sin = fabsf(solid->yaw_sin);
    vec3 reach =
        vec3_make(cos * h.x + sin * h.y + 1e-3f, sin * h.x + cos * h.y + 1e-3f, h.z + 1e-3f);
    struct box box = {vec3_sub(solid->centre, reach), vec3_add(solid->centre, reach)};
    return box;
}

static vec3 vec3_low(vec3 a, vec3 b) {
    return vec3_make(fminf(a.x, b.x), fminf(a.y, b.y), fminf(a.z, b.z));
}

static vec3 vec3_high(vec3 a, vec3 b) {
    return vec3_make(fmaxf(a.x, b.x), fmaxf(a.y, b.y), fmaxf(a.z, b.z));
}

/* Ties are broken by the other coordinates and the size, so that the order is the same for every
 * qsort. */
static int compare(const float *a, const float *b, int n) {
    for (int i = 0; i < n; i++) {
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    }
    return 0;
}

static int compare_x(const void *a, const void *b) {
    const struct synth_solid *p = a, *q = b;
    const float u[4] = {p->centre.x, p->centre.y, p->centre.z, p->half.x};
    const float v[4] = {q->centre.x, q->centre.y, q->centre.z, q->half.x};
    return compare(u, v, 4);
}

static int compare_y(const void *a, const void *b) {
    const struct synth_solid *p = a, *q = b;
    const float u[4] = {p->centre.y, p->centre.x, p->centre.z, p->half.x};
    const float v[4] = {q->centre.y, q->centre.x, q->centre.z, q->half.x};
    return compare(u, v, 4);
}

static int compare_z(const void *a, const void *b) {
    const struct synth_solid *p = a, *q = b;
    const float u[4] = {p->centre.z, p->centre.x, p->centre.y, p->half.x};
    const float v[4] = {q->centre.z, q->centre.x, q->centre.y, q->half.x};
    return compare(u, v, 4);
}

static struct box box_join(struct box a, struct box b) {
    struct box all = {vec3_low(a.low, b.low), vec3_high(a.high, b.high)};
    return all;
}

static float box_area(struct box box) {
    vec3 d = vec3_sub(box.high, box.low);
    return d.x * d.y + d.y * d.z + d.z * d.x;
}

static void sort_by(struct synth_solid *solids, int32_t n, int i_axis) {
    static int (*const by_axis[3])(const void *, const void *) = {compare_x, compare_y, compare_z};
    qsort(solids, (size_t)n, sizeof *solids, by_axis[i_axis]);
}

struct split {
    float cost;
    int i_axis;
    int32_t n_left;
};

/* The best place to split along one axis, by which the solids are sorted now. */
static void try_axis(const struct synth_solid *solids, int32_t n, float *area_right, int i_axis,
                     struct split *best) {
    struct box right = solid_box(&solids[n - 1]), left = solid_box(&solids[0]);
    for (int32_t i = n - 1; i > 0; i--) {
        right = box_join(right, solid_box(&solids[i]));
        area_right[i] = box_area(right);
    }
    for (int32_t i = 1; i < n; i++) {
        float cost = box_area(left) * (float)i + area_right[i] * (float)(n - i);
        if (cost < best->cost) *best = (struct split){cost, i_axis, i};
        left = box_join(left, solid_box(&solids[i]));
    }
}

/* Splits the node's solids until a leaf has few; `area_right` is scratch of their number. */
static void fill_node(struct synth_world *world, int32_t i_node, int32_t depth, float *area_right) {
    struct synth_node *node = &world->nodes[i_node];
    struct synth_solid *solids = &world->solids[node->first];
    struct box all = solid_box(&solids[0]);
    for (int32_t i = 1; i < node->n; i++) all = box_join(all, solid_box(&solids[i]));
    node->low = all.low;
    node->high = all.high;
    if (node->n <= LEAF_SOLIDS) return;
    struct split best = {INFINITY, 0, node->n / 2};
    for (int i_axis = 0; i_axis < 3; i_axis++) {
        sort_by(solids, node->n, i_axis);
        try_axis(solids, node->n, area_right, i_axis, &best);
    }
    /* Halves bound the depth, and with it the stack of the traversal, below the first levels. */
    if (depth >= DEPTH_FREE) best.n_left = node->n / 2;
    sort_by(solids, node->n, best.i_axis);
    int32_t first = node->first, n = node->n, i_left = world->n_nodes;
    world->n_nodes += 2;
    world->nodes[i_left] = (struct synth_node){.first = first, .n = best.n_left};
    world->nodes[i_left + 1] =
        (struct synth_node){.first = first + best.n_left, .n = n - best.n_left};
    *node = (struct synth_node){
        .low = all.low, .high = all.high, .first = i_left, .i_axis = best.i_axis};
    fill_node(world, i_left, depth + 1, area_right);
    fill_node(world, i_left + 1, depth + 1, area_right);
}

enum rt_status synth_build_tree(struct synth_world *world, struct rt_error *err) {
    size_t n = (size_t)world->n_solids;
    float *area_right = malloc(n * sizeof *area_right);
    world->nodes = calloc(2 * n, sizeof *world->nodes);
    if (!world->nodes || !area_right) {
        free(area_right);
        return rt_fail(err, RT_NO_MEMORY, "synthetic street: out of memory");
    }
    world->n_nodes = 1;
    world->nodes[0] = (struct synth_node){.n = world->n_solids};
    fill_node(world, 0, 0, area_right);
    free(area_right);
    return RT_OK;
}
