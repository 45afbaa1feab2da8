# SPDX-License-Identifier: Apache-2.0
"""Calibration of many subpopulations at once: the worst walk, measured in its own noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import InputError
from epimeter.limits import AtLeast
from epimeter.metrics.cumulative.brownian import brownian_tail
from epimeter.metrics.cumulative.differences import WEIGHTS
from epimeter.metrics.cumulative.walk import REDUCED, Reduction, Steps, Ties, event
from epimeter.results import Result
from epimeter.summaries import Rows
from epimeter.views import Binary, View

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Subpopulation = tuple[str, Indices]
"""What it is called, and its rows in the order of the walk."""

AT_ONCE = 1 << 22
"""Rows of subpopulations walked in one go; bounds the memory when they overlap."""


@dataclass(frozen=True, kw_only=True)
class MultiCalibration(Result):
    """The worst subpopulation: ratio, Kuiper distance, noise, and p-values without and with the search."""

    mcm: float
    mcm_absolute: float
    kuiper: float
    sigma: float
    p_value: float
    p_value_bonferroni: float
    subpopulations: int
    worst: str


@metric(
    title="Cumulative multi-calibration metric",
    family="cumulative",
    copies=False,
    reads=Rows("given"),
    takes=("groups", "features"),
    range=(0.0, None),
    ideal=0.0,
    direction="lower",
    test="asymptotic",
    equation=r"D_s=\max_jC^{(s)}_j-\min_jC^{(s)}_j,\qquad "
    r"\sigma_s^2=\frac{\sum_{i\in s}w_i^2c_i(1-c_i)}{(\sum_{i\in s}w_i)^2},\qquad "
    r"MCM=\max_s\frac{D_s}{\sigma_s},\qquad MCM_{abs}=\sigma_{all}\,MCM",
    where={
        "s": "a subpopulation",
        "C^(s)": "its own cumulative differences, divided by its own weight",
        "σ_all": "sigma of the whole sample",
    },
    source="Guy, Haimovich, Linder, Okati, Perini, Tax & Tygert 2025, arXiv 2506.11251; Lane 2025 (journal) s6.2",
    matrix=REDUCED,
    pitfalls="Under calibration it grows with the number of subpopulations: read p_value_bonferroni, since "
    "p_value ignores the search. The tree over features is our own and differs from the authors' package, "
    "whose segments are quantile bins. min_size counts rows, not weights. " + WEIGHTS,
    aliases=("multicalibration_error", "mce_sigma"),
    headline_is="a test statistic",
)
def mcm(
    view: View,
    *,
    depth: Annotated[int, AtLeast(0)] = 3,
    min_size: Annotated[int, AtLeast(1)] = 10,
    include_all: bool = True,
    reduction: Reduction = "top",
    k: int = 1,
    ties: Ties = "group",
) -> MultiCalibration:
    """Worst Kuiper calibration error over subpopulations, each in units of its own standard deviation.

    Columns: `groups`, labels or a boolean matrix whose columns may overlap; `features`, numbers that a tree
    of median splits cuts into nodes. With neither it is the statistic of ecce_r. `mcm_absolute` is NaN when
    the ratio is infinite and every confidence of the whole sample is 0 or 1.

    Parameters
    ----------
    depth
        Depth of the tree over the features; level l splits on feature l mod d.
    min_size
        A node is split only if both halves have at least this many rows.
    include_all
        Count the whole sample (the root of the tree) as a subpopulation; it always is when there is no other.
    reduction, k, ties
        As in cdp.
    """
    rows = event(view, reduction, k, "mcm")
    # Under ties=group equal confidences are added up together: their order in the sort does not matter.
    order = np.argsort(rows.prob, kind="stable")
    whole = ("all", order)
    parts = [*_labelled(rows, order), *_nodes(rows, order, int(depth), int(min_size))]
    if include_all or not parts:
        parts = [whole, *parts]
    kuiper, sigma = _walks(rows, [index for _, index in parts], ties)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(sigma > 0, kuiper / sigma, np.where(kuiper > 0, np.inf, 0.0))
    worst = int(np.argmax(ratios))
    value, sigma_all = float(ratios[worst]), float(_walks(rows, [order], ties)[1][0])
    p_value = brownian_tail.compute(value, kind="range")
    return MultiCalibration(
        mcm=value,
        mcm_absolute=float("nan") if np.isinf(value) and sigma_all == 0 else value * sigma_all,
        kuiper=float(kuiper[worst]),
        sigma=float(sigma[worst]),
        p_value=p_value,
        p_value_bonferroni=min(1.0, len(parts) * p_value),
        subpopulations=len(parts),
        worst=parts[worst][0],
    )


def _labelled(rows: Binary, order: Indices) -> Iterator[Subpopulation]:
    """The subpopulations that the column `groups` names."""
    groups = rows.columns.get("groups")
    if groups is None:
        return
    if groups.ndim == 2:
        members = _members(groups)
        for column in range(members.shape[1]):
            inside = order[members[order, column]]
            if len(inside):
                yield f"column {column}", inside
        return
    if groups.dtype == object and any(label != label for label in groups):
        row = next(row for row, label in enumerate(groups) if label != label)
        raise InputError(f"groups must not have missing values; groups[{row}] is nan", field="groups", row=row)
    try:
        labels, number = np.unique(groups, return_inverse=True)
    except TypeError:
        raise InputError(
            "groups must hold labels of one kind; got several that have no order", field="groups"
        ) from None
    by_label = order[np.argsort(number[order], kind="stable")]
    borders = np.cumsum(np.bincount(number))[:-1]
    for label, inside in zip(labels.tolist(), np.split(by_label, borders), strict=True):
        yield f"group {label}", inside


def _members(groups: NDArray[Any]) -> NDArray[np.bool_]:
    """A matrix of memberships: booleans, or numbers that are all 0 or 1."""
    if groups.dtype == bool:
        return groups
    if groups.dtype.kind not in "fiu" or not np.isin(groups, (0, 1)).all():
        raise InputError("groups must be labels, or a matrix of booleans; got a matrix of other values", field="groups")
    return groups.astype(bool)


def _nodes(rows: Binary, order: Indices, depth: int, min_size: int) -> Iterator[Subpopulation]:
    """The nodes below the root of a tree of median splits, depth first, the left child before the right."""
    features = rows.columns.get("features")
    if features is None:
        return
    columns = features.reshape(len(features), -1)
    waiting: list[tuple[str, Indices]] = [("", order)]
    while waiting:
        path, node = waiting.pop()
        if path:
            yield f"node {path}", node
        if len(path) >= depth or len(node) < 2 * min_size:
            continue
        values = columns[node, len(path) % columns.shape[1]]
        left = values <= np.median(values)
        if min_size <= left.sum() <= len(node) - min_size:
            waiting += [(path + "R", node[~left]), (path + "L", node[left])]


def _walks(rows: Binary, parts: list[Indices], ties: Ties) -> tuple[Floats, Floats]:
    """Kuiper distance and sigma of every subpopulation, from segmented running sums."""
    found = [_joined_walks(rows, batch, ties) for batch in _batches(parts)]
    return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])


def _batches(parts: list[Indices]) -> Iterator[list[Indices]]:
    batch: list[Indices] = []
    size = 0
    for part in parts:
        if batch and size + len(part) > AT_ONCE:
            yield batch
            batch, size = [], 0
        batch.append(part)
        size += len(part)
    yield batch


def _joined_walks(rows: Binary, parts: list[Indices], ties: Ties) -> tuple[Floats, Floats]:
    """Several walks behind one another."""
    index = np.concatenate(parts)
    starts = np.cumsum([0, *(len(part) for part in parts[:-1])])
    prob = rows.prob[index].astype(np.float64, copy=False)
    if ties == "group":
        last = np.append(prob[1:] != prob[:-1], True)
        last[starts[1:] - 1] = True
        ends = np.flatnonzero(last)
    else:
        ends = np.arange(len(index))
    steps = Steps(prob, rows.true[index], None if rows.weight is None else rows.weight[index], ends, starts)
    running = steps.at_step_ends(steps.residual)
    first = np.searchsorted(ends, starts)
    highest = np.maximum(np.maximum.reduceat(running, first), 0)
    lowest = np.minimum(np.minimum.reduceat(running, first), 0)
    return highest / steps.total - lowest / steps.total, steps.sigma
