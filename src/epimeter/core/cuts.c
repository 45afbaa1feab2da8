/* SPDX-License-Identifier: Apache-2.0 */
#include "cuts.h"
#include "steps.h"
#include <stddef.h>
#include <stdlib.h>

#define FINE_CELLS 65536

static inline double said(const epi_rows *rows, int64_t i) { return rows->prob ? rows->prob[i] : (double)rows->single[i]; }
static inline int64_t cell(double p) { return smaller((int64_t)(p * (double)FINE_CELLS), FINE_CELLS - 1); }

int epi_count_cells(const epi_rows *rows, int64_t *count) {
    if (!epi_sound(rows)) return 1;
    for (int64_t i = 0; i < rows->n; i++) count[cell(said(rows, i))]++;
    return 0;
}

int64_t epi_of_cells(const epi_rows *rows, const uint8_t *wanted, double *found, int64_t room) {
    if (!epi_sound(rows)) return -1;
    int64_t n = 0;
    for (int64_t i = 0; i < rows->n; i++) {
        const double p = said(rows, i);
        if (!wanted[cell(p)]) continue;
        if (n == room) return -1;
        found[n++] = p + 0.0; /* -0.0 becomes 0.0 */
    }
    return n;
}

int epi_cut_bins(const epi_rows *rows, const double *threshold, int64_t inner, int64_t *totals, double *least) {
    if (inner < 0 || inner > INT32_MAX || !epi_sound(rows)) return 1;
    for (int64_t k = 0; k <= inner; k++) least[k] = 1.0;
    int32_t *first = malloc(FINE_CELLS * sizeof *first); /* thresholds below the beginning of a cell */
    if (!first) return 2;
    int64_t below = 0;
    for (int64_t c = 0; c < FINE_CELLS; c++) {
        while (below < inner && threshold[below] <= (double)c / FINE_CELLS) below++;
        first[c] = (int32_t)below;
    }
    for (int64_t i = 0; i < rows->n; i++) {
        const double p = said(rows, i) + 0.0;
        int64_t bin = first[cell(p)];
        while (bin < inner && p >= threshold[bin]) bin++;
        int64_t *total = totals + 6 * bin;
        const double whole = p + EPI_STEP;
        total[0] += 1;
        total[1] += rows->outcome[i];
        carry((int64_t)(bits_of(whole) - EPI_STEP_BITS), total + 2);
        carry((int64_t)(bits_of((p - (whole - EPI_STEP)) * EPI_ONE + EPI_STEP) - EPI_STEP_BITS), total + 4);
        if (p < least[bin]) least[bin] = p;
    }
    free(first);
    return 0;
}
