/* SPDX-License-Identifier: Apache-2.0 */
/* Totals of rows that are whole numbers, as often as a replicate has each: cell c owns the places from start[c] to start[c + 1],
 * place j is row order[j] (without order, n_order 0, row j), and limbs[l n + j] is what it adds, in limbs of 15 bits.
 * totals[(r cells + c) n_limbs + l] is the sum. */
#pragma once
#include <stdint.h>

/* Of up to eight replicates, each row as often as counts[r n + row], at most 127 times, says. */
int epi_count_totals(const uint8_t *counts, int64_t n, int64_t replicates, const int32_t *order, int64_t n_order,
                     const int64_t *start, int64_t n_start, const int16_t *limbs, int64_t n_limbs, int64_t *totals, int64_t n_totals);

/* Of up to eight replicates, the rows whose byte has bit r. */
int epi_bit_totals(const uint8_t *bits, int64_t n, int64_t replicates, const int32_t *order, int64_t n_order,
                   const int64_t *start, int64_t n_start, const int16_t *limbs, int64_t n_limbs, int64_t *totals, int64_t n_totals);

/* Of one replicate with any number of copies of a row; columns of whole numbers instead of limbs. */
int epi_weighed_totals(const int32_t *counts, int64_t n, const int32_t *order, int64_t n_order, const int64_t *start,
                       int64_t n_start, const int32_t *columns, int64_t n_columns, int64_t *totals, int64_t n_totals);

/* The least and the greatest of n whole numbers, high[i] 2^bits + low[i], or high[i] where `low` is NULL; 0 and 0 of none. 0, or -1. */
int epi_number_ends(const int32_t *high, const int32_t *low, int64_t bits, int64_t n, int64_t *ends, int64_t n_ends);

/* Such numbers in limbs of `width` bits, the lowest first, the highest with the sign: limbs[l n + i]. 0, or -1. */
int epi_number_limbs(const int32_t *high, const int32_t *low, int64_t bits, int64_t n, int64_t width, int64_t n_limbs, int16_t *limbs,
                     int64_t room);
