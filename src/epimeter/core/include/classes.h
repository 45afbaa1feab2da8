/* SPDX-License-Identifier: Apache-2.0 */
/* Rows with one probability a class. */
#pragma once
#include <stdint.h>

/* A matrix of n rows and `classes` columns, either doubles or floats, row after row. */
typedef struct epi_matrix {
    int64_t n;
    int64_t classes;
    const double *prob;
    const float *single;
} epi_matrix;

/* Is every entry a probability and every row's sum 1 within the tolerance? Fills the largest probability of each row and the first class
 * that has it. Gives 0, or 1 when a row is not sound. */
int epi_top_labels(const epi_matrix *matrix, double tolerance, double *top, float *single_top, int64_t *guess);

/* Totals of equal-width bins by class, (classes, bins, 4) as in epi_bins, of a sound matrix; `label` is the class of each row.
 * Gives 0, or 1 when a label is no class. */
int epi_class_bins(const epi_matrix *matrix, const int64_t *label, int64_t bins, int64_t *totals);
