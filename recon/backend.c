#include "recon/backend.h"

#include <string.h>

#include "recon/cpu/ops_cpu.h"

static const struct recon_ops cpu_ops = {
    .loss = cpu_loss,
    .regularise = cpu_regularise,
    .adam = cpu_adam,
    .perturb = cpu_perturb,
};

enum rt_status recon_backend(const char *name, const struct recon_ops **out, struct rt_error *err) {
    *out = NULL;
    if (strcmp(name, "cpu") != 0) {
        return rt_fail(err, RT_UNSUPPORTED,
                       "training on backend \"%s\" is not in this build; use cpu", name);
    }
    *out = &cpu_ops;
    return RT_OK;
}
