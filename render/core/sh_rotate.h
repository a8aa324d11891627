/* Rotation of spherical harmonics, for baking a node's pose into its splats (sensors.md section 6).
 *
 *     struct sh_rotation rotation = sh_rotation_make(q);
 *     sh_rotate(&rotation, degree, sh);       // sh [(degree+1)^2][3], in place
 *
 * Per degree D_l = pinv(Y(n_k)) Y(R^T n_k) over 16 fixed Fibonacci directions: exact, condition
 * <= 3.5. Threading: values only. */
#ifndef RETAKE_RENDER_CORE_SH_ROTATE_H
#define RETAKE_RENDER_CORE_SH_ROTATE_H

#include "render/core/vec.h"

struct sh_rotation {
    double band[3][7][7]; /* D_1, D_2, D_3: row = new coefficient, column = old one */
};

/* q: normalised rotation that takes node directions to the target frame. */
struct sh_rotation sh_rotation_make(quat q);
void sh_rotate(const struct sh_rotation *rotation, int degree, float *sh);

#endif
