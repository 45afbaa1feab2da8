# SPDX-License-Identifier: Apache-2.0
"""Spiegelhalter's test: the Brier score against its own expectation under calibration."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.results import Result
from epimeter.summaries.means import in_core
from epimeter.summaries.rowwise import row_dot, row_sum
from epimeter.summaries.sums import Sums, SumsOf
from epimeter.views import Binary, View

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class SpiegelhalterTest(Result):
    """The standardised Brier score and its two-sided p-value."""

    z: float
    p_value: float


@in_core("excess", "null_variance", "impossible")
def standardised_parts(view: View) -> Floats:
    """Excess of the Brier score over its expectation, its null variance, whether the impossible happened."""
    impossible = view.picked == 0
    if isinstance(view, Binary):
        prob = view.prob.astype(np.float64, copy=False)
        slope = 1 - 2 * prob
        parts = [(view.true - prob) * slope, slope**2 * prob * (1 - prob), impossible.astype(np.float64)]
        return np.stack(parts).T  # each column in one piece
    prob = view.prob.astype(np.float64, copy=False)
    square = row_dot(prob, prob)
    # sum c^3 - (sum c^2)^2 is the variance of c_y under the forecast. Centred it vanishes for uniform rows,
    # also for those that miss 1 by a rounding; the raw difference leaves noise.
    centre = square / row_sum(prob)
    variance = row_dot(prob, from_centre(prob, centre) ** 2)
    return np.column_stack([2 * (square - view.picked), 4 * variance, impossible])


def from_centre(values: Floats, centre: Floats) -> Floats:
    """Distance of every entry from the centre of its row; nothing where only the rounding of a mean is left."""
    distance = values - centre[:, None]
    noise = 2 * values.shape[1] * np.finfo(np.float64).eps * np.abs(centre)
    return np.where(np.abs(distance) <= noise[:, None], 0.0, distance)


@metric(
    title="Spiegelhalter z statistic",
    family="point",
    reads=SumsOf(standardised_parts, squared=True),
    range=(None, None),
    ideal=0.0,
    direction="signed",
    proper="unknown",
    test="asymptotic",
    equation=r"z=\frac{\sum_iw_i(y_i-c_i)(1-2c_i)}{\sqrt{\sum_iw_i^2(1-2c_i)^2c_i(1-c_i)}},\quad "
    r"p=2\,\Phi(-|z|);\qquad\text{matrix: }z=\frac{\sum_i w_i\,2\,(\sum_k c_{ik}^2-c_{i,y_i})}"
    r"{\sqrt{\sum_i w_i^2\,4\,[\sum_k c_{ik}^3-(\sum_k c_{ik}^2)^2]}}",
    where={"Φ": "standard normal distribution function", "c_i,y_i": "probability of the true class"},
    source="Spiegelhalter 1986, Statistics in Medicine 5; Huang et al. 2020, JAMIA 27; Lane 2025 s3.9 eq 21",
    matrix="full class probabilities: the standardised multiclass Brier score, equal to the vector form for K = 2",
    pitfalls="A normal limit, and blind to forecasts of 0, 0.5 and 1, which have no null variance. Weights "
    "are not repetitions here: the variance goes with their squares, as it must for rows that were drawn "
    "once. The matrix form is an extension of the published one.",
    copies=False,
    aliases=("spiegelhalter_test", "spiegelhalter", "spiegelhalter_z_test"),
    headline_is="a test statistic",
)
def spiegelhalter_z(sums: Sums) -> SpiegelhalterTest:
    """Test of calibration by the Brier score: above 0 over-confident, below 0 under-confident."""
    excess, _, impossible = sums.totals
    variance = sums.squares[1]
    if variance > 0:
        z = float(excess / math.sqrt(sums.divisor(variance)))
    else:  # nothing but certain and uniform rows: only an outcome that was ruled out says anything
        z = math.inf if impossible > 0 else math.nan
    return SpiegelhalterTest(z=z, p_value=two_sided(z))


def two_sided(z: float) -> float:
    """2 Phi(-|z|), exact in the tail."""
    return math.erfc(abs(z) / math.sqrt(2))
