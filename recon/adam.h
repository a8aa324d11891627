/* Adam [Kingma and Ba 2015]: one step of one number. m and v are its moments, correction = 1 -
 * beta^t for the step count t of the whole set, also for rows that were skipped in between (sparse
 * Adam: what no tile saw has no gradient, and its moments wait). */
#ifndef RETAKE_RECON_ADAM_H
#define RETAKE_RECON_ADAM_H

#include <math.h>

#include "render/core/hd.h"

/* The two factors that do not depend on the number: rate / correction1 and sqrt(correction2). */
HD float adam_step(float gradient, float beta1, float beta2, float eps, float rate,
                   float root_correction2, float *m, float *v) {
    *m = beta1 * *m + (1.0f - beta1) * gradient;
    *v = beta2 * *v + (1.0f - beta2) * gradient * gradient;
    return -rate * *m / (sqrtf(*v) / root_correction2 + eps);
}

#endif
