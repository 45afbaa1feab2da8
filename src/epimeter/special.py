# SPDX-License-Identifier: Apache-2.0
"""The special functions of scipy, without what `scipy.special` loads beside them.

The package parses the documentation of ninety functions and loads numpy's test and Fortran tools for its array
interface: a fifth of a second, half of a cold `epimeter evaluate`. The functions themselves are one compiled module.
Where no other thread could meet the package half loaded, that module is loaded alone; an `import scipy.special` that
comes later finds it and goes its usual way. They are the same functions, so they give the same bits.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from functools import cache
from types import ModuleType
from typing import Any

PACKAGE = "scipy.special"


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    home = _functions()
    return getattr(home if hasattr(home, name) else importlib.import_module(PACKAGE), name)


@cache
def _functions() -> ModuleType:
    """The module that has them."""
    if PACKAGE not in sys.modules and len(sys._current_frames()) == 1:
        try:
            return _compiled()
        except (ImportError, AttributeError):  # a scipy that is built otherwise
            pass
    return importlib.import_module(PACKAGE)


def _compiled() -> ModuleType:
    """The compiled functions, loaded while a stand-in that only knows its folder takes the place of their package."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None:
        raise ImportError(PACKAGE)
    sys.modules[PACKAGE] = importlib.util.module_from_spec(found)
    try:
        return importlib.import_module(f"{PACKAGE}._ufuncs")
    finally:
        del sys.modules[PACKAGE]
