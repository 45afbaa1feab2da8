/* SPDX-License-Identifier: Apache-2.0 */
/* The doors of the loops over rows: what comes in is checked here, then the level is chosen. */
#include "rows.h"
#include "levels.h"
#include "steps.h"
#include <stddef.h>

#define MOST_SETS 64
#define MOST_BINS INT32_MAX

EACH_LEVEL(int, epi_add_rows, (epi_pass *, const epi_rows *, int64_t, const int64_t *, const int64_t *))
EACH_LEVEL(int, epi_sound, (const epi_rows *))
EACH_LEVEL(int, epi_width_bins, (const epi_rows *, int64_t, int64_t *))

static int complete(const epi_rows *rows) { return rows->n == 0 || (rows->n > 0 && rows->outcome && (rows->prob || rows->single)); }

static int complete_bins(int64_t n, const epi_bins *sets) {
    if (n < 0 || n > MOST_SETS) return 0;
    for (int64_t k = 0; k < n; k++)
        if (sets[k].bins < 1 || sets[k].bins > MOST_BINS || !sets[k].totals) return 0;
    return 1;
}

int epi_add_rows(epi_pass *pass, const epi_rows *rows, int64_t runs, const int64_t *start, const int64_t *slot) {
    if (!complete(rows) || !complete_bins(pass->n_bins, pass->bins) || !complete_bins(pass->n_moments, pass->moments)) return 3;
    if (!pass->rows || !pass->ends || runs < 0) return 3;
    if ((pass->plain || pass->logs || pass->powers) && (!pass->counts || !pass->certain)) return 3;
    for (int64_t g = 0; g < runs; g++) {
        if (slot[g] < 0 || slot[g] >= pass->slots) return 3;
        if (start[g] < 0 || start[g + 1] < start[g] || start[g + 1] > rows->n) return 3;
    }
    return CHOOSE(epi_add_rows)(pass, rows, runs, start, slot);
}

int epi_sound(const epi_rows *rows) { return complete(rows) && CHOOSE(epi_sound)(rows); }

int epi_outcomes(const int64_t *label, int64_t n, uint8_t *outcome) {
    uint64_t all = 0;
    for (int64_t i = 0; i < n; i++) {
        all |= (uint64_t)label[i];
        outcome[i] = (uint8_t)label[i];
    }
    return all <= 1;
}

int epi_width_bins(const epi_rows *rows, int64_t bins, int64_t *totals) {
    if (!complete(rows) || bins < 1 || bins > MOST_BINS) return 3;
    return CHOOSE(epi_width_bins)(rows, bins, totals);
}

int epi_group_rows(const epi_rows *rows, const int32_t *code, int64_t groups, int64_t *start, uint8_t *outcome, double *prob, float *single) {
    if (!complete(rows) || groups < 1) return 1;
    const int64_t n = rows->n;
    for (int64_t k = 0; k <= groups; k++) start[k] = 0;
    for (int64_t i = 0; i < n; i++) {
        if (code[i] < -1 || code[i] >= groups - 1) return 1;
        start[(code[i] < 0 ? groups - 1 : code[i]) + 1]++;
    }
    for (int64_t k = 0; k < groups; k++) start[k + 1] += start[k];
    /* Each group's beginning serves as its place while rows are moved, and is put back afterwards. */
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = start[code[i] < 0 ? groups - 1 : code[i]]++;
        outcome[at] = rows->outcome[i];
        if (rows->prob) prob[at] = rows->prob[i];
        else single[at] = rows->single[i];
    }
    for (int64_t k = groups; k > 0; k--) start[k] = start[k - 1];
    start[0] = 0;
    return 0;
}
