/* SPDX-License-Identifier: Apache-2.0 */
#include "weighed_rows.h"
#include "levels.h"

#define MOST_SETS 8
#define MOST_BINS 256

EACH_LEVEL(int64_t, epi_weigh_rows,
           (const epi_rows *, const double *, double, int64_t, const epi_weighed_bin_set *, int64_t *, int64_t *))

int64_t epi_weigh_rows(const epi_rows *rows, const double *weight, double scale, int64_t n_sets, const epi_weighed_bin_set *sets,
                       int64_t *scores, int64_t *aside) {
    if (rows->n < 0 || (rows->n && (!rows->outcome || !(rows->prob || rows->single)))) return -1;
    if (n_sets < 0 || n_sets > MOST_SETS || !(scale > 0.0)) return -1;
    int64_t all = 0;
    for (int64_t k = 0; k < n_sets; k++) {
        if (sets[k].bins < 1 || sets[k].bins > MOST_BINS || !sets[k].totals) return -1;
        all += sets[k].bins;
    }
    if (all > MOST_BINS) return -1;
    return CHOOSE(epi_weigh_rows)(rows, weight, scale, n_sets, sets, scores, aside);
}
