# SPDX-License-Identifier: Apache-2.0
"""`epimeter.toml`: what is asked of predictions before a change is let through.

    [gate.triage]
    data = "predictions/*.parquet"   a file, a pattern or a list of them, beside the policy; evaluation logs too
    minimum_rows = 1000              fewer: cannot judge, which is not a pass
    by = "language"                  each slice too; multiplicity = "holm", "bonferroni" or "none"
    [[gate.triage.require]]
    metric = "drmsce_bcs"
    at_most = 0.05                   or at_least, or not_worse_than = "main.epi" with margin
    decide = "upper"                 the bad end of the interval; "value" for the bare number
    undecided = "fail"               or "warn"

Whatever is not known here is refused, so that a misspelt requirement is never one that always holds.
"""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from epimeter.card_index import find
from epimeter.errors import InputError
from epimeter.kinds import KINDS
from epimeter.readers.forecast import Choice

Multiplicity = Literal["holm", "bonferroni", "none"]
GATE = ("data", "minimum_rows", "by", "multiplicity", "level", "kind", "columns", "format", "require")
REQUIRE = ("metric", "at_most", "at_least", "not_worse_than", "margin", "decide", "undecided", "parameters")
HEADER = r"^[ \t]*\[\[\s*gate\s*\.\s*(?:{0}|\"{0}\"|'{0}')\s*\.\s*require\s*\]\]"


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """One thing that must hold; exactly one of at_most, at_least and not_worse_than is given."""

    metric: str
    at_most: float | None = None
    at_least: float | None = None
    not_worse_than: str | None = None
    margin: float = 0.0
    decide: Literal["upper", "lower", "value", "interval"] = "interval"
    """Which number must keep the limit; ``interval`` is the bad end, ``upper`` or ``lower`` say it by name."""
    undecided: Literal["fail", "warn"] = "fail"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    line: int = 1
    """Where it stands in the policy."""

    @property
    def text(self) -> str:
        """The requirement in one line."""
        if self.at_most is not None:
            return f"{self.metric} at most {self.at_most:g}"
        if self.at_least is not None:
            return f"{self.metric} at least {self.at_least:g}"
        more = f" by more than {self.margin:g}" if self.margin else ""
        return f"{self.metric} not worse than {self.not_worse_than}{more}"


@dataclass(frozen=True, kw_only=True)
class Gate:
    """The requirements on one set of predictions."""

    name: str
    data: tuple[str, ...]
    requirements: tuple[Requirement, ...]
    minimum_rows: int = 1
    by: tuple[str, ...] = ()
    multiplicity: Multiplicity = "holm"
    level: float = 0.95
    choice: Choice = field(default_factory=Choice)
    format: str | None = None
    folder: Path = Path(".")
    source: str = "epimeter.toml"

    @property
    def of_forecasts(self) -> bool:
        """Whether it asks for metrics of forecasts of a number or a set."""
        return any(find(one.metric).card.forecasts for one in self.requirements)


def read_policy(path: str | Path) -> list[Gate]:
    """The gates of a policy."""
    place = Path(path)
    try:
        text = place.read_bytes().decode("utf-8")
        found = tomllib.loads(text)
    except FileNotFoundError:
        raise InputError(f"no policy is called {str(path)!r}; write one, or name it: epimeter gate POLICY") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise InputError(f"{place.name} must be TOML in UTF-8; {fault}") from None
    gates = found.get("gate")
    if not isinstance(gates, dict) or not gates:
        raise InputError(f"{place.name} must have a table [gate.NAME]; it has {', '.join(found) or 'nothing'}")
    return [_gate(name, table, place, text) for name, table in gates.items()]


