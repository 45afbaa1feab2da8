/* SPDX-License-Identifier: Apache-2.0 */
#include "weighed.h"
#include "levels.h"

EACH_LEVEL(int64_t, epi_weighed_bins,
           (const double *, const double *, const int64_t *, int64_t, double, double, int64_t *, int64_t, int64_t *))

int64_t epi_weighed_bins(const double *value, const double *weight, const int64_t *cell, int64_t n, double scale, double least,
                         int64_t *totals, int64_t cells, int64_t *small) {
    if (cells < 1 || (!cell && cells != 1)) return -1;
    uint64_t outside = 0;
    if (cell)
        for (int64_t i = 0; i < n; i++) outside |= (uint64_t)cell[i] >= (uint64_t)cells;
    if (outside) return -1;
    return CHOOSE(epi_weighed_bins)(value, weight, cell, n, scale, least, totals, cells, small);
}
