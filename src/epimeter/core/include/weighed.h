/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of weighted numbers: products and what they were rounded by, added up as integers. */
#pragma once
#include <stdint.h>

/* Totals by cell of weight / scale * value, where the largest weight is at most `scale` (a power of two) and a value at most 1 in size:
 * (cells, 4), units and steps, and what the steps leave in units and steps of 2^-44. Products that are not 0 but below `least` in size
 * are left out; their rows are given in `small`, which holds n. Gives their number, or -1 when a row's cell is none. `cell` may be NULL
 * where all rows are of one cell. */
int64_t epi_weighed_bins(const double *value, const double *weight, const int64_t *cell, int64_t n, double scale, double least,
                         int64_t *totals, int64_t cells, int64_t *small);
