# SPDX-License-Identifier: Apache-2.0
"""Bins that the data cut for themselves: a tree of mean splits in the simplex of class probabilities."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import AtLeast
from epimeter.summaries import Rows
from epimeter.summaries.fixed import BLOCK, Fixed, normalised, scaled
from epimeter.views import Binary, View

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

SLACK = 1e-12
"""Variances this close are equal, and a value this close below the mean is at the mean."""


@metric(
    title="ECE on a max-variance mean-split partition",
    family="bin",
    reads=Rows("given"),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"\sum_g\frac{n_g}{N}\,d(\bar y_g,\bar c_g),\quad d=|\cdot|\ (vector),\ "
    r"d=\tfrac12\lVert\cdot\rVert_1\ (matrix)",
    where={
        "g": "leaf of the partition: a node of at least min_count rows is cut along its column of largest variance "
        "(the first within 1e-12), at the mean m of that column, into values below m - 1e-12 and the others; a node "
        "with one side empty is a leaf",
        "n_g": "rows in g",
        "ȳ_g": "mean one-hot label in g",
        "c̄_g": "mean probability vector in g",
    },
    source="Vaicenavicius et al. 2019 AISTATS and its code; Lane 2025 s4.5",
    matrix="rows are points of the simplex, partitioned jointly; a vector is one dimension",
    pitfalls="The review calls min_count the least size of a bin; in the authors' code it is the least size of a node "
    "that may be cut, so leaves can be smaller. Below min_count rows in all, the value is the one gap of the whole.",
    aliases=("mvms",),
)
def mvms_ece(view: View, *, min_count: Annotated[int, AtLeast(1)] = 1000) -> float:
    """Distance between mean forecast and mean outcome in the cells of a partition of all class probabilities at once.

    Parameters
    ----------
    min_count
        A node with fewer rows (less weight) is not cut.
    """
    prob = view.prob.astype(np.float64, copy=False)
    points = prob[:, None] if isinstance(view, Binary) else prob
    everything = np.arange(view.n_rows) if view.weight is None else np.flatnonzero(view.weight > 0)
    distance, total, nodes = 0.0, 0.0, [everything]
    while nodes:
        rows = nodes.pop()
        weight = None if view.weight is None else view.weight[rows]
        here = points[rows]
        size = float(len(rows)) if weight is None else float(weight.sum())
        said = column_totals(here, weight)
        parts = split(rows, here, weight, size, said) if size >= min_count else None
        if parts is not None:
            nodes.extend(parts)
            continue
        total += size
        distance += leaf_distance(view, rows, weight, said)
    return distance / total


def leaf_distance(view: View, rows: Indices, weight: Floats | None, said: Floats) -> float:
    """n_g d(ȳ_g, c̄_g), from the sums of the leaf."""
    seen = np.bincount(view.true[rows], weights=weight, minlength=view.n_classes)
    if isinstance(view, Binary):
        return float(abs(seen[1] - said[0]))
    return float(np.sum(np.abs(seen - said)) / 2)


def split(
    rows: Indices, points: Floats, weight: Floats | None, size: float, said: Floats
) -> tuple[Indices, Indices] | None:
    """The two sides of a node, or None when all its rows lie on one."""
    mean = said / size
    variance = column_totals(points**2, weight) / size - mean**2
    column = int(np.argmax(variance >= variance.max() - SLACK))
    low = points[:, column] < mean[column] - SLACK
    if not low.any() or low.all():
        return None
    return rows[low], rows[~low]


def column_totals(points: Floats, weight: Floats | None) -> Floats:
    """Sum of each column; without weights exact, so that the partition has no regard to the order of the rows."""
    if weight is not None:
        return np.asarray(weight @ points)
    whole = Fixed.zeros(points.shape[1])
    for start in range(0, len(points), BLOCK):
        whole = whole + normalised(0, scaled(points[start : start + BLOCK]).sum(axis=0))
    return whole.floats()
