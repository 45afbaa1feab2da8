# SPDX-License-Identifier: Apache-2.0
"""``--bins``, ``--binning`` and ``--set NAME=VALUE``: parameters of metrics as they are typed."""

from __future__ import annotations

import ast
import math
from typing import Any

from epimeter.cli.columns import pair


def choices_of(bins: int | None, binning: str | None, settings: tuple[str, ...]) -> dict[str, Any]:
    """The parameters that were chosen."""
    choices: dict[str, Any] = {
        name: value for name, value in (("bins", bins), ("binning", binning)) if value is not None
    }
    return choices | {name: _value(value) for name, value in (pair(setting, "--set") for setting in settings)}


def _value(text: str) -> Any:
    """A parameter typed on the command line: a number, true/false, none, a list, or a word."""
    words = {"true": True, "false": False, "none": None, "null": None, "inf": math.inf}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
