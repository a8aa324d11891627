#include "render/core/sh_rotate.h"

#include <math.h>

#include "render/core/sh.h"

enum { N_DIRECTIONS = 16, MAX_BAND = 7 };

static vec3 fibonacci(int k) {
    const float golden_rad = 2.39996323f;
    float z = 1.0f - (2.0f * (float)k + 1.0f) / (float)N_DIRECTIONS;
    float radius = sqrtf(1.0f - z * z);
    return vec3_make(radius * cosf(golden_rad * (float)k), radius * sinf(golden_rad * (float)k), z);
}

/* Solves the n x n normal equations a x = b for the n columns of b in place (Gauss-Jordan with
 * pivoting; a is symmetric and well conditioned). */
static void solve(int n, double a[MAX_BAND][MAX_BAND], double b[MAX_BAND][MAX_BAND]) {
    for (int i = 0; i < n; i++) {
        int pivot = i;
        for (int r = i + 1; r < n; r++) {
            if (fabs(a[r][i]) > fabs(a[pivot][i])) pivot = r;
        }
        for (int c = 0; c < n; c++) {
            double swap_a = a[i][c];
            double swap_b = b[i][c];
            a[i][c] = a[pivot][c];
            b[i][c] = b[pivot][c];
            a[pivot][c] = swap_a;
            b[pivot][c] = swap_b;
        }
        for (int r = 0; r < n; r++) {
            double factor = r == i ? 0.0 : a[r][i] / a[i][i];
            for (int c = 0; c < n; c++) {
                a[r][c] -= factor * a[i][c];
                b[r][c] -= factor * b[i][c];
            }
        }
    }
    for (int r = 0; r < n; r++) {
        for (int c = 0; c < n; c++) b[r][c] /= a[r][r];
    }
}

struct sh_rotation sh_rotation_make(quat q) {
    struct sh_rotation rotation = {0};
    mat3 rot = quat_to_mat3(q);
    for (int l = 1; l <= 3; l++) {
        int n = 2 * l + 1;
        int first = l * l;
        double normal[MAX_BAND][MAX_BAND] = {{0}};
        double right[MAX_BAND][MAX_BAND] = {{0}};
        for (int k = 0; k < N_DIRECTIONS; k++) {
            float at[RT_SH_MAX];
            float back[RT_SH_MAX];
            sh_basis(3, fibonacci(k), at);
            sh_basis(3, mat3_mul_vec_transposed(rot, fibonacci(k)), back);
            for (int r = 0; r < n * n; r++) {
                int i = r / n;
                int j = r % n;
                normal[i][j] += (double)at[first + i] * (double)at[first + j];
                right[i][j] += (double)at[first + i] * (double)back[first + j];
            }
        }
        solve(n, normal, right);
        for (int r = 0; r < n * n; r++) rotation.band[l - 1][r / n][r % n] = right[r / n][r % n];
    }
    return rotation;
}

static void rotate_band(const struct sh_rotation *rotation, int l, float *sh) {
    int n = 2 * l + 1;
    float *band = sh + 3 * l * l;
    double old[MAX_BAND][3];
    for (int i = 0; i < 3 * n; i++) old[i / 3][i % 3] = (double)band[i];
    for (int i = 0; i < n; i++) {
        for (int c = 0; c < 3; c++) {
            double sum = 0.0;
            for (int j = 0; j < n; j++) sum += rotation->band[l - 1][i][j] * old[j][c];
            band[3 * i + c] = (float)sum;
        }
    }
}

void sh_rotate(const struct sh_rotation *rotation, int degree, float *sh) {
    for (int l = 1; l <= degree; l++) rotate_band(rotation, l, sh);
}
