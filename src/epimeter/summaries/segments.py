# SPDX-License-Identifier: Apache-2.0
"""Bins of rows that are sorted already: equal-mass bins are segments of them."""

from __future__ import annotations

import numpy as np

from epimeter.core import accepted, lib, read, write
from epimeter.summaries.bins import Bins, BinTotals, weighed_bins
from epimeter.summaries.cuts import Cut, mass_begins, mass_borders, whole_borders
from epimeter.summaries.fixed import Fixed
from epimeter.summaries.rows import OrderedRows
from epimeter.views import Binary


def ordered_bins(rows: OrderedRows, bins: int, binning: Cut) -> BinTotals:
    """The totals per bin, as `Bins` has them."""
    if rows.weight is not None and binning == "mass" and rows.distinct:
        begin = np.searchsorted(rows.prob, mass_begins(rows.prob, rows.weight, bins))
        index = np.repeat(np.arange(bins), np.diff(begin, prepend=0, append=rows.n_rows))
        return weighed_bins(rows.true, rows.prob, rows.weight, index, bins)
    if rows.weight is not None or binning != "mass":
        made: BinTotals = Bins(bins, binning).of(Binary(rows.outcome, rows.prob, rows.weight))
        return made
    n_rows = rows.n_rows
    border = np.ascontiguousarray(whole_borders(rows.prob, mass_borders(n_rows, bins)), np.int64)
    totals = np.zeros((bins, 3), np.int64)
    columns = read(np.ascontiguousarray(rows.prob)), read(rows.outcome), n_rows
    accepted(lib.epi_segment_totals(*columns, read(border), bins, write(totals)))
    count, (true, units, steps) = np.diff(border), totals.T.copy()
    # A bin without rows begins where the next one does.
    edges = np.where(border < n_rows, rows.prob[np.minimum(border, n_rows - 1)], 1.0)
    edges[0] = 0.0
    return BinTotals(count, Fixed.of_counts(count), Fixed.of_counts(true), Fixed(units, steps), edges)
