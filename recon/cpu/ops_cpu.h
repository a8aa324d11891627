/* The training stages on the CPU, see recon/stages.h. Plain loops over rows with OpenMP. */
#ifndef RETAKE_RECON_CPU_OPS_CPU_H
#define RETAKE_RECON_CPU_OPS_CPU_H

#include "recon/stages.h"

void cpu_loss(const struct loss_args *args, struct loss_values *values);
void cpu_regularise(const struct regularise_args *args);
int32_t cpu_adam(const struct adam_args *args);
void cpu_perturb(const struct perturb_args *args);

#endif
