/* SPDX-License-Identifier: Apache-2.0 */
/* The window moments of LOESS, read off a tree of sums of powers. */
#pragma once
#include <stdint.h>

/* Sums of powers of the samples of every node: of the weights (14 a node) and of what came true (12 a node). */
int epi_loess_tree(const double *prob, const double *weight, const double *true_, int64_t n, int64_t leaves,
                   double *middle, double *radius, double *mass, double *outcome, int64_t n_nodes);

/* The 8 moments of each window: w u^k for k to 4, then w y u^k for k to 2. */
int epi_loess_windows(const double *prob, const double *weight, const double *true_, int64_t n, int64_t leaves,
                      const double *middle, const double *radius, const double *mass, const double *outcome,
                      int64_t n_nodes, const double *at, const double *reach, const int64_t *low, const int64_t *centre,
                      const int64_t *high, double *out, int64_t n_windows);
