# SPDX-License-Identifier: Apache-2.0
"""The outcomes around one prediction against that prediction: a chi-squared test on nearest neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card import metric
from epimeter.doubts import ROW_SUM_TOLERANCE
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.limits import AtLeast
from epimeter.results import Result
from epimeter.summaries import Rows
from epimeter.views import Multiclass

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class NeighbourTest(Result):
    """The statistic, its degrees of freedom, its p-value."""

    value: float
    dof: int
    p_value: float


@metric(
    title="Nearest-neighbour Pearson chi-squared reliability test",
    family="curve",
    reads=Rows("classes"),
    range=(0.0, None),
    direction="lower",
    test="asymptotic",
    equation=r"X^2=\sum_{j=1}^K\frac{(O_j-E_j)^2}{E_j},\quad O_j=\#\{i\in\mathcal N_k(a):y_i=j\},\quad E_j=k\,a_j\ "
    r"\text{ or }\sum_{i\in\mathcal N_k(a)}c_{ij},\qquad p=P(\chi^2_{K-1}>X^2)",
    where={
        "a": "the prediction to test (parameter at)",
        "N_k(a)": "the k rows whose predictions are nearest to a; distances rounded to 12 decimals, ties to earlier rows",
    },
    source="Gweon 2023, Advances in Data Analysis and Classification 17(4):927-949; Lane 2025 s5.12",
    matrix="used whole; a vector p is read as 1 - p, p",
    order="ties",
    weighted=False,
    pitfalls="Neighbours whose own predictions differ from the anchor make expected=anchor reject calibrated models when "
    "k is large; expected=neighbours avoids that. Below about 5 expected rows in a class the chi-squared law is rough. "
    "A calibrated model scores about its degrees of freedom, not 0. No weights: neighbours are counted.",
    aliases=("gweon's_reliability_test",),
    headline_is="a test statistic",
)
def knn_chi2(
    rows: Multiclass,
    *,
    at: Any = None,
    k: Annotated[int, AtLeast(1)] = 50,
    expected: Literal["anchor", "neighbours"] = "anchor",
) -> NeighbourTest:
    """Whether the outcomes of the rows nearest to a prediction occur as often as it says.

    Parameters
    ----------
    at
        The prediction to test: one probability a class (beside a vector, a number p means 1 - p, p). None: the mean
        prediction.
    k
        Number of neighbours.
    expected
        ``anchor``: k times the anchor; ``neighbours``: the sum of the neighbours' own predictions.
    """
    from scipy.special import chdtrc

    k = int(k)
    if k > rows.n_rows:
        raise UndefinedMetricError(f"knn_chi2 needs at least k = {k} rows; got {rows.n_rows}. Pass a smaller k")
    prob = rows.prob.astype(np.float64, copy=False)
    centre = anchor(at, prob)
    near = nearest(prob, centre, k)
    seen = np.bincount(rows.true[near], minlength=rows.n_classes).astype(np.float64)
    due = k * centre if expected == "anchor" else prob[near].sum(axis=0)
    possible = due > 0
    dof = int(possible.sum()) - 1
    if seen[~possible].any():
        return NeighbourTest(value=math.inf, dof=dof, p_value=0.0)
    value = float(np.sum((seen[possible] - due[possible]) ** 2 / due[possible]))
    return NeighbourTest(value=value, dof=dof, p_value=float(chdtrc(dof, value)) if dof > 0 else 1.0)


def anchor(at: Any, prob: Floats) -> Floats:
    """The prediction to test, as one probability a class."""
    n_classes = prob.shape[1]
    if at is None:  # exact sums: the mean does not depend on the order of the rows
        return np.array([math.fsum(column) for column in prob.T]) / len(prob)
    try:
        values = np.asarray(at, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"at of knn_chi2 must be numbers; got {at!r:.60}", field="at") from None
    if values.ndim == 0 and n_classes == 2:
        values = np.array([1 - values, values])
    if values.shape != (n_classes,):
        raise InputError(
            f"at of knn_chi2 must have one probability per class, {n_classes}; got shape {values.shape}", field="at"
        )
    if not ((values >= 0) & (values <= 1)).all() or abs(values.sum() - 1) > ROW_SUM_TOLERANCE:
        raise InputError(f"at of knn_chi2 must be probabilities that sum to 1; got {at!r:.60}", field="at")
    return values


def nearest(prob: Floats, centre: Floats, k: int) -> NDArray[np.intp]:
    """The k rows nearest to the centre; among equally distant ones the earlier."""
    distance = np.round(np.sqrt(np.sum((prob - centre) ** 2, axis=1)), 12)
    limit = np.partition(distance, k - 1)[k - 1]
    inside = np.flatnonzero(distance < limit)
    return np.concatenate([inside, np.flatnonzero(distance == limit)[: k - len(inside)]])
