# SPDX-License-Identifier: Apache-2.0
"""Three classes on their simplex: in each cell an arrow from the mean prediction to the mean outcome.

After Vaicenavicius et al. 2019 AISTATS. The triangle of all predictions is cut into n^2 equal triangles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from epimeter.draw.bands import EXACT, WEIGHED, clopper_pearson, effective, wilson
from epimeter.draw.canvas import (
    BLUE,
    FAINT,
    INK,
    SMALL,
    SOFT,
    TEXT,
    VERMILION,
    amount,
    dressed,
    number,
    page,
    panel,
    percent,
    rows_text,
    summed,
)
from epimeter.draw.curve import Count, Curve, Floats, Integers, Level, curve
from epimeter.draw.overlay import figure
from epimeter.errors import InputError
from epimeter.views import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True, eq=False)
class SimplexCurve(Curve):
    """One entry a cell that holds rows; points have three coordinates, one a class."""

    kind: ClassVar[str] = "simplex"

    side: int
    """Cells along a side."""
    cell: Integers
    """Number of the cell: 2 (n i + j) for the upright triangle at (i/n, j/n) of the first two classes, one more for the
    inverted one beside it."""
    count: Integers
    weight: Floats
    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    """Intervals of the observed shares, each at 1 - (1 - level)/3, so that all three hold together."""
    beyond: NDArray[np.bool_]
    """Whether some mean prediction lies outside its interval."""
    level: float
    interval: str


@curve
def simplex_curve(view: View, *, side: Count = 5, level: Level = 0.95) -> SimplexCurve:
    """Mean prediction and mean outcome in each cell of the triangle; summed up by the mean distance of the two.

    The distance is half the sum of the absolute differences, as in mvms_ece.

    Parameters
    ----------
    side
        Cells along a side of the triangle, which has side^2 cells.
    level
        Level of the intervals of a cell.
    """
    if view.n_classes != 3 or view.prob.ndim != 2:
        raise InputError(
            f"simplex_curve needs a matrix of three class probabilities; got {view.n_classes} classes", field="y_prob"
        )
    prob = view.prob.astype(np.float64)
    cell, place, count = np.unique(cell_of(prob, side), return_inverse=True, return_counts=True)
    mass = np.ones(view.n_rows) if view.weight is None else view.weight

    def totals(column: Floats) -> Floats:
        return np.asarray(np.bincount(place, weights=column, minlength=len(cell)), np.float64)

    size = totals(mass)
    said = np.stack([totals(mass * prob[:, k]) for k in range(3)], axis=1)
    came = np.stack([totals(mass * (view.true == k)) for k in range(3)], axis=1)
    predicted, observed = said / size[:, None], came / size[:, None]
    joint = 1 - (1 - level) / 3
    if view.weight is None:
        low, high = clopper_pearson(came, np.repeat(size[:, None], 3, axis=1), joint)
    else:
        low, high = wilson(observed, np.repeat(effective(size, totals(mass**2))[:, None], 3, axis=1), joint)
    distance = np.abs(observed - predicted).sum(axis=1) / 2
    return SimplexCurve(
        n_rows=view.n_rows,
        metric="mean distance",
        value=float(size @ distance / size.sum()),
        convention=f"half the sum of absolute differences, over {side * side} triangles of equal size",
        side=side,
        cell=cell,
        count=count,
        weight=size,
        predicted=predicted,
        observed=observed,
        low=low,
        high=high,
        beyond=np.any((predicted < low) | (predicted > high), axis=1),
        level=level,
        interval=EXACT if view.weight is None else WEIGHED,
    )


def cell_of(prob: Floats, side: int) -> Integers:
    """The triangle each row lies in, by its first two probabilities; a point on a border goes up, or in at the rim."""
    place = prob[:, :2] * side
    j = np.minimum(place[:, 1].astype(np.int64), side - 1)
    i = np.minimum(place[:, 0].astype(np.int64), side - 1 - j)
    inverted = (place[:, 0] - i) + (place[:, 1] - j) >= 1
    return np.asarray(2 * (side * i + j) + (inverted & (i + j < side - 1)), np.int64)


HEIGHT = 3**0.5 / 2


@figure(simplex_curve)
def simplex(
    curve: SimplexCurve,
    *,
    names: Sequence[str] = ("class 0", "class 1", "class 2"),
    ax: Any = None,
    title: str = "Simplex of three classes",
) -> Figure:
    """An arrow in each cell from the mean prediction to the mean outcome.

    Parameters
    ----------
    names
        Names of the three classes, for the corners.
    ax
        Axes to draw on, instead of a page of its own.
    title
        What stands above.
    """
    if len(names) != 3:
        raise InputError(f"names must be three; got {len(names)}", field="names")
    notes = [
        f"{rows_text(curve)} in {len(curve.cell)} cells; mean distance = {number(curve.value)}: {curve.convention}",
        f"arrows: from mean prediction to mean outcome; thick, red: outside the {percent(curve.level)} "
        f"intervals of the cell ({curve.interval}); dots: as large as there are rows, {amount(curve.weight.max())} at most",
    ]
    if ax is None:
        made, top = page(5.4, 4.9, title, notes)
        axes = panel(made, 0.3, 0.1, 4.8, top - 0.2)
    else:
        axes = dressed(ax, title, summed(curve))
        made = ax.figure
    axes.set(xlim=(-0.16, 1.16), ylim=(-0.16, 1.0), aspect="equal")
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xticks([])
    axes.set_yticks([])
    _ticks(axes, names)
    for step in range(1, curve.side):
        share = step / curve.side
        ends = np.array([[share, 1 - share, 0], [share, 0, 1 - share]])
        for turn in range(3):
            axes.plot(*projected(np.roll(ends, turn, axis=1)).T, color=FAINT, linewidth=0.6, zorder=1)
    axes.plot(*projected(np.eye(3)[[0, 1, 2, 0]]).T, color=SOFT, linewidth=1.0, zorder=1.5)
    for corner, name, low in zip(projected(np.eye(3)), names, (True, True, False), strict=True):
        axes.annotate(
            name,
            corner,
            (0, -17 if low else 5),
            textcoords="offset points",
            size=TEXT,
            color=INK,
            va="top" if low else "bottom",
            ha="center",
        )
    begin, end = projected(curve.predicted), projected(curve.observed)
    axes.scatter(
        begin[:, 0],
        begin[:, 1],
        s=4 + 60 * curve.weight / curve.weight.max(),
        color=BLUE,
        alpha=0.55,
        linewidth=0,
        zorder=2,
    )
    for tail, head, beyond in zip(begin, end, curve.beyond, strict=True):
        axes.annotate(
            "",
            head,
            tail,
            arrowprops={
                "arrowstyle": "-|>",
                "color": VERMILION if beyond else SOFT,
                "linewidth": 1.6 if beyond else 0.7,
                "mutation_scale": 9 if beyond else 7,
                "shrinkA": 0,
                "shrinkB": 0,
            },
            zorder=4 if beyond else 3,
        )
    return made


def _ticks(axes: Axes, names: Sequence[str]) -> None:
    """The probability of each class along one edge of the triangle, from 0 at one corner to 1 at its own."""
    # Along the edge from class a to class b the third is 0, and the probability of b grows from 0 to 1.
    turns = ((0, 1, (0, -9), 0.0), (1, 2, (10, 1), -60.0), (2, 0, (-10, 1), 60.0))
    for start, end, (right, up), angle in turns:
        for share in (0.2, 0.4, 0.6, 0.8):
            point = np.zeros(3)
            point[start], point[end] = 1 - share, share
            axes.annotate(
                f"{share:g}",
                tuple(projected(point)),
                (right, up),
                textcoords="offset points",
                size=SMALL - 0.5,
                color=SOFT,
                ha="center",
                va="center",
            )
        middle = np.zeros(3)
        middle[start] = middle[end] = 0.5
        axes.annotate(
            f"probability of {names[end]} →" if start == 0 else f"← probability of {names[end]}",
            tuple(projected(middle)),
            (2.2 * right, 2.2 * up + (4 if start else 0)),
            textcoords="offset points",
            size=SMALL,
            color=SOFT,
            ha="center",
            va="center",
            rotation=angle,
        )


def projected(points: Floats) -> Floats:
    """Points of the simplex on paper: class 0 left, class 1 right, class 2 on top."""
    return np.asarray(points @ np.array([[0.0, 0.0], [1.0, 0.0], [0.5, HEIGHT]]))
