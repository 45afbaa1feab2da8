# SPDX-License-Identifier: Apache-2.0
"""Totals of bins that depend on the data: equal mass and equal area, without weights.

No cut goes through equal confidences, so bins are told apart by thresholds: one pass finds them, another adds up. Equal mass needs
no sort of all rows: a histogram says in which of its cells the cuts fall, and only the rows of those are sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.core import lib, read, write
from epimeter.core.row_loops import LoopRows, added
from epimeter.core.threads import shared
from epimeter.summaries import fine
from epimeter.summaries.cuts import Cut, area_levels, mass_borders, whole_borders
from epimeter.summaries.fine import Fine
from epimeter.summaries.fixed import Fixed

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_CELLS = 1 << 16


def cut_totals(
    true: NDArray[Any], prob: NDArray[Any], bins: int, binning: Cut
) -> tuple[Integers, Integers, Fine, Floats]:
    """Rows, outcomes, confidence and where bins begin and end; a bin without rows begins where the next one does."""
    threshold = area_thresholds(prob, bins) if binning == "area" else mass_thresholds(true, prob, bins)

    def of_part(rows: slice) -> tuple[Integers, Floats]:
        totals, least = np.zeros((bins, 6), np.int64), np.empty(bins)
        part = LoopRows(true[rows], prob[rows])
        if lib.epi_cut_bins(part.struct, read(threshold), len(threshold), write(totals), write(least)):
            raise ValueError("rows that are not sound")
        return totals, least

    parts = shared(of_part, len(prob))
    table = added([totals for totals, _ in parts])
    least = np.minimum.reduce([part for _, part in parts])
    edges = np.append(np.minimum.accumulate(least[::-1])[::-1], 1.0)
    edges[0] = 0.0
    coarse, rest = (Fixed(table[:, k].copy(), table[:, k + 1].copy()) for k in (2, 4))
    return table[:, 0].copy(), table[:, 1].copy(), Fine(coarse, rest, _deep(prob, threshold, bins)), edges


def _deep(prob: NDArray[Any], threshold: Floats, bins: int) -> int:
    """What finer steps leave of tiny confidences, which are rare."""
    tiny = prob[(prob < fine.TINY) & (prob > 0)].astype(np.float64)
    return fine.depth(tiny, np.searchsorted(threshold, tiny, side="right"), bins) if len(tiny) else 0


def area_thresholds(prob: NDArray[Any], bins: int) -> Floats:
    """Where bins of equal area begin, the first apart."""
    level, bin_of_level = area_levels(prob, bins)
    return np.append(level, np.inf)[np.searchsorted(bin_of_level, np.arange(1, bins))]


def mass_thresholds(true: NDArray[Any], prob: NDArray[Any], bins: int) -> Floats:
    """Where bins of equal mass begin, the first apart: a run of equal confidences goes whole to the bin that holds its middle."""
    n_rows = len(prob)
    rows = LoopRows(true, prob)
    count = np.zeros(_CELLS, np.int64)
    if lib.epi_count_cells(rows.struct, write(count)):
        raise ValueError("rows that are not sound")
    before = np.concatenate([[0], np.cumsum(count)])
    border = mass_borders(n_rows, bins)[1:-1]
    threshold = np.where(border > 0, np.inf, 0.0)  # bins beyond the last row hold nothing
    inner = border[(border > 0) & (border < n_rows)]
    home = np.searchsorted(before, inner, side="right") - 1
    wanted = np.zeros(_CELLS, np.uint8)
    wanted[home] = 1
    size = int(count[wanted == 1].sum())
    ordered = np.empty(size)
    if lib.epi_of_cells(rows.struct, read(wanted), write(ordered), size) != size:
        raise ValueError("rows that changed while they were read")
    ordered.sort()
    # The sorted rows of the wanted cells lie one cell after another; `offset` is where each begins among them.
    offset = np.concatenate([[0], np.cumsum(np.where(wanted == 1, count, 0))])
    among = offset[home] + inner - before[home]
    value = ordered[among]
    moved = whole_borders(ordered, among)
    # A cut behind a run is above its value, one before it at the value.
    threshold[(border > 0) & (border < n_rows)] = np.where(moved > among, np.nextafter(value, 2.0), value)
    return threshold
