/* SPDX-License-Identifier: Apache-2.0 */
/* The moments of a softmax at the level of the processor. */
#include "softmax.h"

#include "levels.h"

EACH_LEVEL(int, epi_softmax_moments, (const double *, int64_t, int64_t, double, double *, double *, double *, double *))

int epi_softmax_moments(
    const double *score, int64_t n, int64_t classes, double cold, double *top, double *total, double *mean, double *variance) {
    return CHOOSE(epi_softmax_moments)(score, n, classes, cold, top, total, mean, variance);
}
