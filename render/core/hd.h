/* Host/device dialect. Headers of render/core compile under gcc and under nvcc; these macros are
 * the only differences between the two. Rules: architecture.md section 3 (no `restrict`, no
 * compound literals, no designated initialisers in headers, `f` suffix on literals). */
#ifndef RETAKE_RENDER_CORE_HD_H
#define RETAKE_RENDER_CORE_HD_H

#include <math.h>

#ifdef __CUDACC__
#define HD static __host__ __device__ __forceinline__
#define RT_RESTRICT __restrict__
#else
#define HD static inline __attribute__((unused))
#define RT_RESTRICT restrict
#endif

/* a*b + c. Contraction is off (the compiler never fuses by itself), so the hot loops ask for it
 * where the target has the instruction; forward and backward then round alike. */
#if defined(__CUDACC__) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define RT_FMA(a, b, c) fmaf((a), (b), (c))
#else
#define RT_FMA(a, b, c) ((a) * (b) + (c))
#endif

#ifdef __cplusplus
#define RT_C_BEGIN extern "C" {
#define RT_C_END }
#else
#define RT_C_BEGIN
#define RT_C_END
#endif

#endif
