/* SPDX-License-Identifier: Apache-2.0 */
/* Rows with weights: products of weights with what a report reads of a row, added up as integers.
 *
 * A total is six integers: units and steps of 2^-44, what the steps leave in units and steps of 2^-44, and once more. */
#pragma once
#include "rows.h"
#include <stdint.h>

#define EPI_WEIGHED_SCORES 19
#define EPI_WEIGHED_MOMENTS 9

/* Equal-width bins: for each its rows, then totals of w, w y, w p, w u^2, w v, w v^2, w v^3, w t, w t^2 (see MomentTotals). */
typedef struct epi_weighed_bin_set {
    int64_t bins;
    int64_t *totals; /* (bins, 1 + 6 * EPI_WEIGHED_MOMENTS) */
} epi_weighed_bin_set;

/* Adds rows whose outcomes are 0 or 1, whose confidences are probabilities and whose weights lie between 0 and `scale`, a power of two.
 *
 * `sets` have at most 256 bins together. `scores` (EPI_WEIGHED_SCORES, 6) may be NULL; its totals are of w and w^2; of w and of w^2
 * times the squared error, log loss, entropic difference, excess, null variance and entropic variance; of w^2 times the squares of the
 * first three (those of the logarithms divided by 32), times difference and variance, and times the square of the variance.
 *
 * Rows that would add a tiny number or an infinite one are left out; `aside`, which holds n, names them. Gives their number, or -1. */
int64_t epi_weigh_rows(const epi_rows *rows, const double *weight, double scale, int64_t n_sets, const epi_weighed_bin_set *sets,
                       int64_t *scores, int64_t *aside);
