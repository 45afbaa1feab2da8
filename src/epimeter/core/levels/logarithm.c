/* SPDX-License-Identifier: Apache-2.0 */
/* x = m 2^e with m in [sqrt(1/2), sqrt(2)), log m = 2 artanh s with s = (m - 1)/(m + 1): additions, multiplications and
 * divisions in one order, none fused; see summaries/logarithm.py for the polynomial. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "levels.h"
#include "logs.h"

/* Of any number in [0, inf). A subnormal one is scaled by 2^54, which the exponent takes back exactly. */
static double log_of_any(double x) {
    if (!(x > 0)) return -(double)INFINITY;
    if (!(x < (double)INFINITY)) return (double)NAN;
    const int subnormal = x < 0x1p-1022;
    const double normal = subnormal ? x * 0x1p54 : x;
    uint64_t bits;
    memcpy(&bits, &normal, sizeof bits);
    const int64_t exponent = (int64_t)((bits - ROOT_BITS + (UINT64_C(1024) << 52)) >> 52) - 1024;
    bits -= (uint64_t)exponent << 52;
    double mantissa;
    memcpy(&mantissa, &bits, sizeof mantissa);
    const double f = mantissa - 1.0, s = f / (2.0 + f), z = s * s, power = (double)(exponent - (subnormal ? 54 : 0));
    return power * LN2_HIGH + (2.0 * s + (s * (z * SERIES(z)) + power * LN2_LOW));
}

int AT_LEVEL(epi_logarithm)(const double *x, int64_t n, double *out) {
    if (n < 0) return -1;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const vec given = load(x + i);
        const word plain = (word)(given >= 0x1p-1022) & (word)(given < (double)INFINITY);
        if (total_of(plain & 1) == LANES) {
            const vec made = log_of(given);
            memcpy(out + i, &made, sizeof made);
        } else {
            for (int lane = 0; lane < LANES; lane++) out[i + lane] = log_of_any(given[lane]);
        }
    }
    for (; i < n; i++) out[i] = log_of_any(x[i]);
    return 0;
}
