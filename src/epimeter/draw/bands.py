# SPDX-License-Identifier: Apache-2.0
"""How far a frequency may be from its probability: intervals around what was seen, bands around what was said."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError
from epimeter.inference import draws as random

Floats = NDArray[np.float64]

EXACT = "Clopper-Pearson"
WEIGHED = "Wilson with effective rows"


def clopper_pearson(true: Floats, rows: Floats, level: float) -> tuple[Floats, Floats]:
    """The exact binomial interval of `true` successes in `rows`; NaN where there are no rows."""
    from epimeter.special import betaincinv

    tail = (1 - level) / 2
    some = rows > 0
    # An impossible success has the end 0 or 1; the parameters of the beta are kept positive there.
    low = betaincinv(np.maximum(true, 1), rows - true + 1, tail, where=some, out=np.full(rows.shape, np.nan))
    high = betaincinv(true + 1, np.maximum(rows - true, 1), 1 - tail, where=some, out=np.full(rows.shape, np.nan))
    return np.where(some & (true == 0), 0.0, low), np.where(some & (true == rows), 1.0, high)


def wilson(frequency: Floats, rows: Floats, level: float) -> tuple[Floats, Floats]:
    """Wilson's score interval of a frequency seen in so many rows, whole or not; NaN where there are none."""
    from epimeter.special import ndtri

    z = float(ndtri((1 + level) / 2))
    some = rows > 0
    size = np.where(some, rows, 1.0)
    middle = (frequency + z**2 / (2 * size)) / (1 + z**2 / size)
    reach = z / (1 + z**2 / size) * np.sqrt(frequency * (1 - frequency) / size + z**2 / (4 * size**2))
    low, high = np.clip(middle - reach, 0.0, 1.0), np.clip(middle + reach, 0.0, 1.0)
    # At 0 and 1 the ends are 0 and 1; rounding may leave them an ulp inside.
    low, high = np.where(frequency == 0, 0.0, low), np.where(frequency == 1, 1.0, high)
    return np.where(some, low, np.nan), np.where(some, high, np.nan)


def effective(weight: Floats, squares: Floats) -> Floats:
    """Kish's effective number of rows, (sum w)^2 / sum w^2: unequal weights carry less than as many equal ones."""
    return np.divide(weight**2, squares, out=np.zeros_like(weight), where=squares > 0)


def redrawn_band(
    prob: Floats, draws: int, seed: int, level: float, of_labels: Callable[[Floats], Floats]
) -> tuple[Floats, Floats]:
    """Where `of_labels` lies, point by point, when the labels are drawn from the probabilities.

    Replicate r draws label i as u < p_i from row r of the random numbers (as consistency_test does, row i of the data
    in the order given), so one seed gives the same labels there and here.
    """
    beyond = math.floor((1 - level) / 2 * (draws + 1) - 1 + 1e-9)
    if beyond < 0:
        needed = math.ceil(2 / (1 - level) - 1 - 1e-9)
        raise InputError(f"draws must be at least {needed} for a band of level {level:g}; got {draws}", field="draws")

    def one(replicate: int) -> Floats:
        return of_labels((random.whole_row(seed, replicate, len(prob)) < prob).astype(np.float64))

    drawn = np.sort(np.stack(random.replicates(draws, lambda group: [one(r) for r in group])), axis=0)
    return drawn[beyond], drawn[draws - 1 - beyond]
