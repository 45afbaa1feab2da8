# SPDX-License-Identifier: Apache-2.0
"""The shape of a document as a table: every field named, its values described, nothing else allowed.

A shape is a mapping from field to check; a check is another shape, or a function of a value and of where it stands
that raises unless the value is good. A check that is a `Rule` says also as JSON Schema what it lets through, so that a
shape can be published without being written down twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Union

from epimeter.trust.canonical import from_moment
from epimeter.trust.names import NAME_LIMIT, id_of, name_of
from epimeter.trust.strict_json import count_of, fields_of, kind_of, list_of, malformed, text_of

Check = Callable[[Any, str], Any]
Shape = Mapping[str, Union[Check, "Shape"]]
Json = dict[str, Any]


@dataclass(frozen=True)
class Rule:
    """A check, and the JSON schema of what it lets through, as far as JSON Schema can say it."""

    check: Check
    schema: Callable[[Callable[[Shape], Json]], Json]
    """Given how the schema of an inner shape is had, the schema of the value."""

    def __call__(self, value: Any, where: str) -> None:
        self.check(value, where)


def schema_of(check: Check | Shape, inner: Callable[[Shape], Json]) -> Json:
    """The JSON schema of what a check lets through; that of a shape is had from `inner`."""
    if isinstance(check, Mapping):
        return inner(check)
    if isinstance(check, Optional):
        return schema_of(check.check, inner)
    if isinstance(check, Rule):
        return check.schema(inner)
    raise TypeError(f"{check!r} must be a Rule to have a JSON schema")


def _plain(check: Check, **schema: Any) -> Rule:
    return Rule(check, lambda inner: dict(schema))


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

    return _plain(check, type="string", enum=list(known))


def pattern(text: str, example: str) -> Check:
    """Text of a form, all of it."""
    form = re.compile(text)

    def check(value: Any, where: str) -> None:
        if not isinstance(value, str) or not form.fullmatch(value):
            raise malformed(f"{where} must read like {example}; got {str(value)[:60]!r}")

    return _plain(check, type="string", pattern=f"^(?:{text})$")


def number(low: float, high: float) -> Check:
    """A number in [low, high] with at most nine decimals."""

    def check(value: Any, where: str) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise malformed(f"{where} must be a number; got {kind_of(value)}")
        if not low <= value <= high:
            raise malformed(f"{where} must lie in [{low:g}, {high:g}]; got {value!r}")
        if round(value, 9) != value:
            raise malformed(f"{where} must be rounded to nine decimals; got {value!r}")

    return _plain(check, type="number", minimum=low, maximum=high)


def count(least: int = 0) -> Check:
    """A whole number of at least `least`."""
    return _plain(lambda value, where: count_of(value, where, least=least), type="integer", minimum=least)


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

    return Rule(check, lambda inner: {"type": "array", "items": schema_of(end, inner), "minItems": 2, "maxItems": 2})


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

    return Rule(check_each, lambda inner: {"type": "array", "items": schema_of(check, inner), "maxItems": most})


def maybe(check: Check | Shape) -> Check:
    """Such a value, or null."""

    def check_maybe(value: Any, where: str) -> None:
        if value is None:
            return
        if callable(check):
            check(value, where)
        else:
            check_shape(value, check, where)

    return Rule(check_maybe, lambda inner: {"anyOf": [schema_of(check, inner), {"type": "null"}]})


def identity(kind: str) -> Check:
    """An id of a kind of document."""
    return _plain(
        lambda value, where: id_of(value, where, kind),
        type="string",
        pattern=f"^{kind}-[0-9]{{4}}-[0-9A-HJKMNP-TV-Z]{{16}}$",
    )


moment: Check = _plain(from_moment, type="string", format="date-time")
"""A moment in UTC to the second."""
name: Check = _plain(name_of, type="string", minLength=1, maxLength=NAME_LIMIT)
"""A name that can be read in one way only."""
prose: Check = _plain(text_of, type="string", minLength=1)
"""Text of any kind, not empty."""
