/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"
#include "levels.h"
#include "stretch.h"

EACH_LEVEL(void, epi_event_squares, (const double *, const double *, const double *, int64_t, double *))
EACH_LEVEL(void, epi_row_squares, (const double *, const uint8_t *, int64_t, double *))

static int holds(int64_t n, int64_t n_sums) { return n >= 0 && n_sums == 3 * ((n + EPI_STRETCH - 1) / EPI_STRETCH); }

int epi_event_squares(const double *prob, const double *weight, const double *true_, int64_t n, double *sums, int64_t n_sums) {
    if (!holds(n, n_sums)) return -1;
    CHOOSE(epi_event_squares)(prob, weight, true_, n, sums);
    return 0;
}

int epi_row_squares(const double *prob, const uint8_t *outcome, int64_t n, double *sums, int64_t n_sums) {
    if (!holds(n, n_sums)) return -1;
    CHOOSE(epi_row_squares)(prob, outcome, n, sums);
    return 0;
}
