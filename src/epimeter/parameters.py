# SPDX-License-Identifier: Apache-2.0
"""The parameters of a metric, read off its signature: name, type, default, bounds, meaning."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import math
import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from epimeter.errors import InputError
from epimeter.limits import Limit

REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class Parameter:
    """One keyword a caller may give."""

    name: str
    default: Any
    kinds: tuple[type, ...] = ()
    """Python types it may have; empty: anything."""
    words: tuple[str, ...] = ()
    """The words it may be."""
    limit: Limit | None = None
    meaning: str = ""
    optional: bool = False

    @property
    def required(self) -> bool:
        return self.default is REQUIRED

    def refuse(self, metric: str, value: Any) -> None:
        """Raise when the value is not allowed; the one place where parameters are doubted."""
        if value is None and (self.optional or self.default is None):
            return
        value = self.settled(value)
        if isinstance(value, str) and self.words:
            if value in self.words:
                return
            raise self._error(metric, f"must be one of {', '.join(self.words)}; got {value!r}")
        if isinstance(value, bool | np.bool_) and bool in self.kinds:
            return
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if int in self.kinds and float not in self.kinds and number:
            if value != math.floor(value) if math.isfinite(value) else True:
                raise self._error(metric, f"must be a whole number; got {value!r}")
        elif number and (float in self.kinds or int in self.kinds):
            if math.isnan(value):
                raise self._error(metric, "must be a number; got nan")
        elif self.kinds and (isinstance(value, bool | np.bool_) or not isinstance(value, self.kinds)):
            raise self._error(metric, f"must be {self._wanted()}; got {value!r:.60}")
        elif self.words and not self.kinds:
            raise self._error(metric, f"must be one of {', '.join(self.words)}; got {value!r:.60}")
        if self.limit is not None and number and not self.limit.holds(value):
            raise self._error(metric, f"must be {self.limit}; got {value!r}")

    def settled(self, value: Any) -> Any:
        """A value in its own type: 10.0 where a whole number is meant is 10, "inf" where a number is meant is infinite."""
        if (
            isinstance(value, str) and value in ("inf", "-inf") and float in self.kinds
        ):  # JSON has no other way to say it
            return float(value)
        whole = int in self.kinds and float not in self.kinds
        if whole and isinstance(value, float | np.number) and math.isfinite(value) and value == math.floor(value):
            return int(value)
        return value

    def _error(self, metric: str, text: str) -> InputError:
        return InputError(f"{self.name} of {metric} {text}", field=self.name)

    def _wanted(self) -> str:
        names = {int: "a whole number", float: "a number", bool: "True or False", str: "text"}
        return " or ".join([names.get(kind, f"a {kind.__name__}") for kind in self.kinds] + list(self.words))


def parameters_of(thing: Any) -> dict[str, Parameter]:
    """The parameters of a recipe (what it lets a caller choose) or of a function (its keyword-only arguments)."""
    if callable(thing):
        return _of_function(thing)
    score = getattr(thing, "score", None)
    if score is not None:
        present = dict(thing.bound)
        return {
            name: dataclasses.replace(p, default=present.get(name, p.default))
            for name, p in _of_function(score).items()
        }
    meanings = documented(type(thing))
    hints = get_type_hints(type(thing), include_extras=True)
    return {
        name: _parameter(name, default, hints.get(name, Any), meanings.get(name, ""))
        for name, default in thing.choices().items()
    }


def _of_function(function: Callable[..., Any]) -> dict[str, Parameter]:
    hints = get_type_hints(function, include_extras=True)
    meanings = documented(function)
    return {
        name: _parameter(name, p.default, hints.get(name, Any), meanings.get(name, ""))
        for name, p in inspect.signature(function).parameters.items()
        if p.kind is inspect.Parameter.KEYWORD_ONLY
    }


def _parameter(name: str, default: Any, hint: Any, meaning: str) -> Parameter:
    limit = None
    if get_origin(hint) is Annotated:
        hint, *notes = get_args(hint)
        limit = next((note for note in notes if isinstance(note, Limit)), None)
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    words: list[str] = []
    kinds: list[type] = []
    anything = False
    for part in parts:
        if get_origin(part) is Annotated:
            part, *notes = get_args(part)
            limit = limit or next((note for note in notes if isinstance(note, Limit)), None)
        if get_origin(part) is Literal:
            words += get_args(part)
        elif part in (int, float, bool, str):
            kinds.append(part)
        elif part is not type(None):
            anything = True
    if anything:
        kinds = []
        words = []
    return Parameter(name, default, tuple(kinds), tuple(words), limit, meaning, type(None) in parts)


def documented(thing: Any) -> dict[str, str]:
    """The meanings written under Parameters in a numpydoc docstring; those of the parent class come first."""
    inherited: dict[str, str] = {}
    for parent in reversed(getattr(thing, "__mro__", (thing,))):
        inherited |= _documented_here(inspect.cleandoc(parent.__doc__ or ""))
    return inherited


def _documented_here(text: str) -> dict[str, str]:
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", text, re.S | re.M)
    if section is None:
        return {}
    meanings: dict[str, str] = {}
    names: list[str] = []
    for line in section.group(1).splitlines():
        if line and not line[0].isspace():
            names = [name.strip() for name in line.split(":")[0].split(",")]
        elif line.strip():
            for name in names:
                meanings[name] = f"{meanings.get(name, '')} {line.strip()}".strip()
    return meanings


def check(
    metric: str, known: Mapping[str, Parameter], choices: Mapping[str, Any], extra: Iterable[str] = ()
) -> dict[str, Any]:
    """The choices, doubted once; a misspelt parameter, a missing one or a value that is not allowed is refused."""
    for name in choices:
        if name not in known:
            near = difflib.get_close_matches(name, [*known, *extra], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            takes = ", ".join(known) or "none"
            raise InputError(f"{metric} has no parameter {name!r}{hint} It takes: {takes}", field=name)
        known[name].refuse(metric, choices[name])
    for name, parameter in known.items():
        if parameter.required and name not in choices:
            raise InputError(f"{metric} needs {name}=…; it has no default. {parameter.meaning}", field=name)
    return {name: known[name].settled(value) for name, value in choices.items()}


BINNINGS = {"uniform": ("width", "equal_width"), "quantile": ("mass", "equal_mass")}
"""scikit-learn's words for how bins are cut, and ours."""


def in_our_words(metric: str, known: Mapping[str, Parameter], choices: Mapping[str, Any]) -> dict[str, Any]:
    """The choices with scikit-learn's `n_bins` and `strategy` as `bins` and `binning`; both at once are refused."""
    made = dict(choices)
    for theirs, ours in (("n_bins", "bins"), ("strategy", "binning")):
        if theirs not in made or theirs in known or ours not in known:
            continue
        if ours in made:
            raise InputError(f"{theirs} and {ours} of {metric} are the same; pass one of them", field=theirs)
        made[ours] = made.pop(theirs)
    for name in ("binning", "strategy"):
        if name in known and isinstance(made.get(name), str):
            allowed = [word for word in BINNINGS.get(made[name], ()) if word in known[name].words]
            made[name] = allowed[0] if allowed else made[name]
    return made
