#include "render/core/camera_pinhole.h"

#include <math.h>

enum { MAX_DEGREE = 6 };

struct polynomial {
    double c[MAX_DEGREE + 1]; /* c[i] of t^i */
    int degree;
};

static double evaluate(const struct polynomial *p, double t) {
    double sum = 0.0;
    for (int i = p->degree; i >= 0; i--) sum = sum * t + p->c[i];
    return sum;
}

/* A sign change of p in [low, high], by bisection. */
static double bisect(const struct polynomial *p, double low, double high) {
    double sign = evaluate(p, low) > 0.0 ? 1.0 : -1.0;
    for (int i = 0; i < 80; i++) {
        double middle = 0.5 * (low + high);
        if (sign * evaluate(p, middle) > 0.0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return 0.5 * (low + high);
}

/* Roots of p in (0, t_end), ascending. Between two roots of the derivative p is monotone, so the
 * roots of each derivative bracket those of the one below it. */
static int roots_within(const struct polynomial *p, double t_end, double roots[MAX_DEGREE]) {
    struct polynomial derivatives[MAX_DEGREE + 1];
    derivatives[p->degree] = *p;
    for (int degree = p->degree - 1; degree >= 1; degree--) {
        derivatives[degree].degree = degree;
        for (int i = 0; i <= degree; i++) {
            derivatives[degree].c[i] = derivatives[degree + 1].c[i + 1] * (i + 1);
        }
    }
    double edges[MAX_DEGREE + 2] = {0.0, t_end};
    int n_edges = 2;
    int n_roots = 0;
    for (int degree = 1; degree <= p->degree; degree++) {
        n_roots = 0;
        for (int i = 0; i + 1 < n_edges; i++) {
            double at_low = evaluate(&derivatives[degree], edges[i]);
            double at_high = evaluate(&derivatives[degree], edges[i + 1]);
            if ((at_low > 0.0) == (at_high > 0.0)) continue;
            roots[n_roots++] = bisect(&derivatives[degree], edges[i], edges[i + 1]);
        }
        for (int i = 0; i < n_roots; i++) edges[i + 1] = roots[i];
        edges[n_roots + 1] = t_end;
        n_edges = n_roots + 2;
    }
    return n_roots;
}

/* (n + 2 t n') d - 2 t n d' for n = 1+k1t+k2t2+k3t3 and d = 1+k4t+k5t2+k6t3: the sign of
 * d(r g)/dr. */
static struct polynomial radial_slope(const double n[4], const double d[4]) {
    struct polynomial p = {.degree = MAX_DEGREE};
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) p.c[i + j] += n[i] * d[j] * (1.0 + 2.0 * i - 2.0 * j);
    }
    return p;
}

float pinhole_r_max(const struct camera *camera) {
    const double t_end = 1e4;
    const float *k = camera->radial_k;
    const double n[4] = {1.0, (double)k[0], (double)k[1], (double)k[2]};
    const double d[4] = {1.0, (double)k[3], (double)k[4], (double)k[5]};
    const struct polynomial both[2] = {radial_slope(n, d),
                                       {.c = {d[0], d[1], d[2], d[3]}, .degree = 3}};
    double smallest = INFINITY;
    for (int i = 0; i < 2; i++) {
        double roots[MAX_DEGREE];
        if (roots_within(&both[i], t_end, roots) > 0) smallest = fmin(smallest, roots[0]);
    }
    return (float)sqrt(smallest);
}

enum rt_status pinhole_check(const struct camera *camera, struct rt_error *err) {
    float r_max = pinhole_r_max(camera);
    for (int corner = 0; corner < 4; corner++) {
        vec2 at_px = vec2_make(corner & 1 ? (float)camera->width_px : 0.0f,
                               corner & 2 ? (float)camera->height_px : 0.0f);
        vec3 ray;
        if (pinhole_ray(camera, at_px, r_max, &ray)) continue;
        return rt_fail(err, RT_CALIBRATION,
                       "the lens is invertible up to r = %.4g only, picture corner (%.0f, %.0f) "
                       "px lies outside: check the distortion coefficients and the size",
                       (double)r_max, (double)at_px.x, (double)at_px.y);
    }
    return RT_OK;
}
