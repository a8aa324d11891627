/* The stages of rendering and the table of functions a backend provides.
 *
 *     collect -> project -> sort_depth -> intersect -> sort_tiles -> composite
 *                project_backward <- composite_backward
 *
 * One args struct per stage; render.c fills it and owns every array (the workspace). Flat index:
 * the gaussians of all layers one after the other. Pairs are (splat, tile) intersections in
 * emission order: splats by depth, the tiles of a splat row by row, so the pairs of a splat are
 * contiguous and every result is independent of the number of threads. Source: performance.md
 * sections 5.3-5.7 and 14. */
#ifndef RETAKE_RENDER_STAGES_H
#define RETAKE_RENDER_STAGES_H

#include "render/core/project_ewa.h"
#include "render/core/stop.h"
#include "render/core/tile.h"
#include "render/render.h"

#define RT_PROJECT_CHUNK 1024 /* gaussians per task of project */

/* A layer as this frame sees it. Everything happens in the node frame: rotating the view direction
 * into it replaces rotating the harmonics (sensors.md section 6). */
struct layer_row {
    const struct gaussians *gaussians; /* borrowed */
    int32_t first;                     /* flat index of its first gaussian */
    int32_t sh_degree;                 /* active */
    mat3 R_camera_node;
    vec3 t_camera_node;
    vec3 eye; /* sensor origin in the node frame */
    bool antialiased;
};

/* A projected splat: one cache line. n_tiles = 0 marks a culled one; only then are the other
 * members undefined. */
struct projected {
    float mean_px[2];
    float conic[3];   /* xx xy yy */
    float opacity;    /* o_eff, with the antialias factor */
    float colour[3];  /* >= 0 */
    float depth;      /* z */
    float cut;        /* q <= cut is visible */
    float half_px[2]; /* half sizes of its box */
    int32_t n_tiles;
    uint32_t first_pair;
    float padding;
};

struct pair {
    uint32_t splat; /* flat index */
    uint32_t slot;  /* its place in emission order: where its gradient goes */
};

/* Sums over the pixels of one pair, with p = dL/dsigma: what composite_backward hands on. */
struct pair_gradient {
    float p, p_dx, p_dy, p_dx2, p_dxdy, p_dy2;
    float colour[3];
    float depth;
};

/* What composite keeps per pixel for the backward pass, [RT_TILE_PIXELS] each. */
struct tile_state {
    float transmittance[RT_TILE_PIXELS];
    float colour[3][RT_TILE_PIXELS]; /* without background */
    float depth[RT_TILE_PIXELS];     /* sum of w d */
};

struct collect_args {
    const struct render_frame *frame;
    struct layer_row *rows; /* [frame->n_layers] */
};

struct project_args {
    const struct layer_row *rows; /* [n_rows] */
    int32_t n_rows;
    int32_t n_gaussians; /* of all layers */
    struct ewa_camera camera;
    struct tile_grid grid;
    float near_m;
    float alpha_min;
    struct projected *splats; /* [n_gaussians] */
    uint32_t *keys;           /* [n_gaussians] depth bits of the visible ones, in flat order */
    uint32_t *indices;        /* [n_gaussians] their flat index */
    uint32_t *scratch[2];     /* [n_gaussians] each */
    uint32_t *chunk_visible;  /* [ceil(n_gaussians / RT_PROJECT_CHUNK)] scratch */
    int64_t *n_visible;       /* out */
    int64_t *n_pairs;         /* out */
    int64_t *n_invalid;       /* out: culled because something was not finite */
    struct rt_stop *stop;
};

struct sort_depth_args {
    int64_t n_visible;
    uint32_t *keys[2];    /* [n_visible]; sorted in place of [0] with [1] as scratch */
    uint32_t *indices[2]; /* [n_visible]; likewise: [0] holds the order at the end */
};

struct intersect_args {
    int64_t n_visible;
    const uint32_t *order; /* [n_visible] flat indices, front to back */
    struct tile_grid grid;
    struct projected *splats; /* first_pair is written */
    uint32_t *pair_tile;      /* [n_pairs] out */
    struct rt_stop *stop;
};

struct sort_tiles_args {
    int64_t n_visible;
    int64_t n_pairs;
    const uint32_t *order;
    const struct projected *splats;
    const uint32_t *pair_tile; /* [n_pairs] */
    struct tile_grid grid;
    int32_t n_chunks;     /* rows of `counts` */
    uint32_t *counts;     /* [n_chunks][n_tiles] scratch */
    uint32_t *tile_begin; /* [n_tiles + 1] out */
    struct pair *pairs;   /* [n_pairs] out: by tile, front to back inside */
};

struct composite_args {
    struct tile_grid grid;
    const struct projected *splats;
    const uint32_t *tile_begin; /* [n_tiles + 1] */
    const struct pair *pairs;   /* [n_pairs] */
    struct blend_limits limits;
    float background[3];
    struct tile_state *states; /* [n_tiles] out, in: of the backward pass */
    struct render_target target;
    struct render_upstream upstream;      /* backward only */
    struct pair_gradient *pair_gradients; /* [n_pairs] backward only: out */
    struct rt_stop *stop;
};

struct project_backward_args {
    const struct layer_row *rows;
    int32_t n_rows;
    int32_t n_gaussians;
    struct ewa_camera camera;
    const struct projected *splats;
    const struct pair_gradient *pair_gradients; /* [n_pairs] */
    const struct gaussian_gradients *gradients; /* [n_rows], added to */
};

struct render_ops {
    const char *name;
    void (*collect)(const struct collect_args *args);
    void (*project)(const struct project_args *args);
    void (*sort_depth)(const struct sort_depth_args *args);
    void (*intersect)(const struct intersect_args *args);
    void (*sort_tiles)(const struct sort_tiles_args *args);
    void (*composite)(const struct composite_args *args);
    void (*composite_backward)(const struct composite_args *args);
    void (*project_backward)(const struct project_backward_args *args);
};

#endif
