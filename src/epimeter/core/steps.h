/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of real numbers as sums of integers, in C: see summaries/fixed.py and summaries/fine.py.
 *
 * A number of size below 64 added to 384 leaves its steps of 2^-44 in the last bits of the sum, rounded half to even. The bits of 384
 * come along with every row and are taken off once, at the end. Sums are unsigned: what wraps around on the way comes back.
 */
#pragma once
#include <stdint.h>
#include <string.h>

#define EPI_STEPS 44
#define EPI_ONE 17592186044416.0 /* 2^44 */
#define EPI_MASK ((INT64_C(1) << EPI_STEPS) - 1)
#define EPI_STEP 384.0
#define EPI_STEP_BITS UINT64_C(0x4078000000000000)
#define EPI_BLOCK (INT64_C(1) << 18) /* rows whose fractions can be added without a carry */
#define EPI_CELLS 76800
#define EPI_STRIDE ((INT64_C(1) << EPI_STEPS) / EPI_CELLS)

static inline uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double double_of(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline int64_t smaller(int64_t left, int64_t right) { return left < right ? left : right; }

/* A number in steps; lanes.h also has what they leave, in steps of 2^-88, the product with 2^44 being exact. */
static inline uint64_t steps_of(double x) { return bits_of(x + EPI_STEP); }

/* Add steps to a total of units and steps. */
static inline void carry(int64_t steps, int64_t *total) {
    const int64_t sum = total[1] + steps;
    total[0] += sum >> EPI_STEPS;
    total[1] = sum & EPI_MASK;
}
