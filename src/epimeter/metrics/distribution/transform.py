# SPDX-License-Identifier: Apache-2.0
"""The probability integral transform: where the truth falls in the stated distribution, and whether that is everywhere alike."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import UndefinedMetricError
from epimeter.forecasts import COLUMNS, Forecast, Normal
from epimeter.limits import Between
from epimeter.results import Result
from epimeter.summaries.exact import WholeForecast

Floats = NDArray[np.float64]
RANKED = ("normal", "quantiles", "ensemble")


@dataclass(frozen=True)
class Ranks:
    """How many rows fall into each class between two levels, and how many would on average."""

    edges: Floats
    count: Floats
    expected: Floats


def ranked(view: Forecast, bins: int | None = None) -> Ranks:
    """The rank histogram; a row whose truth equals what was stated is shared out evenly among its classes.

    Normal forecasts are cut into `bins` classes of equal chance, ensembles and quantiles where their numbers lie.
    """
    if isinstance(view, Normal) and bins is not None:
        place = np.minimum(np.floor(view.transform() * bins), bins - 1)
        edges, first, last = np.arange(bins + 1) / bins, place, place
    else:
        edges, first, last = view.ranks()
    classes = len(edges) - 1
    share = 1.0 / (last - first + 1)
    # +share at the first class and -share after the last: their running sum is what every class gets.
    steps = np.bincount(first.astype(np.intp), share, classes + 1)[: classes + 1]
    steps = steps - np.bincount(last.astype(np.intp) + 1, share, classes + 2)[: classes + 1]
    count = np.round(np.cumsum(steps)[:classes], 9)
    return Ranks(edges, np.asarray(count, np.float64), view.n_rows * np.diff(edges))


@dataclass(frozen=True, kw_only=True)
class TransformHistogram(Result):
    """How far the histogram is from flat, whether its mass lies in the tails, and the classes themselves.

    `unevenness` is the mean |rows / expected - 1| weighted by chance; `outside` the excess of the share of truths in the two
    outer quarters over one half: above 0 the forecasts are too sure.
    """

    unevenness: float
    outside: float
    edges: Floats
    count: Floats
    expected: Floats


@metric(
    title="Histogram of the probability integral transform",
    family="distribution",
    reads=WholeForecast(),
    forecasts=RANKED,
    takes=COLUMNS,
    weighted=False,
    range=(0.0, 2.0),
    ideal=0.0,
    direction="lower",
    equation=r"\text{unevenness}=\sum_bw_b\Big|\frac{n_b}{N\,w_b}-1\Big|,\qquad u_i=F_i(y_i)",
    where={"n_b, w_b": "rows in class b and its chance", "F_i": "stated distribution function"},
    source="Dawid 1984, JRSS A 147; Hamill 2001, Monthly Weather Review 129; Gneiting, Balabdaoui and Raftery 2007, JRSS B 69; "
    "beyond the review",
    pitfalls="Unevenness is biased upwards: of N rows in B classes of a calibrated forecast it is about 0.8 sqrt(B / N). A hump "
    "means forecasts that are not sure enough, a bowl ones that are too sure, a slope a bias.",
    aliases=("pit_histogram", "rank_histogram", "reliability index"),
    headline_is="a histogram",
)
def pit(view: Forecast, *, bins: Annotated[int, Between(2, 10_000)] = 10) -> TransformHistogram:
    """Where truths fall in the stated distributions, as counts in classes; flat is calibrated.

    Parameters
    ----------
    bins
        Classes of equal chance for normal forecasts; quantiles and ensembles have theirs.
    """
    ranks = ranked(view, bins)
    chance = np.diff(ranks.edges)
    off = np.abs(ranks.count / ranks.expected - 1)
    # The share of each class that lies in the outer quarters, its mass spread evenly.
    low, high = ranks.edges[:-1], ranks.edges[1:]
    inner = np.clip(np.minimum(high, 0.75) - np.maximum(low, 0.25), 0.0, None) / chance
    return TransformHistogram(
        unevenness=float(chance @ off),
        outside=float(ranks.count @ (1 - inner)) / view.n_rows - 0.5,
        edges=ranks.edges,
        count=ranks.count,
        expected=ranks.expected,
    )


@dataclass(frozen=True, kw_only=True)
class UniformityTest(Result):
    """A statistic of the transform's distance from uniform, its p-value, and how it was tested."""

    statistic: float
    p_value: float
    method: str


