# SPDX-License-Identifier: Apache-2.0
"""The point family: one score a row, and what the scores add up to."""

from epimeter.metrics.point.brier import brier_score

__all__ = ["brier_score"]
