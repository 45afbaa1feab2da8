/* SPDX-License-Identifier: Apache-2.0 */
/* What temperature scaling asks of every row of scores. */
#pragma once
#include <stdint.h>

/* For each of the n rows, with chances softmax(cold * score): the largest cold * score, the sum of exp(cold * score - largest), the mean
 * score and its variance under these chances. Scores are finite, cold > 0. Gives 0, or -1 without memory or rows that make sense. */
int epi_softmax_moments(
    const double *score, int64_t n, int64_t classes, double cold, double *top, double *total, double *mean, double *variance);
