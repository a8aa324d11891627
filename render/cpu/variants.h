/* The stages that are compiled once per instruction set level (render/core/variant.h). */
#ifndef RETAKE_RENDER_CPU_VARIANTS_H
#define RETAKE_RENDER_CPU_VARIANTS_H

#include "render/core/variant.h"
#include "render/stages.h"

RT_VARIANTS(void, cpu_project, (const struct project_args *args));
RT_VARIANTS(void, cpu_intersect, (const struct intersect_args *args));
RT_VARIANTS(void, cpu_composite, (const struct composite_args *args));
RT_VARIANTS(void, cpu_composite_backward, (const struct composite_args *args));
RT_VARIANTS(void, cpu_project_backward, (const struct project_backward_args *args));

#endif
