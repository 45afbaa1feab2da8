# SPDX-License-Identifier: Apache-2.0
"""A judge as an instrument: its error rates on a labelled part, and the accuracy of all answers corrected for them.

Prediction-powered inference (Angelopoulos et al. 2023, Science 382; tuned as in Angelopoulos, Duchi and Zrnic 2023): the judge
grades everything, people grade some. With y what people say and f what the judge says,

    theta = mean of lambda f where only the judge spoke + mean of (y - lambda f) where people spoke too

has the true accuracy as its mean for every lambda, whatever the judge is worth; lambda makes the variance least. Rows of one
group count as one piece of evidence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.checks import check_probabilities, numbers
from epimeter.documents.held import Held, Record
from epimeter.documents.sections import Document, Grid, Paragraph, Section
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.inference.spread import student, wilson
from epimeter.results import Interval, cell_text

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Judged(Held):
    """What people and judge say together of the share of right answers, and what the judge is worth.

    Attributes
    ----------
    accuracy, interval
        The share of right answers, corrected for the judge.
    by_people, people_interval
        The same from the labelled rows alone.
    by_judge
        What the judge says of all rows, uncorrected.
    sensitivity, specificity
        Of the answers that people call right (wrong), the share that the judge calls so; with intervals. A judge that gives
        probabilities calls right what has at least 0.5.
    tuning
        lambda: how much the judge is listened to; 0 is not at all.
    """

    accuracy: float
    interval: Interval
    by_people: float
    people_interval: Interval
    by_judge: float
    sensitivity: tuple[float, float, float] | None
    specificity: tuple[float, float, float] | None
    tuning: float
    n_rows: int
    n_labelled: int
    n_units: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        made = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("interval", "people_interval"):
            made[name] = {end: getattr(made[name], end) for end in ("low", "high", "level", "method")}
        for name in ("sensitivity", "specificity"):
            found = made[name]
            made[name] = None if found is None else dict(zip(("value", "low", "high"), found, strict=True))
        return made

    def records(self) -> list[Record]:
        """One record a line of the table."""
        return [{"what": what, "value": value, "low": low, "high": high} for what, value, low, high in self._lines()]

    def _lines(self) -> list[tuple[str, float | None, float | None, float | None]]:
        people, both = self.people_interval, self.interval
        rows: list[tuple[str, float | None, float | None, float | None]] = [
            ("accuracy, people and judge", self.accuracy, both.low, both.high),
            ("accuracy, people alone", self.by_people, people.low, people.high),
            ("accuracy as the judge says it", self.by_judge, None, None),
        ]
        for what, found in (("called right by people", self.sensitivity), ("called wrong by people", self.specificity)):
            rows.append((f"judge agrees, of those {what}", *(found or (None, None, None))))
        return rows

    def document(self, *, for_print: bool = False) -> Document:
        """The result as sections."""
        gain = (self.people_interval.high - self.people_interval.low) / (self.interval.high - self.interval.low)
        told = (
            f"{100 * self.accuracy:.1f} % of the answers are right ({100 * self.interval.level:g} % interval "
            f"{100 * self.interval.low:.1f} to {100 * self.interval.high:.1f}). The judge alone says {100 * self.by_judge:.1f} %. "
            f"With the judge the interval is {gain:.2f} times as narrow as from the {self.n_labelled:,} labelled answers alone, "
            f"worth {gain**2:.1f} times as many labels."
        )
        rows = tuple(
            (what, *("–" if number is None else cell_text(number) for number in rest)) for what, *rest in self._lines()
        )
        table = Grid("Accuracy and agreement", ("what", "value", "low", "high"), rows, frozenset({1, 2, 3}))
        units = "" if self.n_units == self.n_rows else f" in {self.n_units:,} independent units"
        about = f"{self.n_rows:,} answers{units}, {self.n_labelled:,} labelled by people · lambda {self.tuning:.3g}"
        return Document("How many answers are right?", about, (Section("Verdict", (Paragraph(told), table)),))


def judged_accuracy(judge: Any, human: Any, *, groups: Any = None, level: float = 0.95) -> Judged:
    """The share of right answers from a judge's grades of all answers and people's grades of some.

    Parameters
    ----------
    judge
        What the judge says of every answer: 1 or 0, or the probability that it is right.
    human
        What people say: 1 right, 0 wrong, NaN (or None) where nobody looked. The labelled rows must be a random part of all.
    groups
        One label a row; rows of one label count as one piece of evidence.
    level
        Nominal coverage of the intervals.
    """
    said = np.asarray(numbers(judge, "judge"), np.float64)
    check_probabilities(said, "judge")
    truth = np.array([math.nan if value is None else float(value) for value in np.asarray(human, object)], np.float64)
    if truth.shape != said.shape:
        raise InputError(f"judge and human must have the same length; got {len(said)} and {len(truth)}")
    known = ~np.isnan(truth)
    if not np.isin(truth[known], (0, 1)).all():
        raise InputError("human must be 1, 0, or missing where nobody looked", field="human")
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1; got {level!r}", field="level")
    label = np.arange(len(said)) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
    if len(label) != len(said):
        raise InputError(f"groups must have one label per row, {len(said)}; got {len(label)}", field="groups")
    if len(np.unique(label[known])) < 2:
        raise UndefinedMetricError(f"accuracy needs at least 2 labelled answers; got {int(known.sum())}")
    people, tuning = float(truth[known].mean()), _tuning(said, truth, known)
    rest = tuning * said[~known]
    accuracy = float((truth[known] - tuning * said[known]).mean()) + (float(rest.mean()) if len(rest) else 0.0)
    influence = np.zeros(len(said))
    influence[known] = _centred(truth[known] - tuning * said[known]) / known.sum()
    if len(rest):
        influence[~known] = _centred(rest) / len(rest)
    alone = np.zeros(len(said))
    alone[known] = _centred(truth[known]) / known.sum()
    units = int(label.max()) + 1
    labelled = len(np.unique(label[known]))
    calls = said >= 0.5
    return Judged(
        accuracy=accuracy,
        interval=_interval(accuracy, influence, label, labelled, level, "prediction-powered"),
        by_people=people,
        people_interval=_interval(people, alone, label, labelled, level, "normal"),
        by_judge=float(said.mean()),
        sensitivity=_share(calls[known & (truth == 1)], level),
        specificity=_share(~calls[known & (truth == 0)], level),
        tuning=tuning,
        n_rows=len(said),
        n_labelled=int(known.sum()),
        n_units=units,
    )


def _tuning(said: Floats, truth: Floats, known: NDArray[np.bool_]) -> float:
    """The lambda of least variance, cov(y, f) / ((1 + n / N) var f), within 0 and 1; 0 where there is nothing to listen to."""
    n, rest = int(known.sum()), int((~known).sum())
    spread = float(said.var())
    if not rest or spread == 0:
        return 0.0
    together = float(np.mean((truth[known] - truth[known].mean()) * (said[known] - said[known].mean())))
    return min(1.0, max(0.0, together / ((1 + n / rest) * spread)))


def _centred(values: Floats) -> Floats:
    return np.asarray(values - values.mean())


def _interval(value: float, influence: Floats, label: Any, labelled: int, level: float, method: str) -> Interval:
    by_unit = np.bincount(label, weights=influence)
    error = math.sqrt(float((by_unit**2).sum()) * labelled / (labelled - 1))
    reach = student(labelled, level) * error
    return Interval(
        low=max(0.0, value - reach), high=min(1.0, value + reach), level=level, method=method, units=len(by_unit)
    )


def _share(agrees: NDArray[np.bool_], level: float) -> tuple[float, float, float] | None:
    if not len(agrees):
        return None
    share = float(agrees.mean())
    return (share, *wilson(share, len(agrees), level))
