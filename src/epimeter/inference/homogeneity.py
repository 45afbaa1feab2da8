# SPDX-License-Identifier: Apache-2.0
"""Do several means differ at all? Cochran's Q (1954, Biometrics 10(1), 101-129): squared distances from their weighted mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Homogeneity(NamedTuple):
    """The statistic, its degrees of freedom and its p-value; 1 where fewer than two means can be compared."""

    statistic: float
    freedom: int
    p_value: float


def homogeneity(means: Sequence[float], errors: Sequence[float]) -> Homogeneity:
    """Q = sum_i w_i (m_i - sum w m / sum w)^2 with w = 1 / error^2, against chi-squared; means without an error are left out."""
    from scipy.stats import chi2

    mean, error = np.asarray(means, np.float64), np.asarray(errors, np.float64)
    usable = (error > 0) & np.isfinite(error)
    mean, weight = mean[usable], error[usable] ** -2.0
    freedom = max(0, len(mean) - 1)
    if not freedom:
        return Homogeneity(0.0, 0, 1.0)
    q = float(np.sum(weight * (mean - np.sum(weight * mean) / weight.sum()) ** 2))
    return Homogeneity(q, freedom, float(chi2.sf(q, freedom)))
