# SPDX-License-Identifier: Apache-2.0
"""The walk as Brownian motion and as bridge: tests of mean calibration and of the shape beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from epimeter.card_index import metric
from epimeter.errors import UndefinedMetricError
from epimeter.metrics.cumulative.brownian import brownian_tail
from epimeter.metrics.cumulative.differences import ASYMPTOTIC, WEIGHTS
from epimeter.metrics.cumulative.walk import REDUCED, WALK_SYMBOLS, Reduction, Ties, Walk, event, steps_of
from epimeter.results import Result
from epimeter.summaries import Rows
from epimeter.views import View


@dataclass(frozen=True, kw_only=True)
class BridgeTest(Result):
    """p_value of the chosen method, its parts, and the deviations they come from."""

    p_value: float
    statistic: float
    p_mean: float
    p_distance: float
    s_n: float
    s_star: float
    b_star: float
    c_n: float
    c_star: float


@metric(
    title="Brownian bridge test",
    family="cumulative",
    copies=False,
    reads=Rows("given"),
    range=(0.0, 1.0),
    direction="higher",
    test="asymptotic",
    equation=r"S_j=\frac{C_j}\sigma,\quad "
    r"t_j=\frac{\sum_{i\le j}w_i^2c_i(1-c_i)}{\sum_i w_i^2c_i(1-c_i)},\quad "
    r"S^*=\max_j|S_j|,\quad B^*=\max_j|S_j-t_jS_J|,\quad p_{mean}=2\Phi(-|S_J|),\quad "
    r"p_{distance}=P(\max|B|\ge B^*),\quad \text{statistic}=-2\log(p_{mean}\,p_{distance}),\quad "
    r"p=P(\chi^2_4\ge\text{statistic})=q(1-\log q),\ q=p_{mean}\,p_{distance}",
    where=WALK_SYMBOLS
    | {
        "s_n, s_star, b_star": "S_J, S* and B*",
        "c_n, c_star": "C_J and max |C_j|",
        "B": "Brownian bridge",
        "t_j": "time of the motion: share of the variance up to step j",
    },
    source="Sadatsafavi & Petkau 2024, Statistics in Medicine; Lane 2025 (journal) s6.3 eq 71 to 74",
    matrix=REDUCED,
    pitfalls=ASYMPTOTIC + "A negative s_n means over-confidence on average. The R package mishandles an end below -S* "
    "in BM2p and loses p-values below 1e-16. " + WEIGHTS,
    aliases=("brownian_bridge_test", "cumulcalib"),
    headline_is="a p-value",
)
def bbt(
    view: View,
    *,
    method: Literal["BB", "BB1p", "BM", "BM2p"] = "BB",
    reduction: Reduction = "top",
    k: int = 1,
    ties: Ties = "group",
) -> BridgeTest:
    """Test of calibration by the end of the walk and by its bridge, two independent parts joined by Fisher.

    Parameters
    ----------
    method
        ``BB`` mean and bridge joined, ``BB1p`` the bridge alone, ``BM`` the largest deviation of the motion
        (the p-value of ecce_mad), ``BM2p`` mean and largest deviation given the end, joined.
    reduction, k, ties
        As in cdp.
    """
    walk = Walk(steps_of(event(view, reduction, k, "bbt"), ties))
    if walk.sigma == 0:
        raise UndefinedMetricError("bbt needs a confidence between 0 and 1; every one is 0 or 1, so time stands still")
    s = walk.difference / walk.sigma
    s_n, s_star = float(s[-1]), float(np.abs(s).max())
    b_star = float(np.abs(s - walk.elapsed * s_n).max())
    p_mean = normal_two_sided(s_n)
    if method in ("BB", "BB1p"):
        p_distance = brownian_tail.compute(b_star, kind="bridge")
    elif method == "BM":
        p_distance = brownian_tail.compute(s_star, kind="max_abs")
    else:
        p_distance = brownian_tail.compute(s_star, kind="max_abs_given_end", end=s_n)
    if method in ("BB", "BM2p"):
        statistic, p_value = fisher(p_mean, p_distance)
    else:
        statistic, p_value = (b_star if method == "BB1p" else s_star), p_distance
    return BridgeTest(
        p_value=p_value,
        statistic=statistic,
        p_mean=p_mean,
        p_distance=p_distance,
        s_n=s_n,
        s_star=s_star,
        b_star=b_star,
        c_n=walk.terminal,
        c_star=float(np.abs(walk.difference).max()),
    )


def normal_two_sided(z: float) -> float:
    """2 Phi(-|z|), without loss in the tail."""
    return math.erfc(abs(z) / math.sqrt(2))


def fisher(left: float, right: float) -> tuple[float, float]:
    """Fisher's statistic of two independent p-values; its chi-squared tail with 4 degrees is q(1 - log q)."""
    if left == 0 or right == 0:
        return math.inf, 0.0
    log_q = math.log(left) + math.log(right)
    return -2 * log_q + 0.0, math.exp(log_q) * (1 - log_q)
