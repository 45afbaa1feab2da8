/* SPDX-License-Identifier: Apache-2.0 */
/* The loop over rows with weights, one tile after another, as levels/rows.c does it without.
 *
 * A product of a weight and a number is kept to 2^-132 of the largest weight: what it was rounded by is known exactly, and steps of 2^-44
 * are taken three times. Tiles are filled up with rows of weight 0, which add nothing. */
#include "weighed_rows.h"
#include "lanes.h"
#include "levels.h"
#include "logs.h"
#include <math.h>

#define TILE 4096
#define VECTOR 8
#define WHOLE(n) (((n) + VECTOR - 1) / VECTOR * VECTOR)
#define JOINT 256
#define SIGN (UINT64_C(1) << 63)
#define ONE_BITS UINT64_C(0x3ff0000000000000)
#define NEAR_HALF 0x1p-28 /* how near to a half and to an end a confidence must be to add a tiny number */
#define NEAR_END 0x1p-29
#define LIGHT 0x1p-60     /* share of the largest weight below which a row is left out */
#define SCORES EPI_WEIGHED_SCORES
#define MOMENTS EPI_WEIGHED_MOMENTS

typedef struct sum {
    word steps, rest, last;
} sum;

typedef struct weighed_tile {
    double row[TILE + VECTOR], weight[TILE + VECTOR]; /* confidences, negative where the outcome is 1 */
    double grouped[TILE + JOINT * VECTOR], grouped_weight[TILE + JOINT * VECTOR];
    uint8_t key[TILE + VECTOR];
    int64_t count[JOINT], place[JOINT];
    double least[JOINT];
    uint64_t sums[JOINT][MOMENTS][3];
    int64_t rows[JOINT];
} weighed_tile;

static _Thread_local weighed_tile own;

/* What a product was rounded by. */
static inline vec product_errors(vec x, vec y, vec product) {
#if defined(__AVX512F__)
    return (vec)_mm512_fmsub_pd((__m512d)x, (__m512d)y, (__m512d)product);
#elif defined(__FMA__)
    return (vec)_mm256_fmsub_pd((__m256d)x, (__m256d)y, (__m256d)product);
#elif defined(__aarch64__)
    return (vec)vfmaq_f64((float64x2_t)-product, (float64x2_t)x, (float64x2_t)y);
#else /* Dekker's splitting (1971) */
    const vec wide_x = x * 134217729.0, wide_y = y * 134217729.0; /* 2^27 + 1 */
    const vec a = wide_x - (wide_x - x), b = wide_y - (wide_y - y), c = x - a, d = y - b;
    return ((a * b - product) + (a * d + c * b)) + c * d;
#endif
}

static inline void put(sum *s, vec product, vec error) {
    const vec steps = product + EPI_STEP;
    const vec left = (product - (steps - EPI_STEP)) * EPI_ONE + error * EPI_ONE;
    const vec rest = left + EPI_STEP;
    s->steps += (word)steps;
    s->rest += (word)rest;
    s->last += (word)((left - (rest - EPI_STEP)) * EPI_ONE + EPI_STEP);
}

static inline void weigh(sum *s, vec weight, vec value) {
    const vec product = weight * value;
    put(s, product, product_errors(weight, value, product));
}

static void take(const sum *all, int n, int64_t rows, uint64_t (*sums)[3]) {
    const uint64_t less = (uint64_t)rows * EPI_STEP_BITS;
    for (int k = 0; k < n; k++) {
        sums[k][0] += total_of(all[k].steps) - less;
        sums[k][1] += total_of(all[k].rest) - less;
        sums[k][2] += total_of(all[k].last) - less;
    }
}

static void settle(const uint64_t (*sums)[3], int n, int64_t *total) {
    for (int k = 0; k < n; k++)
        for (int part = 0; part < 3; part++) carry((int64_t)sums[k][part], total + 6 * k + 2 * part);
}

