/* SPDX-License-Identifier: Apache-2.0 */
#include "cells.h"
#include "levels.h"
#include "steps.h"

#define PART 1024
#define SHIFT 46
#define MOST_PACKED ((INT64_C(1) << 18) - 1)
#define LONG 4096 /* rows that make a run worth packing */
#define EMPTY -1.0
#define MIXED -2.0

static inline void note(double *only, double p) {
    if (*only != p && *only != MIXED) *only = *only == EMPTY ? p : MIXED;
}

/* The cell of each row with its outcome, and its steps beyond the cell's beginning. */
#define PLACES(NAME, REAL)                                                                                       \
    static void NAME(const uint8_t *came, const REAL *said, int64_t n, int32_t *place, int64_t *offset) {        \
        for (int64_t i = 0; i < n; i++) {                                                                        \
            const double p = (double)said[i];                                                                    \
            const int32_t cell = (int32_t)(p * (double)EPI_CELLS);                                               \
            const int32_t home = cell < EPI_CELLS - 1 ? cell : EPI_CELLS - 1;                                    \
            place[i] = 2 * home + came[i];                                                                       \
            offset[i] = (int64_t)(steps_of(p) - EPI_STEP_BITS) - (int64_t)home * EPI_STRIDE;                     \
        }                                                                                                        \
    }
PLACES(places_of_doubles, double)
PLACES(places_of_singles, float)

static void places(const epi_rows *rows, int64_t first, int64_t n, int32_t *place, int64_t *offset) {
    if (rows->prob) places_of_doubles(rows->outcome + first, rows->prob + first, n, place, offset);
    else places_of_singles(rows->outcome + first, rows->single + first, n, place, offset);
}

static inline double said(const epi_rows *rows, int64_t i) { return (rows->prob ? rows->prob[i] : (double)rows->single[i]) + 0.0; }

void AT_LEVEL(epi_spill_cells)(epi_cells *cells) {
    if (cells->packed_slot >= 0) {
        int64_t *totals = cells->totals + cells->packed_slot * 4 * EPI_CELLS;
        for (int64_t k = 0; k < 2 * EPI_CELLS; k++) {
            totals[2 * k] += (int64_t)(cells->packed[k] >> SHIFT);
            totals[2 * k + 1] += (int64_t)(cells->packed[k] & ((UINT64_C(1) << SHIFT) - 1));
            cells->packed[k] = 0;
        }
    }
    cells->packed_slot = -1;
    cells->packed_rows = 0;
}

static void add_packed(epi_cells *cells, const epi_rows *rows, int64_t first, int64_t last) {
    int32_t place[PART];
    int64_t offset[PART];
    double *only = cells->only + cells->packed_slot * EPI_CELLS;
    for (; first < last; first += PART) {
        const int64_t n = smaller(PART, last - first);
        places(rows, first, n, place, offset);
        for (int64_t i = 0; i < n; i++) {
            const int32_t home = place[i] >> 1;
            cells->packed[place[i]] += (UINT64_C(1) << SHIFT) + (uint64_t)offset[i];
            if (!cells->mixed[home]) {
                note(only + home, said(rows, first + i));
                cells->mixed[home] = only[home] == MIXED;
            }
        }
    }
}

static void add_long(epi_cells *cells, const epi_rows *rows, int64_t first, int64_t last, int64_t slot) {
    while (first < last) {
        if (slot != cells->packed_slot) {
            AT_LEVEL(epi_spill_cells)(cells);
        } else if (cells->packed_rows >= MOST_PACKED) {
            uint64_t most = 0; /* mostly few: rows spread over many words */
            for (int64_t k = 0; k < 2 * EPI_CELLS; k++) most = cells->packed[k] > most ? cells->packed[k] : most;
            cells->packed_rows = (int64_t)(most >> SHIFT);
            if (cells->packed_rows > MOST_PACKED / 2) AT_LEVEL(epi_spill_cells)(cells);
        }
        if (cells->packed_slot < 0) {
            cells->packed_slot = slot;
            const double *only = cells->only + slot * EPI_CELLS;
            for (int64_t k = 0; k < EPI_CELLS; k++) cells->mixed[k] = only[k] == MIXED;
        }
        const int64_t end = smaller(last, first + MOST_PACKED - cells->packed_rows);
        add_packed(cells, rows, first, end);
        cells->packed_rows += end - first;
        first = end;
    }
}

int AT_LEVEL(epi_add_cells)(epi_cells *cells, const epi_rows *rows, int64_t runs, const int64_t *start, const int64_t *slot) {
    int32_t place[PART];
    int64_t offset[PART];
    for (int64_t g = 0; g < runs; g++) {
        if (start[g + 1] - start[g] >= LONG) {
            add_long(cells, rows, start[g], start[g + 1], slot[g]);
            continue;
        }
        int64_t *totals = cells->totals + slot[g] * 4 * EPI_CELLS;
        double *only = cells->only + slot[g] * EPI_CELLS;
        for (int64_t first = start[g]; first < start[g + 1]; first += PART) {
            const int64_t n = smaller(PART, start[g + 1] - first);
            places(rows, first, n, place, offset);
            for (int64_t i = 0; i < n; i++) {
                totals[2 * place[i]] += 1;
                totals[2 * place[i] + 1] += offset[i];
                note(only + (place[i] >> 1), said(rows, first + i));
            }
        }
    }
    return 0;
}
