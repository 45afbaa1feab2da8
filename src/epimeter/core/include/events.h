/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over events in the order of their confidence. */
#pragma once
#include <stdint.h>

/* Sums of the squared error of a probability and of its square, and the weight: three doubles for each stretch of EPI_STRETCH
 * levels. `true_` is the weight that came true. */
int epi_event_squares(const double *prob, const double *weight, const double *true_, int64_t n, double *sums, int64_t n_sums);

/* The same where each level is one row. */
int epi_row_squares(const double *prob, const uint8_t *outcome, int64_t n, double *sums, int64_t n_sums);
