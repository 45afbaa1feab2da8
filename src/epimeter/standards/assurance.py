# SPDX-License-Identifier: Apache-2.0
"""How sure a verdict is: `firm` where the whole interval lies on one side of every limit, `marginal` otherwise.

A standard's verdict uses the point estimate, as the standard says; the assurance stands beside it and changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from epimeter.results import Result


@dataclass(frozen=True, kw_only=True)
class Assurance(Result):
    """The word, the limits that the interval straddles, and the sample size that would make the verdict firm."""

    assurance: str
    straddled: tuple[float, ...]
    rows_for_firm: int | None


def assurance(
    value: float, interval: tuple[float, float], thresholds: Iterable[float], n_rows: int | None = None
) -> Assurance:
    """Whether the verdict on a value would be the same all over its interval.

    Parameters
    ----------
    value
        The point estimate.
    interval
        Its low and high end.
    thresholds
        Every limit that the value is held against.
    n_rows
        Rows behind it. The width of an interval falls with the root of the rows, which gives the number needed;
        None where the value lies on a limit itself and no number would do.
    """
    low, high = interval
    straddled = tuple(limit for limit in thresholds if low <= limit <= high and not low == high == limit)
    needed: int | None = None
    if straddled and n_rows is not None:
        factors = [
            ((high - value) if limit >= value else (value - low)) / abs(limit - value) if limit != value else math.inf
            for limit in straddled
        ]
        widest = max(factors)
        needed = math.ceil(n_rows * max(1.0, widest) ** 2) + 1 if math.isfinite(widest) else None
    return Assurance(assurance="marginal" if straddled else "firm", straddled=straddled, rows_for_firm=needed)
