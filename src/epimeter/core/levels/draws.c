/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers made and used in one loop: the PCG64 stream of numpy, never written to memory.
 *
 * O'Neill 2014: a linear congruence modulo 2^128, its output turned by its own upper bits (XSL-RR). Four lanes run
 * through the stream side by side, each taking every fourth number, so that one multiplication need not wait for the
 * last. The generator comes as four words: state and increment, the upper word first, as numpy holds them after seeding.
 */
#include "levels.h"

#include <stdint.h>
#include <string.h>

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

/* 53 random bits of a state, the numerator of numpy's double over 2^53. */
static inline uint64_t number(wide state) {
    const uint64_t mixed = state.high ^ state.low;
    const unsigned turn = (unsigned)(state.high >> 58);
    return ((mixed >> turn) | (mixed << ((64 - turn) & 63))) >> 11;
}

typedef struct {
    wide lane[4], factor, moved;
} stream;

/* The stream after `skip` numbers. */
static stream stream_at(const uint64_t *generator, uint64_t skip) {
    wide state = {generator[0], generator[1]};
    const wide addend = {generator[2], generator[3]};
    stream s;
    jump_of(addend, skip, &s.factor, &s.moved);
    state = plus(times(state, s.factor), s.moved);
    for (int i = 0; i < 4; i++) s.lane[i] = state = plus(times(state, MULTIPLIER), addend);
    jump_of(addend, 4, &s.factor, &s.moved);
    return s;
}

static inline void step(stream *s) {
    for (int i = 0; i < 4; i++) s->lane[i] = plus(times(s->lane[i], s->factor), s->moved);
}

int AT_LEVEL(epi_draw_labels)(const uint64_t *generator, int64_t n_words, uint64_t skip, const uint64_t *bound, uint8_t *label,
                    int64_t n) {
    if (n_words != 4 || n < 0) return -1;
    stream s = stream_at(generator, skip);
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (int k = 0; k < 4; k++) label[i + k] = number(s.lane[k]) < bound[i + k];
        step(&s);
    }
    for (int k = 0; i < n; i++, k++) label[i] = number(s.lane[k]) < bound[i];
    return 0;
}

static inline int64_t index_of(wide state, double size) {
    return (int64_t)((double)number(state) * 0x1p-53 * size);
}

int AT_LEVEL(epi_count_rows)(const uint64_t *generator, int64_t n_words, uint64_t skip, int32_t *count, int64_t n) {
    if (n_words != 4 || n < 0 || n > INT32_MAX) return -1;
    stream s = stream_at(generator, skip);
    const double size = (double)n;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (int k = 0; k < 4; k++) count[index_of(s.lane[k], size)]++;
        step(&s);
    }
    for (int k = 0; i < n; i++, k++) count[index_of(s.lane[k], size)]++;
    return 0;
}

enum { LANES = 8, BLOCK = 2048 };

/* A block of rows stays in the cache while all replicates draw it. */
int AT_LEVEL(epi_draw_bits)(const uint64_t *generator, int64_t n_words, uint64_t first, int64_t replicates, const uint64_t *bound,
                  int64_t n_bounds, uint8_t *bits, int64_t n) {
    if (n_words != 4 || n < 0 || replicates < 0 || replicates > LANES || (n_bounds != 0 && n_bounds != n)) return -1;
    const uint64_t half = (uint64_t)1 << 52;
    stream s[LANES];
    for (int64_t r = 0; r < replicates; r++) s[r] = stream_at(generator, (first + (uint64_t)r) * (uint64_t)n);
    for (int64_t begin = 0; begin < n; begin += BLOCK) {
        const int64_t size = n - begin < BLOCK ? n - begin : BLOCK, whole = size / 4 * 4;
        uint8_t *out = bits + begin;
        memset(out, 0, (size_t)size);
        for (int r = 0; r < (int)replicates; r++) {
            stream t = s[r];
            if (n_bounds) {
                const uint64_t *b = bound + begin;
                for (int64_t i = 0; i < whole; i += 4) {
                    for (int k = 0; k < 4; k++) out[i + k] |= (uint8_t)((number(t.lane[k]) < b[i + k]) << r);
                    step(&t);
                }
                for (int64_t i = whole; i < size; i++) out[i] |= (uint8_t)((number(t.lane[i - whole]) < b[i]) << r);
            } else {
                for (int64_t i = 0; i < whole; i += 4) {
                    for (int k = 0; k < 4; k++) out[i + k] |= (uint8_t)((number(t.lane[k]) < half) << r);
                    step(&t);
                }
                for (int64_t i = whole; i < size; i++) out[i] |= (uint8_t)((number(t.lane[i - whole]) < half) << r);
            }
            s[r] = t;
        }
    }
    return 0;
}

int AT_LEVEL(epi_count_bytes)(const uint64_t *generator, int64_t n_words, uint64_t first, int64_t replicates,
                              uint8_t *counts, int64_t n_counts, int64_t n) {
    if (n_words != 4 || n < 0 || n > INT32_MAX || replicates < 0 || replicates > LANES || n_counts < replicates * n) return -1;
    const double size = (double)n;
    unsigned seen = 0;
    for (int64_t r = 0; r < replicates; r++) {
        uint8_t *count = counts + r * n;
        memset(count, 0, (size_t)n);
        stream s = stream_at(generator, (first + (uint64_t)r) * (uint64_t)n);
        int64_t i = 0;
        for (; i + 4 <= n; i += 4) {
            for (int k = 0; k < 4; k++) seen |= ++count[index_of(s.lane[k], size)];
            step(&s);
        }
        for (int k = 0; i < n; i++, k++) seen |= ++count[index_of(s.lane[k], size)];
    }
    return seen > 127 ? 1 : 0;
}
