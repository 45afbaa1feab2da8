/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps over sorted confidences: shifted bins, the cheapest partition, pooled neighbours. */
#pragma once
#include <stdint.h>

/* Integral over shifts of the sum over unit bins of |residual in it|; level i stands at home + part. */
int epi_shifted_error(const int64_t *home, const double *part, const double *residual, int64_t n, double *area);

/* The least cost of cutting n levels into intervals. `room` holds 3 (n + 1) + 2 (n / 64 + 1) doubles. */
int epi_cheapest_partition(const double *prob, const double *weight, const double *residual, int64_t n, double *room,
                           int64_t n_room, double *cost);

/* Sizes of the blocks of PAVA-BC over n runs of equal confidences; how many there are, or -1. `ones` and `sizes` hold n + 1 each. */
int64_t epi_pooled_sizes(const int64_t *run_ones, const int64_t *run_sizes, int64_t n, int64_t min_count, int64_t max_count,
                         int64_t *ones, int64_t *sizes, int64_t n_room);

/* Pool adjacent violators: n levels of whole weight above 0, of which `true_` came true, into blocks of strictly rising
 * frequency. Of every block its weight, what came true and how many levels it has; gives the number of blocks, or -1. Each holds n. */
int64_t epi_isotonic_blocks(const double *weight, const double *true_, int64_t n, int64_t *block_weight, int64_t *block_true,
                            int64_t *block_levels, int64_t room);

/* The same where every level is one row. */
int64_t epi_isotonic_rows(const uint8_t *outcome, int64_t n, int64_t *block_weight, int64_t *block_true, int64_t *block_levels,
                          int64_t room);

/* The same for weights of any size above 0. */
int64_t epi_isotonic_weighed(const double *weight, const double *true_, int64_t n, double *block_weight, double *block_true,
                             int64_t *block_levels, int64_t room);

/* Whether no two neighbours are equal. */
int epi_distinct(const double *prob, int64_t n);

/* How many rows came true before each whole stretch of EPI_STRETCH rows, and before what is left behind the last. 0, or -1. */
int epi_running_outcomes(const uint8_t *outcome, int64_t n, int64_t *total, int64_t n_total);

/* How many rows came true before each place from 0 to n, with those totals; fast where the places rise. 0, or -1. */
int epi_true_before(const uint8_t *outcome, int64_t n, const int64_t *total, int64_t n_total, const int64_t *place, int64_t n_places,
                    int64_t *found);

/* Totals of rows between rising borders: (bins, 3), outcomes, confidence in units and steps. 0, or -1. */
int epi_segment_totals(const double *prob, const uint8_t *outcome, int64_t n, const int64_t *border, int64_t bins, int64_t *totals);
