# SPDX-License-Identifier: Apache-2.0
"""A natural logarithm with the same bits on every machine.

Mathematical libraries differ in the last bit of a logarithm, and a certificate must not. This one uses nothing but
additions, multiplications, divisions and the exact splitting of a double, which IEEE 754 fixes everywhere:
x = m * 2^e with m in [sqrt(1/2), sqrt(2)), log m = 2 artanh s with s = (m - 1)/(m + 1). Error below 2 ulp.

2 artanh s = s (2 + z P(z)) with z = s^2 <= 0.0295: P is the polynomial of degree 6 that comes nearest (Remez), within 2^-59 of
the value; the series 2/3 + 2/5 z + 2/7 z^2 + ... would need three terms more. ln 2 is taken in two parts, the first rounded to
33 bits, so that its product with an exponent is exact. The loop is `core/levels/logarithm.c`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from epimeter.core import accepted, lib, read, write


def log(x: NDArray[np.float64], *, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """The natural logarithm of numbers in [0, inf); -inf at 0. `out` is where it goes, contiguous like x; it may be x itself."""
    x = np.ascontiguousarray(x, np.float64).reshape(np.shape(x))
    made = np.empty_like(x) if out is None else out
    accepted(lib.epi_logarithm(read(x.reshape(-1)), x.size, write(made.reshape(-1))))
    return made
