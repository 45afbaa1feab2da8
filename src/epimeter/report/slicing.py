# SPDX-License-Identifier: Apache-2.0
"""Rows into slices: columns crossed, columns of many numbers cut at their quartiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.readers.cells import number

MANY = 20
"""Different numbers from which a column is cut into quantiles, and not sliced value by value."""


def slice_names(columns: NDArray[Any], names: Sequence[str], *, quantiles: int = 4) -> NDArray[Any]:
    """The slice of every row, in words: the value alone for one column, `a=x, b=y` for several.

    Parameters
    ----------
    columns
        Words, one column a name.
    names
        What the columns are called.
    quantiles
        Parts that a column of many numbers is cut into, equally many rows each.
    """
    parts = [cut(columns[:, place], quantiles) for place in range(columns.shape[1])]
    if len(parts) == 1:
        return parts[0]
    rows = zip(*parts, strict=True)
    return np.array([", ".join(f"{name}={part}" for name, part in zip(names, row, strict=True)) for row in rows])


def cut(column: NDArray[Any], quantiles: int) -> NDArray[Any]:
    """The words of a column; intervals of numbers where it holds many."""
    words, place = np.unique(["(none)" if word is None else str(word) for word in column], return_inverse=True)
    values = [number(word) for word in words]
    numeric = [value for value in values if isinstance(value, float)]
    if len(numeric) <= MANY or any(
        isinstance(value, str) for value, word in zip(values, words, strict=True) if word != "(none)"
    ):
        return words[place.ravel()].astype(object)
    known = np.array([value if isinstance(value, float) else np.nan for value in values])
    row = known[place.ravel()]
    seen = row[~np.isnan(row)]
    edges = np.unique(np.quantile(seen, np.arange(quantiles + 1) / quantiles))
    where = np.clip(np.searchsorted(edges, row, side="right") - 1, 0, max(0, len(edges) - 2))
    last = len(edges) - 2
    told = [f"[{edges[k]:g}, {edges[k + 1]:g}{']' if k == last else ')'}" for k in range(last + 1)]
    made: NDArray[Any] = np.array(told or [f"{edges[0]:g}"], dtype=object)[where]
    made[np.isnan(row)] = "(none)"
    return made
