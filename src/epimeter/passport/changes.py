# SPDX-License-Identifier: Apache-2.0
"""What changed between two passports of a system, in the order of the document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from epimeter.passport.document import check
from epimeter.results import Result

IGNORED = ("signature", "bins")
"""Fields whose change says nothing by itself: signatures always differ, bins are shown by the metrics."""


@dataclass(frozen=True, kw_only=True)
class Change(Result):
    """One field that differs: its path, what it was, what it is; `None` where it was not there."""

    field: str
    before: Any
    after: Any

    @property
    def sentence(self) -> str:
        """The change as a line; a number with its difference."""
        numbers = [
            isinstance(value, int | float) and not isinstance(value, bool) for value in (self.before, self.after)
        ]
        moved = f" ({self.after - self.before:+.6g})" if all(numbers) else ""
        return f"{self.field}: {_shown(self.before)} -> {_shown(self.after)}{moved}"


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def changes(before: Any, after: Any) -> tuple[Change, ...]:
    """Every field that differs between two passports."""
    old, new = (
        {
            path: value
            for name, part in check(made).items()
            if name not in IGNORED
            for path, value in _leaves(name, part)
        }
        for made in (before, after)
    )
    paths = list(dict.fromkeys([*old, *new]))
    return tuple(
        Change(field=path, before=old.get(path), after=new.get(path))
        for path in paths
        if old.get(path) != new.get(path)
    )


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every value of a document with its path; entries of a list by their name or id where they have one."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _leaves(f"{path}.{name}", item)
    elif isinstance(value, list) and value and isinstance(value[0], Mapping):
        for place, item in enumerate(value):
            name = item.get("title") or item.get("name") or item.get("clause") or item.get("category") or place
            yield from _leaves(f"{path}[{name}]", item)
    elif isinstance(value, list):
        yield path, ", ".join(map(str, value))
    else:
        yield path, value
