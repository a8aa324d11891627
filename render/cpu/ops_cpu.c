#include "render/cpu/ops_cpu.h"

#include "render/cpu/variants.h"

#define OPS(level)                                                            \
    {                                                                         \
        .name = "cpu", .collect = cpu_collect, .project = cpu_project##level, \
        .sort_depth = cpu_sort_depth, .intersect = cpu_intersect##level,      \
        .sort_tiles = cpu_sort_tiles, .composite = cpu_composite##level,      \
        .composite_backward = cpu_composite_backward##level,                  \
        .project_backward = cpu_project_backward##level,                      \
    }

const struct render_ops *cpu_render_ops(void) {
#if defined(__x86_64__)
    static const struct render_ops by_level[3] = {OPS(_v2), OPS(_v3), OPS(_v4)};
    return &by_level[rt_variant_level() - 2];
#else
    static const struct render_ops plain = OPS();
    return &plain;
#endif
}
