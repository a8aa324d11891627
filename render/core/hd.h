/* Host/device dialect. Headers of render/core compile under gcc and under nvcc; these macros are
 * the only differences between the two. Rules: architecture.md section 3 (no `restrict`, no
 * compound literals, no designated initialisers in headers, `f` suffix on literals). */
#ifndef RETAKE_RENDER_CORE_HD_H
#define RETAKE_RENDER_CORE_HD_H

#ifdef __CUDACC__
#define HD static __host__ __device__ __forceinline__
#define RT_RESTRICT __restrict__
#else
#define HD static inline __attribute__((unused))
#define RT_RESTRICT restrict
#endif

#ifdef __cplusplus
#define RT_C_BEGIN extern "C" {
#define RT_C_END }
#else
#define RT_C_BEGIN
#define RT_C_END
#endif

#endif
