# SPDX-License-Identifier: Apache-2.0
"""Measurements, the report that holds them, and its renderings; loaded when first used, since metrics are many."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "Interval": "epimeter.results",
    "Measurement": "epimeter.report.measurement",
    "Report": "epimeter.report.measurement",
    "evaluate": "epimeter.report.evaluation",
    "evaluate_forecasts": "epimeter.report.forecasts",
}

__all__ = ["Interval", "Measurement", "Report", "evaluate", "evaluate_forecasts"]

if TYPE_CHECKING:
    from epimeter.report.evaluation import evaluate
    from epimeter.report.forecasts import evaluate_forecasts
    from epimeter.report.measurement import Measurement, Report
    from epimeter.results import Interval


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'epimeter.report' has no attribute {name!r}")
