/* SPDX-License-Identifier: Apache-2.0 */
/* What is read off the totals of bins. */
#pragma once
#include <stdint.h>

/* Of n bins (epi_width_bins): rows of each, mean outcome less mean confidence of each (0 where there are no rows), and all rows;
 * `read` has room for 2 n + 1 numbers. The difference of two totals is exact, and rounded once. */
void epi_read_bins(const int64_t *totals, int64_t n, double *read);

/* n totals in units and steps, with what the steps leave in units and steps of 2^-44, as unevaluated sums of two doubles. */
void epi_fine_pairs(const int64_t *units, const int64_t *steps, const int64_t *rest_units, const int64_t *rest_steps, int64_t n,
                    double *high, double *low);
