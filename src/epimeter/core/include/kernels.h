/* SPDX-License-Identifier: Apache-2.0 */
/* Sums under kernels: along sorted points, by cells, over pairs of points. */
#pragma once
#include <stdint.h>

/* F_i = v_i + exp(-(x_i - x_{i-1})/h) F_{i-1}. */
int epi_decayed(const double *points, const double *values, int64_t n, double width, double *reached);

/* Sum over i, j of v_i v_j exp(-|x_i - x_j|/h). */
int epi_laplace_form(const double *points, const double *values, int64_t n, double width, double *total);

/* Running sums along each row that begin anew where `fresh` is not 0. */
int epi_block_sums(const double *values, const uint8_t *fresh, int64_t rows, int64_t columns, double *running, int64_t n_running);

/* Sums of (y - c) s^k for k to 3, by cell, in whole multiples of 1/scale; s in [-1/2, 1/2] is the place in the cell. */
int epi_cell_moments(const uint8_t *true_, const double *prob, int64_t n, int64_t cells, double scale, int64_t *moments,
                     int64_t n_moments);

/* The largest sum r_i z_i over |z| <= 1 and z 1-Lipschitz; breakpoints live in a tree of bits over their ranks. */
int epi_best_bet(const double *running, const double *gap, const int64_t *rank, int64_t steps, const double *where,
                 double *jump, int64_t *low, int64_t *high, uint64_t *tree, const int64_t *offset, int64_t n_offsets, double *cost);

/* gaps[i, j]: the sum over coordinates of (left - right)^2, or of |left - right|. `turned` is right with its coordinates first. */
int epi_distances(const double *left, int64_t n_left, const double *turned, int64_t n_right, int64_t coordinates,
                  int squared, double *gaps, int64_t n_gaps);

/* How many gaps lie below `low` and in [low, high], the latter written down as far as there is room. Row i counts from column
 * skipped + i on. */
int epi_count_gaps(const double *gaps, int64_t rows, int64_t columns, int64_t skipped, double low, double high,
                   double *held, int64_t n_held, int64_t *tally, int64_t n_tally);

/* Whether each of n rows is among the k neighbours of each of its own k neighbours: answered[i k + j]. 0, or -1 when a neighbour is none. */
int epi_answered(const int64_t *near, int64_t n, int64_t k, uint8_t *answered);

/* The k nearest of m candidates to each of n points on a line, the nearest first, of equal ones the lower row: near[row k + j]. Both lie
 * in order; a point looks at the candidates from 2 k + 2 before `place` to 3 k + 2 behind it, never at its own row. Gaps are compared in
 * whole multiples of 1/scale. `gap` is room for k numbers. 0, or -1 when a point has fewer candidates. */
int epi_nearest_on_line(const double *points, const int64_t *rows, const int64_t *place, int64_t n, const double *candidates,
                        const int64_t *candidate_rows, int64_t m, int64_t k, double scale, double *gap, int64_t *near, int64_t n_near);

/* Sums of v ((x - q)/h)^d over |x - q| < h, for d below `terms`, from running sums of v s^d inside blocks of width h, s being the
 * place about a block's middle: moments[(column terms + d) queries + q]. Block b has the number home[b] and the points from starts[b] to
 * starts[b + 1]; query q reaches the points from low[q] to high[q]. */
int epi_window_moments(const double *running, int64_t columns, int64_t terms, int64_t n, const double *home, const int64_t *starts,
                       int64_t n_blocks, const int64_t *low, const int64_t *high, const double *at, int64_t queries, double width,
                       double *moments, int64_t n_moments);
