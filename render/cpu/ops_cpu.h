/* The CPU backend: plain C and OpenMP, the oracle of the others. */
#ifndef RETAKE_RENDER_CPU_OPS_CPU_H
#define RETAKE_RENDER_CPU_OPS_CPU_H

#include "render/stages.h"

/* The table for this processor: the blending loops are compiled for several instruction sets and
 * picked by CPUID. */
const struct render_ops *cpu_render_ops(void);

void cpu_collect(const struct collect_args *args);
void cpu_sort_depth(const struct sort_depth_args *args);
void cpu_sort_tiles(const struct sort_tiles_args *args);

#endif
