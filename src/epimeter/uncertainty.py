# SPDX-License-Identifier: Apache-2.0
"""What a card says about how sure its metric is: which interval it has without drawing again, which bound off the cells.

These are facts, not computations: `inference.known` makes intervals of the first kind, `passes.bounds` bounds of the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class KnownInterval:
    """An interval that needs no drawing again.

    Attributes
    ----------
    when
        Parameters with the values for which it is known.
    """

    when: tuple[tuple[str, Any], ...] = ()

    def holds(self, choices: Mapping[str, Any]) -> bool:
        """Whether it is known with these parameters."""
        return all(choices.get(name, value) == value for name, value in self.when)


@dataclass(frozen=True, kw_only=True)
class MeanScore(KnownInterval):
    """The mean of a score of the rows, or a function of it; what every metric has that reads `MeanOf`.

    Attributes
    ----------
    capped
        Whether the range of the card holds for all kinds of rows, so that the interval ends there.
    """

    capped: bool = True


@dataclass(frozen=True, kw_only=True)
class SmoothSums(KnownInterval):
    """A smooth function of several sums over the rows (`SumsOf`), by the delta method.

    Attributes
    ----------
    ratio
        Whether it is a ratio, whose law is nearer to normal on the log scale.
    """

    ratio: bool = False


@dataclass(frozen=True, kw_only=True)
class GapNorm(KnownInterval):
    """A norm of the gaps of bins: by inverting the test that the errors of the bins are so large.

    Attributes
    ----------
    norm
        The norm, or the parameter that says it.
    power
        The power of the norm that is reported.
    """

    norm: float | str = 1.0
    power: int = 1


@dataclass(frozen=True, kw_only=True)
class WalkExtent(KnownInterval):
    """How far the cumulative sum of the residuals goes: by inverting the test that it goes so far.

    Attributes
    ----------
    span
        Whether the distance between the highest and the lowest point is meant, and not the greatest distance from zero.
    """

    span: bool = False


@dataclass(frozen=True, kw_only=True)
class MeanResidual(KnownInterval):
    """The mean of outcome minus confidence, from bins: normal."""


@dataclass(frozen=True, kw_only=True)
class MeanOfLevels(KnownInterval):
    """The mean score of an event, from rows by their levels: normal.

    Attributes
    ----------
    score
        The parameter that says ``brier`` or ``log``.
    """

    score: str = "score"


@dataclass(frozen=True, kw_only=True)
class RankedInfluence(KnownInterval):
    """An area under a curve of ranked answers, by the delta method.

    Attributes
    ----------
    influence
        Which influence the rows have (`inference.ranked`).
    logit
        Whether the ends are made on the logit scale: near 1 the law of an area is skewed.
    """

    influence: str
    logit: bool = False


@dataclass(frozen=True, kw_only=True)
class SkillScore(KnownInterval):
    """One minus the ratio of the mean Brier score to that of the base rates, by the delta method."""


@dataclass(frozen=True, kw_only=True)
class OwnEnds(KnownInterval):
    """The result holds the ends itself.

    Attributes
    ----------
    low, high
        Its fields.
    alpha
        The parameter that takes one minus the level.
    method
        Whose interval it is.
    """

    low: str
    high: str
    alpha: str
    method: str


@dataclass(frozen=True, kw_only=True)
class OwnError(KnownInterval):
    """The result holds the standard error itself: Student's interval.

    Attributes
    ----------
    value, error
        Its fields.
    method
        Where the error comes from.
    """

    value: str
    error: str
    method: str


@dataclass(frozen=True)
class MassGapNorm:
    """A norm of the gaps, where the bins have equal mass, can be bounded off the cells; `norm` as for `GapNorm`."""

    norm: float | str


@dataclass(frozen=True)
class CumulativeWalk:
    """The extent of a walk can be bounded off the cells, with ties as one step; `span` as for `WalkExtent`."""

    span: bool


@dataclass(frozen=True)
class SmoothedResidual:
    """The smoothed calibration error can be bounded off the cells."""


@dataclass(frozen=True)
class KernelForm:
    """A kernel form of the residuals can be bounded off the cells.

    Attributes
    ----------
    kernel, width
        What it is fixed to; None where parameters say it.
    weighted
        Whether right and wrong answers are weighted by how common they are.
    """

    kernel: str | None = None
    width: float | None = None
    weighted: bool = False


CellBound = MassGapNorm | CumulativeWalk | SmoothedResidual | KernelForm
