/* SPDX-License-Identifier: Apache-2.0 */
/* Floating sums that are the same on every processor: row i of a stretch always goes to sum i mod 8, and these are added in order. */
#include "events.h"
#include "lanes.h"
#include "levels.h"
#include "stretch.h"

#define ROWS 8
#define VECTORS (ROWS / LANES)

static double in_order(const vec *sums) {
    double total = 0.0;
    for (int v = 0; v < VECTORS; v++)
        for (int lane = 0; lane < LANES; lane++) total += sums[v][lane];
    return total;
}

static void add(const double *prob, const double *weight, const double *true_, vec *first, vec *second, vec *mass) {
    for (int v = 0; v < VECTORS; v++) {
        const vec p = load(prob + v * LANES), came = load(true_ + v * LANES);
        const vec all = load(weight + v * LANES);
        const vec gone = all - came, q = 1.0 - p, hit = q * q, miss = p * p;
        first[v] += came * hit + gone * miss;
        second[v] += came * (hit * hit) + gone * (miss * miss);
        mass[v] += all;
    }
}

/* One stretch of at most EPI_STRETCH levels. */
static void add_stretch(const double *prob, const double *weight, const double *true_, int64_t n, double *sums) {
    const int64_t whole = n / ROWS * ROWS;
    vec first[VECTORS] = {0}, second[VECTORS] = {0}, mass[VECTORS] = {0};
    for (int64_t i = 0; i < whole; i += ROWS) add(prob + i, weight + i, true_ + i, first, second, mass);
    if (whole < n) { /* filled up with levels that nothing came to */
        double p[ROWS] = {0}, w[ROWS] = {0}, t[ROWS] = {0};
        for (int64_t i = whole; i < n; i++) {
            p[i - whole] = prob[i];
            w[i - whole] = weight[i];
            t[i - whole] = true_[i];
        }
        add(p, w, t, first, second, mass);
    }
    sums[0] = in_order(first);
    sums[1] = in_order(second);
    sums[2] = in_order(mass);
}

void AT_LEVEL(epi_event_squares)(const double *prob, const double *weight, const double *true_, int64_t n, double *sums) {
    for (int64_t start = 0; start < n; start += EPI_STRETCH, sums += 3)
        add_stretch(prob + start, weight + start, true_ + start, smaller(EPI_STRETCH, n - start), sums);
}

void AT_LEVEL(epi_row_squares)(const double *prob, const uint8_t *outcome, int64_t n, double *sums) {
    double ones[EPI_STRETCH], came[EPI_STRETCH]; /* in the cache: the columns of a stretch as levels have them */
    for (int64_t i = 0; i < smaller(EPI_STRETCH, n); i++) ones[i] = 1.0;
    for (int64_t start = 0; start < n; start += EPI_STRETCH, sums += 3) {
        const int64_t size = smaller(EPI_STRETCH, n - start);
        for (int64_t i = 0; i < size; i++) came[i] = outcome[start + i];
        add_stretch(prob + start, ones, came, size, sums);
    }
}
