# SPDX-License-Identifier: Apache-2.0
"""A pass as four functions, for engines that combine: Beam, Ray, Flink and whatever comes after them.

    combiner = Combiner(kind="answer")
    accumulator = combiner.create()
    accumulator = combiner.add(accumulator, (True, 0.9))
    combiner.extract(combiner.merge([accumulator, …]))

Accumulators are pickled and merged in any order; the report has the bits of one pass over all rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from epimeter.errors import InputError
from epimeter.kinds import Kind
from epimeter.passes.batch import Batch
from epimeter.passes.ledger import Ledger, joined
from epimeter.passes.plan import Plan
from epimeter.passes.workers import over_batches
from epimeter.report.building import reports
from epimeter.report.measurement import Report
from epimeter.report.slices import Reports

ROOM = 1 << 16
"""Rows that wait before they are summed."""
Accumulator = tuple[Ledger | None, list[Any], list[Any]]
"""The ledger so far, and outcomes and confidences that wait."""


class Combiner:
    """How rows become a report.

    Parameters
    ----------
    kind
        ``event`` or ``answer``.
    metrics
        What is measured; None for the headlines. Those that need all rows are left out, as from a summary.
    choices
        Parameters of metrics, such as ``bins=15``.
    """

    def __init__(self, metrics: str | Iterable[str] | None = None, *, kind: Kind = "event", **choices: Any) -> None:
        if kind not in ("event", "answer"):
            raise InputError(f"a combiner reads events or answers; got kind={kind!r:.40}", field="kind")
        asked = metrics if metrics is None or isinstance(metrics, str) else tuple(metrics)
        self.plan = Plan.of(asked, choices, kind=kind, weighted=False, row_limit=0).without_rows()

    def create(self) -> Accumulator:
        """An accumulator of no rows."""
        return None, [], []

    def add(self, accumulator: Accumulator, row: tuple[Any, Any]) -> Accumulator:
        """The accumulator with one more row, outcome and confidence; columns of many rows are taken too."""
        ledger, true, prob = accumulator
        outcome, confidence = row
        if np.ndim(confidence):
            true.extend(np.asarray(outcome).tolist())
            prob.extend(np.asarray(confidence).tolist())
        else:
            true.append(outcome)
            prob.append(confidence)
        return self.settled((ledger, true, prob)) if len(prob) >= ROOM else (ledger, true, prob)

    def settled(self, accumulator: Accumulator) -> Accumulator:
        """The accumulator with all its rows summed: small, whatever their number."""
        ledger, true, prob = accumulator
        if not prob:
            return accumulator
        if len(true) != len(prob):
            raise InputError(f"outcomes and confidences must be as many; got {len(true):,} and {len(prob):,}")
        try:
            columns = np.asarray(true, np.float64), np.asarray(prob, np.float64)
        except (TypeError, ValueError) as fault:
            raise InputError(f"outcomes and confidences must be numbers ({fault})") from None
        known = ~np.isnan(columns[0])
        outcomes = columns[0][known]
        if not np.isin(outcomes, (0, 1)).all():
            raise InputError("outcomes must be 0 or 1, booleans, or None where they are not known", field="outcome")
        batch = Batch(
            true=outcomes.astype(np.uint8),
            prob=columns[1][known],
            kind=self.plan.kind,
            source="rows that were combined",
            unlabelled=int(len(known) - known.sum()),
        )
        made = replace(
            over_batches(self.plan, [lambda: [batch]], threads=1), source={"name": "rows that were combined"}
        )
        return made if ledger is None else joined([ledger, made]), [], []

    def merge(self, accumulators: Iterable[Accumulator]) -> Accumulator:
        """One accumulator of several."""
        ledgers = [ledger for ledger, _, _ in map(self.settled, accumulators) if ledger is not None]
        return (joined(ledgers) if ledgers else None), [], []

    def extract(self, accumulator: Accumulator, *, level: float = 0.95) -> Report | Reports:
        """The report."""
        ledger, _, _ = self.settled(accumulator)
        if ledger is None:
            raise InputError("a report needs rows; the accumulator holds none")
        return reports(ledger, level=level)
