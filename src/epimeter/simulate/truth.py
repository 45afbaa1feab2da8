# SPDX-License-Identifier: Apache-2.0
"""A truth: how confidences are distributed, and how often each of them is right."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError
from epimeter.kinds import Kind
from epimeter.simulate import curves
from epimeter.simulate.laws import Floats, Law, LogisticNormal

GRID = np.linspace(0.0, 1.0, 2001)[1:-1]
MOMENTS = 16
"""Points of time over which a truth that drifts is averaged (Gauss-Legendre)."""
MOST_CLASSES = 1000


@dataclass(frozen=True)
class Sample:
    """Rows that were drawn: what came true, what was stated, and how likely it truly was."""

    kind: Kind
    y_true: NDArray[Any]
    y_prob: Floats
    true_prob: Floats
    """The calibration function at each row: P(outcome 1 | stated), or one probability a class."""
    elapsed: Floats | None = None
    """How much of the time had passed, for a truth that drifts."""


@dataclass(frozen=True)
class Truth:
    """Forecasts whose calibration function is known.

    Attributes
    ----------
    name
        What it is called.
    kind
        ``event``, ``answer`` or ``classes``.
    shape
        The calibration function: probabilities and a strength into probabilities. A function of the caller's own will do.
    strength
        How strong the fault is; what it means is the shape's affair.
    law
        How confidences are distributed; for classes that of the top label.
    classes
        Number of classes.
    drifting
        Whether the fault grows from none to its full strength over the rows.
    innocent
        The strength at which there is no fault: where a drift begins.
    """

    name: str
    kind: Kind = "event"
    shape: curves.Shape = curves.calibrated
    strength: float = 0.0
    law: Law = field(default_factory=LogisticNormal)
    classes: int = 2
    drifting: bool = False
    innocent: float = 0.0

    def __post_init__(self) -> None:
        if self.kind == "classes" and not 2 <= self.classes <= MOST_CLASSES:
            raise InputError(
                f"classes must be from 2 to {MOST_CLASSES:,} in number; got {self.classes:,}", field="classes"
            )
        if not np.isfinite(self.strength):
            raise InputError(f"strength must be a finite number; got {self.strength}", field="strength")
        stated = GRID if self.kind != "classes" else GRID[self._least <= GRID]
        with np.errstate(all="ignore"):
            held = np.asarray(self.top_curve(stated), np.float64)
        wrong = np.flatnonzero(~((held >= 0) & (held <= 1)))
        if held.shape != stated.shape or len(wrong):
            came = (
                f"at {stated[wrong[0]]:.4g} it says {held[wrong[0]]:.6g}"
                if len(wrong)
                else f"its shape is {held.shape}"
            )
            raise InputError(
                f"the calibration function of truth {self.name!r} must give probabilities in [0, 1]; {came}. "
                "A smaller strength?",
                field="strength",
            )

    def sample(self, n_rows: int, *, seed: int = 0) -> Sample:
        """Draw rows. The first rows of a longer sample are those of a shorter one, unless the truth drifts."""
        if n_rows < 1:
            raise InputError(f"a sample needs at least one row; got {n_rows}", field="n_rows")
        if seed < 0:
            raise InputError(f"seed must be at least 0; got {seed}", field="seed")
        uniform = np.random.Generator(np.random.PCG64(seed)).random((n_rows, 3))
        stated = self.law.quantile(uniform[:, 0])
        elapsed = (np.arange(n_rows) + 0.5) / n_rows if self.drifting else None
        if self.kind != "classes":
            held = self._held(stated, elapsed)
            return Sample(self.kind, (uniform[:, 1] < held).astype(np.int64), stated, held, elapsed)
        prob = self.spread_out(stated)
        true = self._held_classes(prob, elapsed)
        place = (uniform[:, 1][:, None] >= np.cumsum(true, axis=1)[:, :-1]).sum(axis=1)
        # Which class is on top is drawn for each row: no class is better known than another.
        turn = (uniform[:, 2] * self.classes).astype(np.int64)
        columns = (np.arange(self.classes)[None, :] - turn[:, None]) % self.classes
        return Sample(
            self.kind,
            (place + turn) % self.classes,
            np.take_along_axis(prob, columns, axis=1),
            np.take_along_axis(true, columns, axis=1),
            elapsed,
        )

    def curve(self, stated: Any) -> Floats:
        """How often comes true what was stated with these probabilities, over the whole time; for classes: the top label."""
        return self.top_curve(np.asarray(stated, np.float64))

    def top_curve(self, stated: Floats) -> Floats:
        """`curve` without asking what was given."""
        if self.kind == "classes":
            return np.concatenate(
                [self.held_classes(self.spread_out(part))[:, 0] for part in _parts(stated, self.classes)]
            )
        return self._averaged(lambda strength: self.shape(stated, strength))

    def spread_out(self, stated: Floats) -> Floats:
        """One probability a class, the top label first; the others share the rest as 1, 1/2, 1/3, ..."""
        return np.column_stack([stated, (1 - stated)[:, None] * self._others])

    def held_classes(self, prob: Floats) -> Floats:
        """The true probabilities of rows whose top label comes first, over the whole time."""
        return self._averaged(lambda strength: self._changed(prob, strength))

    def value(self, metric: str, **parameters: Any) -> float:
        """What a metric tends to when rows never end; see `epimeter.simulate.population`."""
        from epimeter.simulate.population import value

        return value(self, metric, parameters)

    def calibration_error(self, norm: float = 1.0) -> float:
        """The true l_p error, E[|g(p) - p|^norm]^(1/norm), with no bins and no kernel; of the top label for classes."""
        from epimeter.simulate.population import calibration_error

        return calibration_error(self, norm)

    @cached_property
    def _others(self) -> Floats:
        shares = 1 / np.arange(1, self.classes)
        return np.asarray(shares / shares.sum())

    @property
    def _least(self) -> float:
        """The least confidence that is still the top one."""
        return float(self._others[0] / (1 + self._others[0]))

    def _changed(self, prob: Floats, strength: Any) -> Floats:
        whole = curves.WHOLE.get(self.shape)
        if whole is not None:
            return whole(prob, strength)
        top = self.shape(prob[:, 0], strength)
        return np.column_stack([top, (1 - top)[:, None] * self._others])

    def _strength_at(self, elapsed: Floats) -> Floats:
        return self.innocent + (self.strength - self.innocent) * elapsed

    def _held(self, stated: Floats, elapsed: Floats | None) -> Floats:
        strength: Any = self.strength if elapsed is None else self._strength_at(elapsed)
        return np.asarray(self.shape(stated, strength), np.float64)

    def _held_classes(self, prob: Floats, elapsed: Floats | None) -> Floats:
        strength: Any = self.strength if elapsed is None else self._strength_at(elapsed)
        if elapsed is not None and self.shape in curves.WHOLE:
            strength = strength[:, None]
        return self._changed(prob, strength)

    def _averaged(self, held: Any) -> Floats:
        if not self.drifting:
            return np.asarray(held(self.strength), np.float64)
        point, share = np.polynomial.legendre.leggauss(MOMENTS)
        strengths = self._strength_at((point + 1) / 2)
        return np.asarray(sum(w / 2 * held(float(s)) for w, s in zip(share, strengths, strict=True)), np.float64)


def _parts(stated: Floats, classes: int) -> list[Floats]:
    """Rows in parts whose matrix of classes stays small."""
    rows = max(1, (1 << 22) // classes)
    return [stated[at : at + rows] for at in range(0, len(stated), rows)] or [stated]
