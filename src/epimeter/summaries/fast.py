# SPDX-License-Identifier: Apache-2.0
"""Which loop adds up the bins: numpy for small calls, compiled loops (`hot`) for large ones.

Both give the same integers; a test holds them to it. numba is imported only by a call large enough to win back its
import, or once some call has done so.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.summaries import fine, fixed
from epimeter.summaries.cuts import Cut, area_index, mass_borders, whole_borders

Integers = NDArray[np.int64]

WORTH_LOADING = 1 << 20
WORTH_CALLING = 1 << 14


def worth(n_rows: int) -> bool:
    """Whether compiled loops win on this many rows."""
    return n_rows >= (WORTH_CALLING if "epimeter.summaries.hot" in sys.modules else WORTH_LOADING)


def indexed_totals(
    true: NDArray[Any], prob: NDArray[Any], index: NDArray[Any], bins: int, finer: bool = False
) -> tuple[Integers, Integers, Any]:
    """Rows, outcomes and confidence by the bin of each row."""
    count = np.bincount(index, minlength=bins)
    outcomes = np.bincount(index[true == 1], minlength=bins)
    said = fine.exact(prob.astype(np.float64), index, bins) if finer else fixed.binned(prob, index, bins)
    return count, outcomes, said


def cut_totals(
    true: NDArray[Any], prob: NDArray[Any], bins: int, binning: Cut, finer: bool = False
) -> tuple[Integers, Integers, Any, NDArray[np.float64]]:
    """Rows, outcomes and confidence by bins that depend on the data, and the confidences where they meet."""
    if binning == "area":
        index = area_index(prob, bins)
        totals = indexed_totals(true, prob, index, bins, finer)
        return *totals, _edges(prob, index, bins)
    if worth(len(prob)) and not (finer and fine.any_tiny(prob)):
        from epimeter.summaries import hot

        return hot.mass_totals(true, prob, bins, finer)
    order = np.argsort(prob)
    ordered = prob[order]
    border = whole_borders(ordered, mass_borders(len(prob), bins))
    index = np.repeat(np.arange(bins), np.diff(border))
    return *indexed_totals(true[order], ordered, index, bins, finer), mass_edges(ordered, border)


def mass_edges(ordered: NDArray[Any], border: NDArray[np.intp]) -> NDArray[np.float64]:
    """The first confidence of each equal-mass bin, and 1 at the end; empty bins at the end have width 0."""
    edges = np.append(ordered.astype(np.float64), 1.0)[np.minimum(border, len(ordered))]
    edges[0], edges[-1] = 0.0, 1.0
    return edges


def _edges(prob: NDArray[Any], index: NDArray[np.intp], bins: int) -> NDArray[np.float64]:
    edges = np.full(bins + 1, np.inf)
    np.minimum.at(edges, index, prob.astype(np.float64))
    edges[0], edges[-1] = 0.0, 1.0
    return np.minimum.accumulate(edges[::-1])[::-1]  # an empty bin begins where the next filled one does


def load() -> None:
    """Load the compiled loops now: the work ahead is large, though it comes in small pieces."""
    import epimeter.summaries.hot  # noqa: F401
