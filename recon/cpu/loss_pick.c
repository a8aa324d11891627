#include "recon/cpu/loss_variants.h"
#include "recon/cpu/ops_cpu.h"

void cpu_loss(const struct loss_args *args, struct loss_values *values) {
    RT_PICK(cpu_loss_rows)(args, values);
}
