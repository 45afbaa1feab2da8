/* SPDX-License-Identifier: Apache-2.0 */
#include "bins.h"
#include "steps.h"

void epi_read_bins(const int64_t *totals, int64_t n, double *read) {
    int64_t rows = 0;
    for (int64_t k = 0; k < n; k++) {
        const int64_t *total = totals + 4 * k;
        int64_t difference[2] = {total[1] - total[2], 0};
        carry(-total[3], difference);
        read[k] = (double)total[0];
        read[n + k] = total[0] > 0 ? ((double)difference[0] + (double)difference[1] / EPI_ONE) / (double)total[0] : 0.0;
        rows += total[0];
    }
    read[2 * n] = (double)rows;
}

/* The rounded sum and its exact rounding error (Knuth, TAOCP 2, 4.2.2). */
static inline double two_sum(double left, double right, double *error) {
    const double total = left + right, part = total - left;
    *error = (left - (total - part)) + (right - part);
    return total;
}

void epi_fine_pairs(const int64_t *units, const int64_t *steps, const int64_t *rest_units, const int64_t *rest_steps, int64_t n,
                    double *high, double *low) {
    for (int64_t k = 0; k < n; k++) {
        double lost, less, error;
        const double whole = two_sum((double)units[k], (double)steps[k] / EPI_ONE, &lost);
        const double rest = two_sum((double)rest_units[k] / EPI_ONE, (double)rest_steps[k] / (EPI_ONE * EPI_ONE), &less);
        const double sum = two_sum(whole, rest, &error);
        high[k] = two_sum(sum, error + lost + less, &low[k]);
    }
}
