# SPDX-License-Identifier: Apache-2.0
"""Many summaries into one, at once.

Merging two by two costs some array operations a pair; ten thousand summaries are stacked instead, and each total is
added in one operation. The integers are those of `merge`, in whatever order they come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import reduce
from typing import Any

import numpy as np

from epimeter.errors import MergeError
from epimeter.summaries.bins import BinTotals
from epimeter.summaries.fixed import BLOCK, Fixed, normalised
from epimeter.summaries.means import Mean
from epimeter.summaries.sums import Fine, Sums

SAME = {"n_classes": "classes"}
"""Fields in which all summaries must agree."""
FIRST = ("edges",)
"""Fields that follow from the recipe."""


def merged(summaries: Sequence[Any]) -> Any:
    """The summary of all."""
    first = summaries[0]
    if len(summaries) == 1:
        return first
    kinds = {type(summary) for summary in summaries}
    if len(summaries) == 2 or len(kinds) > 1 or not isinstance(first, BinTotals | Mean | Sums):
        return reduce(lambda left, right: left.merge(right), summaries)
    if not all(_exact(summary) for summary in summaries) or not _alike(summaries):
        return reduce(lambda left, right: left.merge(right), summaries)  # weights: the order of the sums matters
    return type(first)(**{f.name: _field(f.name, [getattr(s, f.name) for s in summaries]) for f in fields(first)})


def _exact(summary: Any) -> bool:
    return isinstance(summary.weight, Fixed | Fine)


def _alike(summaries: Sequence[Any]) -> bool:
    """Whether all totals have one shape; if not, `merge` says what is wrong."""
    if isinstance(summaries[0], BinTotals):
        return len({summary.count.shape for summary in summaries}) == 1
    return len({summary.total.__class__ for summary in summaries}) == 1


def _field(name: str, values: list[Any]) -> Any:
    if name in FIRST or values[0] is None:
        return values[0]
    if name in SAME:
        if len(set(values)) > 1:
            low, high = min(values), max(values)
            raise MergeError(f"cannot merge summaries over {low} and over {high} {SAME[name]}")
        return values[0]
    return total(values)


def total(values: Sequence[Any]) -> Any:
    """The sum of numbers, arrays of whole numbers, or exact totals."""
    first = values[0]
    if isinstance(first, Fixed):
        made = Fixed.zeros(first.units.shape)
        for start in range(0, len(values), BLOCK):
            some = values[start : start + BLOCK]
            units, steps = np.stack([v.units for v in some]).sum(axis=0), np.stack([v.steps for v in some]).sum(axis=0)
            made = made + normalised(units, steps)
        return made
    if isinstance(first, Fine):
        return Fine(total([v.coarse for v in values]), total([v.rest for v in values]))
    if isinstance(first, np.ndarray):
        return np.stack(values).sum(axis=0)
    return sum(values[1:], start=first)
