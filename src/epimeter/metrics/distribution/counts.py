# SPDX-License-Identifier: Apache-2.0
"""The ranked probability score of a count, whose classes have no end."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.forecasts import COLUMNS, Counts, Forecast
from epimeter.summaries.exact import RowMeans, RowSums

Floats = NDArray[np.float64]
LONGEST = 4096
"""Terms that are summed one by one; the closed form of a wider law loses no digit that counts."""
LARGE_SIZE = 10.0
"""Size of a negative binomial law above which its law is smooth, and from some 100 its hypergeometric series fails."""
POISSON = 1e-8
"""Excess of the variance, relative to the rate, below which the law is taken as Poisson: the beta function of so large a size is
less exact than that."""


def count_scores(view: Forecast) -> Floats:
    """The score of every row."""
    assert isinstance(view, Counts)
    excess = view.rate * view.dispersion
    excess = np.where(excess < POISSON, 0.0, excess)
    # Beyond 12 deviations and 40 units of the tail's own length less than 1e-15 of the mass is left.
    last = np.maximum(view.true, view.rate + 12 * np.sqrt(view.rate * (1 + excess)) + 40 * (1 + excess)) + 1
    rows = zip(view.true.tolist(), view.rate.tolist(), excess.tolist(), last.tolist(), strict=True)
    scores = np.empty(view.n_rows)
    for place, (seen, rate, more, end) in enumerate(rows):
        if rate == 0:
            scores[place] = seen
        elif end <= LONGEST:
            counts = np.arange(int(end) + 1)
            scores[place] = math.fsum(((_below(counts, rate, more) - (seen <= counts)) ** 2).tolist())
        else:
            scores[place] = _closed(seen, rate, more)
    return scores


def _below(count: Any, rate: float, excess: float) -> Floats:
    """P(Y <= count); the negative binomial law has size rate / excess and success 1 / (1 + excess)."""
    from scipy import special

    if excess == 0:
        return np.asarray(special.gammaincc(count + 1.0, rate))
    return np.asarray(special.betainc(rate / excess, count + 1.0, 1 / (1 + excess)))


def _closed(seen: float, rate: float, excess: float) -> float:
    """E|Y - y| - E|Y - Y'| / 2, which is the sum without its terms: Wei and Held 2014, TEST 23, for both laws."""
    from scipy import special

    upto = float(_below(seen, rate, excess))
    # E[Y; Y <= y] = rate P(Y* <= y - 1), Y* of the same law with a size larger by 1: for Poisson the law itself.
    before = 0.0
    if seen > 0:
        before = float(_below(seen - 1, rate + excess, excess))
    off = seen * (2 * upto - 1) - rate * (2 * before - 1)
    if 0 < rate <= LARGE_SIZE * excess:
        return off - rate * (1 + excess) * float(special.hyp2f1(rate / excess + 1, 0.5, 2, -4 * excess * (1 + excess)))
    # A law this wide is so smooth that steps of a 50th of its deviation give the sum over all counts of F (1 - F), which is
    # E|Y - Y'| / 2. Its tail may be as long as 26 deviations.
    step = math.sqrt(rate * (1 + excess)) / 50
    places = rate + step * np.arange(-600, 1301)
    stated = _below(places[places > -1], rate, excess)
    return off - step * math.fsum((stated * (1 - stated)).tolist())


@metric(
    title="Ranked probability score of counts",
    family="distribution",
    reads=RowMeans(count_scores),
    forecasts=("count",),
    takes=COLUMNS,
    range=(0.0, None),
    direction="lower",
    proper="strictly",
    equation=r"RPS=\frac1N\sum_i\sum_{k=0}^{\infty}\big[P_i(Y\le k)-I[y_i\le k]\big]^2",
    where={
        "P_i": "Poisson law with the stated rate, or the negative binomial law of variance rate + dispersion rate^2",
        "y_i": "count that came true",
    },
    source="Epstein 1969, J. Applied Meteorology 8; Czado, Gneiting and Held 2009, Biometrics 65; Wei and Held 2014, TEST 23; "
    "Lane 2025 s3.14",
    pitfalls="In units of counts, not divided by a number of classes, which is infinite: not comparable with rps. The sum ends "
    "where less than 1e-15 of the mass is left on either side.",
    aliases=("crps_poisson", "rps_poisson", "count_rps"),
)
def rps_counts(sums: RowSums) -> float:
    """Ranked probability score of forecasts of a count: of a certain forecast the absolute error."""
    return sums.mean
