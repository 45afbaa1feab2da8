# SPDX-License-Identifier: Apache-2.0
"""Answers kept from the most confident downwards: coverage, and how many of those kept are right.

Equal confidences cannot be told apart by any threshold, so they are kept together or not at all: the curve has a point a
distinct confidence, and every answer counts with the risk at its own confidence as the threshold. Without ties that is the
usual mean over all coverages 1/N, 2/N, …, 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import UndefinedMetricError
from epimeter.special import psi
from epimeter.summaries.rows import OrderedRows

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CoverageCurve:
    """Points by threshold, the highest first: confidence, weight at it, weight kept, and weight kept that is right."""

    threshold: Floats
    size: Floats
    kept: Floats
    right: Floats

    @classmethod
    def of(cls, rows: OrderedRows) -> CoverageCurve:
        """The curve of sorted rows."""
        levels = rows.levels
        size, true = levels.weight[::-1], levels.true[::-1]
        some = size > 0
        if not some.any():
            raise UndefinedMetricError("a risk-coverage curve needs at least one answer; got none")
        return cls(levels.prob[::-1][some], size[some], np.cumsum(size[some]), np.cumsum(true[some]))

    @property
    def total(self) -> float:
        """Weight of all answers."""
        return float(self.kept[-1])

    @property
    def correct(self) -> float:
        """Weight of all right answers."""
        return float(self.right[-1])

    @property
    def coverage(self) -> Floats:
        """Share of the answers kept."""
        return np.asarray(self.kept / self.total)

    @property
    def accuracy(self) -> Floats:
        """Share of the kept answers that are right."""
        return np.asarray(np.minimum(self.right / self.kept, 1.0))

    def mean_accuracy(self, rejected: float = 1.0) -> float:
        """Mean accuracy over coverages from 1 - rejected to 1."""
        start = (1.0 - rejected) * self.total
        inside = np.minimum(self.kept, self.total) - np.maximum(self.kept - self.size, start)
        inside = np.maximum(inside, 0.0)
        return float(np.sum(inside * self.accuracy) / (self.total - start))

    def best_mean_accuracy(self, rejected: float = 1.0) -> float:
        """The same where every right answer stands before every wrong one, each at a confidence of its own."""
        start = (1.0 - rejected) * self.total
        right, total = self.correct, self.total
        # The sum of right / n over counts n above both; digamma is the sum of 1 / n, also between whole numbers.
        low = max(start, right)
        tail = right * float(psi(total + 1) - psi(low + 1)) if low < total else 0.0
        return (max(0.0, right - start) + tail) / (total - start)
