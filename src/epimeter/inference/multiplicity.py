# SPDX-License-Identifier: Apache-2.0
"""Many tests at once: p-values adjusted for how many were made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric as card
from epimeter.errors import InputError
from epimeter.inference.consistency import Alpha
from epimeter.results import Result

Adjustment = Literal["bonferroni", "holm", "bh", "by"]


@dataclass(frozen=True, kw_only=True)
class Adjusted(Result):
    """Adjusted p-values in input order, their minimum and mean, and how many are at most alpha."""

    adjusted: NDArray[np.float64]
    min_adjusted: float
    mean_adjusted: float
    rejections: int

    @property
    def headline(self) -> float:
        return self.min_adjusted


@card(
    title="Multiple-testing adjustment",
    family="test",
    equation=r"\text{bonferroni: }\min(1,mp_i);\ \text{holm: }\max_{j\le k}\min(1,(m-j+1)p_{(j)});\ "
    r"\text{bh: }\min_{j\ge k}\min(1,\tfrac mjp_{(j)});\ \text{by: bh with }m\sum_{l\le m}1/l\text{ for }m",
    where={"m": "number of p-values", "k": "rank of p_i"},
    source="Holm 1979; Benjamini and Hochberg 1995; Benjamini and Yekutieli 2001; beyond the review",
    range=(0.0, 1.0),
    direction="higher",
    pitfalls="Twenty groups at 5 % give one false alarm on average: one primary test per report, everything else adjusted.",
    aliases=("bonferroni", "holm", "benjamini-hochberg", "benjamini-yekutieli"),
)
def adjust_p_values(p_values: Any, *, method: Adjustment = "holm", alpha: Alpha = 0.05) -> Adjusted:
    """p-values adjusted for the number of tests.

    Parameters
    ----------
    method
        ``bonferroni``, ``holm`` (family-wise error, any dependence), ``bh`` (false discovery rate, independence or
        positive dependence) or ``by`` (false discovery rate, any dependence).
    alpha
        Level used to count rejections.
    """
    p = np.asarray(p_values, dtype=np.float64).ravel()
    if len(p) == 0:
        raise InputError("p_values must have at least one value; got none", field="p_values")
    bad = ~((p >= 0) & (p <= 1))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"p_values must lie in [0, 1]; {int(bad.sum())} of {len(p)} do not, the first: p_values[{row}] = {p[row]:.6g}",
            field="p_values",
            row=row,
        )
    adjusted = np.empty_like(p)
    order = np.argsort(p, kind="stable")
    adjusted[order] = _adjusted(p[order], method)
    return Adjusted(
        adjusted=adjusted,
        min_adjusted=float(adjusted.min()),
        mean_adjusted=float(adjusted.mean()),
        rejections=int((adjusted <= alpha).sum()),
    )


def _adjusted(p: NDArray[np.float64], method: str) -> NDArray[np.float64]:
    """Adjusted values of sorted p-values."""
    m = len(p)
    rank = np.arange(1, m + 1)
    if method == "bonferroni":
        return np.minimum(1.0, m * p)
    if method == "holm":
        return np.maximum.accumulate(np.minimum(1.0, (m - rank + 1) * p))
    factor = m * float((1.0 / rank).sum()) if method == "by" else float(m)
    stepped = np.minimum(1.0, factor / rank * p)
    return np.asarray(np.minimum.accumulate(stepped[::-1])[::-1])
