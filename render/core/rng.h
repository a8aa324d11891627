/* Random numbers without state: a counter-based generator, so that a draw depends on what it is for
 * (seed, stream, index, draw) and never on the order or the number of threads.
 *
 *     float u = rng_uniform(rng_draw(seed, RNG_NOISE, step, i), 0);
 *
 * Philox4x32-10 [Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"].
 * Compiles under gcc and nvcc. Threading: pure functions. */
#ifndef RETAKE_RENDER_CORE_RNG_H
#define RETAKE_RENDER_CORE_RNG_H

#include <math.h>
#include <stdint.h>

#include "render/core/hd.h"

/* 128 random bits. */
struct rng_bits {
    uint32_t word[4];
};

/* The Philox4x32-10 bijection of `counter` under `key`. */
HD struct rng_bits rng_philox(struct rng_bits counter, uint32_t key0, uint32_t key1) {
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * counter.word[0];
        uint64_t b = (uint64_t)0xCD9E8D57u * counter.word[2];
        counter.word[0] = (uint32_t)(b >> 32) ^ counter.word[1] ^ key0;
        counter.word[1] = (uint32_t)b;
        counter.word[2] = (uint32_t)(a >> 32) ^ counter.word[3] ^ key1;
        counter.word[3] = (uint32_t)a;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return counter;
}

/* The bits of draw (step, index) of one stream; streams are small constants of the caller. */
HD struct rng_bits rng_draw(uint64_t seed, uint32_t stream, uint32_t step, uint64_t index) {
    struct rng_bits counter;
    counter.word[0] = (uint32_t)index;
    counter.word[1] = (uint32_t)(index >> 32);
    counter.word[2] = step;
    counter.word[3] = stream;
    return rng_philox(counter, (uint32_t)seed, (uint32_t)(seed >> 32));
}

/* Word k of the bits as a float in [0, 1), 24 bits. */
HD float rng_uniform(struct rng_bits bits, int k) {
    return (float)(bits.word[k] >> 8) * (1.0f / 16777216.0f);
}

/* All bits as a double in [0, 1), 53 bits, of words 0 and 1. */
HD double rng_uniform_double(struct rng_bits bits) {
    uint64_t wide = ((uint64_t)bits.word[0] << 32) | bits.word[1];
    return (double)(wide >> 11) * (1.0 / 9007199254740992.0);
}

/* A standard normal from words k and k+1 (k = 0 or 2) [Box and Muller 1958]; finite always. */
HD float rng_normal(struct rng_bits bits, int k) {
    float u = ((float)(bits.word[k] >> 8) + 1.0f) * (1.0f / 16777216.0f);
    return sqrtf(-2.0f * logf(u)) * cosf(6.28318530718f * rng_uniform(bits, k + 1));
}

#endif
