# SPDX-License-Identifier: Apache-2.0
"""The index of all cards: the decorator that writes a card, the catalogue, and how a metric is found by name.

A metric is one pure function under one card; the decorator turns it into a `Metric`, which is called with columns. Reference
page, command, endpoint and schema are made from the card.
"""

from __future__ import annotations

import copyreg
import importlib
import re
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, get_args

from epimeter.calling import Metric, forecast_view, rows_view
from epimeter.card import Card, Family
from epimeter.errors import InputError, UnknownMetricError
from epimeter.names import folded, nearest
from epimeter.summaries.recipe import Recipe
from epimeter.views import View

R = TypeVar("R")

_CATALOGUE: dict[str, Metric[Any]] = {}


def metric(
    *,
    title: str,
    family: Family,
    equation: str,
    source: str,
    reads: Recipe | None = None,
    prepare: Callable[..., View] | None = None,
    **facts: Any,
) -> Callable[[Callable[..., R]], Metric[R]]:
    """Write the card of the function below and enter it in the catalogue.

    Parameters
    ----------
    reads
        The recipe whose finished summary is the function's first argument. None: the function takes its own
        columns and calls on `views` itself (detections, p-values).
    prepare
        Replaces how columns become a view, for a metric whose second column is not always a probability.
    facts
        The other fields of `Card`.
    """

    def register(function: Callable[..., R]) -> Metric[R]:
        name = function.__name__
        if not function.__module__.startswith("epimeter."):  # a name of a family that is not loaded yet is taken, too
            catalogue()
        if name in _CATALOGUE:
            raise InputError(f"a metric called {name!r} exists already; give this one another name")
        card = Card(name, title, family, equation, source, **facts)
        _CATALOGUE[name] = made = Metric(
            card, function, reads, prepare or (forecast_view if card.forecasts else rows_view)
        )
        return made

    return register


def catalogue(family: str | None = None) -> dict[str, Metric[Any]]:
    """Every metric by name, in the order of the catalogue."""
    for room in ROOMS:
        _load(room)
    order = get_args(Family)
    entries = sorted(_CATALOGUE.items(), key=lambda entry: order.index(entry[1].card.family))
    return {name: m for name, m in entries if family in (None, m.card.family)}


def find(name: str) -> Metric[Any]:
    """The metric of that id, title or alias; case, hyphens, spaces and underscores do not matter.

    An id comes before all other names; another name that two metrics share is refused with both.
    """
    for room in ROOMS:  # an id is found without what lies to the right of its room
        _load(room)
        if name in _CATALOGUE:
            return _CATALOGUE[name]
    word = folded(name)
    alike = [metric for metric in _CATALOGUE.values() if word == folded(metric.name)]
    if alike:  # d_ece and dece differ by where a word ends alone: D-ECE is the first, DECE the second
        written = re.sub(r"[\W_]+", "_", name.casefold()).strip("_")
        return next((metric for metric in alike if metric.name == written), alike[0])
    known = _other_names()
    owners = known.get(word, [])
    if len(owners) == 1:
        return _CATALOGUE[owners[0]]
    if owners:
        titles = " or ".join(f"{owner} ({_CATALOGUE[owner].card.title})" for owner in owners)
        raise UnknownMetricError(f"{name!r} is the name of several metrics: {titles}; say which by its id", field=name)
    called = {metric.name: (metric.card.title, *metric.card.aliases) for metric in _CATALOGUE.values()}
    near = [repr(each) for each in nearest(name, called)]
    several = f"{', '.join(near[:-1])} or {near[-1]}" if len(near) > 1 else "".join(near)
    hint = f"; did you mean {several}?" if near else ";"
    raise UnknownMetricError(f"no metric is called {name!r:.60}{hint} `epimeter metrics` lists all", field=name)


def _other_names() -> dict[str, list[str]]:
    """Ids by folded title and alias; an alias with a remark, as in "TCE (Matsubara)", is one without it too."""
    owners: dict[str, list[str]] = {}
    for metric in _CATALOGUE.values():
        aliases = metric.card.aliases
        bare = [alias.partition("(")[0] for alias in aliases if "(" in alias.rstrip(")")]
        for word in {folded(name) for name in (metric.card.title, *aliases, *bare)} - {""}:
            owners.setdefault(word, []).append(metric.name)
    return owners


ROOMS = (
    "metrics.point",
    "metrics.bin",
    "metrics.curve",
    "metrics.cumulative",
    "metrics.kernel",
    "metrics.selective",
    "metrics.detection",
    "metrics.distribution",
    "inference",
    "recalibration",
)
"""Rooms that write cards; those whose metrics a report has by default come first, and the others may stay unread."""


@cache
def _load(room: str) -> None:
    """Import a room that writes cards, once."""
    importlib.import_module(f"epimeter.{room}")


copyreg.pickle(Metric, lambda kept: (find, (kept.name,)))  # a metric travels by its name