static void moment_sums(const double *row, const double *weight, int64_t n, uint64_t (*sums)[3]) {
    sum s[MOMENTS] = {{{0}, {0}, {0}}};
    const vec nothing = {0};
    for (int64_t i = 0; i < n; i += LANES) {
        const vec r = load(row + i), w = load(weight + i);
        const word came = 0 - ((word)r >> 63);
        const vec p = (vec)((word)r & ~SIGN), y = (vec)(ONE_BITS & came);
        const vec u = y - p, lost = (y - u) - p, square = u * u; /* lost: what u was rounded by */
        const vec v = p * (1.0 - p), v2 = v * v, t = v * (1.0 - 2.0 * p);
        put(s, w, nothing);
        put(s + 1, (vec)((word)w & came), nothing);
        weigh(s + 2, w, p);
        const vec product = w * square;
        put(s + 3, product, product_errors(w, square, product) + w * (square_errors(u, square) + 2.0 * u * lost));
        weigh(s + 4, w, v);
        weigh(s + 5, w, v2);
        weigh(s + 6, w, v * v2);
        weigh(s + 7, w, t);
        weigh(s + 8, w, t * t);
    }
    take(s, MOMENTS, n, sums);
}

static void score_sums(const double *row, const double *weight, int64_t n, uint64_t (*sums)[3]) {
    sum s[SCORES] = {{{0}, {0}, {0}}};
    const vec nothing = {0}, half = nothing + 0.5;
    for (int64_t i = 0; i < n; i += LANES) {
        const vec r = load(row + i), w = load(weight + i), w2 = w * w;
        const vec said = (vec)((word)r & ~SIGN);
        const word certain = (word)(said == 0.0) | (word)(said == 1.0), came = 0 - ((word)r >> 63);
        const vec y = (vec)(ONE_BITS & came), x = said - y, square = 2.0 * (x * x);
        const vec slope = 1.0 - 2.0 * said, excess = (y - said) * slope, null = slope * slope * said * (1.0 - said);
        /* Rows that are certain are right here: their logarithmic scores are 0. */
        const vec p = choose(certain, half, said), q = 1.0 - p, lp = log_of(p), lq = log_of(q), mean = q * lq + p * lp;
        const vec plain_loss = -choose(came, lp, lq), left = mean - lq, right = mean - lp;
        const vec loss = choose(certain, nothing, plain_loss), entropic = choose(certain, nothing, mean + plain_loss);
        const vec variance = choose(certain, nothing, q * (left * left) + p * (right * right));
        const vec column[6] = {square, loss, entropic, excess, null, variance};
        put(s, w, nothing);
        put(s + 1, w2, product_errors(w, w, w2));
        for (int k = 0; k < 6; k++) {
            weigh(s + 2 + k, w, column[k]);
            weigh(s + 8 + k, w2, column[k]);
        }
        weigh(s + 14, w2, square * square);
        weigh(s + 15, w2, loss * loss * 0x1p-5);
        weigh(s + 16, w2, entropic * entropic * 0x1p-5);
        weigh(s + 17, w2, entropic * variance);
        weigh(s + 18, w2, variance * variance);
    }
    take(s, SCORES, n, sums);
}

/* Fill a tile with n rows from `first` on; rows left out have weight 0. Gives how many are left out in all. */
static int64_t fill(const epi_rows *rows, const double *weight, double share, int64_t first, int64_t n, int64_t *aside, int64_t n_aside) {
    uint64_t *row = (uint64_t *)(void *)own.row;
    for (int64_t i = 0; i < n; i++) {
        const double p = (rows->prob ? rows->prob[first + i] : (double)rows->single[first + i]) + 0.0; /* -0.0 becomes 0.0 */
        row[i] = bits_of(p) | (uint64_t)rows->outcome[first + i] << 63;
        own.weight[i] = weight[first + i] * share;
    }
    for (int64_t i = 0; i < n; i++) {
        const double p = double_of(row[i] & ~SIGN), q = 1.0 - p, w = own.weight[i];
        const int y = (int)(row[i] >> 63);
        const int odd = (w < LIGHT && w != 0.0) | (p < NEAR_END && p != 0.0) | (q < NEAR_END && q != 0.0)
                        | (fabs(p - 0.5) < NEAR_HALF && p != 0.5) | (p == 0.0 && y) | (p == 1.0 && !y);
        aside[n_aside] = first + i; /* kept only where it is counted */
        n_aside += odd;
        if (odd) own.weight[i] = 0.0;
    }
    for (int64_t i = n; i < WHOLE(n); i++) row[i] = 0, own.weight[i] = 0.0;
    return n_aside;
}

