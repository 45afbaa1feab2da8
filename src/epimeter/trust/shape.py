# SPDX-License-Identifier: Apache-2.0
"""The shape of a document as a table: every field named, its values described, nothing else allowed.

A shape is a mapping from field to check; a check is another shape, or a function of a value and of where it stands
that raises unless the value is good.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Union

from epimeter.trust.canonical import from_moment
from epimeter.trust.strict_json import count_of, fields_of, kind_of, list_of, malformed

Check = Callable[[Any, str], Any]
Shape = Mapping[str, Union[Check, "Shape"]]


def check_shape(value: Any, shape: Shape, where: str, *, absent: tuple[str, ...] = ()) -> None:
    """Raise unless the value has exactly the fields of the shape, each as described; `absent` names may be missing."""
    if not isinstance(value, dict) or value.keys() != shape.keys():
        spare = (*absent, *(name for name, check in shape.items() if isinstance(check, Optional)))
        fields_of(value, where, tuple(name for name in shape if name not in spare), spare)
    prefix = f"{where}." if where else ""
    for name, content in value.items():
        check = shape[name]
        if callable(check):
            check(content, prefix + name)
        else:
            check_shape(content, check, prefix + name)


class Optional:
    """A field that documents of earlier versions do not have."""

    def __init__(self, check: Check | Shape) -> None:
        self.check = check

    def __call__(self, value: Any, where: str) -> None:
        if callable(self.check):
            self.check(value, where)
        else:
            check_shape(value, self.check, where)


def word(*known: str) -> Check:
    """One of these words."""

    def check(value: Any, where: str) -> None:
        if value not in known or not isinstance(value, str):
            raise malformed(f"{where} must be {' or '.join(map(repr, known))}; got {str(value)[:60]!r}")

    return check


def pattern(text: str, example: str) -> Check:
    """Text of a form, all of it."""
    form = re.compile(text)

    def check(value: Any, where: str) -> None:
        if not isinstance(value, str) or not form.fullmatch(value):
            raise malformed(f"{where} must read like {example}; got {str(value)[:60]!r}")

    return check


def number(low: float, high: float) -> Check:
    """A number in [low, high] with at most nine decimals."""

    def check(value: Any, where: str) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise malformed(f"{where} must be a number; got {kind_of(value)}")
        if not low <= value <= high:
            raise malformed(f"{where} must lie in [{low:g}, {high:g}]; got {value!r}")
        if round(value, 9) != value:
            raise malformed(f"{where} must be rounded to nine decimals; got {value!r}")

    return check


def count(least: int = 0) -> Check:
    """A whole number of at least `least`."""
    return lambda value, where: count_of(value, where, least=least)


def interval(low: float, high: float) -> Check:
    """Two numbers in [low, high], the smaller first."""
    end = number(low, high)

    def check(value: Any, where: str) -> None:
        if not isinstance(value, list) or len(value) != 2:
            raise malformed(f"{where} must be a list of two numbers")
        for one in value:
            end(one, where)
        if value[0] > value[1]:
            raise malformed(f"{where} must have its smaller end first; got {value[0]!r} and {value[1]!r}")

    return check


def each(check: Check | Shape, most: int) -> Check:
    """A list of at most `most` such values."""

    def check_each(value: Any, where: str) -> None:
        items = list_of(value, where)
        if len(items) > most:
            raise malformed(f"{where} may have {most} items; got {len(items)}")
        for place, item in enumerate(items):
            if callable(check):
                check(item, f"{where}[{place}]")
            else:
                check_shape(item, check, f"{where}[{place}]")

    return check_each


def maybe(check: Check | Shape) -> Check:
    """Such a value, or null."""

    def check_maybe(value: Any, where: str) -> None:
        if value is None:
            return
        if callable(check):
            check(value, where)
        else:
            check_shape(value, check, where)

    return check_maybe


def moment(value: Any, where: str) -> None:
    """A moment in UTC to the second."""
    from_moment(value, where)
