# SPDX-License-Identifier: Apache-2.0
"""A thermometer for what AI systems claim to know.

The public names; everything is loaded when it is first used, so that the import stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Client": "epimeter.service.client",
    "EpimeterError": "epimeter.errors",
    "InputError": "epimeter.errors",
    "UndefinedMetricError": "epimeter.errors",
    "catalogue": "epimeter.card_index",
    "evaluate": "epimeter.report",
    "evaluate_forecasts": "epimeter.report",
    "find": "epimeter.card_index",
    "metric": "epimeter.card_index",
    "read_log": "epimeter.readers.logs",
    "scan": "epimeter.report.scan",
}
_ROOMS = (
    "metrics",
    "inference",
    "recalibration",
    "standards",
    "report",
    "draw",
    "trust",
    "simulate",
    "errors",
    "views",
)

__all__ = [
    "Client",
    "EpimeterError",
    "InputError",
    "UndefinedMetricError",
    "__version__",
    "catalogue",
    "draw",
    "errors",
    "evaluate",
    "evaluate_forecasts",
    "find",
    "inference",
    "metric",
    "metrics",
    "read_log",
    "recalibration",
    "report",
    "scan",
    "simulate",
    "standards",
    "trust",
    "views",
]

if TYPE_CHECKING:
    from epimeter import draw, errors, inference, metrics, recalibration, report, simulate, standards, trust, views
    from epimeter.card_index import catalogue, find, metric
    from epimeter.errors import EpimeterError, InputError, UndefinedMetricError
    from epimeter.readers.logs import read_log
    from epimeter.report import evaluate, evaluate_forecasts
    from epimeter.report.scan import scan
    from epimeter.service.client import Client


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return importlib.import_module(f"epimeter.{name}")
    raise AttributeError(f"module 'epimeter' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
