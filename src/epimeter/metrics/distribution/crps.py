# SPDX-License-Identifier: Apache-2.0
"""The continuous ranked probability score, for every kind of forecast that states a distribution."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.forecasts import COLUMNS, Ensemble, Forecast, Normal, Quantiles
from epimeter.metrics.distribution.pinball import pinball
from epimeter.summaries.exact import RowMeans, RowSums
from epimeter.summaries.rowwise import row_dot, row_sum

Floats = NDArray[np.float64]
Estimator = Literal["fair", "energy"]


def ranked_scores(view: Forecast, *, estimator: Estimator = "energy") -> Floats:
    """The score of every row.

    Parameters
    ----------
    estimator
        For ensembles: ``energy`` scores the members as they are, ``fair`` as a sample of the law they are drawn from, which
        removes the advantage of larger ensembles. Ignored for other forecasts.
    """
    if isinstance(view, Normal):
        return _normal(view)
    if isinstance(view, Ensemble):
        return _ensemble(view, fair=estimator == "fair")
    assert isinstance(view, Quantiles)
    return _quantiles(view)


def _normal(view: Normal) -> Floats:
    from epimeter.special import ndtr

    z = view.standard()
    density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    return np.asarray(view.std * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / math.sqrt(math.pi)))


def _ensemble(view: Ensemble, fair: bool) -> Floats:
    m = view.size
    if m == 1:
        return np.asarray(np.abs(view.members[:, 0] - view.true))
    off = row_sum(np.abs(view.members - view.true[:, None])) / m
    # Members are sorted: the sum of all |x_j - x_k| is 2 sum_j (2 j - m - 1) x_j, j from 1.
    place = 2.0 * np.arange(1, m + 1) - m - 1
    spread = row_dot(view.members - view.members[:, :1], np.broadcast_to(place, view.members.shape))
    return np.asarray(off - spread / (m * (m - 1) if fair else m * m))


def _quantiles(view: Quantiles) -> Floats:
    """Twice the mean pinball loss over the levels: the integral of the pinball loss where they are spread evenly."""
    return np.asarray(2 * row_sum(pinball(view.true[:, None], view.values, view.levels)) / len(view.levels))


@metric(
    title="Continuous ranked probability score",
    family="distribution",
    reads=RowMeans(ranked_scores),
    forecasts=("normal", "quantiles", "ensemble"),
    takes=COLUMNS,
    range=(0.0, None),
    direction="lower",
    proper="strictly",
    equation=r"CRPS=\frac1N\sum_i\int\big(F_i(x)-\mathbb 1\{y_i\le x\}\big)^2dx;\quad\text{normal: }"
    r"\sigma\Big[z\,(2\Phi(z)-1)+2\varphi(z)-\tfrac1{\sqrt\pi}\Big];\quad\text{ensemble: }"
    r"\frac1M\sum_j|x_j-y|-\frac{1}{2M^2}\sum_{j,k}|x_j-x_k|;\quad\text{quantiles: }\frac2K\sum_k\rho_{\tau_k}(y-q_k)",
    where={
        "F_i": "stated distribution function",
        "z": "(y - mean) / std",
        "Φ, φ": "standard normal distribution function and density",
        "x_j": "members; with estimator fair 2 M (M - 1) stands in place of 2 M^2",
        "ρ_τ": "pinball loss of level τ, of K levels that are stated",
    },
    source="Matheson and Winkler 1976, Management Science 22; Gneiting and Raftery 2007, JASA 102; Ferro 2014, QJRMS 140 "
    "(fair); Laio and Tamea 2007, HESS 11 (quantiles); beyond the review",
    pitfalls="In the unit of what is forecast, so it compares models on the same rows only. Of an ensemble with estimator energy "
    "it favours more members; of quantiles it is the integral only where the levels are spread evenly, (2k - 1) / 2K, so forecasts "
    "of different levels are not comparable.",
    aliases=("continuous_ranked_probability_score", "crps_gaussian", "crps_ensemble", "crps_quantile"),
)
def crps(sums: RowSums) -> float:
    """Distance of the stated distribution from what came true; of a point forecast the absolute error."""
    return sums.mean
