# SPDX-License-Identifier: Apache-2.0
"""Every metric of the catalogue, by its name. A family is loaded when a metric of it is asked for."""

import importlib
from types import ModuleType
from typing import Any

FAMILIES = ("point", "bin", "kernel", "curve", "cumulative", "selective", "detection", "distribution")


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if not name.startswith("_"):
        for family in FAMILIES:
            if name in _family(family).__all__:
                return getattr(_family(family), name)
    raise AttributeError(f"module 'epimeter.metrics' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [name for family in FAMILIES for name in _family(family).__all__]


def _family(name: str) -> ModuleType:
    return importlib.import_module(f"epimeter.metrics.{name}")
