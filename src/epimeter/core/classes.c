/* SPDX-License-Identifier: Apache-2.0 */
#include "classes.h"
#include "levels.h"
#include "steps.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#define TOGETHER 8 /* rows whose sums and largest numbers are found side by side: one row's wait for each other */

/* The bits of non-negative numbers order like the numbers; negative ones and NaN fall outside of [0, bits of 1]. */
#define TOP(NAME, REAL, BITS, LARGEST)                                                                            \
    static int NAME##_few(const REAL *prob, int64_t n, int64_t classes, double tolerance, REAL *top, int64_t *guess) { \
        int sound = 1;                                                                                            \
        for (int64_t i = 0; i < n; i++, prob += classes) {                                                        \
            double sum = 0.0;                                                                                     \
            BITS largest = -1;                                                                                    \
            int64_t first = 0;                                                                                    \
            int negative = 0;                                                                                     \
            for (int64_t k = 0; k < classes; k++) {                                                               \
                const REAL p = prob[k] + (REAL)0; /* -0.0 becomes 0.0 */                                          \
                BITS bits;                                                                                        \
                memcpy(&bits, &p, sizeof bits);                                                                   \
                sum += (double)p;                                                                                 \
                negative |= bits < 0;                                                                             \
                first = bits > largest ? k : first;                                                               \
                largest = bits > largest ? bits : largest;                                                        \
            }                                                                                                     \
            top[i] = prob[first];                                                                                 \
            guess[i] = first;                                                                                     \
            sound &= !negative && largest <= (LARGEST) && fabs(sum - 1.0) <= tolerance;                           \
        }                                                                                                         \
        return sound ? 0 : 1;                                                                                     \
    }                                                                                                             \
    static int NAME(const REAL *prob, int64_t n, int64_t classes, double tolerance, REAL *top, int64_t *guess) {  \
        const int64_t whole = classes <= INT32_MAX ? n / TOGETHER * TOGETHER : 0;                                 \
        int unsound = 0;                                                                                          \
        for (int64_t i = 0; i < whole; i += TOGETHER) {                                                           \
            const REAL *rows = prob + i * classes;                                                                \
            double sum[TOGETHER] = {0};                                                                           \
            BITS largest[TOGETHER], first[TOGETHER] = {0}, negative[TOGETHER] = {0};                              \
            for (int r = 0; r < TOGETHER; r++) largest[r] = -1;                                                   \
            for (int64_t k = 0; k < classes; k++) {                                                               \
                for (int r = 0; r < TOGETHER; r++) {                                                              \
                    const REAL p = rows[r * classes + k] + (REAL)0;                                               \
                    BITS bits;                                                                                    \
                    memcpy(&bits, &p, sizeof bits);                                                               \
                    sum[r] += (double)p;                                                                          \
                    negative[r] |= bits;                                                                          \
                    first[r] = bits > largest[r] ? (BITS)k : first[r];                                            \
                    largest[r] = bits > largest[r] ? bits : largest[r];                                           \
                }                                                                                                 \
            }                                                                                                     \
            for (int r = 0; r < TOGETHER; r++) {                                                                  \
                top[i + r] = rows[r * classes + first[r]];                                                        \
                guess[i + r] = first[r];                                                                          \
                unsound |= negative[r] < 0 || largest[r] > (LARGEST) || !(fabs(sum[r] - 1.0) <= tolerance);       \
            }                                                                                                     \
        }                                                                                                         \
        return unsound | NAME##_few(prob + whole * classes, n - whole, classes, tolerance, top + whole, guess + whole); \
    }
TOP(top_of_doubles, double, int64_t, INT64_C(0x3ff0000000000000))
TOP(top_of_singles, float, int32_t, INT32_C(0x3f800000))

int epi_top_labels(const epi_matrix *matrix, double tolerance, double *top, float *single_top, int64_t *guess) {
    if (matrix->n < 0 || matrix->classes < 1) return 1;
    return matrix->prob ? top_of_doubles(matrix->prob, matrix->n, matrix->classes, tolerance, top, guess)
                        : top_of_singles(matrix->single, matrix->n, matrix->classes, tolerance, single_top, guess);
}

/* Rows + outcomes * 2^32 and steps, by class and bin, for a block of rows. */
#define BLOCK_OF(NAME, REAL)                                                                                              \
    static int NAME(const REAL *prob, const int64_t *label, int64_t n, int64_t classes, int64_t bins, uint64_t *table) {  \
        const double width = (double)bins;                                                                                \
        const int64_t last = bins - 1;                                                                                    \
        for (int64_t i = 0; i < n; i++, prob += classes) {                                                                \
            const int64_t came = label[i];                                                                                \
            if (came < 0 || came >= classes) return 1;                                                                    \
            uint64_t *own = table;                                                                                        \
            for (int64_t k = 0; k < classes; k++, own += 2 * bins) {                                                      \
                const double p = (double)prob[k];                                                                         \
                const int64_t at = 2 * smaller((int64_t)(p * width), last);                                               \
                own[at] += 1;                                                                                             \
                own[at + 1] += steps_of(p) - EPI_STEP_BITS;                                                               \
            }                                                                                                             \
            table[2 * (came * bins + smaller((int64_t)((double)prob[came] * width), last))] += UINT64_C(1) << 32;         \
        }                                                                                                                 \
        return 0;                                                                                                         \
    }
BLOCK_OF(block_of_doubles, double)
BLOCK_OF(block_of_singles, float)

int epi_class_bins(const epi_matrix *matrix, const int64_t *label, int64_t bins, int64_t *totals) {
    const int64_t classes = matrix->classes;
    if (matrix->n < 0 || classes < 1 || bins < 1 || bins > INT32_MAX || classes > INT64_MAX / 64 / bins) return 1;
    const int64_t cells = classes * bins;
    uint64_t *table = calloc((size_t)cells, 2 * sizeof *table);
    if (!table) return 2;
    int fault = 0;
    for (int64_t first = 0; first < matrix->n && !fault; first += EPI_BLOCK) {
        const int64_t n = smaller(EPI_BLOCK, matrix->n - first);
        fault = matrix->prob ? block_of_doubles(matrix->prob + first * classes, label + first, n, classes, bins, table)
                             : block_of_singles(matrix->single + first * classes, label + first, n, classes, bins, table);
        for (int64_t k = 0; k < cells; k++) {
            totals[4 * k] += (int64_t)(table[2 * k] & 0xffffffff);
            totals[4 * k + 1] += (int64_t)(table[2 * k] >> 32);
            carry((int64_t)table[2 * k + 1], totals + 4 * k + 2);
            table[2 * k] = table[2 * k + 1] = 0;
        }
    }
    free(table);
    return fault;
}
