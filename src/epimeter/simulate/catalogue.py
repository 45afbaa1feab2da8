# SPDX-License-Identifier: Apache-2.0
"""The truths that have a name."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from epimeter.errors import InputError
from epimeter.kinds import KINDS, Kind, kind_of
from epimeter.simulate import curves
from epimeter.simulate.laws import DiscreteLaw, Law, LogisticNormal
from epimeter.simulate.truth import MOST_CLASSES, Truth

SAID = DiscreteLaw(
    (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0), (0.03, 0.03, 0.05, 0.05, 0.14, 0.2, 0.22, 0.18, 0.06, 0.04)
)
"""What language models say when asked how sure they are: a handful of round numbers."""
RARE = LogisticNormal(-5.0, 1.2)
"""Events of about one in a hundred."""


@dataclass(frozen=True)
class Named:
    """A shape, the strength it has unless another is asked for, and what it is in words."""

    shape: curves.Shape
    strength: float
    meaning: str
    innocent: float = 0.0
    law: Law | None = None
    kinds: tuple[Kind, ...] = KINDS
    drifting: bool = False


TRUTHS: dict[str, Named] = {
    "calibrated": Named(curves.calibrated, 0.0, "what is said is what comes"),
    "over": Named(curves.scaled, 0.6, "too bold: the true logit is the stated one times the strength", 1.0),
    "under": Named(curves.scaled, 1.6, "too timid: the true logit is the stated one times the strength", 1.0),
    "wavy": Named(curves.wavy, 0.4, "too much and too little in turns; the errors cancel in the mean"),
    "temperature": Named(curves.warmed, 1.5, "the forecasts at this temperature would be right, every class alike", 1.0),
    "shift": Named(curves.shifted, -0.5, "the true logit is the stated one plus the strength"),
    "noise": Named(curves.noisy, 0.1, "calibrated, but this share of the labels is wrong (classes: at random)"),
    "rare": Named(
        curves.scaled, 1.15, "events of one in a hundred, stated too high", 1.0, RARE, ("event",)
    ),
    "verbal": Named(
        curves.noisy, 0.12, "ten round numbers said again and again, and wrong even where 1 is said", 0.0, SAID, ("event", "answer")
    ),
    "drift": Named(curves.scaled, 0.4, "calibrated at first, ever bolder, with this strength at the end", 1.0, drifting=True),
}  # fmt: skip


def truth(
    name: str,
    *,
    kind: str = "event",
    strength: float | None = None,
    classes: int | None = None,
    law: Any = None,
) -> Truth:
    """The truth of that name.

    Parameters
    ----------
    name
        One of `TRUTHS`.
    kind
        What is forecast: ``event``, ``answer`` or ``classes``.
    strength
        How strong the fault is; None: as `TRUTHS` says.
    classes
        How many classes, 10 unless said; only with ``kind="classes"``.
    law
        How confidences are distributed, a `LogisticNormal` or `DiscreteLaw`; None: as usual for this truth.
    """
    if name not in TRUTHS:
        near = difflib.get_close_matches(name, TRUTHS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ";"
        raise InputError(f"no truth is called {name!r}{hint} there are {', '.join(TRUTHS)}", field="name")
    of_kind, named = kind_of(kind), TRUTHS[name]
    if of_kind not in named.kinds:
        raise InputError(f"truth {name!r} is one of {' and '.join(named.kinds)}s; got kind {kind!r}", field="kind")
    if classes is not None and of_kind != "classes":
        raise InputError(f"classes has a meaning for kind 'classes' only; got kind {kind!r}", field="classes")
    number = 10 if classes is None else classes
    chosen = law or named.law or _law(of_kind, number)
    power = named.strength if strength is None else float(strength)
    return Truth(name, of_kind, named.shape, power, chosen, number, named.drifting, named.innocent)


def _law(kind: Kind, classes: int) -> Law:
    if kind != "classes":
        return LogisticNormal() if kind == "event" else LogisticNormal(1.2, 1.2)
    share = 1 / sum(1 / k for k in range(1, min(max(classes, 2), MOST_CLASSES)))
    return LogisticNormal(0.5, 1.5, low=share / (1 + share))