def _gate(name: str, table: Any, place: Path, text: str) -> Gate:
    where = f"[gate.{name}] of {place.name}"
    if not isinstance(table, dict):
        raise InputError(f"{where} must be a table; got {table!r:.40}. Write [gate.NAME]")
    _known(table, GATE, where)
    data = _words(table.get("data"), "data", where)
    if not data:
        raise InputError(f'{where} must say its data: data = "predictions/*.parquet"', field="data")
    rows = table.get("minimum_rows", 1)
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise InputError(
            f"minimum_rows of {where} must be a whole number above 0; got {rows!r:.40}", field="minimum_rows"
        )
    asked = table.get("require")
    if not isinstance(asked, list) or not asked:
        raise InputError(
            f"{where} requires nothing; add [[gate.{name}.require]] with a metric and its limit", field="require"
        )
    level = table.get("level", 0.95)
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise InputError(f"level of {where} must lie between 0 and 1; got {level!r:.40}", field="level")
    columns = table.get("columns", {})
    if not isinstance(columns, dict) or not all(isinstance(value, str) for value in columns.values()):
        raise InputError(f'columns of {where} must be a table of names: columns = {{ label = "y" }}', field="columns")
    lines = [
        1 + text.count("\n", 0, match.start())
        for match in re.finditer(HEADER.format(re.escape(name)), text, re.MULTILINE)
    ]
    lines += [1] * (len(asked) - len(lines))
    requirements = tuple(_requirement(one, where, line) for one, line in zip(asked, lines, strict=False))
    of_numbers = [one.metric for one in requirements if find(one.metric).card.forecasts]
    others = [one.metric for one in requirements if one.metric not in of_numbers]
    if of_numbers and (others or "kind" in table):
        what = others[0] if others else "kind"
        raise InputError(
            f"{where} asks for {of_numbers[0]}, of forecasts of a number or a set, and for {what}, of probabilities; make two "
            "gates of it" + ("" if others else ", or leave kind out"),
            field="metric" if others else "kind",
        )
    return Gate(
        name=name,
        data=data,
        requirements=requirements,
        minimum_rows=rows,
        by=_words(table.get("by", ()), "by", where),
        multiplicity=_word(table.get("multiplicity", "holm"), ("holm", "bonferroni", "none"), "multiplicity", where),
        level=float(level),
        choice=Choice(columns, _word(table.get("kind"), (None, *KINDS), "kind", where)),
        format=table.get("format"),
        folder=place.parent,
        source=place.as_posix(),
    )


def _requirement(one: Any, where: str, line: int) -> Requirement:
    where = f"line {line}, {where}" if line > 1 else where
    if not isinstance(one, dict):
        raise InputError(f"a requirement must be a table; got {one!r:.40} ({where})")
    _known(one, REQUIRE, where)
    if not isinstance(one.get("metric"), str):
        raise InputError(f"a requirement must name its metric ({where})", field="metric")
    try:
        metric = find(one["metric"])
    except InputError as refusal:
        raise InputError(f"{refusal} ({where})", field="metric") from None
    limits = [name for name in ("at_most", "at_least", "not_worse_than") if name in one]
    if len(limits) != 1:
        got = " and ".join(limits) or "none"
        raise InputError(f"a requirement has one of at_most, at_least, not_worse_than; got {got} ({where})")
    numbers = {name: one[name] for name in ("at_most", "at_least", "margin") if name in one}
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise InputError(f"{name} must be a number; got {value!r:.40} ({where})", field=name)
    if "margin" in one and ("not_worse_than" not in one or one["margin"] < 0):
        raise InputError(f"margin belongs to not_worse_than, and is not negative ({where})", field="margin")
    if "not_worse_than" in one and not isinstance(one["not_worse_than"], str):
        raise InputError(f"not_worse_than must name a file; got {one['not_worse_than']!r:.40} ({where})")
    if "not_worse_than" in one and metric.card.direction not in ("lower", "higher"):
        raise InputError(f"{metric.name} has no better and worse; give at_most or at_least ({where})", field="metric")
    decide = _word(one.get("decide", "interval"), ("interval", "upper", "lower", "value"), "decide", where)
    wrong = {"at_most": "lower", "at_least": "upper"}.get(limits[0])
    if decide == wrong:
        raise InputError(
            f"{limits[0]} is decided by the other end of the interval, not by {decide!r} ({where})", field="decide"
        )
    parameters = one.get("parameters", {})
    if not isinstance(parameters, dict):
        raise InputError(f"parameters must be a table: parameters = {{ bins = 15 }} ({where})", field="parameters")
    metric.settle(parameters)
    return Requirement(
        metric=metric.name,
        decide=decide,
        undecided=_word(one.get("undecided", "fail"), ("fail", "warn"), "undecided", where),
        not_worse_than=one.get("not_worse_than"),
        parameters=parameters,
        line=line,
        **{name: float(value) for name, value in numbers.items()},
    )


def _known(table: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    for name in table:
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; its keys are {', '.join(names)}"
            raise InputError(f"{where} has no key {name!r}{hint}", field=name)


def _words(value: Any, name: str, where: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise InputError(f"{name} of {where} must be a text or a list of texts; got {value!r:.40}", field=name)
    return tuple(value)


def _word(value: Any, known: tuple[Any, ...], name: str, where: str) -> Any:
    if value not in known:
        raise InputError(
            f"{name} must be {', '.join(str(word) for word in known if word)}; got {value!r:.40} ({where})", field=name
        )
    return value
