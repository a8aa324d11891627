/* Hot files are compiled once per instruction set level of x86-64 (v2, v3, v4: the levels of the
 * System V ABI supplement) and once plainly on other machines; cmake/hot_files.cmake lists them.
 *
 *     void RT_VARIANT(cpu_composite)(const struct composite_args *args) { ... }   // the hot file
 *
 *     RT_VARIANTS(void, cpu_composite, (const struct composite_args *args));     // its header
 *     ops.composite = RT_PICK(cpu_composite);                                    // once
 */
#ifndef RETAKE_RENDER_CORE_VARIANT_H
#define RETAKE_RENDER_CORE_VARIANT_H

#define RT_VARIANT_JOIN_(name, suffix) name##suffix
#define RT_VARIANT_JOIN(name, suffix) RT_VARIANT_JOIN_(name, suffix)

#if defined(__x86_64__)

#ifdef RT_VARIANT_SUFFIX
#define RT_VARIANT(name) RT_VARIANT_JOIN(name, RT_VARIANT_SUFFIX)
#else
#define RT_VARIANT(name) name /* tools that read the file alone */
#endif
#define RT_VARIANTS(result, name, parameters) \
    result name##_v2 parameters;              \
    result name##_v3 parameters;              \
    result name##_v4 parameters
#define RT_PICK(name) \
    (rt_variant_level() == 4 ? name##_v4 : rt_variant_level() == 3 ? name##_v3 : name##_v2)

#else

#define RT_VARIANT(name) name
#define RT_VARIANTS(result, name, parameters) result name parameters
#define RT_PICK(name) name

#endif

/* 2, 3 or 4 on x86-64 by CPUID, 0 elsewhere. Level 2 (SSE 4.2, any processor since 2009) is
 * required, not tested for. */
int rt_variant_level(void);

#endif
