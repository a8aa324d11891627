#include "render/backend.h"

#include <string.h>

#include "render/cpu/ops_cpu.h"

enum rt_status render_backend_find(const char *name, const struct render_ops **out,
                                   struct rt_error *err) {
    *out = NULL;
    if (!name || strcmp(name, "auto") == 0 || strcmp(name, "cpu") == 0) {
        *out = cpu_render_ops();
        return RT_OK;
    }
    if (strcmp(name, "cuda") == 0) {
        return rt_fail(err, RT_UNSUPPORTED,
                       "backend \"cuda\": this build has no CUDA backend; use \"cpu\" or \"auto\"");
    }
    return rt_fail(err, RT_INVALID, "backend \"%.40s\" is unknown: use auto, cpu or cuda", name);
}
