# SPDX-License-Identifier: Apache-2.0
"""The answers of logs: their rows, the tables that other rooms read, and slices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from epimeter.errors import ReadError
from epimeter.readers.logs.answer import Surer
from epimeter.readers.logs.epochs import distinct
from epimeter.readers.logs.unbounded import RECALIBRATION, ranks
from epimeter.readers.table import Table
from epimeter.readers.wording import listed, shown

ROLES = ("unknown", "group", "category", "weight")
"""Roles that a log's metadata can play."""


@dataclass(frozen=True)
class Answers:
    """The answers of one or more logs.

    Attributes
    ----------
    rows
        An Arrow table, one row an answer: id, question, epoch, confidence, correct, why (there is neither), answer, expected,
        unknown, detected, model, task, timestamp, option_probabilities, every `metadata.NAME`.
    source
        The log's name, or how many there are.
    confidence_source
        Where the confidence comes from, in the words of `LogOptions.confidence`.
    notes
        What a report should say.
    surer
        Where the confidence is a recalibration of a score without bounds: which values of the score mean surer.
    """

    rows: Any
    source: str
    confidence_source: str
    notes: tuple[str, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    surer: Surer | None = None

    @property
    def n_rows(self) -> int:
        """All answers, the unusable too."""
        return int(self.rows.num_rows)

    def table(self, columns: Mapping[str, str] | None = None) -> Table:
        """The answers that have a confidence and an outcome, as the other readers give them.

        Parameters
        ----------
        columns
            Further roles: ``{"unknown": "metadata.unanswerable"}``; also for group, category, weight.
        """
        import pyarrow as pa

        rows = self._with_roles(columns or {})
        correct = floats(rows, "correct")
        confidence = floats(rows, "confidence")
        usable = ~np.isnan(correct) & ~np.isnan(confidence)
        declined = flags(rows, "detected")
        kept = np.flatnonzero(usable)
        if not len(kept):
            raise ReadError(f"{self.source} has no answer with both a confidence and an outcome")
        unknown = flags(rows, "unknown")
        detected = declined if unknown is not None else None
        if unknown is not None and detected is None:
            detected = np.zeros(len(unknown), bool)
        silent = np.isnan(correct)
        times = None
        if "timestamp" in rows.column_names and rows.column("timestamp").null_count == 0:
            times = rows.column("timestamp").cast("timestamp[us]").to_numpy()[kept].astype("datetime64[us]")
        return Table(
            source=self.source,
            kind="answer",
            label=correct[kept].astype(np.uint8),
            confidence=confidence[kept],
            rank=None if self.surer is None else ranks(floats(rows, "score")[kept], self.surer),
            group=words(rows, "group", kept) if "group" in rows.column_names else _repeated(rows, kept),
            id=rows.column("id").combine_chunks().take(pa.array(kept)),
            unknown=None if unknown is None else unknown[kept],
            detected=None if detected is None else detected[kept],
            silent_unknown=None if unknown is None else unknown[silent],
            silent_detected=None if detected is None else detected[silent],
            timestamp=times,
            weight=floats(rows, "weight")[kept] if "weight" in rows.column_names else None,
            category=words(rows, "category", kept),
            roles={"confidence": self.confidence_source, "label": "correct", "group": "question", "id": "id"},
            unlabelled=int(np.count_nonzero(np.isnan(correct))),
            rows=kept.astype(np.int64),
            metadata=dict(self.facts),
            confidence_source=self.confidence_source,
            recalibrated_by=None if self.surer is None else RECALIBRATION,
            notes=self.notes,
        )

    def matrix(self) -> Table:
        """The options as classes, where every usable answer has the probabilities of equally many."""
        import pyarrow.compute as pc

        rows = self.rows
        if not {"option_probabilities", "option"} <= set(rows.column_names):
            raise ReadError(f"{self.source} has no probabilities of all options, to be read as classes", field="kind")
        rows = rows.filter(
            pc.and_(pc.is_valid(rows.column("option_probabilities")), pc.is_valid(rows.column("option")))
        )
        widths = sorted(set(pc.list_value_length(rows.column("option_probabilities")).to_pylist()))
        if len(widths) != 1:
            raise ReadError(
                f"classes must be equally many in every answer; {self.source} has {listed(list(map(str, widths)))} options",
                field="kind",
            )
        return Table(
            source=self.source,
            kind="classes",
            label=rows.column("option").to_numpy().astype(np.int64),
            probabilities=np.array(rows.column("option_probabilities").to_pylist(), np.float64),
            group=np.array(rows.column("question").to_pylist(), object),
            id=np.array(rows.column("id").to_pylist(), object),
            roles={"probabilities": "option_probabilities", "label": "option", "group": "question", "id": "id"},
            unlabelled=self.n_rows - rows.num_rows,
            rows=np.arange(rows.num_rows),
            metadata=dict(self.facts),
            confidence_source=self.confidence_source,
            notes=self.notes,
        )

    def frame(self, by: str | None = None) -> Any:
        """The usable answers as an Arrow table of confidence, correct, question and a column to slice by."""
        import pyarrow.compute as pc

        rows = self.rows.filter(pc.is_valid(self.rows.column("correct")))
        names = ["id", "question", "confidence", "correct"]
        if by is None or by in names:
            return rows.select(names)
        return rows.select([*names, self._column(by)]).rename_columns([*names, by])

    def _column(self, by: str) -> str:
        """The column of that name, with or without `metadata.` before it."""
        names = self.rows.column_names
        for name in (by, f"metadata.{by}"):
            if name in names:
                return name
        known = [name for name in names if name.startswith("metadata.") or name in ("model", "task", "epoch")]
        raise ReadError(f"{self.source} has no {shown(by)} to part its answers by; it has {listed(known)}", field="by")

    def _with_roles(self, columns: Mapping[str, str]) -> Any:
        """The rows with columns under the names of the roles that they were given."""
        rows = self.rows
        for role, name in columns.items():
            if role not in ROLES:
                raise ReadError(
                    f"of a log the columns of {', '.join(ROLES)} can be named; got {shown(role)}. What is right is said with "
                    "--scorer, how sure with --confidence",
                    field=role,
                )
            found = name if name in rows.column_names else f"metadata.{name}"
            if found not in rows.column_names:
                raise ReadError(
                    f"{self.source} has no {shown(name)} for {role}; it has {listed(rows.column_names)}", field=role
                )
            column = rows.column(found)
            if role in rows.column_names:
                rows = rows.drop_columns([role])
            rows = rows.append_column(role, column.cast("bool") if role == "unknown" else column)
        return rows

    def slices(self, by: str) -> dict[str, Answers]:
        """The answers parted by a column: `metadata.subject`, `model`, `task`."""
        import pyarrow.compute as pc

        column = self.rows.column(self._column(by)).cast("string")
        values = sorted(column.unique().to_pylist(), key=lambda value: (value is None, value or ""))
        made = {}
        for value in values:
            mask = pc.is_null(column) if value is None else pc.equal(column, value)
            made["(none)" if value is None else value] = replace(self, rows=self.rows.filter(mask))
        return made


def floats(table: Any, name: str) -> Any:
    """A column as numbers, NaN where there is none."""
    if name not in table.column_names:
        return np.full(table.num_rows, np.nan)
    return table.column(name).cast("float64").to_numpy(zero_copy_only=False).astype(np.float64)


def flags(table: Any, name: str) -> Any:
    """A column of yes and no; None where it is missing or has gaps."""
    if name not in table.column_names or table.column(name).null_count:
        return None
    return table.column(name).to_numpy(zero_copy_only=False).astype(bool)


def _repeated(rows: Any, kept: Any) -> Any:
    """The questions, where one has several answers; None where each has one, and every answer is evidence of its own."""
    import pyarrow as pa

    column = rows.column("question")
    once = distinct(column if len(kept) == len(column) else column.take(pa.array(kept)))
    return None if once else words(rows, "question", kept)


def words(table: Any, name: str, kept: Any) -> Any:
    """Some rows of a column as text; None where there is no such column."""
    if name not in table.column_names:
        return None
    encoded = table.column(name).cast("string").combine_chunks().dictionary_encode()
    values = np.array([*encoded.dictionary.to_pylist(), None], object)
    return values[encoded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)[kept]]
