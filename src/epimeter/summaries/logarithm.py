# SPDX-License-Identifier: Apache-2.0
"""A natural logarithm with the same bits on every machine.

Mathematical libraries differ in the last bit of a logarithm, and a certificate must not. This one uses nothing but
additions, multiplications, divisions and the exact splitting of a double, which IEEE 754 fixes everywhere:
x = m * 2^e with m in [sqrt(1/2), sqrt(2)), log m = 2 artanh s with s = (m - 1)/(m + 1). Error below 2 ulp.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ROOT_HALF = 0.7071067811865476
LN2_HIGH = 0.6931471803691238
"""ln 2 rounded to 33 bits: its product with an exponent is exact."""
LN2_LOW = 1.9082149292705877e-10
TERMS = (
    0.6666666666666734,
    0.3999999999941664,
    0.2857142874202815,
    0.22222198605063118,
    0.18183562850431262,
    0.15314084877008638,
    0.14795632832766475,
)
"""2 artanh s = s (2 + z P(z)) with z = s^2 <= 0.0295: the polynomial of degree 6 that comes nearest (Remez), within 2^-59 of the
value. The series 2/3 + 2/5 z + 2/7 z^2 + ... would need three terms more."""


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
