/* SPDX-License-Identifier: Apache-2.0 */
/* Bins that depend on the data: equal mass, equal area. */
#pragma once
#include "rows.h"

/* How many of n confidences lie in each of 65,536 equal cells of [0, 1]; `count` has room for as many, and is added to. */
int epi_count_cells(const epi_rows *rows, int64_t *count);

/* The confidences of the cells that are wanted, in their order; gives how many, or -1 when there is no room for them. */
int64_t epi_of_cells(const epi_rows *rows, const uint8_t *wanted, double *found, int64_t room);

/* Totals of bins cut at rising thresholds, bin k holding what is at or above threshold k - 1 and below threshold k:
 * (inner + 1, 6), rows, outcomes, confidence in units and steps, what the steps leave in units and steps; and the least confidence
 * of each bin, 1 where it is empty. Gives 0, or 1 when a row is not sound. */
int epi_cut_bins(const epi_rows *rows, const double *threshold, int64_t inner, int64_t *totals, double *least);
