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
        const vec all = weight ? load(weight + v * LANES) : (vec){0} + 1.0;
        const vec gone = all - came, q = 1.0 - p, hit = q * q, miss = p * p;
        first[v] += came * hit + gone * miss;
        second[v] += came * (hit * hit) + gone * (miss * miss);
        mass[v] += all;
    }
}

void AT_LEVEL(epi_event_squares)(const double *prob, const double *weight, const double *true_, int64_t n, double *sums) {
    for (int64_t start = 0; start < n; start += EPI_STRETCH, sums += 3) {
        const int64_t stop = smaller(start + EPI_STRETCH, n), whole = start + (stop - start) / ROWS * ROWS;
        vec first[VECTORS] = {0}, second[VECTORS] = {0}, mass[VECTORS] = {0};
        for (int64_t i = start; i < whole; i += ROWS)
            add(prob + i, weight ? weight + i : 0, true_ + i, first, second, mass);
        if (whole < stop) { /* filled up with levels that nothing came to */
            double p[ROWS] = {0}, w[ROWS] = {0}, t[ROWS] = {0};
            for (int64_t i = whole; i < stop; i++) {
                p[i - whole] = prob[i];
                w[i - whole] = weight ? weight[i] : 1.0;
                t[i - whole] = true_[i];
            }
            add(p, w, t, first, second, mass);
        }
        sums[0] = in_order(first);
        sums[1] = in_order(second);
        sums[2] = in_order(mass);
    }
}
