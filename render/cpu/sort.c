#include <omp.h>
#include <string.h>

#include "render/cpu/ops_cpu.h"

enum { RADIX_BITS = 11, N_BUCKETS = 1 << RADIX_BITS, N_PASSES = 3, MAX_SORT_THREADS = 16 };

static int64_t part(int64_t n, int i, int n_parts) { return n * i / n_parts; }

/* Turns counts[thread][bucket] into start positions: buckets ascending, threads within a bucket. */
static void exclusive_scan(uint32_t (*counts)[N_BUCKETS], int n_threads) {
    uint32_t sum = 0;
    for (int bucket = 0; bucket < N_BUCKETS; bucket++) {
        for (int thread = 0; thread < n_threads; thread++) {
            uint32_t count = counts[thread][bucket];
            counts[thread][bucket] = sum;
            sum += count;
        }
    }
}

/* Stable least-significant-digit radix sort; equal keys keep their order, so ties resolve by
 * index whatever the number of threads. */
void cpu_sort_depth(const struct sort_depth_args *args) {
    int64_t n = args->n_visible;
    uint32_t counts[MAX_SORT_THREADS][N_BUCKETS];
    int n_threads = omp_get_max_threads();
    if (n_threads > MAX_SORT_THREADS) n_threads = MAX_SORT_THREADS;
    if (n < 131072) n_threads = 1; /* six barriers cost more than they save */
    for (int pass = 0; pass < N_PASSES; pass++) {
        const uint32_t *keys = args->keys[pass & 1];
        const uint32_t *indices = args->indices[pass & 1];
        uint32_t *keys_out = args->keys[~pass & 1];
        uint32_t *indices_out = args->indices[~pass & 1];
        int shift = pass * RADIX_BITS;
#pragma omp parallel for num_threads(n_threads) schedule(static, 1)
        for (int thread = 0; thread < n_threads; thread++) {
            memset(counts[thread], 0, sizeof counts[thread]);
            for (int64_t i = part(n, thread, n_threads); i < part(n, thread + 1, n_threads); i++) {
                counts[thread][keys[i] >> shift & (N_BUCKETS - 1)]++;
            }
        }
        exclusive_scan(counts, n_threads);
#pragma omp parallel for num_threads(n_threads) schedule(static, 1)
        for (int thread = 0; thread < n_threads; thread++) {
            for (int64_t i = part(n, thread, n_threads); i < part(n, thread + 1, n_threads); i++) {
                uint32_t at = counts[thread][keys[i] >> shift & (N_BUCKETS - 1)]++;
                keys_out[at] = keys[i];
                indices_out[at] = indices[i];
            }
        }
    }
    /* Three passes end in [1]. */
    memcpy(args->keys[0], args->keys[1], (size_t)n * sizeof(uint32_t));
    memcpy(args->indices[0], args->indices[1], (size_t)n * sizeof(uint32_t));
}

/* First place in front-to-back order whose pairs start at or after `pair`. */
static int64_t order_of_pair(const struct sort_tiles_args *args, int64_t pair) {
    int64_t low = 0;
    int64_t high = args->n_visible;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (args->splats[args->order[middle]].first_pair < pair) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void scatter_chunk(const struct sort_tiles_args *args, int64_t begin, int64_t end,
                          uint32_t *at) {
    for (int64_t i = begin; i < end; i++) {
        uint32_t splat = args->order[i];
        uint32_t slot = args->splats[splat].first_pair;
        uint32_t last = slot + (uint32_t)args->splats[splat].n_tiles;
        for (; slot < last; slot++) {
            args->pairs[at[args->pair_tile[slot]]++] = (struct pair){.splat = splat, .slot = slot};
        }
    }
}

/* Counting sort by tile, stable: inside a tile the pairs stay front to back. */
void cpu_sort_tiles(const struct sort_tiles_args *args) {
    size_t n_tiles = (size_t)args->grid.n_x * (size_t)args->grid.n_y;
    int n_chunks = args->n_chunks;
#pragma omp parallel for schedule(static, 1)
    for (int chunk = 0; chunk < n_chunks; chunk++) {
        uint32_t *counts = args->counts + (size_t)chunk * n_tiles;
        memset(counts, 0, n_tiles * sizeof(uint32_t));
        int64_t begin = order_of_pair(args, part(args->n_pairs, chunk, n_chunks));
        int64_t end = order_of_pair(args, part(args->n_pairs, chunk + 1, n_chunks));
        int64_t first =
            begin < args->n_visible ? args->splats[args->order[begin]].first_pair : args->n_pairs;
        int64_t last =
            end < args->n_visible ? args->splats[args->order[end]].first_pair : args->n_pairs;
        for (int64_t pair = first; pair < last; pair++) counts[args->pair_tile[pair]]++;
    }
    uint32_t sum = 0;
    for (size_t tile = 0; tile < n_tiles; tile++) {
        args->tile_begin[tile] = sum;
        for (int chunk = 0; chunk < n_chunks; chunk++) {
            uint32_t count = args->counts[(size_t)chunk * n_tiles + tile];
            args->counts[(size_t)chunk * n_tiles + tile] = sum;
            sum += count;
        }
    }
    args->tile_begin[n_tiles] = sum;
#pragma omp parallel for schedule(static, 1)
    for (int chunk = 0; chunk < n_chunks; chunk++) {
        int64_t begin = order_of_pair(args, part(args->n_pairs, chunk, n_chunks));
        int64_t end = order_of_pair(args, part(args->n_pairs, chunk + 1, n_chunks));
        scatter_chunk(args, begin, end, args->counts + (size_t)chunk * n_tiles);
    }
}
