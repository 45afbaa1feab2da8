# SPDX-License-Identifier: Apache-2.0
"""The cumulative errors (Kolmogorov-Smirnov and Kuiper) off the cells.

The walk T adds y - c row by row in the order of the confidence. Where a cell ends it is known exactly, so the extremes
over the ends of the cells, M and m, are values that the walk takes. Inside a cell that it enters at T the walk adds some
of its rows: at most all that came true, at least all that did not,

    T - sum of c over the rows with y = 0  <=  inside  <=  T + sum of 1 - c over the rows with y = 1.

Equal confidences are one step, so there is no inside where all rows of a cell have one confidence. The value given is
that of the ends of the cells; the bound is how much higher and lower the insides could reach. With N rows of a smooth
density f it is about f c(1 - c) / 76,800, whatever N: 6e-6 for a uniform one.
"""

from __future__ import annotations

import numpy as np

from epimeter.metrics.cumulative.brownian import brownian_tail
from epimeter.metrics.cumulative.differences import CumulativeError
from epimeter.metrics.cumulative.walk import ratio
from epimeter.passes.bounds.groups import SLACK
from epimeter.summaries.cell_totals import CellTotals


def deviation(cells: CellTotals, whole_range: bool) -> tuple[CumulativeError, float]:
    """The largest deviation of the walk, or its range, and how much larger it could be."""
    n_rows = cells.n_rows
    some = cells.filled
    after = cells.residual[some].cumulate().floats()
    before = np.concatenate([[0.0], after[:-1]])
    up = cells.count[some, 1] - cells.prob[some, 1].floats()
    down = cells.prob[some, 0].floats()
    mixed = ~cells.pure[some]
    high, low = max(0.0, float(after.max())), min(0.0, float(after.min()))
    highest = max(high, float((before + up)[mixed].max(initial=0.0)))
    lowest = min(low, float((before - down)[mixed].min(initial=0.0)))
    if whole_range:
        value, largest = high - low, highest - lowest
    else:
        value, largest = max(high, -low), max(highest, -lowest)
    mean = cells.stated[some].floats() / cells.size[some]
    sigma = float(np.sqrt(np.sum(cells.size[some] * mean * (1 - mean)))) / n_rows
    statistic = ratio(value / n_rows, sigma)
    answer = CumulativeError(
        value=value / n_rows,
        sigma=sigma,
        statistic=statistic,
        p_value=brownian_tail.compute(statistic, kind="range" if whole_range else "max_abs"),
    )
    return answer, (largest - value) / n_rows + SLACK
