/* Colour maps for scalar pictures.
 *
 *     uint8_t rgb[3];
 *     colormap_at(COLORMAP_TURBO, 0.4f, rgb);
 *
 * Sources: turbo is the polynomial fit of A. Mikhailov's map (Google AI blog, 2019) by R. Du;
 * viridis (S. van der Walt, N. Smith, 2015) and cividis (Nunez, Anderton, Renslow, PLoS ONE 13,
 * 2018) are interpolated between ten of their published colours. Threading: constant tables. */
#ifndef RETAKE_API_COLORMAP_H
#define RETAKE_API_COLORMAP_H

#include <stdint.h>

enum colormap { COLORMAP_TURBO, COLORMAP_VIRIDIS, COLORMAP_CIVIDIS, COLORMAP_GRAY };
extern const char *const colormap_names[]; /* NULL-terminated, by enum */

/* `t` is clamped to 0...1; NaN gives black. */
void colormap_at(enum colormap map, float t, uint8_t rgb[3]);

#endif
