/* Three nearest neighbours by a balanced k-d tree that is an ordering of the points: the median of
 * a range stands in its middle, the nearer half on its left. */
#include <math.h>
#include <stdlib.h>

#include "recon/init.h"

enum { K = 3, LEAF = 8 };

struct tree {
    const float *xyz;
    int32_t *order; /* [n] */
    uint8_t *axis;  /* [n] of the node in this place */
};

static float coordinate(const struct tree *t, int32_t place, int axis) {
    return t->xyz[3 * (int64_t)t->order[place] + axis];
}

static void swap(int32_t *a, int32_t *b) {
    int32_t kept = *a;
    *a = *b;
    *b = kept;
}

/* Places [lo, hi] such that `middle` is where sorting by `axis` would put it [Hoare 1961]. */
static void select_median(struct tree *t, int32_t lo, int32_t hi, int32_t middle, int axis) {
    while (lo < hi) {
        float pivot = coordinate(t, lo + (hi - lo) / 2, axis);
        int32_t i = lo, j = hi;
        while (i <= j) {
            while (coordinate(t, i, axis) < pivot) i++;
            while (coordinate(t, j, axis) > pivot) j--;
            if (i <= j) swap(&t->order[i++], &t->order[j--]);
        }
        if (middle <= j) {
            hi = j;
        } else if (middle >= i) {
            lo = i;
        } else {
            return;
        }
    }
}

static int widest_axis(const struct tree *t, int32_t lo, int32_t hi) {
    int widest = 0;
    float width = -1.0f;
    for (int axis = 0; axis < 3; axis++) {
        float least = coordinate(t, lo, axis), most = least;
        for (int32_t i = lo + 1; i <= hi; i++) {
            least = fminf(least, coordinate(t, i, axis));
            most = fmaxf(most, coordinate(t, i, axis));
        }
        if (most - least > width) {
            width = most - least;
            widest = axis;
        }
    }
    return widest;
}

static void build(struct tree *t, int32_t lo, int32_t hi) {
    while (hi - lo >= LEAF) {
        int32_t middle = lo + (hi - lo) / 2;
        int axis = widest_axis(t, lo, hi);
        select_median(t, lo, hi, middle, axis);
        t->axis[middle] = (uint8_t)axis;
        build(t, lo, middle - 1);
        lo = middle + 1;
    }
}

struct query {
    const float *at; /* [3] */
    int32_t self;
    float nearest2[K]; /* ascending */
};

static void offer(const struct tree *t, struct query *q, int32_t place) {
    if (t->order[place] == q->self) return;
    float d2 = 0.0f;
    for (int axis = 0; axis < 3; axis++) {
        float d = coordinate(t, place, axis) - q->at[axis];
        d2 += d * d;
    }
    for (int k = 0; k < K; k++) {
        if (d2 >= q->nearest2[k]) continue;
        float kept = q->nearest2[k];
        q->nearest2[k] = d2;
        d2 = kept;
    }
}

static void visit(const struct tree *t, struct query *q, int32_t lo, int32_t hi) {
    while (hi - lo >= LEAF) {
        int32_t middle = lo + (hi - lo) / 2;
        float d = q->at[t->axis[middle]] - coordinate(t, middle, t->axis[middle]);
        offer(t, q, middle);
        bool left = d < 0.0f;
        visit(t, q, left ? lo : middle + 1, left ? middle - 1 : hi);
        if (d * d >= q->nearest2[K - 1]) return;
        if (left) {
            lo = middle + 1;
        } else {
            hi = middle - 1;
        }
    }
    for (int32_t i = lo; i <= hi; i++) offer(t, q, i);
}

enum rt_status neighbour_distances(const float *xyz, int32_t n, float *distance,
                                   struct rt_error *err) {
    struct tree tree = {.xyz = xyz};
    tree.order = malloc(((size_t)n + 1) * sizeof *tree.order);
    tree.axis = malloc((size_t)n + 1);
    if (!tree.order || !tree.axis) {
        free(tree.order);
        free(tree.axis);
        return rt_fail(err, RT_NO_MEMORY, "neighbours of %d points: out of memory", n);
    }
    for (int32_t i = 0; i < n; i++) tree.order[i] = i;
    build(&tree, 0, n - 1);
    int32_t n_near = n - 1 < K ? n - 1 : K;
#pragma omp parallel for schedule(dynamic, 256)
    for (int32_t i = 0; i < n; i++) {
        struct query q = {
            .at = xyz + 3 * (int64_t)i, .self = i, .nearest2 = {INFINITY, INFINITY, INFINITY}};
        visit(&tree, &q, 0, n - 1);
        float sum = 0.0f;
        for (int32_t k = 0; k < n_near; k++) sum += sqrtf(q.nearest2[k]);
        distance[i] = n_near > 0 ? sum / (float)n_near : 0.0f;
    }
    free(tree.order);
    free(tree.axis);
    return RT_OK;
}
