/* SPDX-License-Identifier: Apache-2.0 */
/* The natural logarithm of summaries/logarithm.py, with the same bits on every machine. */
#pragma once
#include <stdint.h>

/* The logarithm of numbers in [0, inf); -inf at 0. */
int epi_logarithm(const double *x, int64_t n, double *out);
