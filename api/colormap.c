#include "api/colormap.h"

#include <math.h>
#include <stddef.h>

#include "render/core/image.h"

const char *const colormap_names[] = {"turbo", "viridis", "cividis", "gray", NULL};

enum { N_STOPS = 10 };

static const uint8_t viridis[N_STOPS][3] = {
    {0x44, 0x01, 0x54}, {0x48, 0x28, 0x78}, {0x3e, 0x49, 0x89}, {0x31, 0x68, 0x8e},
    {0x26, 0x82, 0x8e}, {0x1f, 0x9e, 0x89}, {0x35, 0xb7, 0x79}, {0x6e, 0xce, 0x58},
    {0xb5, 0xde, 0x2b}, {0xfd, 0xe7, 0x25}};
static const uint8_t cividis[N_STOPS][3] = {
    {0x00, 0x22, 0x4e}, {0x12, 0x35, 0x70}, {0x3b, 0x49, 0x6c}, {0x57, 0x5d, 0x6d},
    {0x70, 0x71, 0x73}, {0x8a, 0x86, 0x78}, {0xa5, 0x9c, 0x74}, {0xc3, 0xb3, 0x69},
    {0xe1, 0xcc, 0x55}, {0xfe, 0xe8, 0x38}};

/* Ascending powers, per channel. */
static const float turbo[3][6] = {
    {0.13572138f, 4.61539260f, -42.66032258f, 132.13108234f, -152.94239396f, 59.28637943f},
    {0.09140261f, 2.19418839f, 4.84296658f, -14.18503333f, 4.27729857f, 2.82956604f},
    {0.10667330f, 12.64194608f, -60.58204836f, 110.36276771f, -89.90310912f, 27.34824973f}};

static void interpolate(const uint8_t (*stops)[3], float t, uint8_t rgb[3]) {
    float at = t * (N_STOPS - 1);
    int i = (int)at < N_STOPS - 2 ? (int)at : N_STOPS - 2;
    float f = at - (float)i;
    for (int c = 0; c < 3; c++) {
        float value = (float)stops[i][c] * (1.0f - f) + (float)stops[i + 1][c] * f;
        rgb[c] = image_quantise(value / 255.0f);
    }
}

void colormap_at(enum colormap map, float t, uint8_t rgb[3]) {
    if (isnan(t)) {
        rgb[0] = rgb[1] = rgb[2] = 0;
        return;
    }
    t = t < 0.0f ? 0.0f : t > 1.0f ? 1.0f : t;
    if (map == COLORMAP_VIRIDIS) {
        interpolate(viridis, t, rgb);
    } else if (map == COLORMAP_CIVIDIS) {
        interpolate(cividis, t, rgb);
    } else if (map == COLORMAP_GRAY) {
        rgb[0] = rgb[1] = rgb[2] = image_quantise(t);
    } else {
        for (int c = 0; c < 3; c++) {
            float value = turbo[c][5];
            for (int k = 4; k >= 0; k--) value = value * t + turbo[c][k];
            rgb[c] = image_quantise(value);
        }
    }
}
