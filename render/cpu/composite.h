/* The blending stages, one version per instruction set level (render/core/variant.h). */
#ifndef RETAKE_RENDER_CPU_COMPOSITE_H
#define RETAKE_RENDER_CPU_COMPOSITE_H

#include "render/core/variant.h"
#include "render/stages.h"

RT_VARIANTS(void, cpu_composite, (const struct composite_args *args));
RT_VARIANTS(void, cpu_composite_backward, (const struct composite_args *args));

#endif
