/* SPDX-License-Identifier: Apache-2.0 */
/* Eight sums on every machine, in as many registers as it needs for them: sum j adds the classes j, j + 8, j + 16, ..., and the eight are
 * added in one order, so that no level of the processor changes a bit. */
#include <stdlib.h>

#include "lanes.h"
#include "levels.h"

#define WIDTH 8
#define PARTS (WIDTH / LANES)

#define NEGLIGIBLE 708.0 /* below exp(-708) a number is no longer normal: counted as 0 */

/* exp x for x <= 0: x = k ln 2 + r with |r| <= ln(2)/2, exp r = 1 + r + r^2 Q(r), Q the polynomial of degree 9 through the Chebyshev
 * nodes (within 2^-55). ln 2 is taken in two parts, the first of 33 bits, so that its product with k is exact. */
static inline vec exponential(vec x) {
    const word counts = (word)(x > -NEGLIGIBLE);
    x = (vec)((word)x & counts);
    const vec shifted = x * 0x1.71547652b82fep+0 + 0x1.8p52; /* the whole number k in the lowest bits */
    const vec k = shifted - 0x1.8p52;
    const vec r = (x - k * 0x1.62e42feep-1) - k * 1.9082149292705877e-10;
    vec q = r * 2.510038549551032e-08 + 2.7620088445409746e-07;
    q = q * r + 2.7557268459997064e-06;
    q = q * r + 2.4801521295954376e-05;
    q = q * r + 0.00019841269863053618;
    q = q * r + 0.0013888888917213717;
    q = q * r + 0.008333333333330062;
    q = q * r + 0.04166666666662413;
    q = q * r + 0.16666666666666669;
    q = q * r + 0.5000000000000001;
    const vec power = (vec)(((word)shifted + 1023) << 52);
    return (vec)((word)((1.0 + (r + r * r * q)) * power) & counts);
}

static inline double sum_of(const vec *parts) {
    double x[WIDTH];
    memcpy(x, parts, sizeof x);
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

static inline double largest_of(const double *score, int64_t classes) {
    vec most[PARTS];
    for (int j = 0; j < PARTS; j++) most[j] = (vec){0} + score[0];
    int64_t k = 0;
    for (; k + WIDTH <= classes; k += WIDTH) {
        for (int j = 0; j < PARTS; j++) {
            const vec s = load(score + k + j * LANES);
            most[j] = choose((word)(s > most[j]), s, most[j]);
        }
    }
    double largest = score[0];
    for (int j = 0; j < PARTS; j++) {
        for (int lane = 0; lane < LANES; lane++) largest = most[j][lane] > largest ? most[j][lane] : largest;
    }
    for (; k < classes; k++) largest = score[k] > largest ? score[k] : largest;
    return largest;
}

/* Eight more classes: their chances, not yet divided by their total, the sum of these and of chance * score. */
static inline void weigh(const double *score, double cold, double largest, double *chance, vec *sum, vec *moment) {
    for (int j = 0; j < PARTS; j++) {
        const vec s = load(score + j * LANES), e = exponential(cold * s - largest);
        sum[j] += e;
        moment[j] += e * s;
        memcpy(chance + j * LANES, &e, sizeof e);
    }
}

static inline void scatter(const double *score, const double *chance, double mean, vec *spread) {
    for (int j = 0; j < PARTS; j++) {
        const vec away = load(score + j * LANES) - mean;
        spread[j] += load(chance + j * LANES) * (away * away);
    }
}

int AT_LEVEL(epi_softmax_moments)(
    const double *score, int64_t n, int64_t classes, double cold, double *top, double *total, double *mean, double *variance) {
    if (n < 0 || classes < 1 || classes > INT32_MAX || !(cold > 0)) return -1;
    const int64_t whole = classes / WIDTH * WIDTH, left = classes - whole;
    double *chance = malloc((size_t)(whole + WIDTH) * sizeof *chance), rest[WIDTH];
    if (!chance) return -1;
    for (int64_t i = 0; i < n; i++, score += classes) {
        vec sum[PARTS] = {0}, moment[PARTS] = {0}, spread[PARTS] = {0};
        const double largest = cold * largest_of(score, classes);
        for (int64_t k = 0; k < whole; k += WIDTH) weigh(score + k, cold, largest, chance + k, sum, moment);
        if (left) { /* filled up with what is negligible */
            for (int64_t k = 0; k < WIDTH; k++) rest[k] = k < left ? score[whole + k] : (largest - 2 * NEGLIGIBLE) / cold;
            weigh(rest, cold, largest, chance + whole, sum, moment);
        }
        top[i] = largest;
        total[i] = sum_of(sum);
        mean[i] = sum_of(moment) / total[i];
        /* The mean first: a square of differences loses no digits where all scores are large. */
        for (int64_t k = 0; k < whole; k += WIDTH) scatter(score + k, chance + k, mean[i], spread);
        if (left) scatter(rest, chance + whole, mean[i], spread);
        variance[i] = sum_of(spread) / total[i];
    }
    free(chance);
    return 0;
}
