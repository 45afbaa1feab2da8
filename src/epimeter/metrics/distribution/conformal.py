# SPDX-License-Identifier: Apache-2.0
"""Sets of labels: how often they hold the true one, and how many they name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.forecasts import COLUMNS, Sets
from epimeter.metrics.distribution.coverage import Level
from epimeter.summaries.exact import RowMeans, RowSums

Floats = NDArray[np.float64]
WHERE = {"C_i": "set of row i", "y_i": "true label"}


def held(view: Sets, *, level: Level = 0.9) -> Floats:
    """1 where the set holds the true label.

    Parameters
    ----------
    level
        Nominal coverage of the sets: what the value is held against; it does not change it.
    """
    return view.covered.astype(np.float64)


@metric(
    title="Coverage of prediction sets",
    family="distribution",
    reads=RowMeans(held),
    forecasts=("set",),
    takes=COLUMNS,
    range=(0.0, 1.0),
    direction="none",
    aims_at="level",
    test="exact",
    equation=r"\frac1N\sum_i\mathbb 1\{y_i\in C_i\}",
    where=WHERE,
    source="Vovk, Gammerman and Shafer 2005, Algorithmic Learning in a Random World; Angelopoulos and Bates 2023; beyond the "
    "review",
    pitfalls="The ideal is the level, not 1. Conformal sets promise it on average over rows and calibration sets, not for each "
    "class or group: see class_conditional_coverage and conditional_coverage.",
    aliases=("classification_coverage_score", "marginal coverage"),
)
def set_coverage(sums: RowSums) -> float:
    """How often the set holds the true label."""
    return sums.mean


def sizes(view: Sets) -> Floats:
    """Labels in each set."""
    return view.size.astype(np.float64)


@metric(
    title="Mean size of prediction sets",
    family="distribution",
    reads=RowMeans(sizes),
    forecasts=("set",),
    takes=COLUMNS,
    range=(0.0, None),
    direction="lower",
    equation=r"\frac1N\sum_i|C_i|",
    where=WHERE,
    source="Angelopoulos, Bates, Malik and Jordan 2021, ICLR; beyond the review",
    pitfalls="Small sets are worth nothing if they do not cover; empty sets make it smaller.",
    aliases=("average set size", "classification_mean_width_score", "inefficiency"),
)
def set_size(sums: RowSums) -> float:
    """How many labels a set names on average."""
    return sums.mean
