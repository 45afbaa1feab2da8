# SPDX-License-Identifier: Apache-2.0
"""Errors over every interval, every shift or every width at once, so that no single choice of bins decides the value."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.core import accepted, lib, read, write
from epimeter.errors import InputError
from epimeter.limits import AtLeast, Between
from epimeter.metrics.bin.expected import BIN_SYMBOLS
from epimeter.summaries import Ordered, OrderedRows
from epimeter.summaries.rows import Levels
from epimeter.uncertainty import WalkExtent

Floats = NDArray[np.float64]

POINT_SYMBOLS = {"N": "number of rows (their weight)", "y_i": "outcome of row i", "c_i": "confidence of row i"}
INTERVALS = "Błasiok, Gopalan, Hu and Nakkiran 2023 STOC"


@metric(
    title="Random interval calibration error",
    family="bin",
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"RICE(k)=\frac1w\int_0^w\sum_j\Big|\frac1N\sum_{i:\lfloor(c_i-r)/w\rfloor=j}(y_i-c_i)\Big|\,dr,\ w=2^{-k}",
    where=POINT_SYMBOLS | {"r": "shift, uniform on [0, w)", "j": "bin, -1 for the first partial one"},
    source=f"{INTERVALS}; Lane 2025 s4.7 eq 41",
    pitfalls="The average over random shifts is integrated exactly here; peers draw a hundred shifts. Lane's eq 41 takes "
    "the absolute value of every residual, which leaves nothing to cancel inside a bin; the authors take it of the sum.",
    aliases=(
        "rintce",
        "Random interval calibration error, integrated exactly",
    ),
)
def rice(rows: OrderedRows, *, k: Annotated[int, AtLeast(0)] = 3) -> float:
    """Expected calibration error with bins of one width, averaged over all shifts of the bins.

    Parameters
    ----------
    k
        The bins have width 2^-k.
    """
    return random_interval_error(rows.levels, int(k))


@metric(
    title="Surrogate interval calibration error",
    family="bin",
    reads=Ordered(),
    range=(0.0, 2.0),
    direction="lower",
    equation=r"SICE=\min_{0\le k\le k^*}\big(RICE(k)+2^{-k}\big),\quad k^*=\lfloor-\log_2(\epsilon/2)\rfloor",
    where={"RICE(k)": "metric rice", "ε": "parameter epsilon"},
    source=f"{INTERVALS}; Lane 2025 s4.7 eq 42",
    pitfalls="A perfect model scores 2^-k*, not 0: the penalty of the narrowest bins remains.",
    aliases=("sintce",),
)
def sice(rows: OrderedRows, *, epsilon: Annotated[float, Between(0, 2, open_low=True)] = 0.01) -> float:
    """Least random interval error plus bin width, over the widths 1, 1/2, 1/4, and so on.

    Parameters
    ----------
    epsilon
        Resolution: the narrowest width tried is 2^-k* with k* = floor(-log2(epsilon / 2)).
    """
    levels, last = rows.levels, math.floor(-math.log2(epsilon / 2))
    nearest = float(np.diff(levels.prob).min(initial=1.0))
    least = math.inf
    for k in range(last + 1):
        if 2.0**-k <= nearest:  # no two confidences can share a bin any more: only the penalty still falls
            k = last
        error = random_interval_error(levels, k)
        least = min(least, error + 2.0**-k)
        # Bins of half the width cut those of this width in two, so the error never falls from here on.
        if k == last or error >= least:
            break
    return least


def random_interval_error(levels: Levels, k: int) -> float:
    """RICE(k) of joined rows."""
    with np.errstate(over="ignore"):
        place = np.ldexp(levels.prob, min(k, 1100))  # in units of the width; exact, and nothing changes beyond 2^-1074
    # Doubles from 2^54 on are at least 4 apart: such a level is alone in its bin for every shift.
    shared = place < 2.0**54
    residual = levels.residual
    alone = math.fsum(np.abs(residual[~shared]))
    home = np.floor(place[shared])
    columns = home.astype(np.int64), place[shared] - home, residual[shared]
    area = shifted_error(*columns)
    return (alone + area) / float(levels.weight.sum())


def shifted_error(home: NDArray[np.int64], part: Floats, residual: Floats) -> float:
    """Integral over shifts r in [0, 1) of the sum over unit bins [j + r, j + 1 + r) of |residual in it|.

    Level i stands at home + part, sorted. While r grows past `part`, bin `home` loses it and the bin below gains it, so a
    bin's sum is constant between these events.
    """
    area = np.zeros(1)
    accepted(lib.epi_shifted_error(read(home), read(part), read(residual), len(home), write(area)))
    return float(area[0])


@metric(
    title="Interval calibration error",
    family="bin",
    nanoseconds=15_000,
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"intCE=\min_{\mathcal I}\sum_{I\in\mathcal I}\Big(\Big|\frac1N\sum_{c_i\in I}(y_i-c_i)\Big|"
    r"+\frac{n_I}N\,w(I)\Big)",
    where=POINT_SYMBOLS
    | {
        "𝓘": "partition of [0, 1] into intervals",
        "n_I": "rows in interval I",
        "w(I)": "largest minus smallest confidence in I (gaps between intervals are empty intervals of their own)",
    },
    source=f"{INTERVALS}; Lane 2025 s4.7 (text only)",
    pitfalls="Exact, by dynamic programming. It is a minimum over partitions, not an average over widths as the review "
    "says. Equal confidences are never cut apart.",
    aliases=(
        "intce",
        "Interval calibration error, exact",
        "ICE (interval)",
    ),
)
def interval_ce(rows: OrderedRows) -> float:
    """Error of the best partition into intervals, when each interval also pays for its width."""
    levels = rows.levels
    columns = levels.prob, levels.weight, levels.residual
    cost = cheapest_partition(*columns)
    return cost / float(levels.weight.sum())


def cheapest_partition(prob: Floats, weight: Floats, residual: Floats) -> float:
    """Least sum over blocks of levels of |residual| + weight x width.

    cost(j) = min over l < j of cost(l) + |S_j - S_l| + (C_j - C_l)(u_j - u_{l+1}): the last block holds levels
    l+1..j. Candidates are tried from the narrowest block on, 64 at a time: a block of candidates is passed over when even its
    narrowest and cheapest could not win, and all wider ones when they could be cut at no loss.
    """
    n, cost = len(prob), np.zeros(1)
    room = np.empty(3 * (n + 1) + 2 * (n // 64 + 1))
    columns = read(prob), read(weight), read(residual)
    accepted(lib.epi_cheapest_partition(*columns, n, write(room), len(room), write(cost)))
    return float(cost[0])


@metric(
    title="Cutoff calibration error",
    family="bin",
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"CCE=\sup_{I\ interval}\Big|\frac1N\sum_{i:c_i\in I}(y_i-c_i)\Big|=\max_{0\le j\le U}S_j-\min_{0\le j\le U}S_j",
    where=POINT_SYMBOLS
    | {"U": "number of distinct confidences", "S_j": "sum of (y_i - c_i)/N over the j smallest of them, S_0 = 0"},
    source="Rossellini et al. 2025; Lane, journal version, s4.8",
    pitfalls="Not the maximum calibration error over intervals: it is not divided by the interval's share of the rows. It "
    "equals the unscaled Kuiper statistic of the cumulative family.",
    aliases=("CCE",),
    interval=WalkExtent(span=True),
)
def cutoff_ce(rows: OrderedRows) -> float:
    """Largest error that any interval of confidences hides, as a share of all rows."""
    levels = rows.levels
    drift = np.append(0.0, np.cumsum(levels.residual)) / float(levels.weight.sum())
    return float(drift.max() - drift.min())


@metric(
    title="ECE averaged over bin widths",
    family="bin",
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"\frac1{|W|}\sum_{w\in W}\sum_b p_b|\bar y_b-\bar c_b|,\quad "
    r"b(i)=\min\big(\lfloor c_i/w+10^{-9}\rfloor,\lceil1/w-10^{-9}\rceil-1\big)",
    where=BIN_SYMBOLS | {"W": "parameter widths", "w": "a bin width; the last bin may be narrower"},
    source="Verhaeghe et al. 2023; Lane 2025 s4.8",
    pitfalls="The source says that widths are uniform from 0.005 to 0.05 but not how many: ten are used. Narrow bins make "
    "the upward bias of the ECE large.",
    aliases=("verhaeghe_ece",),
)
def ece_avg(rows: OrderedRows, *, widths: Any = None) -> float:
    """Expected calibration error, averaged over several bin widths.

    Parameters
    ----------
    widths
        Bin widths in (0, 1]; None means 0.005, 0.010, ..., 0.050.
    """
    levels = rows.levels
    residual, n = levels.residual, float(levels.weight.sum())
    errors = []
    for width in checked_widths(widths):
        last = math.ceil(1 / width - 1e-9) - 1
        index = np.minimum(np.floor(levels.prob / width + 1e-9), last)
        starts = np.flatnonzero(np.append(True, index[1:] != index[:-1]))
        errors.append(math.fsum(np.abs(np.add.reduceat(residual, starts))) / n)
    return float(np.mean(errors))


def checked_widths(widths: Any) -> list[float]:
    """The widths as numbers in (0, 1]."""
    if widths is None:
        return [j / 200 for j in range(1, 11)]
    try:
        given = [float(width) for width in np.atleast_1d(widths).ravel()]
    except (TypeError, ValueError):
        raise InputError(f"widths of ece_avg must be numbers; got {widths!r:.60}", field="widths") from None
    if not given:
        raise InputError("widths of ece_avg must hold at least one width; got none", field="widths")
    for width in given:
        if not 1e-15 <= width <= 1:
            raise InputError(f"widths of ece_avg must lie in (0, 1], none below 1e-15; got {width!r}", field="widths")
    return given
