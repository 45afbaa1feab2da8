/* SPDX-License-Identifier: Apache-2.0 */
/* Which instructions the loops use: 1 what every processor of this kind has, 3 and 4 the levels of x86-64 (AVX2, AVX-512),
 * 5 the fourth with products of 52 bits in every lane (IFMA), which only the random numbers use. */
#pragma once

/* The level in use. */
int epi_level(void);

/* Use at most this level; returns the level then in use. For tests: all levels give the same bits. */
int epi_limit_level(int highest);
