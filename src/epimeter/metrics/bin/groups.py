# SPDX-License-Identifier: Apache-2.0
"""Errors over cells that are not made of confidence alone: groups, fields, variables, neighbourhoods."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import InputError
from epimeter.limits import AtLeast, BinCount
from epimeter.summaries import Rows, fixed, paired
from epimeter.summaries.cuts import bin_index, mass_index
from epimeter.views import Binary

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

CELL_SYMBOLS = {
    "N": "number of rows (their weight)",
    "n_g": "rows in cell g",
    "ȳ_g, c̄_g": "mean outcome, mean confidence in it",
}


@metric(
    title="Partitioned calibration error",
    family="bin",
    reads=Rows("event"),
    needs=("groups",),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"PCE=\sum_{q=1}^{Q}p(q)\sum_g\frac{n_{qg}}{N}L(\bar y_{qg},\bar c_{qg})",
    where={
        "q": "partition: a column of groups",
        "g": "cell of partition q",
        "L": "|y - c| or (y - c)^2",
        "p(q)": "parameter weights, used as given",
    },
    source="Yang et al. 2023; Lane 2025 s4.10 eq 53",
    pitfalls="Small groups inflate it, as small bins inflate the ECE.",
)
def pce(
    view: Binary,
    *,
    bins: BinCount | None = None,
    binning: Literal["width", "mass"] = "width",
    loss: Literal["abs", "square"] = "abs",
    weights: Any = None,
) -> float:
    """Gap between confidence and frequency in every group, averaged over rows and over partitions.

    Parameters
    ----------
    bins
        Crosses every group with that many bins of confidence, cut over all rows; None leaves the groups whole.
    binning
        How these bins are cut.
    loss
        Absolute or squared gap.
    weights
        Weight of each partition, one a column of groups; None means 1 / Q each.
    """
    partitions = columns_of(view.columns["groups"])
    shares = partition_weights(weights, len(partitions))
    index = 0 if bins is None else bin_index(view.prob, view.weight, int(bins), binning)
    errors = []
    for labels in partitions:
        cell = codes(labels) * (1 if bins is None else int(bins)) + index
        errors.append(cell_error(view, cell, squared=loss == "square"))
    return float(shares @ errors)


@metric(
    title="Field-level ECE",
    family="bin",
    reads=Rows("event"),
    needs=("groups",),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"FECE=\frac1N\sum_z\Big|\sum_{i:\,z_i=z}(y_i-c_i)\Big|",
    where={
        "z_i": "value of the field in row i",
        "y_i, c_i": "outcome, confidence",
        "N": "number of rows (their weight)",
    },
    source="Pan et al. 2020 WWW; Lane, journal version, s4.12",
    pitfalls="A field with as many values as rows gives the mean absolute residual, which is never 0.",
    aliases=("field-ece",),
)
def fece(view: Binary) -> float:
    """Gap between confidence and frequency for every value of a field, weighted by its rows."""
    fields = columns_of(view.columns["groups"])
    if len(fields) != 1:
        raise InputError(
            f"groups of fece must be one column; got {len(fields)}. Several? Use pce or mvce", field="groups"
        )
    return cell_error(view, codes(fields[0]))


@metric(
    title="Variable-based ECE",
    family="bin",
    reads=Rows("event"),
    needs=("features",),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"VECE=\sum_b\frac{n_b}{N}|\bar y_b-\bar c_b|",
    where={
        "b": "equal-mass bin of the variable",
        "n_b": "rows in it",
        "ȳ_b, c̄_b": "mean outcome and mean confidence in it",
    },
    source="Kelly and Smyth 2023 AAAI; Lane, journal version, s7.2",
    pitfalls="Equal values of the variable stay in one bin; the authors cut at quantiles, which agrees when the bins divide "
    "the rows evenly without ties.",
)
def vece(view: Binary, *, column: Annotated[int, AtLeast(0)] = 0, bins: BinCount = 10) -> float:
    """Expected calibration error over equal-mass bins of a variable instead of the confidence.

    Parameters
    ----------
    column
        Which column of the features, counted from 0.
    bins
        Number of equal-mass bins of the variable.
    """
    variables = columns_of(view.columns["features"])
    if column >= len(variables):
        raise InputError(
            f"column of vece must be below the number of feature columns, {len(variables)}; got {column}",
            field="column",
        )
    return cell_error(view, mass_index(variables[int(column)], int(bins), view.weight))


@metric(
    title="Multi-view calibration error",
    family="bin",
    reads=Rows("event"),
    takes=("features", "groups"),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"MVCE=\frac1{|V|}\sum_{v\in V}\sum_{g\in v}\frac{n_g}{N}|\bar y_g-\bar c_g|",
    where=CELL_SYMBOLS | {"V": "views: every column of groups, and every feature cut into equal-mass bins"},
    source="Huang et al. 2022 WWW (MBCT); Lane, journal version, s7.2",
    pitfalls="The original averages over partitions drawn at random; here the views are the columns given, so the value can "
    "be repeated.",
)
def mvce(view: Binary, *, bins: BinCount = 10) -> float:
    """Calibration error averaged over several ways of grouping the rows.

    Parameters
    ----------
    bins
        Equal-mass bins of each feature.
    """
    errors = []
    if "groups" in view.columns:
        errors += [cell_error(view, codes(labels)) for labels in columns_of(view.columns["groups"])]
    if "features" in view.columns:
        for variable in columns_of(view.columns["features"]):
            errors.append(cell_error(view, mass_index(variable, int(bins), view.weight)))
    if not errors:
        raise InputError("mvce needs at least one view; pass features=…, groups=… or both", field="features")
    return float(np.mean(errors))


@metric(
    title="Proximity-informed ECE",
    family="bin",
    reads=Rows("event"),
    needs=("features",),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"PIECE=\sum_{h=1}^{H}\sum_{b=1}^{B}p_{bh}|\bar y_{bh}-\bar c_{bh}|",
    where={
        "h": "equal-mass bin of the mean Euclidean distance to the k nearest other rows",
        "b": "bin of the confidence, cut over all rows",
        "p_bh": "share of the rows in the cell",
        "ȳ_bh, c̄_bh": "mean outcome and mean confidence in it",
    },
    source="Xiong et al. 2023 NeurIPS; Lane 2025 s4.10 eq 52",
    weighted=False,
    pitfalls="Never below the ECE with the same bins of confidence, and far more biased: its cells are bins times proximity_bins, "
    "so few rows stand in each. Do not read it as an error below some thousand rows. Features should be scaled alike: distances "
    "are Euclidean. Sample weights are refused: copies of a row would be its nearest neighbours.",
    simulated="Of calibrated forecasts it is 0.125 on average at N = 1,000 and 0.039 at N = 10,000 (10 data sets each), where ece "
    "with 15 bins is 0.038 and 0.013.",
)
def piece(
    view: Binary,
    *,
    bins: BinCount = 15,
    binning: Literal["mass", "width"] = "mass",
    proximity_bins: BinCount = 10,
    k: Annotated[int, AtLeast(1)] = 10,
) -> float:
    """Expected calibration error of rows in crowded and in lonely places apart.

    Parameters
    ----------
    bins
        Bins of the confidence.
    binning
        How they are cut, over all rows.
    proximity_bins
        Equal-mass bins of the mean distance to the nearest rows.
    k
        How many nearest rows; at most N - 1 are used.
    """
    distance = mean_distance(np.column_stack(columns_of(view.columns["features"])), int(k))
    near = mass_index(distance, int(proximity_bins))
    index = bin_index(view.prob, None, int(bins), binning)
    return cell_error(view, index * int(proximity_bins) + near)


def columns_of(values: NDArray[Any]) -> list[NDArray[Any]]:
    """A vector as one column, a matrix as several."""
    return [values] if values.ndim == 1 else list(values.T)


def codes(labels: NDArray[Any]) -> Indices:
    """Labels as whole numbers from 0."""
    if labels.dtype == object:  # labels of mixed kinds have no order
        number: dict[Any, int] = {}
        return np.array([number.setdefault(label, len(number)) for label in labels.tolist()], np.intp)
    return np.asarray(np.unique(labels, return_inverse=True)[1], np.intp).ravel()


def cell_error(view: Binary, cells: Indices, squared: bool = False) -> float:
    """Mean over the rows of the absolute (or squared) gap of their cell."""
    cell = codes(cells)
    n_cells = int(cell.max()) + 1
    gap = view.true - view.prob.astype(np.float64)
    if view.weight is None:
        size = np.bincount(cell).astype(np.float64)
        total = fixed.binned(gap, cell, n_cells).floats()
    else:
        size = paired.binned(np.ones(len(cell)), view.weight, cell, n_cells).floats()
        total = paired.binned(gap, view.weight, cell, n_cells).floats()
    if squared:
        total = np.divide(total**2, size, out=np.zeros(n_cells), where=size > 0)
    return math.fsum(np.abs(total)) / math.fsum(size)


def partition_weights(weights: Any, partitions: int) -> Floats:
    """p(q): one non-negative number a partition."""
    if weights is None:
        return np.full(partitions, 1 / partitions)
    try:
        given = np.atleast_1d(np.asarray(weights, np.float64))
    except (TypeError, ValueError):
        raise InputError(f"weights of pce must be numbers; got {weights!r:.60}", field="weights") from None
    if given.shape != (partitions,):
        raise InputError(
            f"weights of pce must have one entry per column of groups, {partitions}; got shape {given.shape}",
            field="weights",
        )
    if not (np.isfinite(given).all() and (given >= 0).all()):
        raise InputError(f"weights of pce must be finite and not negative; got {weights!r:.60}", field="weights")
    return given


def mean_distance(features: Floats, k: int) -> Floats:
    """Mean Euclidean distance of each row to its k nearest other rows; 0 when there is no other."""
    n, dimensions = features.shape
    k = min(k, n - 1)
    if k == 0:
        return np.zeros(n)
    if dimensions <= 16:
        from scipy.spatial import KDTree

        nearest, _ = KDTree(features).query(features, k=k + 1)
        return np.asarray(np.mean(nearest[:, 1:], axis=1))  # the first is the row itself, or its copy
    from scipy.spatial.distance import cdist

    found = np.empty(n)
    step = max(1, 4_000_000 // n)
    for start in range(0, n, step):
        away = cdist(features[start : start + step], features)
        found[start : start + step] = np.sort(np.partition(away, k, axis=1)[:, : k + 1], axis=1)[:, 1:].mean(axis=1)
    return found
