/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over rows: what every row adds to the totals of its slice. Rows are an outcome (0 or 1) and a confidence in [0, 1]. */
#pragma once
#include <stdint.h>

/* Rows: n outcomes, and n confidences, either doubles or floats. */
typedef struct epi_rows {
    int64_t n;
    const uint8_t *outcome;
    const double *prob;
    const float *single;
} epi_rows;

/* Totals of equal-width bins. */
typedef struct epi_bins {
    int64_t bins;
    int64_t *totals; /* (slots, bins, 4): rows, outcomes, confidence in units and steps;
                        with moments (slots, bins, 30): rows, outcomes, then seven sums and what their steps leave, in units and steps */
} epi_bins;

/* What a pass adds up, by slot; a pointer that is NULL is not asked for. */
typedef struct epi_pass {
    int64_t slots;
    int64_t n_bins;
    epi_bins *bins;
    int64_t n_moments;
    epi_bins *moments;
    int64_t *plain;   /* (slots, 4, 4): square, prob, excess, null_variance; units, steps, units and steps of the rest */
    int64_t *logs;    /* (slots, 4, 4): log_loss, entropic, entropic_variance, spherical */
    int64_t *powers;  /* (slots, 15, 4): products of the scores, for their spread: square^2, square^3; log_loss^2 / 32, log_loss^3 / 1024;
                         entropic^2 / 32, entropic^3 / 1024; spherical^2, spherical^3; with e entropic and v its variance
                         e v, v^2, e^2 v / 16, e v^2, v^3; prob^2, prob of outcome 1 */
    int64_t *counts;  /* (slots, 5): outcomes, rows above 0, certain and wrong, hits in halves, rows at a half */
    int64_t *certain; /* (slots, 4): rows at 0 and false, 0 and true, 1 and false, 1 and true */
    int64_t *rows;    /* (slots, 3): all rows, rows in `plain`, rows in `logs` */
    double *ends;     /* (slots, 2): least and greatest confidence */
    int32_t near_ends; /* whether rows next to 0 and 1 are unusual too: the square is tiny there */
    /* Rows that would add a tiny number to a finer sum are not in `plain` and `logs`; they are given back here. */
    int64_t unusual;
    int64_t unusual_room;
    uint8_t *unusual_outcome;
    double *unusual_prob;
    int64_t *unusual_slot;
} epi_pass;

/* Add runs of rows: start[g] to start[g + 1] belong to slot[g]. Gives 0, 1 when a row is not sound (then no total is right),
 * 2 when there is no more room for unusual rows, 3 when a slot or a bound is none. */
int epi_add_rows(epi_pass *pass, const epi_rows *rows, int64_t runs, const int64_t *start, const int64_t *slot);

/* Whether all rows are sound: outcomes 0 or 1, confidences in [0, 1]. */
int epi_sound(const epi_rows *rows);

/* n labels as outcomes; whether all are 0 or 1. */
int epi_outcomes(const int64_t *label, int64_t n, uint8_t *outcome);

/* The totals of one set of bins, checked: 0, or 1 when a row is not sound. `totals` has room for 4 * bins numbers. */
int epi_width_bins(const epi_rows *rows, int64_t bins, int64_t *totals);

/* Rows with their slice's code, grouped by code: -1 comes last. `start` has room for groups + 1 numbers, groups counting the -1.
 * Rows that are not sound stay so. Gives 1 when a code is none. */
int epi_group_rows(const epi_rows *rows, const int32_t *code, int64_t groups, int64_t *start, uint8_t *outcome, double *prob, float *single);
