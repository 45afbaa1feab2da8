# SPDX-License-Identifier: Apache-2.0
"""The test of whether errors of Gaussian forecasts, of a number or of a state, are as large as was stated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from epimeter.card_index import metric
from epimeter.forecasts import COLUMNS, Forecast
from epimeter.limits import Between
from epimeter.results import Result
from epimeter.summaries.exact import WholeForecast


@dataclass(frozen=True, kw_only=True)
class NeesTest(Result):
    """The normalised error, the region in which a calibrated model has it, and both p-values."""

    nees: float
    lower: float
    upper: float
    p_value: float
    p_value_overconfident: float
    dof: int
    reject: bool


@metric(
    title="Chi-squared test of the normalised estimation error squared",
    family="distribution",
    reads=WholeForecast(),
    forecasts=("normal", "state"),
    takes=COLUMNS,
    range=(0.0, None),
    direction="signed",
    weighted=False,
    test="exact",
    equation=r"N\cdot NEES\sim\chi^2_{Nd},"
    r"\qquad[lower,upper]=\frac1N\big[\chi^2_{Nd}(\tfrac\alpha2),\chi^2_{Nd}(1-\tfrac\alpha2)\big],"
    r"\qquad p=2\min(P(\chi^2\le N\cdot NEES),P(\chi^2\ge N\cdot NEES))",
    where={"NEES": "as in ecd_gaussian", "d": "dimension", "N": "rows"},
    source="Bar-Shalom, Li and Kirubarajan 2001, Estimation with Applications to Tracking and Navigation, s5.4; Sumler, Devlin, "
    "Maskell and Lane 2025 eq 10",
    pitfalls="Exact where errors are normal and independent; heavier tails, or rows that follow each other in time, are rejected "
    "too often. Too large and too small errors can cancel. A calibrated model has nees = d.",
    aliases=("nees chi-squared test", "anees_test"),
    headline_is="a test statistic",
)
def nees_test(
    view: Forecast, *, alpha: Annotated[float, Between(0, 1, open_low=True, open_high=True)] = 0.05
) -> NeesTest:
    """Whether errors of a Gaussian forecast are as large as its covariance says: above the region over-confident.

    Parameters
    ----------
    alpha
        Level of the test and of the region.
    """
    from scipy.stats import chi2

    from epimeter.special import chdtr, chdtrc

    total, n = math.fsum(view.squares().tolist()), view.n_rows
    dof = n * view.dimension
    over, under = float(chdtrc(dof, total)), float(chdtr(dof, total))
    p_value = min(1.0, 2 * min(over, under))
    return NeesTest(
        nees=total / n,
        lower=float(chi2.ppf(alpha / 2, dof)) / n,
        upper=float(chi2.isf(alpha / 2, dof)) / n,
        p_value=p_value,
        p_value_overconfident=over,
        dof=dof,
        reject=p_value <= alpha,
    )
