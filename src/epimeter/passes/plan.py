# SPDX-License-Identifier: Apache-2.0
"""What a pass is to measure, settled before the first row is read.

Every metric goes one of four ways:

- it streams: its recipe keeps a summary of bounded size, and the value is exact;
- it needs the rows, and there are no more of them than `row_limit`: they are kept, and the value is exact;
- there are more, and the cells bound it: the value is read off them and says its largest error;
- there are more, and they do not: it is left out with the reason, or measured on a uniform sample if one was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import Any

from epimeter.calling import Metric
from epimeter.card_index import find
from epimeter.errors import InputError
from epimeter.inference.known import moment_recipes
from epimeter.kinds import Kind
from epimeter.passes.bounds import bounded
from epimeter.passes.selection import Entry, KnownColumns, Names, headlines, listed, selected, too_slow
from epimeter.summaries import Bins, MomentBins, Recipe
from epimeter.summaries.cells import Cells

ROW_LIMIT = 10_000_000
"""Rows up to which they are kept for the metrics that need them (DESIGN D4)."""

DIAGRAM = Bins(10)
"""The bins of the reliability diagram, of shares and means."""
VERDICT_TOTALS = MomentBins(15)
VERDICT_TESTS = ("l2_ece_ci", "spiegelhalter_z")
"""What the verdict of a report is made of: totals, and the tests whose p-values it reads."""


@dataclass(frozen=True)
class Plan:
    """The metrics asked for, and what the rows must be condensed to for them.

    Attributes
    ----------
    names, choices
        The metrics as they were asked for (None: the headlines), and the parameters given to them.
    kind, weighted, extra
        What the rows are: events, answers or classes; with weights; which further columns (`groups`, `features`).
    by
        The column whose values make the slices.
    row_limit, sample, seed
        Rows that may be kept; rows to sample above that, and where the sample begins.
    cells
        Whether the cells are kept even if no metric asks for them.
    keeps
        Whether rows may be kept at all; not so where it is known that they are too many.
    judged
        Whether the totals behind the verdict are kept; summaries from before there was one have none.
    in_memory
        Whether all rows are in memory for as long as the report is made: then none are copied, and no cells are kept.
    moments
        Whether the moments of scores are kept, for intervals.
    """

    names: Names | None = None
    choices: Mapping[str, Any] = field(default_factory=dict)
    kind: Kind = "event"
    weighted: bool = False
    extra: tuple[str, ...] = ()
    by: str | None = None
    row_limit: int = ROW_LIMIT
    sample: int | None = None
    seed: int = 0
    cells: bool = False
    keeps: bool = True
    judged: bool = True
    in_memory: bool = False
    moments: bool = True
    entries: tuple[Entry, ...] = field(default=(), compare=False)
    left_out: Mapping[str, str] = field(default_factory=dict, compare=False)

    @classmethod
    def of(
        cls,
        metrics: str | Iterable[str] | None,
        choices: Mapping[str, Any],
        *,
        kind: Kind,
        weighted: bool,
        n_rows: int | None = None,
        **facts: Any,
    ) -> Plan:
        """Settle names and parameters; what cannot be measured on such columns is refused here."""
        names = headlines(kind, weighted) if metrics is None else metrics if metrics == "all" else listed(metrics)
        if not choices and names != "all":
            return _usual(names, tuple(map(find, names)), kind, weighted, tuple(facts.items()))
        return cls._settled(names, choices, kind, weighted, n_rows, facts)

    @classmethod
    def _settled(
        cls,
        names: Names,
        choices: Mapping[str, Any],
        kind: Kind,
        weighted: bool,
        n_rows: int | None,
        facts: Mapping[str, Any],
    ) -> Plan:
        entries, left_out = selected(
            names, choices, KnownColumns(kind, weighted, tuple(facts.get("extra", ())), n_rows)
        )
        for name, least in (("row_limit", 0), ("sample", 1)):
            value = facts.get(name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
                raise InputError(f"{name} must be a whole number of at least {least}; got {value!r}", field=name)
        return cls(
            names=names,
            choices=dict(choices),
            kind=kind,
            weighted=weighted,
            entries=entries,
            left_out=left_out,
            **facts,
        )

    @property
    def matrix(self) -> bool:
        """Whether there is one probability a class."""
        return self.kind == "classes"

    @cached_property
    def streaming(self) -> tuple[Recipe, ...]:
        """The recipes that every row goes through."""
        streaming = [entry for entry in self.entries if entry[1].streams]
        wanted = [*(recipe for _, recipe, _ in streaming), DIAGRAM, *self.verdict_recipes]
        moments = moment_recipes(streaming) if self.moments else []
        return tuple(dict.fromkeys([*wanted, *moments, *([Cells()] if self.wants_cells else [])]))

    @cached_property
    def verdict_recipes(self) -> tuple[Recipe, ...]:
        """What the verdict is made of; nothing where there is none."""
        if not self.judged or self.weighted:
            return ()
        return VERDICT_TOTALS, *(recipe for name in VERDICT_TESTS if (recipe := find(name).reads) is not None)

    @property
    def wants_rows(self) -> bool:
        """Whether a metric needs the rows, and they may be kept."""
        return self.keeps and not self.in_memory and any(not recipe.streams for _, recipe, _ in self.entries)

    def without_rows(self) -> Plan:
        """The same where it is known that there are too many rows to keep any."""
        return replace(self, keeps=False)

    @property
    def wants_cells(self) -> bool:
        """Whether the cells are kept: for a metric that they bound, or because they were asked for."""
        if self.weighted or self.matrix or self.in_memory:
            return False
        return self.cells or any(
            not recipe.streams and bounded(metric, recipe, rest) is not None for metric, recipe, rest in self.entries
        )

    def too_slow(self, metric: Metric[Any], n_rows: int) -> str | None:
        """Why a metric that compares all pairs is left out of `all`."""
        return too_slow(metric, n_rows) if self.names == "all" else None

    def facts(self) -> dict[str, Any]:
        """The plan as plain values, from which `of` makes it again."""
        return {
            "metrics": self.names,
            "choices": dict(self.choices),
            "kind": self.kind,
            "weighted": self.weighted,
            "extra": self.extra,
            "by": self.by,
            "row_limit": self.row_limit,
            "sample": self.sample,
            "seed": self.seed,
            "cells": self.cells,
            "keeps": self.keeps,
            "judged": self.judged,
        }

    def __reduce__(self) -> Any:
        return _again, (self.facts(),)


@lru_cache(maxsize=64)
def _usual(
    names: tuple[str, ...],
    metrics: tuple[Metric[Any], ...],
    kind: Kind,
    weighted: bool,
    facts: tuple[tuple[str, Any], ...],
) -> Plan:
    """The plan of metrics without chosen parameters, settled once: for few rows that would take longer than they do.

    `metrics` are those of the names, so that a name that means another metric by now gets a plan of its own.
    """
    return Plan._settled(names, {}, kind, weighted, None, dict(facts))


def _again(facts: dict[str, Any]) -> Plan:
    facts = dict(facts)
    return Plan.of(facts.pop("metrics"), facts.pop("choices"), **facts)


def identity(recipe: Recipe) -> str:
    """A recipe in words: equal recipes have one identity, on every machine and in every run."""
    parts = [f"{f.name}={_worded(getattr(recipe, f.name))}" for f in fields(recipe)]  # type: ignore[arg-type]
    return f"{type(recipe).__module__}.{type(recipe).__qualname__}({', '.join(parts)})"


def _worded(value: Any) -> str:
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_worded, value))})"
    return repr(value)
