/* SPDX-License-Identifier: Apache-2.0 */
/* See summaries/paired.py: every product is 0 or between `least` / 2 and 1, so steps of 2^-44 and 2^-88 keep it. */
#include "weighed.h"
#include "levels.h"
#include "steps.h"
#include <math.h>

enum { PART = 256 };

/* The upper half of the digits (Veltkamp). */
static inline double upper(double x) {
    const double spread = x * 134217729.0; /* 2^27 + 1 */
    return spread - (spread - x);
}

/* The carry of every cell: between two of them its steps grow by less than 2^63. */
static void settle(int64_t *totals, int64_t cells) {
    for (int64_t k = 0; k < 2 * cells; k++) carry(0, totals + 2 * k);
}

int64_t AT_LEVEL(epi_weighed_bins)(const double *value, const double *weight, const int64_t *cell, int64_t n, double scale,
                                   double least, int64_t *totals, int64_t cells, int64_t *small) {
    int64_t whole[PART], rest[PART], n_small = 0;
    for (int64_t first = 0; first < n; first += PART) {
        const int64_t some = smaller(PART, n - first);
        const double *v = value + first, *w = weight + first;
        uint64_t any = 0;
        for (int64_t i = 0; i < some; i++) {
            const double share = w[i] / scale, product = share * v[i];
            const double a = upper(share), b = upper(v[i]), c = share - a, d = v[i] - b;
            const double error = ((a * b - product) + (a * d + c * b)) + c * d; /* Dekker */
            const double steps = product + EPI_STEP;
            whole[i] = (int64_t)(bits_of(steps) - EPI_STEP_BITS);
            rest[i] = (int64_t)(bits_of((product - (steps - EPI_STEP) + error) * EPI_ONE + EPI_STEP) - EPI_STEP_BITS);
            any |= (uint64_t)((fabs(product) < least) & (w[i] != 0.0) & (v[i] != 0.0));
        }
        for (int64_t i = 0; any && i < some; i++) {
            if (!(fabs(w[i] / scale * v[i]) < least && w[i] != 0.0 && v[i] != 0.0)) continue;
            small[n_small++] = first + i;
            whole[i] = rest[i] = 0;
        }
        if (cell) {
            for (int64_t i = 0; i < some; i++) {
                int64_t *total = totals + 4 * cell[first + i];
                total[1] += whole[i];
                total[3] += rest[i];
            }
        } else {
            for (int64_t i = 0; i < some; i++) {
                totals[1] += whole[i];
                totals[3] += rest[i];
            }
        }
        if ((first + PART) % EPI_BLOCK == 0) settle(totals, cells);
    }
    settle(totals, cells);
    return n_small;
}
