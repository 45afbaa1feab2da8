# SPDX-License-Identifier: Apache-2.0
"""How a drawing is called, with one model or with several: a curve, a view or columns; or a mapping of names to these.

Several models lie over each other, each in a colour, a dash and a mark of its own, so that print and colour-blind
readers tell them apart.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from epimeter.draw.canvas import (
    BLUE,
    GREEN,
    INK,
    LEFT,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    legend,
    named,
    number,
    rows_text,
    square,
    stage,
)
from epimeter.draw.curve import Curve, Diagram
from epimeter.draw.saving import require_matplotlib
from epimeter.errors import InputError
from epimeter.views import View

C = TypeVar("C", bound=Curve)


@dataclass(frozen=True)
class Look:
    """What tells one model from another."""

    name: str
    colour: str
    dash: Any
    mark: str


@dataclass(frozen=True)
class Strand:
    """How one of several models is drawn, and what the axes are where they are not those of a diagram."""

    line: Callable[..., None]
    """Takes the axes, the curve, its look, and the looks of the drawing."""
    across: str = ""
    up: str = ""
    note: str = ""
    """What must be said of the drawing."""


COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, INK)
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (2, 1)), (0, (6, 1.5, 1, 1.5)))
MARKS = ("o", "s", "^", "D", "v", "P", "X")
MOST = 7
"""Models in one drawing; more cannot be told apart."""


def figure(
    compute: Callable[..., C], strand: Strand | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A drawing of a curve that may be called with the curve, with a view or with columns.

    Keywords that the drawing does not have are parameters of the curve.
    """

    def wrap(paint: Callable[..., Any]) -> Callable[..., Any]:
        mine = [p for p in inspect.signature(paint).parameters.values() if p.kind is p.KEYWORD_ONLY]
        own = {p.name: p.default for p in mine}
        kind = inspect.signature(paint, eval_str=False).parameters["curve"].annotation

        def curve_of(data: Any, y_prob: Any, choices: Mapping[str, Any]) -> Curve:
            if not isinstance(data, Curve):
                return compute(data, y_prob, **choices)
            if type(data).__name__ != kind:
                raise InputError(f"{paint.__name__} draws a {kind}; got a {type(data).__name__}")
            if y_prob is not None or choices:
                extra = ", ".join(["y_prob"] * (y_prob is not None) + list(choices))
                raise InputError(f"{paint.__name__} takes a curve alone; {extra} came beside it")
            return data

        @functools.wraps(paint)
        def drawn(data: Any, y_prob: Any = None, **choices: Any) -> Any:
            require_matplotlib()
            looks = {name: choices.pop(name) for name in list(choices) if name in own}
            if not (isinstance(data, Mapping) or isinstance(y_prob, Mapping)):
                return paint(curve_of(data, y_prob, choices), **looks)
            if strand is None:
                raise InputError(
                    f"{paint.__name__} shows one model; draw several beside each other with ax=", field="data"
                )
            pairs = models(paint.__name__, data, y_prob)
            curves = {
                name: curve_of(*pair, {} if isinstance(pair[0], Curve) else choices) for name, pair in pairs.items()
            }
            return overlaid(curves, strand, own | looks)

        taken = inspect.signature(compute).parameters.values()
        drawn.__signature__ = inspect.Signature([*taken, *mine])  # type: ignore[attr-defined]
        return drawn

    return wrap


def models(noun: str, data: Any, y_prob: Any) -> dict[str, tuple[Any, Any]]:
    """Models by name, each as what a curve is made of: a curve or a view alone, or both columns."""
    if isinstance(y_prob, Mapping):
        if isinstance(data, Mapping):
            raise InputError(
                f"{noun} takes models by name once: {{name: (y_true, y_prob)}} or y_true, {{name: y_prob}}"
            )
        pairs = {str(name): (data, prob) for name, prob in y_prob.items()}
    else:
        if y_prob is not None:
            raise InputError(f"{noun} takes models by name alone; y_prob came beside them", field="y_prob")
        pairs = {}
        for name, value in data.items():
            if isinstance(value, Curve | View):
                pairs[str(name)] = (value, None)
            elif isinstance(value, tuple | list) and len(value) == 2:
                pairs[str(name)] = (value[0], value[1])
            else:
                raise InputError(
                    f"{noun} takes models by name, each a curve, a view or (y_true, y_prob); "
                    f"{str(name)!r} is a {type(value).__name__}",
                    field=str(name),
                )
    if not 1 <= len(pairs) <= MOST:
        raise InputError(f"{noun} shows 1 to {MOST} models over each other; got {len(pairs)}")
    return pairs


def overlaid(curves: Mapping[str, Curve], strand: Strand, looks: Mapping[str, Any]) -> Any:
    """Several models in one drawing."""
    rest = {name: value for name, value in looks.items() if name not in ("ax", "title")}
    ax = looks["ax"]
    notes = [f"{name}: {rows_text(curve)}, {curve.metric} = {number(curve.value)}" for name, curve in curves.items()]
    ways = list(dict.fromkeys(curve.convention for curve in curves.values()))
    notes += ways if len(ways) == 1 else [f"{name}: {curve.convention}" for name, curve in curves.items()]
    notes += [strand.note] if strand.note else []
    some = list(curves.values())
    if isinstance(some[0], Diagram):
        made, axes = _diagram(curves, looks["title"], notes, ax)
    else:
        made, axes = stage(ax, looks["title"], notes, "", height=4.3, left=LEFT + 0.1)
        named(axes, strand.across, strand.up)
    for look, curve in zip(looked(curves, numbered=ax is not None), some, strict=True):
        strand.line(axes, curve, look, **rest)
    legend(axes, inside=ax is not None)
    return made


def looked(curves: Mapping[str, Curve], *, numbered: bool = False) -> list[Look]:
    """A look for each model; its name with its number where no note says it."""
    return [
        Look(
            f"{name}: {curve.metric} {number(curve.value)}" if numbered else name,
            COLOURS[i % len(COLOURS)],
            DASHES[i % len(DASHES)],
            MARKS[i % len(MARKS)],
        )
        for i, (name, curve) in enumerate(curves.items())
    ]


def _diagram(curves: Mapping[str, Curve], title: str, notes: list[str], ax: Any) -> tuple[Any, Any]:
    """The square of all, and under it the shares of their rows as outlines: the models may have unequally many."""
    some: list[Any] = list(curves.values())
    made, axes, under = square(title, notes, ax)
    told = " / ".join(dict.fromkeys(c.said for c in some))
    named(axes, told if under is None else "", " / ".join(dict.fromkeys(c.outcome for c in some)))
    if under is not None:
        top = 0.0
        for look, curve in zip(looked(curves), some, strict=True):
            share = curve.cell_rows / curve.cell_rows.sum() / np.diff(curve.cell_edges)
            under.stairs(share, curve.cell_edges, color=look.colour, linewidth=1.2, linestyle=look.dash)
            top = max(top, float(share.max()))
        under.set_ylim(0, 1.1 * top)
        under.set_yticks([0])
        named(under, told, "density")
    return made, axes
