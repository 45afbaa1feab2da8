# SPDX-License-Identifier: Apache-2.0
"""What a reader of a report must know before trusting a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from epimeter.card_index import find
from epimeter.kinds import WORDING, Kind
from epimeter.passes.ledger import SliceTotals
from epimeter.readers.predictions import contrary_sentence
from epimeter.report.measurement import Measurement
from epimeter.results import BinTable
from epimeter.views import View

FEW_ROWS = 1000
FEW_IN_BIN = 10
FEW_IN_CELL = 100
"""Rows a cell from which chance alone adds less than some 0.03 to an error over cells."""
WIDE, BINS = "binned errors are biased upwards and intervals are wide", "equal-width bins"
"""Words of the cautions that every small part of a file has."""
ONE_OUTCOME = {
    (True, True): "one class only: outcome 1 came true in every row, so nothing is known about outcome 0",
    (True, False): "one class only: outcome 1 came true in no row, so nothing is known about it",
    (False, True): "every answer is right, so nothing is known about wrong ones",
    (False, False): "every answer is wrong, so nothing is known about right ones",
}
"""By whether an event was stated, and whether it came true."""


def recalibrated(source: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence where the predictions are not those of the model: a map changed them."""
    if "recalibrated_by" in source:
        return (f"the predictions were recalibrated after the model made them, by {source['recalibrated_by']}",)
    column = source.get("columns", {}).get("recalibrated_by")
    if column is None:
        return ()
    return (f"the predictions were recalibrated after the model made them; column {column} says by which map",)


def repeated(source: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence where rows have the id of another: the same prediction twice counts as more evidence than it is."""
    found = source.get("repeated_ids")
    if not found:
        return ()
    rows = "row has" if found["count"] == 1 else "rows have"
    return (f"{found['count']:,} {rows} the id of an earlier one (the first is {found['first']!r:.40}): rows twice?",)


def counted_alone(source: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence where rows belong to groups and only sums over rows were kept."""
    name = source.get("groups")
    if not name:
        return ()
    return (
        f"rows of one {name} are not independent, and a summary counts rows: its intervals are too narrow where a {name} has "
        "several",
    )


def contrary(source: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence where a column of predictions does not name the likeliest class: the answers given are not those measured."""
    found = source.get("predictions")
    return () if found is None else (contrary_sentence(found),)


def damaged(skipped: Sequence[str]) -> tuple[str, ...]:
    """A sentence where parts of the source were left out."""
    if not skipped:
        return ()
    some = "; ".join(skipped[:3])
    more = f" and {len(skipped) - 3} more" if len(skipped) > 3 else ""
    return (f"{len(skipped)} damaged part{'s were' if len(skipped) > 1 else ' was'} left out: {some}{more}",)


def by_slice(cautions: Mapping[Any, Sequence[str]]) -> tuple[str, ...]:
    """The cautions of several slices, each once with the slices it is of; those that only say how small a slice is are left out."""
    found: dict[str, list[str]] = {}
    for value, sentences in cautions.items():
        for sentence in sentences:
            if WIDE not in sentence and BINS not in sentence:
                found.setdefault(sentence, []).append(str(value))
    made = []
    for sentence, slices in found.items():
        some = ", ".join(slices[:3]) + (f" and {len(slices) - 3} more" if len(slices) > 3 else "")
        made.append(sentence if len(slices) == len(cautions) else f"{some}: {sentence}")
    return tuple(made)


def _cells(line: Measurement) -> int:
    """How many cells PIECE spreads rows over."""
    return int(line.parameters["bins"]) * int(line.parameters["proximity_bins"])


def _crowd(line: Measurement) -> str:
    return (
        f"piece spreads {line.n_rows:,} rows over {_cells(line):,} cells: with so few in each it is far above 0 for calibrated "
        "forecasts too; read it beside consistency_test, not as an error"
    )


def cautions(
    kind: Kind, totals: SliceTotals, rows: View | None, table: BinTable, lines: Iterable[Measurement]
) -> tuple[str, ...]:
    """One sentence each, the gravest first; `rows` is None where they are gone."""
    sentences = []
    if totals.n_rows < FEW_ROWS:
        sentences.append(f"only {totals.n_rows:,} rows: {WIDE}")
    outcomes = table.frequency[table.count > 0]
    if (outcomes == outcomes[0]).all() and outcomes[0] in (0.0, 1.0):
        sentences.append(ONE_OUTCOME[kind == "event", bool(outcomes[0])])
    if totals.low == totals.high:
        sentences.append(f"one constant {WORDING[kind].noun}, {totals.low:.6g}: it tells rows apart by nothing")
    empty = int((table.count == 0).sum())
    if empty:
        sentences.append(f"{empty} of {len(table.count)} {BINS} are empty")
    thin = int(((table.count > 0) & (table.count < FEW_IN_BIN)).sum())
    if thin:
        sentences.append(f"{thin} of {len(table.count)} {BINS} hold fewer than {FEW_IN_BIN} rows")
    lines = tuple(lines)
    sentences += [_crowd(line) for line in lines if line.metric == "piece" and line.n_rows < FEW_IN_CELL * _cells(line)]
    names = [line.metric for line in lines if find(line.metric).card.order == "ties"]
    if names and rows is not None and rows.tied:
        sentences.append(f"{', '.join(names)} depends on the order of rows with equal predictions, and there are some")
    names = [line.metric for line in lines if find(line.metric).card.order == "rows"]
    if names:
        verb = "depends" if len(names) == 1 else "depend"
        sentences.append(f"{', '.join(names)} {verb} by definition on the order of the rows, which are parted in it")
    return tuple(sentences)
