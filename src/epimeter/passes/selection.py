# SPDX-License-Identifier: Apache-2.0
"""Which metrics a pass measures: the ones asked for, or the headlines; and which of them the columns do not allow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from epimeter.calling import Metric
from epimeter.card_index import catalogue, find
from epimeter.errors import InputError
from epimeter.kinds import Kind
from epimeter.parameters import in_our_words
from epimeter.summaries.recipe import Recipe

HEADLINES = (
    "brier_score",
    "corp",
    "nll",
    "ece",
    "mce",
    "esce",
    "abc",
    "drmsce_bcs",
    "ecd",
    "l2_ece_ci",
    "spiegelhalter_z",
    "ecd_test",
)
"""What a report measures unless told otherwise, after the recommendations of the review (Lane 2025, section 7.2)."""

CLASS_HEADLINES = ("classwise_ece",)
"""Further ones for class probabilities."""

CLASS_CHOICES: Mapping[str, Mapping[str, Any]] = {"drmsce_bcs": {"mode": "classwise"}}
"""What headlines are measured with where class probabilities are given and nothing else is said."""

OTHER_COLUMNS = {
    "detection": "needs detected boxes: evaluate --task detection",
    "distribution": "needs forecasts of a number or of a set: evaluate --task distribution",
    "test": "judges another metric: epimeter test and epimeter compare",
    "recalibration": "is a map to be fitted, not a measurement",
}
"""Families that a report of outcomes and probabilities has no place for."""

PATIENCE = 5_000
"""Rows above which a metric that needs all pairs is measured only when asked for by name."""
LIGHT, LONG = 5_000, 5.0
"""Nanoseconds a row up to which a metric is never left out, and seconds from which one that takes more is."""

Names = tuple[str, ...] | str
Entry = tuple[Metric[Any], Recipe, dict[str, Any]]
"""A metric, the recipe that its parameters choose, and the parameters that read the summary."""


@dataclass(frozen=True)
class KnownColumns:
    """What is known of the rows before any is read.

    Attributes
    ----------
    extra
        Further columns: `groups`, `features`.
    n_rows
        How many there are; None where that is not known.
    """

    kind: Kind
    weighted: bool = False
    extra: tuple[str, ...] = ()
    n_rows: int | None = None


def headlines(kind: Kind, weighted: bool = False) -> tuple[str, ...]:
    """What a report of such rows measures unless told otherwise."""
    names = HEADLINES + (CLASS_HEADLINES if kind == "classes" else ())
    return tuple(name for name in names if find(name).card.weighted) if weighted else names


def listed(metrics: str | Iterable[str]) -> tuple[str, ...]:
    """Names of metrics, each known and named once."""
    names = metrics.split(",") if isinstance(metrics, str) else metrics
    return tuple(dict.fromkeys(find(name.strip()).name for name in names))


def columns_read(metrics: str | Iterable[str] | None) -> frozenset[str]:
    """The further columns that the metrics need or take: `groups`, `features`."""
    if metrics is None:
        return frozenset()
    if metrics == "all":
        return frozenset({"groups", "features"})
    cards = [find(name).card for name in listed(metrics)]
    return frozenset(name for card in cards for name in (*card.needs, *card.takes))


def selected(
    names: Names, choices: Mapping[str, Any], columns: KnownColumns
) -> tuple[tuple[Entry, ...], dict[str, str]]:
    """Each metric with its recipe; those that the columns do not allow, with the reason.

    A metric asked for by name must be possible; under "all" the reason is reported instead.
    """
    everything = names == "all"
    metrics = list(catalogue().values()) if everything else [find(name) for name in names]
    _refuse_unknown(choices, metrics)
    class_choices = CLASS_CHOICES if columns.kind == "classes" and _begin_with_headlines(metrics, columns) else {}
    entries: list[Entry] = []
    left_out: dict[str, str] = {}
    for metric in metrics:
        reason = _obstacle(metric, columns, everything)
        if reason is None:
            own = {**class_choices.get(metric.name, {}), **in_our_words(metric.name, metric.parameters, choices)}
            entries.append((metric, *metric.settle({k: v for k, v in own.items() if k in metric.parameters})))
        elif everything:
            left_out[metric.name] = reason
        else:
            raise InputError(f"{metric.name} cannot be measured on these data: {reason}", field=metric.name)
    return tuple(entries), left_out


def _begin_with_headlines(metrics: Sequence[Metric[Any]], columns: KnownColumns) -> bool:
    """Whether the default report was asked for, possibly with more behind it."""
    usual = [name for name in HEADLINES if not columns.weighted or find(name).card.weighted]
    return [metric.name for metric in metrics[: len(usual)]] == usual


def _refuse_unknown(choices: Mapping[str, Any], metrics: Iterable[Metric[Any]]) -> None:
    known = [(metric.parameters, in_our_words(metric.name, metric.parameters, choices)) for metric in metrics]
    for name in choices:
        if not any(name in parameters or name not in translated for parameters, translated in known):
            raise InputError(f"none of the metrics asked for has a parameter {name!r}", field=name)


def _obstacle(metric: Metric[Any], columns: KnownColumns, everything: bool) -> str | None:
    card = metric.card
    other = OTHER_COLUMNS.get(card.family)
    if other is not None or not metric.of_probabilities:
        return other or "takes other columns than outcomes and probabilities"
    missing = [name for name in card.needs if name not in columns.extra]
    if missing:
        return f"needs the column {missing[0]}"
    if columns.weighted and not card.weighted:
        return "takes no sample weights"
    needed = [name for name, p in metric.parameters.items() if p.required]
    if needed:
        return f"needs {needed[0]}, which has no default"
    return too_slow(metric, columns.n_rows or 0) if everything else None


def too_slow(metric: Metric[Any], n_rows: int) -> str | None:
    """Why a metric that takes long on so many rows is left out where everything is measured."""
    card = metric.card
    if card.cost == "quadratic" and n_rows > PATIENCE:
        return f"compares all pairs of rows; with more than {PATIENCE:,} rows it is measured only when asked by name"
    if card.nanoseconds > LIGHT and card.cost == "linear" and card.seconds(n_rows) > LONG:
        return f"takes about {card.seconds(n_rows):,.0f} s on so many rows; it is measured only when asked by name"
    return None
