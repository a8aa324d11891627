/* The loss is compiled once per instruction set level (render/core/variant.h). */
#ifndef RETAKE_RECON_CPU_LOSS_VARIANTS_H
#define RETAKE_RECON_CPU_LOSS_VARIANTS_H

#include "recon/stages.h"
#include "render/core/variant.h"

RT_VARIANTS(void, cpu_loss_rows, (const struct loss_args *args, struct loss_values *values));

#endif
