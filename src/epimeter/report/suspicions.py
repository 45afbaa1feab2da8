# SPDX-License-Identifier: Apache-2.0
"""Data that are sound row by row and yet look as if something else was meant.

Each suspicion is one sentence for the report; `falsifies` says whether a certificate made in spite of it would state something
untrue, so that it stands in the way of one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

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
    return tuple(_event(view) if isinstance(view, Binary) else _classes(view))


def _event(view: Binary) -> Iterator[Suspicion]:
    prob = view.prob
    least, most = float(prob.min()), float(prob.max())
    if bool(np.isin(prob[: 1 << 12], (0, 1)).all()) and bool(np.isin(prob, (0, 1)).all()) and least < most:
        what = "probabilities" if view.kind == "event" else "confidences"
        yield Suspicion(f"only 0 and 1 are stated: predictions instead of {what}?", True)
    if view.kind == "answer":
        return
    both = 0 < int(view.true.sum()) < view.n_rows
    if least >= 0.5 and both and least < most:
        yield Suspicion(
            "every probability of outcome 1 is at least 0.5: was the confidence in the answer passed? Say --kind answer with a "
            "column of the prediction, or of right and wrong",
            True,
        )
    if both:
        yield from _worse_than_guessing(
            view, max(float(view.true.mean()), 1 - float(view.true.mean())), "1 - p passed?"
        )


def _classes(view: View) -> Iterator[Suspicion]:
    share = float(np.bincount(view.true, minlength=view.n_classes).max()) / view.n_rows
    if share < 1:
        yield from _worse_than_guessing(view, share, "columns in another order than the labels?")


def _worse_than_guessing(view: View, commonest: float, guess: str) -> Iterator[Suspicion]:
    accuracy = float(view.answer.true.mean())
    error = math.sqrt(max(accuracy * (1 - accuracy), 1e-9) / view.n_rows)
    if accuracy < commonest - SURE * error:
        upside_down = view.n_classes == 2 and accuracy < 0.5 - SURE * error
        why = f": {guess}" if upside_down or view.n_classes > 2 else ""
        yield Suspicion(
            f"{accuracy:.1%} of the answers are right, fewer than by always saying the commonest class ({commonest:.1%}){why}",
            upside_down,
        )
