# SPDX-License-Identifier: Apache-2.0
"""x y + z in one operation of the processor, rounded once.

Used only where the product itself is exact, so that one rounding or two give the same bits, and for the error of a product,
x y - round(x y), which is a double (Dekker 1971): the numpy twins do both in plain operations.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic


@intrinsic
def fused(typing: Any, x: Any, y: Any, z: Any) -> Any:
    """x y + z of doubles."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate
