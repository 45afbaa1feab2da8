/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of cumulative differences. */
#pragma once
#include <stdint.h>

/* Highest and lowest point of the walk over sorted keys, its start included, and its variance; each two whole numbers, in
 * multiples of 2^-30 and of 2^-60, the variance also of `scale`. `largest` is the largest c(1 - c). */
int epi_walk_extremes(const int64_t *keys, int64_t n, double scale, int64_t *high, int64_t *low, int64_t *variance,
                      int64_t n_parts, double *largest);
