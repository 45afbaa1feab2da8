/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of cumulative differences, in whole numbers: the same bits on every machine. */
#include "walk.h"

#include <string.h>

/* The nearest whole number of x in [0, 2^62], halves to even. */
static inline int64_t nearest(double x) {
    return x < 0x1p52 ? (int64_t)((x + 0x1p52) - 0x1p52) : (int64_t)x;
}

static inline double confidence(int64_t key) {
    const int64_t bits = key >> 1;
    double p;
    memcpy(&p, &bits, sizeof p);
    return p;
}

int epi_walk_extremes(const int64_t *keys, int64_t n, double scale, int64_t *high, int64_t *low, int64_t *variance,
                      int64_t n_parts, double *largest) {
    if (n < 0 || n_parts != 2 || !(scale > 0.0)) return -1;
    const int64_t mask = 0x3FFFFFFF;
    int64_t coarse = 0, fine = 0, spent_coarse = 0, spent_fine = 0;
    double most = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double p = confidence(keys[i]);
        if (!(p >= 0.0 && p <= 1.0)) return -1;
        int64_t step = ((keys[i] & 1) << 60) - nearest(p * 0x1p60);
        fine += step & mask;
        coarse += (step >> 30) + (fine >> 30);
        fine &= mask;
        const double spread = p * (1 - p), share = spread / scale * 0x1p60;
        if (!(share <= 0x1p62)) return -1;
        most = spread > most ? spread : most;
        step = nearest(share);
        spent_coarse += step >> 30;
        spent_fine += step & mask;
        if (i == n - 1 || confidence(keys[i + 1]) != p) { /* equal confidences are one step */
            if (coarse > high[0] || (coarse == high[0] && fine > high[1])) {
                high[0] = coarse;
                high[1] = fine;
            } else if (coarse < low[0] || (coarse == low[0] && fine < low[1])) {
                low[0] = coarse;
                low[1] = fine;
            }
        }
    }
    variance[0] = spent_coarse;
    variance[1] = spent_fine;
    *largest = most;
    return 0;
}
