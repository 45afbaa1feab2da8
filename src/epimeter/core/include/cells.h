/* SPDX-License-Identifier: Apache-2.0 */
/* The fine histogram of the confidence: 76,800 cells, and in each the rows by outcome (summaries/cells.py). */
#pragma once
#include "rows.h"

/* Cells by slot. Cells are written in no order, so what counts is how much memory they take: while rows of one slot come in long runs,
 * their number and their sum in a cell share one word (18 bits and 46), and of cells that are known to hold different confidences only a
 * flag is read. Before a word could run over, all are added to the wide table. */
typedef struct epi_cells {
    int64_t slots;
    int64_t *totals;   /* (slots, cells, 2, 2): by outcome, rows and steps beyond the cell's beginning */
    double *only;      /* (slots, cells): the confidence that all rows have, -1 without rows, -2 where they differ */
    uint64_t *packed;  /* (cells, 2) words */
    uint8_t *mixed;    /* (cells): where `only` of the packed slot is -2 */
    int64_t packed_slot; /* -1: nothing is packed */
    int64_t packed_rows; /* rows that the fullest word may hold */
} epi_cells;

/* Add runs of sound rows, as epi_add_rows does: 0, or 3 when a slot or a bound is none. */
int epi_add_cells(epi_cells *cells, const epi_rows *rows, int64_t runs, const int64_t *start, const int64_t *slot);

/* Move what is packed to the wide table. */
void epi_spill_cells(epi_cells *cells);
