# SPDX-License-Identifier: Apache-2.0
"""The outcomes around one prediction against that prediction: a chi-squared test on nearest neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.checks import ROW_SUM_TOLERANCE
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.limits import Above, AtLeast, Between
from epimeter.results import Result
from epimeter.summaries import Rows
from epimeter.views import Multiclass

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class NearestTest(Result):
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
    aliases=("gweon's_reliability_test", "gweon"),
    headline_is="a test statistic",
)
def knn_chi2(
    rows: Multiclass,
    *,
    at: Any = None,
    k: Annotated[int, AtLeast(1)] = 50,
    expected: Literal["anchor", "neighbours"] = "anchor",
) -> NearestTest:
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
    from epimeter.special import chdtrc

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
        return NearestTest(value=math.inf, dof=dof, p_value=0.0)
    value = float(np.sum((seen[possible] - due[possible]) ** 2 / due[possible]))
    return NearestTest(value=value, dof=dof, p_value=float(chdtrc(dof, value)) if dof > 0 else 1.0)


@dataclass(frozen=True, kw_only=True)
class NeighbourPower(Result):
    """How often the test would reject with so many neighbours, and the same for each number of them that was asked."""

    value: float
    k: NDArray[np.int64]
    power: Floats


@metric(
    title="Expected power of the nearest-neighbour chi-squared test",
    family="curve",
    range=(0.0, 1.0),
    direction="higher",
    weighted=False,
    equation=r"\text{power}(k)=E_{q\sim Dir(\kappa a)}"
    r"\,P\Big(\chi^2_{K-1}\Big(k\sum_j\frac{(q_j-a_j)^2}{a_j}\Big)>\chi^2_{K-1,1-\alpha}\Big)",
    where={
        "a": "the prediction to be tested",
        "q": "true frequencies around it, drawn from the Dirichlet law of mean a",
        "κ": "concentration: the spread of the truth around the prediction falls with it, its variance is a (1 - a) / (κ + 1)",
    },
    source="Gweon 2023, Advances in Data Analysis and Classification 17(4):927-949 (expected power to choose k; its prior is not "
    "given in print, ours is the Dirichlet law); Cohen 1988 (non-central chi-squared); Lane 2025 s5.12",
    matrix="not a matrix of rows: y_prob is one prediction",
    pitfalls="As good as the belief about how far off a model may be: say it by concentration. Neighbours are taken to share the "
    "prediction; in truth more of them lie farther away, which the curve does not see.",
    aliases=("gweon power curve", "expected_power"),
    headline_is="a power",
)
def knn_chi2_power(
    y_prob: Any,
    *,
    k: Any = (25, 50, 100, 200, 400),
    concentration: Annotated[float, Above(0)] = 50.0,
    alpha: Annotated[float, Between(0, 1, open_low=True, open_high=True)] = 0.05,
    draws: Annotated[int, AtLeast(1)] = 2000,
    seed: int = 0,
) -> NeighbourPower:
    """How likely knn_chi2 finds out a model that is off, as a curve over the number of neighbours; value is the last.

    Parameters
    ----------
    k
        Numbers of neighbours.
    concentration
        How near the truth is believed to be to the prediction; 50 spreads a probability of 0.5 by 0.07.
    alpha
        Level of the test.
    draws, seed
        Truths that are drawn.
    """
    from scipy.stats import chi2, ncx2

    given = np.asarray(y_prob, np.float64)
    centre = anchor(y_prob, np.empty((0, 2 if given.ndim == 0 else len(given))))
    inside = centre[centre > 0]
    many = np.atleast_1d(np.asarray(k, np.int64))
    if not len(many) or (many < 1).any():
        raise InputError(f"k of knn_chi2_power must be whole numbers of at least 1; got {k!r:.60}", field="k")
    if len(inside) < 2:
        raise UndefinedMetricError("knn_chi2_power needs a prediction that leaves two classes possible")
    truth = np.random.Generator(np.random.PCG64(seed)).dirichlet(concentration * inside, draws)
    effect = np.sum((truth - inside) ** 2 / inside, axis=1)
    dof = len(inside) - 1
    critical = chi2.isf(alpha, dof)
    power = np.array(
        [float(np.mean(ncx2.sf(critical, dof, np.maximum(each * effect, 1e-12)))) for each in many.tolist()]
    )
    return NeighbourPower(value=float(power[-1]), k=many, power=power)


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
