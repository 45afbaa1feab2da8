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
