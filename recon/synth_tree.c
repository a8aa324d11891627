/* Bounding-box tree over the static solids: median split along the longest side of the centres. */
#include <math.h>
#include <stdlib.h>

#include "recon/synth_build.h"

enum { LEAF_SOLIDS = 3 };

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

/* Fills node `i_node` over solids [first, first + n) and its descendants; depth is log2 of the
 * number of solids. */
static void fill_node(struct synth_world *world, int32_t i_node, int32_t first, int32_t n) {
    struct synth_node *node = &world->nodes[i_node];
    struct box all = solid_box(&world->solids[first]);
    vec3 low = world->solids[first].centre, high = low;
    for (int32_t i = first + 1; i < first + n; i++) {
        struct box one = solid_box(&world->solids[i]);
        all.low = vec3_low(all.low, one.low);
        all.high = vec3_high(all.high, one.high);
        low = vec3_low(low, world->solids[i].centre);
        high = vec3_high(high, world->solids[i].centre);
    }
    vec3 size = vec3_sub(high, low);
    int i_axis = size.x >= size.y && size.x >= size.z ? 0 : size.y >= size.z ? 1 : 2;
    *node = (struct synth_node){
        .low = all.low, .high = all.high, .first = first, .n = n, .i_axis = i_axis};
    if (n <= LEAF_SOLIDS) return;
    static int (*const by_axis[3])(const void *, const void *) = {compare_x, compare_y, compare_z};
    qsort(&world->solids[first], (size_t)n, sizeof world->solids[0], by_axis[i_axis]);
    node->first = world->n_nodes;
    node->n = 0;
    world->n_nodes += 2;
    int32_t left = node->first;
    fill_node(world, left, first, n / 2);
    fill_node(world, left + 1, first + n / 2, n - n / 2);
}

enum rt_status synth_build_tree(struct synth_world *world, struct rt_error *err) {
    size_t n_most = 2 * (size_t)world->n_solids;
    world->nodes = calloc(n_most, sizeof *world->nodes);
    if (!world->nodes) return rt_fail(err, RT_NO_MEMORY, "synthetic street: out of memory");
    world->n_nodes = 1;
    fill_node(world, 0, 0, world->n_solids);
    return RT_OK;
}
