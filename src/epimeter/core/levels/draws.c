/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers made and used in one loop: the PCG64 stream of numpy, never written to memory.
 *
 * O'Neill 2014: a linear congruence modulo 2^128, its output turned by its own upper bits (XSL-RR). Four lanes run
 * through the stream side by side, each taking every fourth number, so that one multiplication need not wait for the
 * last; sixteen where the processor multiplies 52 bits in each lane of a vector. The generator comes as four words: state and increment, the upper word first, as numpy holds them after seeding.
 */
#include "levels.h"

#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Whether sixteen numbers are made at once. */
#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define SIXTEEN (epi_level() >= 5)
#else
#define SIXTEEN 0
#endif

typedef struct {
    uint64_t high, low;
} wide;

static const wide MULTIPLIER = {0x2360ED051FC65DA4u, 0x4385DF649FCCF645u};

static inline wide times(wide a, wide b) {
#ifdef __SIZEOF_INT128__
    const unsigned __int128 product = (unsigned __int128)a.low * b.low;
    const uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
#else
    const uint64_t mask = 0xFFFFFFFFu;
    const uint64_t a0 = a.low & mask, a1 = a.low >> 32, b0 = b.low & mask, b1 = b.low >> 32;
    const uint64_t p = a0 * b0, q = a1 * b0 + (p >> 32), r = a0 * b1 + (q & mask);
    const uint64_t high = a1 * b1 + (q >> 32) + (r >> 32), low = (r << 32) | (p & mask);
#endif
    return (wide){high + a.high * b.low + a.low * b.high, low};
}

static inline wide plus(wide a, wide b) {
    const uint64_t low = a.low + b.low;
    return (wide){a.high + b.high + (low < a.low), low};
}

/* The factor and the addend of `steps` steps at once, by doubling. */
static void jump_of(wide addend, uint64_t steps, wide *factor, wide *moved) {
    wide f = {0, 1}, m = {0, 0}, g = MULTIPLIER, h = addend;
    while (steps) {
        if (steps & 1) {
            f = times(f, g);
            m = plus(times(m, g), h);
        }
        h = plus(times(g, h), h);
        g = times(g, g);
        steps >>= 1;
    }
    *factor = f;
    *moved = m;
}

enum { LANES = 8, BLOCK = 2048, PART = 256, STEPS = 16 };

/* How many numbers the lanes of a stream go on by at once: one each. */
typedef struct {
    wide lane[STEPS], factor, moved;
    int steps;
} stream;

/* The stream after `skip` numbers. */
static stream stream_at(const uint64_t *generator, uint64_t skip) {
    wide state = {generator[0], generator[1]};
    const wide addend = {generator[2], generator[3]};
    stream s;
    jump_of(addend, skip, &s.factor, &s.moved);
    state = plus(times(state, s.factor), s.moved);
    s.steps = SIXTEEN ? STEPS : 4;
    for (int i = 0; i < s.steps; i++) s.lane[i] = state = plus(times(state, MULTIPLIER), addend);
    jump_of(addend, (uint64_t)s.steps, &s.factor, &s.moved);
    return s;
}

#if defined(__AVX512F__) && defined(__AVX512DQ__)
/* A number of 128 bits in limbs of 52, 52 and 24 bits, one in each lane of three vectors. What lies above a limb is carried on, but
 * not taken off: products look at the lower 52 bits only. */
typedef struct {
    __m512i limb[3];
} limbs;

__attribute__((target("avx512ifma"))) static inline limbs limbs_of(const wide *w, int apart) {
    uint64_t part[3][8];
    const uint64_t mask = (UINT64_C(1) << 52) - 1;
    for (int i = 0; i < 8; i++) {
        const wide one = w[apart * i];
        part[0][i] = one.low & mask;
        part[1][i] = (one.low >> 52 | one.high << 12) & mask;
        part[2][i] = one.high >> 40;
    }
    return (limbs){{_mm512_loadu_si512(part[0]), _mm512_loadu_si512(part[1]), _mm512_loadu_si512(part[2])}};
}

/* a b + c. */
__attribute__((target("avx512ifma"))) static inline limbs step_of(const limbs *x, const limbs *factor, const limbs *moved) {
    const __m512i *a = x->limb, *b = factor->limb, *c = moved->limb;
    const __m512i low = _mm512_madd52lo_epu64(c[0], a[0], b[0]);
    __m512i mid = _mm512_madd52hi_epu64(c[1], a[0], b[0]);
    mid = _mm512_madd52lo_epu64(mid, a[0], b[1]);
    mid = _mm512_madd52lo_epu64(mid, a[1], b[0]);
    __m512i high = _mm512_madd52hi_epu64(c[2], a[0], b[1]);
    high = _mm512_madd52lo_epu64(high, a[0], b[2]);
    high = _mm512_madd52hi_epu64(high, a[1], b[0]);
    high = _mm512_madd52lo_epu64(high, a[1], b[1]);
    high = _mm512_madd52lo_epu64(high, a[2], b[0]);
    mid = _mm512_add_epi64(mid, _mm512_srli_epi64(low, 52));
    high = _mm512_add_epi64(high, _mm512_srli_epi64(mid, 52));
    return (limbs){{low, mid, high}};
}

