/* SPDX-License-Identifier: Apache-2.0 */
#include "cells.h"
#include "levels.h"
#include <stddef.h>

EACH_LEVEL(int, epi_add_cells, (epi_cells *, const epi_rows *, int64_t, const int64_t *, const int64_t *))
EACH_LEVEL(void, epi_spill_cells, (epi_cells *))

int epi_add_cells(epi_cells *cells, const epi_rows *rows, int64_t runs, const int64_t *start, const int64_t *slot) {
    if (!cells->totals || !cells->only || !cells->packed || !cells->mixed || cells->packed_slot >= cells->slots) return 3;
    for (int64_t g = 0; g < runs; g++) {
        if (slot[g] < 0 || slot[g] >= cells->slots) return 3;
        if (start[g] < 0 || start[g + 1] < start[g] || start[g + 1] > rows->n) return 3;
    }
    return epi_sound(rows) ? CHOOSE(epi_add_cells)(cells, rows, runs, start, slot) : 1;
}

void epi_spill_cells(epi_cells *cells) { CHOOSE(epi_spill_cells)(cells); }
