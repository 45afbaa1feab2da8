# SPDX-License-Identifier: Apache-2.0
"""The beta map: the error it finds, and the test whether it differs from the identity."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from epimeter.card_index import metric
from epimeter.metrics.curve.cox import FIT_ON_TEST, Norm, mean_distance, mean_outcome, one_place
from epimeter.metrics.curve.levels import NORM_SYMBOLS, TOP_LABEL, clipped, filled, logit
from epimeter.metrics.curve.logistic import BetaMap, fitted_beta, log_likelihood
from epimeter.results import Result
from epimeter.summaries import Ordered, OrderedRows

BETA_MAP = {"ŷ": "ρ(a log c - b log(1 - c) + m) with a, b >= 0, c clipped to [1e-12, 1 - 1e-12]"}
FAR = 45.0
"""Log odds beyond which c(1 - c) < 3e-20 adds nothing to the area."""


@metric(
    title="Fit-on-the-test ECE, beta calibration",
    family="curve",
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"\frac1N\sum_i|\hat y(c_i)-c_i|^\alpha,\qquad \hat y(c)=\rho(a\log c-b\log(1-c)+m)"
    r"\text{ fitted to the same samples}",
    where=NORM_SYMBOLS | BETA_MAP,
    source=FIT_ON_TEST + "; Kull, Silva Filho and Flach 2017 AISTATS",
    matrix=TOP_LABEL,
    pitfalls="Sees only miscalibration that a beta map can follow: at most two crossings of the diagonal.",
    aliases=("fott_beta_scaling", "ece-beta", "fott"),
)
def fott_beta(rows: OrderedRows, *, norm: Norm = 1) -> float:
    """Mean distance between the confidences and the beta map fitted to the same rows.

    Parameters
    ----------
    norm
        Exponent of the distance; no root is taken.
    """
    levels = filled(rows)
    if one_place(clipped(levels.prob), levels, "fott_beta"):
        return mean_distance(levels, mean_outcome(levels), norm)
    return mean_distance(levels, fitted_beta(levels, "fott_beta", least=2)(levels.prob), norm)


@dataclass(frozen=True, kw_only=True)
class BetaTest(Result):
    """Area between map and identity with its p-value; likelihood ratio with its own; the map's coefficients."""

    value: float
    p_value: float
    lr: float
    lr_p_value: float
    a: float
    b: float
    m: float


@metric(
    title="Statistical beta calibration test",
    family="curve",
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    test="asymptotic",
    equation=r"A=\int_0^1|\hat y(c)-c|\,dc,\qquad p=P(G>A),\ G\sim\text{Gamma}\big(\text{shape }4.74,\ "
    r"\text{scale }1/\sqrt{91N}\big);\qquad LR=2[\ell(\hat a,\hat b,\hat m)-\ell(1,1,0)],\ p_{LR}=P(\chi^2_3>LR)",
    where=BETA_MAP | {"value": "A", "ℓ": "log-likelihood; (1, 1, 0) is the identity map", "N": "rows (their weight)"},
    source="Kull, Silva Filho and Flach 2017, Electronic Journal of Statistics 11(2); Lane 2025 s5.12 eq 89",
    matrix=TOP_LABEL,
    pitfalls="The Gamma law holds for evenly spread confidences only: at a level of 5 % it rejects calibrated models in "
    "11 % (Beta(.5,.5) confidences) to 48 % (Beta(5,2)) of cases, and below about 300 rows it is rough. Prefer "
    "lr_p_value, which does not depend on the spread.",
)
def sbct(rows: OrderedRows) -> BetaTest:
    """Area between the fitted beta map and the diagonal, and two tests that it is only chance."""
    from epimeter.special import chdtrc, gammaincc

    levels = filled(rows)
    fit = fitted_beta(levels, "sbct")
    area = area_from_identity(fit)
    n = float(levels.weight.sum())
    lr = max(0.0, 2 * (fit.log_likelihood - log_likelihood(logit(levels.prob), levels.weight, levels.true)))
    return BetaTest(
        value=area,
        p_value=float(gammaincc(4.74, area * math.sqrt(91 * n))),
        lr=lr,
        lr_p_value=float(chdtrc(3, lr)),
        a=fit.a,
        b=fit.b,
        m=fit.m,
    )


def area_from_identity(fit: BetaMap) -> float:
    """Integral of |map - c| over [0, 1], piece by piece between the crossings.

    With c = ρ(s) the integrand is smooth and falls off as exp(-|s|); the crossings are the zeros of
    (a - 1) log c - (b - 1) log(1 - c) + m, which turns at most once.
    """
    from scipy.integrate import quad
    from scipy.optimize import brentq

    def odds(s: float, a: float, b: float) -> float:
        return float(fit.m - a * np.logaddexp(0.0, -s) + b * np.logaddexp(0.0, s))

    def above(s: float) -> float:
        return odds(s, fit.a - 1, fit.b - 1)

    def integrand(s: float) -> float:
        c = _rho(s)
        return (_rho(odds(s, fit.a, fit.b)) - c) * c * _rho(-s)

    cuts = [-FAR, FAR]
    turn = (fit.a - 1) / (fit.a - fit.b) if fit.a != fit.b else -1.0
    if 0 < turn < 1:
        cuts.append(float(np.clip(math.log(turn) - math.log1p(-turn), -FAR, FAR)))
    cuts.sort()
    crossings = [
        brentq(above, left, right, xtol=1e-14, rtol=1e-14)
        for left, right in zip(cuts[:-1], cuts[1:], strict=True)
        if above(left) * above(right) < 0
    ]
    # Also cut where the map itself passes 1/2: a steep map is a step there.
    if odds(-FAR, fit.a, fit.b) * odds(FAR, fit.a, fit.b) < 0:
        cuts.append(brentq(odds, -FAR, FAR, args=(fit.a, fit.b), xtol=1e-14, rtol=1e-14))
    places = sorted({*cuts, *crossings, 0.0})
    pieces = [
        quad(integrand, left, right, epsabs=1e-12, epsrel=1e-12, limit=500, full_output=True)[0]  # no warnings
        for left, right in zip(places[:-1], places[1:], strict=True)
    ]
    return math.fsum(abs(piece) for piece in pieces)


def _rho(s: float) -> float:
    small = math.exp(-abs(s))
    return (1.0 if s >= 0 else small) / (1.0 + small)