/* The output of eight states, 53 bits each. */
__attribute__((target("avx512ifma"))) static inline __m512i turned(const limbs *x) {
    const __m512i mask = _mm512_set1_epi64((INT64_C(1) << 52) - 1);
    const __m512i mid = _mm512_and_si512(x->limb[1], mask);
    const __m512i low = _mm512_or_si512(_mm512_and_si512(x->limb[0], mask), _mm512_slli_epi64(mid, 52));
    const __m512i high = _mm512_or_si512(_mm512_srli_epi64(mid, 12), _mm512_slli_epi64(x->limb[2], 40));
    return _mm512_srli_epi64(_mm512_rorv_epi64(_mm512_xor_si512(high, low), _mm512_srli_epi64(high, 58)), 11);
}

__attribute__((target("avx512ifma"))) static inline void put(wide *lane, const limbs *x) {
    uint64_t part[3][8];
    const uint64_t mask = (UINT64_C(1) << 52) - 1;
    for (int k = 0; k < 3; k++) _mm512_storeu_si512(part[k], x->limb[k]);
    for (int i = 0; i < 8; i++) {
        const uint64_t mid = part[1][i] & mask;
        lane[i] = (wide){mid >> 12 | part[2][i] << 40, (part[0][i] & mask) | mid << 52};
    }
}

/* Sixteen numbers a step. `number` has room for whole sixteens. */
__attribute__((target("avx512ifma"))) static void sixteens(stream *s, int64_t *number, int64_t n) {
    limbs a = limbs_of(s->lane, 1), b = limbs_of(s->lane + 8, 1);
    const limbs factor = limbs_of(&s->factor, 0), moved = limbs_of(&s->moved, 0);
    for (int64_t i = 0; i < n; i += STEPS) {
        _mm512_storeu_si512(number + i, turned(&a));
        _mm512_storeu_si512(number + i + 8, turned(&b));
        a = step_of(&a, &factor, &moved);
        b = step_of(&b, &factor, &moved);
    }
    put(s->lane, &a);
    put(s->lane + 8, &b);
}
#endif

/* The next numbers of the stream, `n` at most PART of them, as 53 random bits each: the numerator of numpy's double over 2^53. Whole
 * sixteens, unless the stream ends there; `number` has room for PART. The states are made one by one and turned many at once, or
 * sixteen at once where the processor multiplies 52 bits in every lane. */
static inline void numbers(stream *s, int64_t *number, int64_t n) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
    if (s->steps == STEPS) {
        sixteens(s, number, n);
        return;
    }
#endif
    uint64_t high[PART + 4], low[PART + 4];
    const wide factor = s->factor, moved = s->moved;
    wide a = s->lane[0], b = s->lane[1], c = s->lane[2], d = s->lane[3];
    for (int64_t i = 0; i < n; i += 4) {
        high[i] = a.high, low[i] = a.low;
        a = plus(times(a, factor), moved);
        high[i + 1] = b.high, low[i + 1] = b.low;
        b = plus(times(b, factor), moved);
        high[i + 2] = c.high, low[i + 2] = c.low;
        c = plus(times(c, factor), moved);
        high[i + 3] = d.high, low[i + 3] = d.low;
        d = plus(times(d, factor), moved);
    }
    s->lane[0] = a, s->lane[1] = b, s->lane[2] = c, s->lane[3] = d;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t mixed = high[i] ^ low[i], turn = high[i] >> 58;
        number[i] = (int64_t)((mixed >> turn | mixed << ((64 - turn) & 63)) >> 11);
    }
}

static inline int64_t part_of(int64_t n, int64_t from) { return n - from < PART ? n - from : PART; }

int AT_LEVEL(epi_draw_labels)(const uint64_t *generator, int64_t n_words, uint64_t skip, const uint64_t *bound, uint8_t *label,
                    int64_t n) {
    if (n_words != 4 || n < 0) return -1;
    stream s = stream_at(generator, skip);
    int64_t u[PART];
    for (int64_t first = 0; first < n; first += PART) {
        const int64_t some = part_of(n, first);
        numbers(&s, u, some);
        for (int64_t i = 0; i < some; i++) label[first + i] = u[i] < (int64_t)bound[first + i];
    }
    return 0;
}

