# SPDX-License-Identifier: Apache-2.0
"""A natural logarithm with the same bits on every machine.

Mathematical libraries differ in the last bit of a logarithm, and a certificate must not. This one uses nothing but
additions, multiplications, divisions and the exact splitting of a double, which IEEE 754 fixes everywhere:
x = m * 2^e with m in [sqrt(1/2), sqrt(2)), log m = 2 artanh((m - 1)/(m + 1)) by its series. Error below 2 ulp.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ROOT_HALF = 0.7071067811865476
LN2_HIGH = 0.6931471803691238
"""ln 2 rounded to 33 bits: its product with an exponent is exact."""
LN2_LOW = 1.9082149292705877e-10
TERMS = tuple(2.0 / (2 * k + 1) for k in range(1, 12))
"""artanh s = s + s^3/3 + s^5/5 + ...; |s| <= 0.1716, so twelve terms leave less than 1e-18 of the value."""


def log(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The natural logarithm of numbers in [0, inf); -inf at 0."""
    mantissa, exponent = np.frexp(x)
    small = mantissa < ROOT_HALF
    mantissa = np.where(small, mantissa * 2.0, mantissa)
    power = (exponent - small).astype(np.float64)
    f = mantissa - 1.0
    s = f / (2.0 + f)
    z = s * s
    series = np.full_like(z, TERMS[-1])
    for term in TERMS[-2::-1]:
        series = series * z + term
    with np.errstate(invalid="ignore"):
        result = power * LN2_HIGH + (2.0 * s + (s * (z * series) + power * LN2_LOW))
    return np.where(x > 0, result, -np.inf)
