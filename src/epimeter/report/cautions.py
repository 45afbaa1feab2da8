# SPDX-License-Identifier: Apache-2.0
"""What a reader of a report must know before trusting a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from epimeter.card import find
from epimeter.report.measurement import Measurement
from epimeter.results import BinTable
from epimeter.views import View

FEW_ROWS = 1000
FEW_IN_BIN = 10


def recalibrated(source: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence where the predictions are not those of the model: a map changed them."""
    if "recalibrated_by" in source:
        return (f"the predictions were recalibrated after the model made them, by {source['recalibrated_by']}",)
    column = source.get("columns", {}).get("recalibrated_by")
    if column is None:
        return ()
    return (f"the predictions were recalibrated after the model made them; column {column} says by which map",)


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
    names = [line.metric for line in made if find(line.metric).card.order == "ties"]
    if names and view.tied:
        found.append(f"{', '.join(names)} depends on the order of rows with equal predictions, and there are some")
    return tuple(found)
