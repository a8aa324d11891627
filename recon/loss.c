#include "recon/loss.h"

#include <math.h>

/* Four planes (target, three gradient maps) and per row four sums kept as doubles. */
size_t loss_scratch_floats(int32_t width_px, int32_t height_px) {
    size_t plane = (size_t)width_px * (size_t)height_px * 3;
    return 4 * plane + 2 * 4 * (size_t)height_px + 16;
}

double loss_psnr_db(double mse) { return mse < 1e-10 ? 100.0 : -10.0 * log10(mse); }
