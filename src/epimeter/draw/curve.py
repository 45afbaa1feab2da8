# SPDX-License-Identifier: Apache-2.0
"""What every curve is: data first, a frozen dataclass of arrays, with the metric that sums it up.

A curve function is written over a view; `curve` lets it take columns as well, so that data are doubted where they
always are, in `views`, and parameters where they always are, in `parameters`. Rows of weight zero leave no trace.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError
from epimeter.limits import AtLeast, Between
from epimeter.parameters import check, parameters_of
from epimeter.results import plain
from epimeter.summaries.cuts import width_index
from epimeter.views import Multiclass, View, view

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Level = Annotated[float, Between(0, 1, open_low=True, open_high=True)]
Count = Annotated[int, AtLeast(1)]

CELLS = 20
"""Cells of the histogram under a diagram whose bins have no equal width."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """The arrays of a curve, and beside them the rows, the metric that sums it up and how both are to be read."""

    kind: ClassVar[str] = ""
    """The noun the curve is drawn under."""

    n_rows: int
    metric: str
    value: float
    convention: str
    """Edges, ties and what the confidence is the confidence of, in words."""

    def __post_init__(self) -> None:
        for each in fields(self):
            if isinstance(values := getattr(self, each.name), np.ndarray):
                frozen = values.view()
                frozen.flags.writeable = False
                object.__setattr__(self, each.name, frozen)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; null where a value is not defined."""
        return {"curve": self.kind} | {each.name: plain(getattr(self, each.name)) for each in fields(self)}


@dataclass(frozen=True, kw_only=True, eq=False)
class Diagram(Curve):
    """A curve over the confidence, and where along it the rows are."""

    cell_edges: Floats
    """Edges of the cells of the histogram."""
    cell_rows: Floats
    """Rows in each cell; their weight, when there are weights."""
    said: str
    """What the confidence is, for its axis."""
    outcome: str
    """What the frequency is the frequency of."""
    weighted: bool
    """Whether rows had weights, which then stand for numbers of rows."""


C = TypeVar("C", bound=Curve)


def curve(function: Callable[..., C] | None = None, *, columns: tuple[str, ...] = ()) -> Any:
    """A function of a view that may be called with columns: `y_true`, `y_prob`, and `sample_weight` by keyword.

    `columns` names further ones that the curve needs.
    """
    if function is None:
        return functools.partial(curve, columns=columns)
    compute: Callable[..., C] = function
    further = ("sample_weight", *columns)

    @functools.wraps(compute)
    def computed(data: Any, y_prob: Any = None, **choices: Any) -> C:
        beside = {name: choices.pop(name, None) for name in further}
        given = rows_of(compute.__name__, data, y_prob, beside)
        for name in columns:
            if name not in given.columns:
                raise InputError(f"{compute.__name__} needs the column {name}; got none", field=name)
        return compute(given, **check(compute.__name__, parameters_of(compute), choices, further))

    kind = inspect.Parameter
    own = [p for p in inspect.signature(compute).parameters.values() if p.kind is kind.KEYWORD_ONLY]
    taken = [
        kind("data", kind.POSITIONAL_OR_KEYWORD),
        kind("y_prob", kind.POSITIONAL_OR_KEYWORD, default=None),
        *(kind(name, kind.KEYWORD_ONLY, default=None) for name in further),
    ]
    computed.__signature__ = inspect.Signature([*taken, *own])  # type: ignore[attr-defined]
    return computed


def rows_of(name: str, data: Any, y_prob: Any, beside: dict[str, Any]) -> View:
    """The view of the columns, or the view that was given; without its rows of weight zero."""
    if isinstance(data, View):
        if y_prob is not None or any(column is not None for column in beside.values()):
            raise InputError(f"{name} takes a view alone, or the columns y_true and y_prob; got both")
        given = data
    elif y_prob is None:
        raise InputError(f"{name} takes the columns y_true and y_prob, or a view; y_prob is missing", field="y_prob")
    else:
        given = view(data, y_prob, **beside)
    if given.weight is None or given.weight.all():
        return given
    return given.take(given.weight > 0)


def reading(given: View) -> str:
    """What the stated number is a statement of."""
    if isinstance(given, Multiclass):
        return f"top label of {given.n_classes} classes"
    return "probability of outcome 1" if given.kind == "event" else "confidence in the answer"


def outcome(given: View) -> str:
    """What came true, for the axis of frequencies."""
    return "share with outcome 1" if given.kind == "event" else "share that was right"


def confidence_axis(given: View) -> str:
    """What was said, for the axis of confidences."""
    return {
        "event": "stated probability of outcome 1",
        "answer": "stated confidence in the answer",
        "classes": "confidence in the top label",
    }[given.kind]


def counted(number: int, what: str) -> str:
    """A number with its noun: 1 bin, 10 bins."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def histogram_of(given: View, cells: int = CELLS) -> dict[str, Any]:
    """The fields that every diagram shares, from rows counted in cells of equal width."""
    event = given.event
    rows = np.bincount(width_index(event.prob, cells), weights=event.weight, minlength=cells)
    return {
        "cell_edges": np.arange(cells + 1) / cells,
        "cell_rows": rows.astype(np.float64),
        "said": confidence_axis(given),
        "outcome": outcome(given),
        "weighted": given.weight is not None,
    }