static void group(int64_t n, int64_t n_sets, const epi_weighed_bin_set *sets, int64_t groups) {
    memset(own.key, 0, (size_t)n);
    for (int64_t m = 0; m < n_sets; m++) {
        const double width = (double)sets[m].bins;
        const int32_t last = (int32_t)(sets[m].bins - 1);
        for (int64_t i = 0; i < n; i++) {
            const int32_t bin = (int32_t)(double_of(bits_of(own.row[i]) & ~SIGN) * width);
            own.key[i] = (uint8_t)(own.key[i] + (bin < last ? bin : last));
        }
    }
    memset(own.count, 0, (size_t)groups * sizeof own.count[0]);
    for (int64_t i = 0; i < n; i++) own.count[own.key[i]]++;
    int64_t at = 0;
    for (int64_t k = 0; k < groups; k++) {
        own.place[k] = at;
        at += WHOLE(own.count[k]);
        for (int64_t f = own.place[k] + own.count[k]; f < at; f++) own.grouped[f] = own.grouped_weight[f] = 0.0;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t to = own.place[own.key[i]]++;
        own.grouped[to] = own.row[i];
        own.grouped_weight[to] = own.weight[i];
    }
    at = 0;
    for (int64_t k = 0; k < groups; k++) {
        if (!own.count[k]) continue;
        own.least[k] = double_of(bits_of(own.grouped[at]) & ~SIGN);
        own.rows[k] += own.count[k];
        moment_sums(own.grouped + at, own.grouped_weight + at, WHOLE(own.count[k]), own.sums[k]);
        at += WHOLE(own.count[k]);
    }
}

static void settle_groups(int64_t n_sets, const epi_weighed_bin_set *sets, int64_t groups) {
    for (int64_t k = 0; k < groups; k++) {
        if (!own.rows[k]) continue;
        for (int64_t m = 0; m < n_sets; m++) {
            const int64_t bins = sets[m].bins, bin = smaller((int64_t)(own.least[k] * (double)bins), bins - 1);
            int64_t *total = sets[m].totals + bin * (1 + 6 * MOMENTS);
            total[0] += own.rows[k];
            settle((const uint64_t (*)[3])own.sums[k], MOMENTS, total + 1);
        }
        own.rows[k] = 0;
        memset(own.sums[k], 0, sizeof own.sums[k]);
    }
}

int64_t AT_LEVEL(epi_weigh_rows)(const epi_rows *rows, const double *weight, double scale, int64_t n_sets,
                                 const epi_weighed_bin_set *sets, int64_t *scores, int64_t *aside) {
    int64_t groups = 1, n_aside = 0;
    for (int64_t m = 0; m < n_sets; m++) groups += sets[m].bins - 1;
    memset(own.rows, 0, sizeof own.rows);
    memset(own.sums, 0, (size_t)groups * sizeof own.sums[0]);
    const double share = 1.0 / scale;
    int64_t open = 0;
    for (int64_t first = 0; first < rows->n; first += TILE) {
        const int64_t n = smaller(TILE, rows->n - first);
        n_aside = fill(rows, weight, share, first, n, aside, n_aside);
        if (n_sets) {
            group(n, n_sets, sets, groups);
            open += n;
            if (open + TILE > EPI_BLOCK) {
                settle_groups(n_sets, sets, groups);
                open = 0;
            }
        }
        if (scores) {
            uint64_t sums[SCORES][3] = {{0}};
            score_sums(own.row, own.weight, WHOLE(n), sums);
            settle((const uint64_t (*)[3])sums, SCORES, scores);
        }
    }
    if (n_sets) settle_groups(n_sets, sets, groups);
    return n_aside;
}
