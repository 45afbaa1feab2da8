# SPDX-License-Identifier: Apache-2.0
"""What a reader of a report must know before trusting a number."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from epimeter.report.measurement import Measurement
from epimeter.results import BinTable
from epimeter.summaries.cuts import cut_through_ties
from epimeter.views import View

FEW_ROWS = 1000
FEW_IN_BIN = 10


def cautions(view: View, table: BinTable, made: Iterable[Measurement]) -> tuple[str, ...]:
    """One sentence each, the gravest first."""
    event = view.event
    found = []
    if view.n_rows < FEW_ROWS:
        found.append(f"only {view.n_rows:,} rows: binned errors are biased upwards and intervals are wide")
    outcomes = table.frequency[table.count > 0]
    if (outcomes == outcomes[0]).all() and outcomes[0] in (0.0, 1.0):
        seen = "came true" if event.true[0] else "came out false"
        found.append(f"one class only: every row {seen}, so nothing is known about the other outcome")
    if (table.count > 0).sum() == 1 and event.prob.min() == event.prob.max():
        found.append(f"one constant confidence, {float(event.prob[0]):.6g}: it tells rows apart by nothing")
    empty = int((table.count == 0).sum())
    if empty:
        found.append(f"{empty} of {len(table.count)} equal-width bins are empty")
    thin = int(((table.count > 0) & (table.count < FEW_IN_BIN)).sum())
    if thin:
        found.append(f"{thin} of {len(table.count)} equal-width bins hold fewer than {FEW_IN_BIN} rows")
    bins = {
        measurement.parameters["bins"]
        for measurement in made
        if measurement.parameters.get("binning") == "mass" and isinstance(measurement.parameters.get("bins"), int)
    }
    cut = sorted(number for number in bins if cut_through_ties(np.asarray(event.prob), number))
    if cut:
        names = ", ".join(map(str, cut))
        found.append(
            f"equal-mass cuts ({names} bins) go through equal confidences: those values depend on the order of the rows"
        )
    return tuple(found)
