/* SPDX-License-Identifier: Apache-2.0 */
/* Labels, rows and sides drawn by the PCG64 stream of numpy. A generator is four words: its state and its increment after
 * seeding, the upper word of each first. Replicate r of n rows begins after r n numbers. */
#pragma once
#include <stdint.h>

/* label[i] = 1 where the number is below the probability, which `bound` gives in steps of 2^-53, rounded up. */
int epi_draw_labels(const uint64_t *generator, int64_t n_words, uint64_t skip, const uint64_t *bound, uint8_t *label, int64_t n);

/* How often each of n rows is drawn by n numbers u: row floor(u n) each. */
int epi_count_rows(const uint64_t *generator, int64_t n_words, uint64_t skip, int32_t *count, int64_t n);

/* Labels of up to eight replicates: that of replicate first + r is bit r of a row's byte. Without bounds (n_bounds 0) a bit is
 * 1 where the number is below 1/2. */
int epi_draw_bits(const uint64_t *generator, int64_t n_words, uint64_t first, int64_t replicates, const uint64_t *bound,
                  int64_t n_bounds, uint8_t *bits, int64_t n);

/* Copies of each row in some replicates, that of replicate first + r in counts[r n + i]. 1 if a row is drawn more than 127 times,
 * which has no room. Where sides are asked for (n_sides n, not 0), bit r of a row's byte is 1 where the number at its place is below 1/2. */
int epi_count_bytes(const uint64_t *generator, int64_t n_words, uint64_t first, int64_t replicates, uint8_t *counts,
                    int64_t n_counts, uint8_t *sides, int64_t n_sides, int64_t n);