@metric(
    title="Test of uniformity of the probability integral transform",
    family="distribution",
    reads=WholeForecast(),
    forecasts=RANKED,
    takes=COLUMNS,
    weighted=False,
    range=(0.0, None),
    direction="none",
    test="asymptotic",
    equation=r"u_i=F_i(y_i);\quad\chi^2=\sum_b\frac{(n_b-N\,w_b)^2}{N\,w_b}\sim\chi^2_{B-1};\quad"
    r"D=\max_i\max\Big(\tfrac iN-u_{(i)},\,u_{(i)}-\tfrac{i-1}N\Big);\quad"
    r"W^2=\tfrac1{12N}+\sum_i\Big(u_{(i)}-\tfrac{2i-1}{2N}\Big)^2",
    where={
        "F_i": "stated distribution function",
        "n_b, w_b": "rows in class b and its chance: between two quantiles, between two members, or one of the bins",
        "u_(i)": "i-th smallest transform",
    },
    source="Dawid 1984, JRSS A 147; Diebold, Gunther and Tay 1998, International Economic Review 39; Anderson 1996 and Hamill "
    "2001, Monthly Weather Review 129 (rank histograms); beyond the review",
    pitfalls="Uniform does not prove calibration: forecasts that are wrong in opposite ways can add up to a flat histogram "
    "(Hamill 2001). chi2 wants about five rows a class; ks and cvm need a continuous law, so they are for normal forecasts. "
    "Rows that depend on each other, such as successive days, are rejected too often.",
    aliases=("pit uniformity", "rank_histogram_test"),
    headline_is="a test statistic",
)
def pit_test(
    view: Forecast,
    *,
    method: Literal["auto", "chi2", "ks", "cvm"] = "auto",
    bins: Annotated[int, Between(2, 10_000)] = 10,
) -> UniformityTest:
    """Test whether truths fall everywhere in the stated distributions alike; a small p-value refutes calibration.

    Parameters
    ----------
    method
        ``ks`` Kolmogorov-Smirnov, ``cvm`` Cramer-von Mises, ``chi2`` counts in classes; ``auto`` is ks for normal forecasts
        and chi2 for quantiles and ensembles, whose ranks are classes.
    bins
        Classes of equal chance for chi2 of normal forecasts.
    """
    if method == "auto":
        method = "ks" if isinstance(view, Normal) else "chi2"
    if method == "chi2":
        return _counted(ranked(view, bins))
    if not isinstance(view, Normal):
        raise UndefinedMetricError(
            f"pit_test by {method} needs a continuous law; {view.kind} forecasts have ranks. Use method='chi2'"
        )
    from scipy.stats import cramervonmises, kstest

    transform = np.sort(view.transform())
    if method == "ks":
        found = kstest(transform, "uniform")
        return UniformityTest(statistic=float(found.statistic), p_value=float(found.pvalue), method="ks")
    if view.n_rows < 2:
        raise UndefinedMetricError("pit_test by cvm needs at least 2 rows; got 1")
    found = cramervonmises(transform, "uniform")
    return UniformityTest(statistic=float(found.statistic), p_value=float(found.pvalue), method="cvm")


def _counted(ranks: Ranks) -> UniformityTest:
    from epimeter.special import chdtrc

    statistic = math.fsum(((ranks.count - ranks.expected) ** 2 / ranks.expected).tolist())
    freedom = len(ranks.count) - 1
    return UniformityTest(statistic=statistic, p_value=float(chdtrc(freedom, statistic)), method="chi2")
