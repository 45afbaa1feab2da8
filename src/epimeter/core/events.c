/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"
#include "levels.h"
#include "stretch.h"

EACH_LEVEL(void, epi_event_squares, (const double *, const double *, const double *, int64_t, double *))

int epi_event_squares(const double *prob, const double *weight, const double *true_, int64_t n, double *sums, int64_t n_sums) {
    if (n < 0 || n_sums != 3 * ((n + EPI_STRETCH - 1) / EPI_STRETCH)) return -1;
    CHOOSE(epi_event_squares)(prob, weight, true_, n, sums);
    return 0;
}
