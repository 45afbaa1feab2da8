# SPDX-License-Identifier: Apache-2.0
"""Forecasts of a count, whose values have no end: a Poisson law, or a negative binomial one where it is spread more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from epimeter.checks import refuse
from epimeter.errors import InputError
from epimeter.forecasts.row import Floats, Forecast

LARGEST_COUNT = 1e9
"""Above it a count is a continuous number for every purpose here, and sums over its law lose digits."""


@dataclass(frozen=True)
class Counts(Forecast):
    """Of each row the expected count and the dispersion; the variance is rate + dispersion rate^2."""

    rate: Floats = field(default_factory=lambda: np.empty(0))
    dispersion: Floats = field(default_factory=lambda: np.empty(0))
    kind = "count"

    def moments(self) -> tuple[Floats, Floats]:
        return self.rate, self.rate + self.dispersion * self.rate**2

    def interval(self, level: float) -> tuple[Floats, Floats]:
        # No interval of whole numbers has a level exactly: its coverage would tell the step, not the forecast.
        raise self.silent("intervals of a level")


def read_counts(true: Floats, stated: Mapping[str, Floats]) -> dict[str, Any]:
    """Expected counts and dispersions, doubted beside the counts that came."""
    if "rate" not in stated:
        raise InputError("a dispersion needs the expected count beside it; pass rate", field="rate")
    rate, spread = stated["rate"], stated.get("dispersion", np.zeros(len(true)))
    refuse((true < 0) | (true != np.floor(true)), true, "y_true", "must hold counts beside rate: 0, 1, 2 …")
    refuse(rate < 0, rate, "rate", "must hold expected counts, none negative")
    refuse(spread < 0, spread, "dispersion", "must be at least 0", "0 is the Poisson law")
    for values, name in ((true, "y_true"), (rate, "rate"), (spread, "dispersion")):
        refuse(values > LARGEST_COUNT, values, name, f"must be at most {LARGEST_COUNT:g}")
    return {"rate": rate, "dispersion": spread}
