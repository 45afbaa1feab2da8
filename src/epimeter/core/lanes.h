/* SPDX-License-Identifier: Apache-2.0 */
/* Several rows at once: vectors as wide as the level has them, in the portable notation of GCC and Clang.
 * Every lane does what plain C would do, so the bits do not depend on the width. */
#pragma once
#include "steps.h"

#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX__)
#define LANES 4
#else
#define LANES 2
#endif

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#else
#include <math.h>
#endif

typedef double vec __attribute__((vector_size(8 * LANES)));
typedef uint64_t word __attribute__((vector_size(8 * LANES)));

static inline vec load(const double *x) {
    vec v;
    memcpy(&v, x, sizeof v);
    return v;
}

static inline uint64_t total_of(word w) {
    uint64_t sum = 0;
    for (int lane = 0; lane < LANES; lane++) sum += w[lane];
    return sum;
}

/* a where the mask is all ones, b where it is all zeros. */
static inline vec choose(word mask, vec a, vec b) { return (vec)(((word)a & mask) | ((word)b & ~mask)); }

static inline vec root(vec x) {
#if defined(__AVX512F__)
    return (vec)_mm512_sqrt_pd((__m512d)x);
#elif defined(__AVX__)
    return (vec)_mm256_sqrt_pd((__m256d)x);
#elif defined(__x86_64__)
    return (vec)_mm_sqrt_pd((__m128d)x);
#elif defined(__aarch64__)
    return (vec)vsqrtq_f64((float64x2_t)x);
#else
    for (int lane = 0; lane < LANES; lane++) x[lane] = sqrt(x[lane]);
    return x;
#endif
}

/* See steps.h. */
static inline word steps_in(vec x) { return (word)(x + EPI_STEP); }
static inline word rest_in(vec x) { return (word)((x - ((x + EPI_STEP) - EPI_STEP)) * EPI_ONE + EPI_STEP); }

static inline vec square_errors(vec x, vec square) {
#if defined(__AVX512F__)
    return (vec)_mm512_fmsub_pd((__m512d)x, (__m512d)x, (__m512d)square);
#elif defined(__FMA__)
    return (vec)_mm256_fmsub_pd((__m256d)x, (__m256d)x, (__m256d)square);
#elif defined(__aarch64__)
    return (vec)vfmaq_f64((float64x2_t)-square, (float64x2_t)x, (float64x2_t)x);
#else /* Dekker's splitting (1971) */
    const vec spread = x * 134217729.0; /* 2^27 + 1 */
    const vec high = spread - (spread - x), low = x - high;
    return ((high * high - square) + 2.0 * (high * low)) + low * low;
#endif
}
