/* SPDX-License-Identifier: Apache-2.0 */
/* x = m 2^e with m in [sqrt(1/2), sqrt(2)), log m = 2 artanh s with s = (m - 1)/(m + 1): additions, multiplications and
 * divisions in one order, none fused; see summaries/logarithm.py for the polynomial. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "levels.h"

int AT_LEVEL(epi_logarithm)(const double *x, int64_t n, double *out) {
    if (n < 0) return -1;
    for (int64_t i = 0; i < n; i++) {
        const double given = x[i];
        const int subnormal = given < 0x1p-1022;
        const double normal = subnormal ? given * 0x1p54 : given;
        uint64_t bits;
        memcpy(&bits, &normal, sizeof bits);
        const int32_t exponent = (int32_t)(bits >> 52 & 2047) - 1022 - (subnormal ? 54 : 0);
        bits = (bits & 0xFFFFFFFFFFFFFu) | (uint64_t)1022 << 52;
        double mantissa;
        memcpy(&mantissa, &bits, sizeof mantissa);
        const int small = mantissa < 0.7071067811865476;
        mantissa = small ? mantissa * 2.0 : mantissa;
        const double power = (double)(exponent - small);
        const double f = mantissa - 1.0, s = f / (2.0 + f), z = s * s;
        double series = 0.14795632832766475;
        series = series * z + 0.15314084877008638;
        series = series * z + 0.18183562850431262;
        series = series * z + 0.22222198605063118;
        series = series * z + 0.2857142874202815;
        series = series * z + 0.3999999999941664;
        series = series * z + 0.6666666666666734;
        const double result = power * 0.6931471803691238 + (2.0 * s + (s * (z * series) + power * 1.9082149292705877e-10));
        out[i] = given > 0 ? (given < (double)INFINITY ? result : (double)NAN) : -(double)INFINITY;
    }
    return 0;
}
