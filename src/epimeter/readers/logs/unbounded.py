# SPDX-License-Identifier: Apache-2.0
"""Scores without bounds as confidence: log-likelihoods, rewards, semantic entropy.

Such a score says who is surer than whom, and no number says how sure. Its order is kept (`ranks`), and each answer is given the
share of right answers at its score by a logistic regression (Platt 1999) that has not seen the answer's question: the
questions are dealt to five folds, and each fold is mapped by the regression on the other four.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import ReadError
from epimeter.readers.logs.answer import Surer

FOLDS = 5
FEWEST = 10
"""Right answers, and wrong ones, without which a regression says nothing."""
RECALIBRATION = (
    f"a logistic regression of the score, cross-fitted over {FOLDS} folds of the questions of the same answers"
)

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Recalibrated:
    """The confidence of every answer, NaN where it has no score or no outcome, and what the report should say."""

    confidence: Numbers
    notes: tuple[str, ...]


def recalibrate(
    score: Numbers, correct: Numbers, questions: NDArray[np.int64], name: str, surer: Surer, source: str
) -> Recalibrated:
    """The cross-fitted confidence behind a score without bounds.

    Parameters
    ----------
    score
        Of every answer, NaN where it has none.
    correct
        1 for right, 0 for wrong, NaN for neither.
    questions
        The number of every answer's question; a question stays in one fold.
    name, surer, source
        What the score is called, which of its values mean surer, and where it stands.
    """
    if np.isinf(score).any():
        raise ReadError(f"{name} must be numbers; {source} has {score[np.isinf(score)][0]:g} in it", field="confidence")
    used = np.flatnonzero(~np.isnan(score) & ~np.isnan(correct))
    value = score[used] * (1.0 if surer == "higher" else -1.0)
    right = correct[used]
    unit = np.unique(questions[used], return_inverse=True)[1].ravel()
    fewest = min(int(right.sum()), int(len(right) - right.sum()))
    if fewest < FEWEST or len(unit) == 0 or unit.max() + 1 < FOLDS:
        raise ReadError(
            f"a score without bounds is recalibrated on the answers, which needs {FEWEST} right and {FEWEST} wrong ones "
            f"and {FOLDS} questions; {source} has {int(right.sum())} right, {int(len(right) - right.sum())} wrong",
            field="confidence",
        )
    fold = _folds(unit)
    made = np.full(len(score), np.nan)
    slopes = []
    for number in range(FOLDS):
        out = fold == number
        if not out.any():
            continue
        seen = right[~out]
        if seen.min() == seen.max():
            raise ReadError(
                f"a score without bounds is recalibrated on the answers to other questions; of {source} all right or all "
                f"wrong answers belong to one question",
                field="confidence",
            )
        centre, spread = float(value[~out].mean()), float(value[~out].std()) or 1.0
        slope, offset = _logistic((value[~out] - centre) / spread, seen)
        slopes.append(slope)
        made[used[out]] = 1 / (1 + np.exp(-np.clip(slope * (value[out] - centre) / spread + offset, -700, 700)))
    notes = [
        f"the score {name} has no bounds: metrics of order are of the score itself ({surer} is surer), all others of "
        f"{RECALIBRATION}"
    ]
    if np.mean(slopes) < 0:
        other = "lower" if surer == "higher" else "higher"
        notes.append(f"answers with a {surer} {name} are right less often: is {other} surer? Then say --scale {other}")
    return Recalibrated(made, tuple(notes))


def ranks(score: Numbers, surer: Surer) -> Numbers:
    """The place of each score among all, as a share in 0 … 1; equal scores share the middle of their places."""
    value = score if surer == "higher" else -score
    _, inverse, count = np.unique(value, return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - count / 2
    return np.asarray(middle[inverse.ravel()] / len(value), np.float64)


def _folds(unit: NDArray[Any]) -> NDArray[np.intp]:
    """The fold of every answer: questions dealt in an order drawn by a fixed seed, as equal in number as can be."""
    number = int(unit.max()) + 1
    place = np.empty(number, np.intp)
    place[np.random.Generator(np.random.PCG64(0)).permutation(number)] = np.arange(number) % FOLDS
    return np.asarray(place[unit])


def _logistic(value: Numbers, right: Numbers) -> tuple[float, float]:
    """Slope and offset of greatest likelihood, by Newton's steps; targets drawn in from 0 and 1 as Platt (1999) does."""
    high = float(right.sum())
    low = len(right) - high
    target = np.where(right == 1, (high + 1) / (high + 2), 1 / (low + 2))
    slope, offset = 0.0, float(np.log((high + 1) / (low + 1)))
    loss = np.inf
    for _ in range(100):
        prob = 1 / (1 + np.exp(-np.clip(slope * value + offset, -700, 700)))
        weight = np.maximum(prob * (1 - prob), 1e-12)
        gap = prob - target
        a, b, c = float(weight @ value**2) + 1e-9, float(weight @ value), float(weight.sum()) + 1e-9
        g, h = float(gap @ value), float(gap.sum())
        steepness = a * c - b * b
        step = ((c * g - b * h) / steepness, (a * h - b * g) / steepness)
        size = 1.0
        while size > 1e-6:  # halve a step that would make it worse
            logit = np.clip((slope - size * step[0]) * value + offset - size * step[1], -700, 700)
            now = float(np.sum(np.logaddexp(0, logit) - target * logit))
            if now <= loss:
                break
            size /= 2
        slope, offset = slope - size * step[0], offset - size * step[1]
        if loss - now <= 1e-12 * abs(now):
            break
        loss = now
    return slope, offset
