# SPDX-License-Identifier: Apache-2.0
"""All that was said against all that came true: errors that may cancel between rows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.summaries.means import in_core
from epimeter.summaries.sums import Sums, SumsOf
from epimeter.uncertainty import SmoothSums
from epimeter.views import Binary, View

Floats = NDArray[np.float64]
CANCELLING = "Errors of opposite sign cancel: a model can be wrong on every row and still score perfectly."


def class_excess(view: View) -> Floats:
    """Forecast minus outcome of each class; of class 1 alone for a vector, whose other class mirrors it."""
    if isinstance(view, Binary):
        return np.asarray(view.prob.astype(np.float64, copy=False) - view.true)
    excess = view.prob.astype(np.float64)
    excess[np.arange(view.n_rows), view.true] -= 1
    return excess


@metric(
    title="Global squared bias",
    family="point",
    reads=SumsOf(class_excess),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    proper="no",
    equation=r"GSB=\frac1K\sum_{k=1}^{K}\Big(\frac1N\sum_i c_{ik}-\frac1N\sum_i y_{ik}\Big)^2",
    where={"c_ik": "probability of class k for row i", "y_ik": "1 if row i is of class k, else 0"},
    source="Galbraith and van Norden 2011, Int. J. Forecasting 27; Lane 2025 s3.5 eq 10",
    matrix="full class probabilities",
    pitfalls=CANCELLING + " For two classes it is the square of the one-bin calibration error, not that error itself.",
    aliases=("global_squared_bias",),
)
def gsb(sums: Sums) -> float:
    """Squared difference between mean forecast and class frequency, averaged over the classes."""
    return float(np.mean(sums.mean**2))


@metric(
    title="Multi-class difference of confidence and accuracy",
    family="point",
    reads=SumsOf(class_excess),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    proper="no",
    equation=r"MDCA=\frac1K\sum_{k=1}^{K}\Big|\frac1N\sum_i c_{ik}-\frac1N\sum_i y_{ik}\Big|",
    where={"c_ik": "probability of class k for row i", "y_ik": "1 if row i is of class k, else 0"},
    source="Hebbalaguppe et al. 2022, CVPR; Lane 2025 s3.5 eq 11",
    matrix="full class probabilities",
    pitfalls=CANCELLING + " As a training loss it is taken over mini-batches, which is another number.",
)
def mdca(sums: Sums) -> float:
    """Distance between mean forecast and class frequency, averaged over the classes: ECE with one bin."""
    return float(np.mean(np.abs(sums.mean)))


@in_core("prob", "true", "said")
def expected_and_observed(view: View) -> Floats:
    """What was said, what came true, and whether anything was said at all."""
    prob = view.prob.astype(np.float64, copy=False)
    return np.column_stack([prob, view.true, prob > 0])


RATIO_MATRIX = "reduced to its top label; an (N, 2) matrix is therefore not the same as the class-1 vector"


@metric(
    title="Expected to observed ratio",
    family="point",
    reads=SumsOf(expected_and_observed, "event"),
    range=(0.0, None),
    ideal=1.0,
    direction="signed",
    proper="no",
    equation=r"EO=\frac{\sum_i w_i c_i}{\sum_i w_i y_i}",
    where={"c_i": "probability of the event", "y_i": "1 if it came true", "w_i": "weight, 1 by default"},
    source="Riley et al. 2016, BMJ 353; Lane 2025 s3.5 eq 12",
    matrix=RATIO_MATRIX,
    pitfalls=CANCELLING + " Without an event it is infinite.",
    aliases=("eo", "calibration_ratio"),
    interval=SmoothSums(ratio=True),
)
def eo_ratio(sums: Sums) -> float:
    """Events announced for each event seen: above 1 over-confident, below 1 under-confident."""
    expected, observed, said = (float(total) for total in sums.totals)
    if observed == 0:
        return math.inf if said > 0 else math.nan
    return sums.divisor(expected) / observed


@metric(
    title="Observed to expected ratio",
    family="point",
    reads=SumsOf(expected_and_observed, "event"),
    range=(0.0, None),
    ideal=1.0,
    direction="signed",
    proper="no",
    equation=r"OE=\frac{\sum_i w_i y_i}{\sum_i w_i c_i}",
    where={"c_i": "probability of the event", "y_i": "1 if it came true", "w_i": "weight, 1 by default"},
    source="Riley et al. 2016, BMJ 353; Lane 2025 s3.5",
    matrix=RATIO_MATRIX,
    pitfalls=CANCELLING + " Infinite when nothing was expected and something happened.",
    aliases=(
        "oe",
        "copc",
    ),
    interval=SmoothSums(ratio=True),
)
def oe_ratio(sums: Sums) -> float:
    """Events seen for each event announced: below 1 over-confident, above 1 under-confident."""
    expected, observed, said = (float(total) for total in sums.totals)
    if expected == 0 and observed == 0:
        return 0.0 if said > 0 else math.nan
    if expected == 0:
        return math.inf
    return observed / sums.divisor(expected)
