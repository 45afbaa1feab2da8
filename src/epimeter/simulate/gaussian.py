# SPDX-License-Identifier: Apache-2.0
"""Forecasts of a number by a mean and a deviation, whose true mean and deviation are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError, UndefinedMetricError
from epimeter.special import ndtr, ndtri

Floats = NDArray[np.float64]

FAULTS: dict[str, tuple[float, float, str]] = {
    "calibrated": (0.0, 1.0, "the stated mean and deviation hold"),
    "over": (0.0, 1.5, "the true deviation is the strength times the stated one"),
    "under": (0.0, 0.7, "the true deviation is the strength times the stated one"),
    "shift": (0.5, 1.0, "the true mean lies the strength, in stated deviations, above the stated one"),
}
"""Name: bias in stated deviations, true deviation over stated one, meaning."""


@dataclass(frozen=True)
class GaussianSample:
    """Rows that were drawn."""

    y_true: Floats
    mean: Floats
    deviation: Floats
    true_mean: Floats
    true_deviation: Floats


@dataclass(frozen=True)
class GaussianTruth:
    """y = mean + deviation * (bias + ratio * z) with a standard normal z.

    Stated means are standard normal, stated deviations logarithmic normal with the given spread about `deviation`.
    """

    name: str
    bias: float = 0.0
    ratio: float = 1.0
    deviation: float = 1.0
    spread: float = 0.3

    def __post_init__(self) -> None:
        for name, value, least in (
            ("ratio", self.ratio, 0),
            ("deviation", self.deviation, 0),
            ("spread", self.spread, -1e-300),
        ):
            if not (math.isfinite(value) and value > least):
                raise InputError(f"{name} must be a finite number above 0; got {value:g}", field=name)
        if not math.isfinite(self.bias):
            raise InputError(f"bias must be a finite number; got {self.bias}", field="bias")

    def sample(self, n_rows: int, *, seed: int = 0) -> GaussianSample:
        """Draw rows; the first rows of a longer sample are those of a shorter one."""
        if n_rows < 1:
            raise InputError(f"a sample needs at least one row; got {n_rows}", field="n_rows")
        if seed < 0:
            raise InputError(f"seed must be at least 0; got {seed}", field="seed")
        # 1 - u is never 0, whose normal score would be infinite.
        z = ndtri(1 - np.random.Generator(np.random.PCG64(seed)).random((n_rows, 3)))
        z = np.clip(z, -9, 9)
        mean, deviation = z[:, 0], self.deviation * np.exp(self.spread * z[:, 1])
        return GaussianSample(
            mean + deviation * (self.bias + self.ratio * z[:, 2]),
            mean,
            deviation,
            mean + self.bias * deviation,
            self.ratio * deviation,
        )

    def value(self, metric: str, **parameters: Any) -> float:
        """What a metric of Gaussian forecasts tends to: nees, ecd_gaussian, nll, dss, crps, coverage (level), pit (at)."""
        known = {
            "nees": self.nees,
            "ecd_gaussian": lambda: (self.nees() - 1) / 2,
            "nll": lambda: self.dss() / 2 + math.log(2 * math.pi) / 2,
            "dss": self.dss,
            "crps": self.crps,
            "coverage": self.coverage,
            "pit": self.pit,
        }
        if metric not in known:
            raise UndefinedMetricError(f"no true value of {metric!r} is known here; there are {', '.join(known)}")
        return float(known[metric](**parameters))

    def nees(self) -> float:
        """Mean squared error in units of the stated variance."""
        return self.ratio**2 + self.bias**2

    def dss(self) -> float:
        """Mean of log variance plus squared standard score."""
        return 2 * math.log(self.deviation) + self.nees()

    def crps(self) -> float:
        """Mean continuous ranked probability score."""
        scale = self.deviation * math.exp(self.spread**2 / 2)

        def score(z: Floats) -> Floats:
            density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
            return np.asarray(z * (2 * ndtr(z) - 1) + 2 * density - 1 / math.sqrt(math.pi))

        return scale * self._mean(score)

    def coverage(self, level: float = 0.95) -> float:
        """How often the stated central interval of this level holds the truth."""
        if not 0 < level < 1:
            raise InputError(f"level must lie between 0 and 1; got {level:g}", field="level")
        half = float(ndtri((1 + level) / 2))
        return float(ndtr((half - self.bias) / self.ratio) - ndtr((-half - self.bias) / self.ratio))

    def pit(self, at: float = 0.5) -> float:
        """How often the outcome lies at or below the stated quantile of this level."""
        if not 0 < at < 1:
            raise InputError(f"at must lie between 0 and 1; got {at:g}", field="at")
        return float(ndtr((ndtri(at) - self.bias) / self.ratio))

    def _mean(self, score: Callable[[Floats], Floats]) -> float:
        point, weight = np.polynomial.hermite_e.hermegauss(100)
        return float(weight @ score(self.bias + self.ratio * point) / weight.sum())


def gaussian(name: str, *, strength: float | None = None, deviation: float = 1.0) -> GaussianTruth:
    """The Gaussian truth of that name.

    Parameters
    ----------
    name
        ``calibrated``, ``over``, ``under`` or ``shift``.
    strength
        The true deviation over the stated one, or the bias in stated deviations; None: as usual.
    deviation
        The deviation that is stated in the middle.
    """
    if name not in FAULTS:
        raise InputError(f"no Gaussian truth is called {name!r}; there are {', '.join(FAULTS)}", field="name")
    bias, ratio, _ = FAULTS[name]
    if strength is not None and name == "calibrated":
        raise InputError("a calibrated truth has no strength; leave it out", field="strength")
    if strength is not None:
        bias, ratio = (strength, 1.0) if name == "shift" else (0.0, strength)
    return GaussianTruth(name, bias, ratio, deviation)
