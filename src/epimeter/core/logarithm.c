/* SPDX-License-Identifier: Apache-2.0 */
/* The logarithm at the level of the processor. */
#include "logarithm.h"

#include "levels.h"

EACH_LEVEL(int, epi_logarithm, (const double *, int64_t, double *))

int epi_logarithm(const double *x, int64_t n, double *out) { return CHOOSE(epi_logarithm)(x, n, out); }
