/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "lanes.h"

#define ROOT_BITS UINT64_C(0x3fe6a09e667f3bcd) /* of sqrt(1/2) */
#define LN2_HIGH 0.6931471803691238            /* 33 bits: its product with an exponent is exact */
#define LN2_LOW 1.9082149292705877e-10
#define BIASED (0x1.8p52 + 1024.0)

/* Horner's rule for the polynomial P of summaries/logarithm.py, of a number or of a vector. */
#define SERIES(z)                                                                                                                   \
    ((((((0.14795632832766475 * (z) + 0.15314084877008638) * (z) + 0.18183562850431262) * (z) + 0.22222198605063118) * (z) +        \
       0.2857142874202815) * (z) + 0.3999999999941664) * (z) + 0.6666666666666734)

/* The logarithm of summaries/logarithm.py, of a normal number above 0: the bits themselves say x = m 2^k, sqrt(1/2) <= m. */
static inline vec log_of(vec x) {
    const word bits = (word)x;
    const word k = (bits - ROOT_BITS + (UINT64_C(1024) << 52)) >> 52; /* the exponent + 1024 */
    const vec f = (vec)(bits - ((k - 1024) << 52)) - 1.0;
    const vec power = (vec)(k + UINT64_C(0x4338000000000000)) - BIASED;
    const vec s = f / (2.0 + f), z = s * s;
    return power * LN2_HIGH + (2.0 * s + (s * (z * SERIES(z)) + power * LN2_LOW));
}
