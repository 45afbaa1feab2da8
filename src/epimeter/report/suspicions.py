# SPDX-License-Identifier: Apache-2.0
"""Data that are sound row by row and yet look as if something else was meant.

Each suspicion is one sentence for the report; `falsifies` says whether a certificate made in spite of it would state something
untrue, so that it stands in the way of one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from epimeter.kinds import Kind
from epimeter.results import BinTable
from epimeter.views import Binary, View

FEW = 30
"""Rows below which nothing is suspected: chance does all of it."""
SURE = 4.0
"""Standard errors that a share must be off before it is more than chance."""


@dataclass(frozen=True)
class Suspicion:
    """One sentence, and whether a certificate would be false if it is right."""

    sentence: str
    falsifies: bool = False


def suspicions(view: View) -> tuple[Suspicion, ...]:
    """What the rows look like besides what they were said to be."""
    if view.n_rows < FEW:
        return ()
    accuracy = _accuracy(view)
    if not isinstance(view, Binary):
        commonest = float(np.bincount(view.true, minlength=view.n_classes).max()) / view.n_rows
        return tuple(_misplaced(accuracy, commonest, view.n_rows, view.n_classes))
    prob = view.prob
    ends = float(prob.min()), float(prob.max())
    return tuple(_stated(view.kind, view.n_rows, *ends, _only_ends(view), float(view.true.mean()), accuracy))


def _only_ends(view: View) -> bool:
    prob = view.prob
    return bool(np.isin(prob[: 1 << 12], (0, 1)).all()) and bool(np.isin(prob, (0, 1)).all())


def suspicions_of_bins(
    kind: Kind, table: BinTable, low: float, high: float, rows: View | None = None
) -> tuple[Suspicion, ...]:
    """The same of ten bins of one probability a row without weights, and its extremes; `rows` is None where they are gone."""
    n_rows = int(table.count.sum())
    if n_rows < FEW:
        return ()
    filled = table.count > 0
    stated = np.where(filled, table.confidence, 0.0)[filled]
    seen = np.rint(np.where(filled, table.frequency * table.count, 0.0))  # whole numbers, but for a rounding
    half = len(table.count) // 2  # from here on outcome 1 is the likelier one: an edge lies on 0.5
    right = float(seen[half:].sum() + (table.count - seen)[:half].sum())
    only_ends = bool(np.isin(stated, (0, 1)).all()) and (rows is None or _only_ends(rows))
    return tuple(_stated(kind, n_rows, low, high, only_ends, float(seen.sum()) / n_rows, right / n_rows))


def suspicions_of_classes(table: BinTable, class_counts: Sequence[int]) -> tuple[Suspicion, ...]:
    """The same of class probabilities without weights: from ten bins of the top label, and how common each class is."""
    n_rows = int(table.count.sum())
    if n_rows < FEW or not class_counts:
        return ()
    accuracy = float(np.where(table.count > 0, table.frequency * table.count, 0.0).sum()) / n_rows
    return tuple(_misplaced(accuracy, max(class_counts) / n_rows, n_rows, len(class_counts)))


def _stated(
    kind: Kind, n_rows: int, least: float, most: float, only_ends: bool, base_rate: float, accuracy: float
) -> Iterator[Suspicion]:
    """Suspicions on one number a row."""
    if only_ends and least < most:
        what = "probabilities" if kind == "event" else "confidences"
        yield Suspicion(f"only 0 and 1 are stated: predictions instead of {what}?", True)
    if kind == "answer" or not 0 < base_rate < 1:
        return
    if least >= 0.5 and least < most:
        yield Suspicion(
            "every probability of outcome 1 is at least 0.5: was the confidence in the answer passed? Say --kind answer with a "
            "column of the prediction, or of right and wrong",
            True,
        )
    yield from _guessing(accuracy, max(base_rate, 1 - base_rate), n_rows, 2, "1 - p passed?")


def _misplaced(accuracy: float, commonest: float, n_rows: int, n_classes: int) -> Iterator[Suspicion]:
    """Suspicions on one probability a class."""
    return _guessing(accuracy, commonest, n_rows, n_classes, "columns in another order than the labels?")


def _guessing(accuracy: float, commonest: float, n_rows: int, n_classes: int, guess: str) -> Iterator[Suspicion]:
    """Answers that are worse than always saying the commonest class."""
    error = math.sqrt(max(accuracy * (1 - accuracy), 1e-9) / n_rows)
    if commonest < 1 and accuracy < commonest - SURE * error:
        upside_down = n_classes == 2 and accuracy < 0.5 - SURE * error
        why = f": {guess}" if upside_down or n_classes > 2 else ""
        yield Suspicion(
            f"{accuracy:.1%} of the answers are right, fewer than by always saying the commonest class ({commonest:.1%}){why}",
            upside_down,
        )


def _accuracy(view: View) -> float:
    """Share of the answers that are right; of events without a copy of all rows as answers."""
    if view.kind == "event":
        return float(np.count_nonzero((view.prob >= 0.5) == (view.true == 1))) / view.n_rows
    return float(view.answer.true.mean())
