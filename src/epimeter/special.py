# SPDX-License-Identifier: Apache-2.0
"""The special functions of scipy and its root finder, without what their packages load beside them.

The package parses the documentation of ninety functions and loads numpy's test and Fortran tools for its array
interface: a fifth of a second, half of a cold `epimeter evaluate`. The functions themselves are one compiled module.
Where no other thread could meet the package half loaded, that module is loaded alone; an `import scipy.special` that
comes later finds it and goes its usual way. They are the same functions, so they give the same bits.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

PACKAGE = "scipy.special"


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    home = _functions()
    found = globals()[name] = getattr(home if hasattr(home, name) else importlib.import_module(PACKAGE), name)
    return found


@cache
def _functions() -> ModuleType:
    """The module that has them."""
    return _compiled(PACKAGE, "_ufuncs") or importlib.import_module(PACKAGE)


def _compiled(package: str, name: str) -> ModuleType | None:
    """A compiled module of a package, loaded while a stand-in that only knows its folder takes the package's place.

    None where another thread could meet the stand-in, where the package is there already, and in a scipy that is built
    otherwise.
    """
    if package in sys.modules or len(sys._current_frames()) > 1:
        return None
    try:
        found = importlib.util.find_spec(package)
        assert found is not None
        sys.modules[package] = importlib.util.module_from_spec(found)
        return importlib.import_module(f"{package}.{name}")
    except (AssertionError, AttributeError, ImportError):
        return None
    finally:
        sys.modules.pop(package, None)


_ROOTS = _compiled("scipy.optimize", "_zeros")


def brentq(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function is 0, between two places where it has different signs: `scipy.optimize.brentq`."""
    if _ROOTS is None or not hasattr(_ROOTS, "_brentq"):
        return float(importlib.import_module("scipy.optimize").brentq(function, low, high))
    return float(_ROOTS._brentq(function, low, high, 2e-12, 4 * sys.float_info.epsilon, 100, (), False, True))