static inline double as_double(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The rows that numbers draw: floor(u n). A number of 53 bits becomes a double in two exact halves, below the bits of 2^84 and of 2^52:
 * processors without a conversion of 64 bits in every lane then convert several at a time. */
static inline void rows_of(const int64_t *u, int64_t n, double size, int32_t *row) {
    for (int64_t i = 0; i < n; i++) {
        const uint64_t bits = (uint64_t)u[i];
        const double high = as_double(bits >> 32 | UINT64_C(0x4530000000000000)) - 0x1.00000001p84;
        const double number = high + as_double((bits & UINT64_C(0xFFFFFFFF)) | UINT64_C(0x4330000000000000));
        row[i] = (int32_t)(number * 0x1p-53 * size);
    }
}

int AT_LEVEL(epi_count_rows)(const uint64_t *generator, int64_t n_words, uint64_t skip, int32_t *count, int64_t n) {
    if (n_words != 4 || n < 0 || n > INT32_MAX) return -1;
    stream s = stream_at(generator, skip);
    int64_t u[PART];
    int32_t row[PART];
    for (int64_t first = 0; first < n; first += PART) {
        const int64_t some = part_of(n, first);
        numbers(&s, u, some);
        rows_of(u, some, (double)n, row);
        for (int64_t i = 0; i < some; i++) count[row[i]]++;
    }
    return 0;
}

/* Set a bit where the number is below its bound. */
static inline void mark(const int64_t *u, const uint64_t *bound, int64_t n, uint8_t bit, uint8_t *out) {
    int64_t i = 0;
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    const __m128i one = _mm_set1_epi8((char)bit);
    for (; i + 16 <= n; i += 16) {
        const __mmask8 left = _mm512_cmplt_epi64_mask(_mm512_loadu_si512(u + i), _mm512_loadu_si512(bound + i));
        const __mmask8 right = _mm512_cmplt_epi64_mask(_mm512_loadu_si512(u + i + 8), _mm512_loadu_si512(bound + i + 8));
        const __m128i old = _mm_loadu_si128((const __m128i *)(const void *)(out + i));
        const __mmask16 both = (__mmask16)((unsigned)right << 8 | left);
        _mm_storeu_si128((__m128i *)(void *)(out + i), _mm_or_si128(old, _mm_maskz_mov_epi8(both, one)));
    }
#endif
    for (; i < n; i++) out[i] |= (uint8_t)(u[i] < (int64_t)bound[i] ? bit : 0);
}

/* A block of rows stays in the cache while all replicates draw it. */
int AT_LEVEL(epi_draw_bits)(const uint64_t *generator, int64_t n_words, uint64_t first, int64_t replicates, const uint64_t *bound,
                  int64_t n_bounds, uint8_t *bits, int64_t n) {
    if (n_words != 4 || n < 0 || replicates < 0 || replicates > LANES || (n_bounds != 0 && n_bounds != n)) return -1;
    int64_t u[PART];
    uint64_t halves[PART];
    for (int64_t i = 0; i < PART; i++) halves[i] = UINT64_C(1) << 52;
    stream s[LANES];
    for (int64_t r = 0; r < replicates; r++) s[r] = stream_at(generator, (first + (uint64_t)r) * (uint64_t)n);
    for (int64_t begin = 0; begin < n; begin += BLOCK) {
        const int64_t size = n - begin < BLOCK ? n - begin : BLOCK;
        memset(bits + begin, 0, (size_t)size);
        for (int64_t r = 0; r < replicates; r++) {
            for (int64_t from = 0; from < size; from += PART) {
                const int64_t some = part_of(size, from);
                uint8_t *out = bits + begin + from;
                numbers(&s[r], u, some);
                mark(u, n_bounds ? bound + begin + from : halves, some, (uint8_t)(1u << r), out);
            }
        }
    }
    return 0;
}

int AT_LEVEL(epi_count_bytes)(const uint64_t *generator, int64_t n_words, uint64_t first, int64_t replicates,
                              uint8_t *counts, int64_t n_counts, uint8_t *sides, int64_t n_sides, int64_t n) {
    if (n_words != 4 || n < 0 || n > INT32_MAX || replicates < 0 || replicates > LANES || n_counts < replicates * n) return -1;
    if (n_sides != 0 && n_sides != n) return -1;
    int full = 0;
    int64_t u[PART];
    int32_t row[PART];
    if (n_sides) memset(sides, 0, (size_t)n);
    for (int64_t r = 0; r < replicates; r++) {
        uint8_t *count = counts + r * n;
        memset(count, 0, (size_t)n);
        stream s = stream_at(generator, (first + (uint64_t)r) * (uint64_t)n);
        for (int64_t from = 0; from < n; from += PART) {
            const int64_t some = part_of(n, from);
            numbers(&s, u, some);
            rows_of(u, some, (double)n, row);
            for (int64_t i = 0; i < some; i++) count[row[i]]++;
            if (n_sides) /* the upper of the 53 bits is 0 below 1/2 */
                for (int64_t i = 0; i < some; i++) sides[from + i] |= (uint8_t)((1 - (u[i] >> 52)) << r);
        }
        /* A byte that ran over has lost 256 of the n draws. */
        unsigned high = 0;
        int64_t drawn = 0;
        for (int64_t i = 0; i < n; i++) high |= count[i], drawn += count[i];
        full |= high > 127 || drawn != n;
    }
    return full;
}
