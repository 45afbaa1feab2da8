# SPDX-License-Identifier: Apache-2.0
"""Where a model says too much or too little: segments of crossed columns, with the rate of false finds held.

A segment's gap is what was said on average minus what came true, with a normal interval. It is tested against 0. Among the many
segments of a search the false discovery rate is held (Benjamini and Yekutieli 2001, since segments overlap), among the slices of
columns that were named the chance of any false find (Holm). Whether slices differ at all is Cochran's Q.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.documents.held import Held, Record
from epimeter.documents.sections import Block, Document, Grid, Items, Paragraph, Section, Tone
from epimeter.errors import InputError
from epimeter.inference.homogeneity import homogeneity
from epimeter.inference.multiplicity import adjust_p_values
from epimeter.report.slice_figure import SlicePoint, in_lines
from epimeter.report.verdict import Z95
from epimeter.results import plain

Floats = NDArray[np.float64]
SHOWN = 20
"""Segments of a search that are shown; JSON and CSV hold all that were found."""


@dataclass(frozen=True)
class Coded:
    """A column as numbers of its words."""

    name: str
    codes: NDArray[np.int64]
    words: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Segment:
    """Some rows, and how far what was said lies above what came true."""

    where: Mapping[str, str]
    n_rows: int
    gap: float
    low: float
    high: float
    p_value: float
    adjusted: float

    @property
    def name(self) -> str:
        return ", ".join(f"{column}={word}" for column, word in self.where.items()) or "all rows"

    def to_dict(self) -> dict[str, Any]:
        told = {name: plain(getattr(self, name)) for name in ("n_rows", "gap", "low", "high", "p_value", "adjusted")}
        return {"segment": self.name, "where": dict(self.where)} | told


class Segments(Held):
    """Segments of one data set, the total in front."""

    def __init__(
        self,
        total: Segment,
        segments: Sequence[Segment],
        *,
        looked_at: int,
        alpha: float,
        adjust: str,
        homogeneity: tuple[float, int, float] | None,
        notes: Sequence[str] = (),
        source: str = "",
        states: str = "",
    ) -> None:
        self.total, self.segments, self.looked_at, self.alpha = total, tuple(segments), looked_at, alpha
        self.adjust, self.homogeneity, self.notes = adjust, homogeneity, tuple(notes)
        self.source, self.states = source, states

    @property
    def significant(self) -> tuple[Segment, ...]:
        """Segments whose gap is no chance."""
        return tuple(segment for segment in self.segments if segment.adjusted <= self.alpha)

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        kind = "slices" if self.homogeneity is not None else "segments"
        if not self.significant:
            return f"None of {self.looked_at:,} {kind} has a gap that chance would not make."
        worst = max(self.significant, key=lambda segment: abs(segment.gap))
        way = "too much" if worst.gap > 0 else "too little"
        return (
            f"{len(self.significant):,} of {self.looked_at:,} {kind} have a gap that chance would not make; "
            f"the largest is {worst.name}: {100 * abs(worst.gap):.1f} points {way} on {worst.n_rows:,} rows."
        )

    def to_dict(self) -> dict[str, Any]:
        made: dict[str, Any] = {
            "source": self.source,
            "states": self.states,
            "looked_at": self.looked_at,
            "alpha": self.alpha,
            "adjust": self.adjust,
            "total": self.total.to_dict(),
            "segments": [segment.to_dict() for segment in self.segments],
            "notes": list(self.notes),
        }
        if self.homogeneity is not None:
            made["homogeneity"] = dict(
                zip(("q", "degrees_of_freedom", "p_value"), map(plain, self.homogeneity), strict=True)
            )
        return made

    def records(self) -> list[Record]:
        made = [segment.to_dict() for segment in (self.total, *self.segments)]
        return [{name: value for name, value in line.items() if name != "where"} for line in made]

    def document(self, *, for_print: bool = False) -> Document:
        shown = self.segments if self.homogeneity is not None else self.segments[:SHOWN]
        rows = tuple(
            (
                segment.name,
                f"{segment.n_rows:,}",
                f"{100 * segment.gap:+.2f}",
                f"[{100 * segment.low:+.2f}, {100 * segment.high:+.2f}]",
                "–" if segment is self.total else _chance(segment.adjusted),
            )
            for segment in (self.total, *shown)
        )
        tones: tuple[Tone, ...] = ("plain", *("bad" if segment in self.significant else "plain" for segment in shown))
        columns = ("segment", "rows", "gap in points", "95 % interval", f"p after {self.adjust}")
        blocks: list[Block] = [
            Paragraph(self.sentence),
            Grid("Segments", columns, rows, frozenset({1, 2, 3, 4}), tones),
        ]
        if shown:
            drawn = (self.total, *shown[: SHOWN - 1])
            points = [SlicePoint(one.name, one.n_rows, 100 * one.gap, (100 * one.low, 100 * one.high)) for one in drawn]
            blocks.append(
                in_lines(points, "gap in points", "Gaps by segment", 0.0, noun="segment", for_print=for_print)
            )
        if len(shown) < len(self.segments):
            blocks.append(Paragraph(f"… and {len(self.segments) - len(shown):,} more; --json holds all."))
        if self.homogeneity is not None:
            q, freedom, p_value = self.homogeneity
            verdict = "differ" if p_value <= self.alpha else "need not differ"
            blocks.append(
                Paragraph(f"The gaps of the slices {verdict}: Q = {q:.4g} on {freedom} degrees, p {_chance(p_value)}.")
            )
        if self.notes:
            blocks.append(Items(self.notes, "mind"))
        blocks.append(Paragraph("The gap is what was said on average minus what came true: positive says too much."))
        subtitle = " · ".join(part for part in (self.source, f"{self.total.n_rows:,} rows", self.states) if part)
        return Document("Where it is off", subtitle, (Section("Segments", tuple(blocks)),))


def crossed(residual: Floats, columns: Sequence[Coded], *, alpha: float = 0.05, **facts: Any) -> Segments:
    """Every slice of the columns crossed, tested together; and whether they differ at all."""
    found = _cells(residual, columns, 1)
    made = _judged(found, "holm", alpha)
    several = [segment for segment in made if segment.n_rows > 1]
    errors = [(segment.high - segment.low) / 2 / Z95 for segment in several]
    differing = homogeneity([segment.gap for segment in several], errors)
    made = sorted(made, key=lambda segment: tuple(segment.where.values()))
    return Segments(
        _total(residual),
        made,
        looked_at=len(made),
        alpha=alpha,
        adjust="holm",
        homogeneity=differing,
        **facts,
    )


def worst(
    residual: Floats, columns: Sequence[Coded], *, alpha: float = 0.05, least: int = 50, depth: int = 2, **facts: Any
) -> Segments:
    """The segments of largest gap among all columns and all pairs of them.

    Parameters
    ----------
    residual
        What was said minus what came true, a row each.
    columns
        Columns to cut by.
    alpha
        False discovery rate.
    least
        Rows that a segment needs to be looked at.
    depth
        Columns that are crossed at most: 1 or 2.
    """
    if depth not in (1, 2):
        raise InputError(f"depth must be 1 or 2; got {depth!r:.20}", field="depth")
    found = []
    for number in range(1, depth + 1):
        for some in itertools.combinations(columns, number):
            found += _cells(residual, some, least)
    made = sorted(_judged(found, "by", alpha), key=lambda segment: (segment.adjusted > alpha, -abs(segment.gap)))
    return Segments(_total(residual), made, looked_at=len(made), alpha=alpha, adjust="by", homogeneity=None, **facts)


def _cells(residual: Floats, columns: Sequence[Coded], least: int) -> list[tuple[dict[str, str], int, float, float]]:
    """Rows, mean and deviation of the mean in every cell of the columns crossed that has rows enough."""
    shape = tuple(len(column.words) for column in columns)
    size = math.prod(shape)
    code = columns[0].codes
    for column in columns[1:]:
        code = code * len(column.words) + column.codes
    if size > 4 * len(residual) + 1000:  # many cells, few of them filled
        filled, code = np.unique(code, return_inverse=True)
        size = len(filled)
    else:
        filled = np.arange(size)
    count = np.bincount(code, minlength=size)
    total = np.bincount(code, weights=residual, minlength=size)
    square = np.bincount(code, weights=residual * residual, minlength=size)
    made = []
    for cell in np.flatnonzero(count >= least):
        n, mean = int(count[cell]), float(total[cell] / count[cell])
        spread = max(0.0, float(square[cell]) - n * mean * mean)
        error = math.sqrt(spread / (n * (n - 1))) if n > 1 else math.inf
        places = np.unravel_index(int(filled[cell]), shape)
        made.append(({c.name: c.words[int(p)] for c, p in zip(columns, places, strict=True)}, n, mean, error))
    return made


def _judged(found: Sequence[tuple[dict[str, str], int, float, float]], adjust: Any, alpha: float) -> list[Segment]:
    from epimeter.special import ndtr

    if not found:
        return []
    gap, error = np.array([one[2] for one in found]), np.array([one[3] for one in found])
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(error > 0, np.abs(gap) / error, np.where(gap == 0, 0.0, np.inf))
    p = 2 * ndtr(-z)
    adjusted = adjust_p_values(p, method=adjust, alpha=alpha).adjusted
    return [
        _segment(where, n, mean, deviation, float(chance), float(q))
        for (where, n, mean, deviation), chance, q in zip(found, p, adjusted, strict=True)
    ]


def _segment(where: Mapping[str, str], n: int, gap: float, error: float, p_value: float, adjusted: float) -> Segment:
    reach = Z95 * error
    low, high = max(-1.0, gap - reach), min(1.0, gap + reach)
    return Segment(where=where, n_rows=n, gap=gap, low=low, high=high, p_value=p_value, adjusted=adjusted)


def _total(residual: Floats) -> Segment:
    n, gap = len(residual), float(residual.mean())
    error = float(residual.std(ddof=1)) / math.sqrt(n) if n > 1 else math.inf
    p_value = math.erfc(abs(gap) / error / math.sqrt(2)) if error > 0 else 1.0
    return _segment({}, n, gap, error, p_value, p_value)


def _chance(p_value: float) -> str:
    return "< 0.0001" if p_value < 1e-4 else f"{p_value:.4f}"
