# SPDX-License-Identifier: Apache-2.0
"""Predictions as columns, whatever format they came in: doubted once, worded in the caller's names."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError
from epimeter.readers.table import Table
from epimeter.service.problems import Problem, in_a_request
from epimeter.service.schemas import Facts
from epimeter.service.settings import Settings
from epimeter.standards.records import Records, records_of

NAMES = {"y_prob": "confidence", "y_true": "correct", "classes": "class"}
OPTIONAL = (
    "id",
    "timestamp",
    "ground_truth_source",
    "class_",
    "unknown",
    "detected",
    "category",
    "question",
    "group",
)
CLUSTERS = ("question", "group")
"""Columns that say which records belong together, as answers to one question do; they are named as in files."""
ONE_CLUSTER = "question and group cannot both say which records belong together; send one of them"
SPARSE = ("ground_truth_source", "category", *CLUSTERS)
"""Columns that may be null in some records and not in others: the source of a truth, the kind of an unknown, a question."""
LONGEST = 200
"""Characters that an id, a class, a category, a question or a group may have."""
Objects = NDArray[np.object_]


@dataclass
class Columns:
    """Columns as they came: `correct` is 0, 1, or 2 where nobody knows; others None where they are absent.

    The confidence is NaN where none was stated, which only records without ground truth may have.
    """

    confidence: NDArray[np.float64]
    correct: NDArray[np.uint8]
    timestamp: NDArray[np.datetime64] | None = None
    ground_truth_source: Objects | None = None
    class_: Objects | None = None
    unknown: NDArray[np.bool_] | None = None
    detected: NDArray[np.bool_] | None = None
    id: Objects | None = None
    category: Objects | None = None
    question: Objects | None = None
    group: Objects | None = None
    at: str = "/predictions"
    """Where the rows stood, for pointers."""
    first: int = 0
    """The number of the first row there."""
    facts: Facts | None = field(default=None)

    @property
    def n_rows(self) -> int:
        return len(self.confidence)


def to_records(columns: Columns, now: datetime) -> Records:
    """Doubt the columns once; rows without ground truth are counted and left out (C-13), but for their flags."""
    _refuse_long(columns)
    if (columns.correct == 2).all():
        raise Problem("invalid", "at least one prediction must have ground truth; correct is null in all of them")
    _refuse_gaps(columns)
    table = to_table(columns, "")
    try:
        return records_of(table, now=now, place=lambda row: f"record {row}")
    except InputError as fault:
        raise _worded(fault, columns, np.asarray(table.rows) if table.unlabelled else None) from None


def _refuse_gaps(columns: Columns) -> None:
    """Refuse a record with ground truth that states no confidence, and two columns of what records belong to."""
    bad = (columns.correct != 2) & np.isnan(columns.confidence)
    if bad.any():
        pointer, sentence = _pointer(columns, "confidence", int(np.argmax(bad))), "it must be stated where correct is"
        raise Problem("invalid", f"{pointer}: {sentence}; it is null", errors=[(pointer, f"{sentence}; it is null")])
    if all(getattr(columns, name) is not None for name in CLUSTERS):
        raise Problem("invalid", ONE_CLUSTER, errors=[(_pointer(columns, "group", None), ONE_CLUSTER)])


def _refuse_long(columns: Columns) -> None:
    """Refuse a text that is longer than any name, in every format as in rows of JSON."""
    for name in ("id", "class_", "category", *CLUSTERS):
        column = getattr(columns, name)
        if column is None:
            continue
        sizes = np.fromiter((0 if text is None else len(text) for text in column), np.int64, len(column))
        if len(sizes) and sizes.max() > LONGEST:
            row, word = int(np.argmax(sizes > LONGEST)), name.rstrip("_")
            pointer, sentence = (
                _pointer(columns, word, row),
                f"it must have at most {LONGEST} characters, not {sizes[row]:,}",
            )
            raise Problem("invalid", f"{pointer}: {sentence}", errors=[(pointer, sentence)])


def _pointer(columns: Columns, name: str, row: int | None) -> str:
    """Where a value stood in the body."""
    place = "" if row is None else f"/{row + columns.first}"
    if columns.at == "/columns":
        return f"/columns/{name}{place}"
    return columns.at + place + (f"/{name}" if name else "")


def to_table(columns: Columns, source: str) -> Table:
    """The labelled rows as a reader's table, with the flags of the others, as files are read."""
    known = columns.correct != 2
    unlabelled = int(len(known) - known.sum())
    keep: Any = known if unlabelled else slice(None)

    def taken(column: Any, rows: Any = keep) -> Any:
        return None if column is None else column[rows]

    cluster = next((name for name in CLUSTERS if getattr(columns, name) is not None), None)
    return Table(
        source=source,
        kind="answer",
        label=columns.correct[keep],
        confidence=columns.confidence[keep],
        unknown=taken(columns.unknown),
        detected=taken(columns.detected),
        silent_unknown=taken(columns.unknown, ~known) if unlabelled else None,
        silent_detected=taken(columns.detected, ~known) if unlabelled else None,
        timestamp=taken(columns.timestamp),
        ground_truth_source=taken(columns.ground_truth_source),
        class_of=taken(columns.class_),
        category=taken(columns.category),
        id=taken(columns.id),
        group=None if cluster is None else taken(getattr(columns, cluster)),
        roles={} if cluster is None else {"group": cluster},
        unlabelled=unlabelled,
        rows=np.arange(columns.n_rows)[keep],
    )


def _worded(fault: InputError, columns: Columns, places: NDArray[np.intp] | None) -> Problem:
    """A refusal in the caller's words: his names, his record."""
    sentence = in_a_request(str(fault))
    for ours, theirs in NAMES.items():
        sentence = sentence.replace(ours, theirs)
    name = NAMES.get(fault.field or "", fault.field or "")
    row = fault.row if fault.row is None or places is None else int(places[fault.row])
    pointer = _pointer(columns, name, row)
    return Problem("invalid", f"{pointer}: {sentence}", errors=[(pointer, sentence)])


def joined(parts: list[Columns]) -> Columns:
    """Parts one after the other; a column that one has and another has not is refused."""
    if len(parts) == 1:
        return parts[0]
    made: dict[str, Any] = {}
    for name in (*OPTIONAL, "correct", "confidence"):
        columns = [getattr(part, name) for part in parts]
        if name in SPARSE and any(column is not None for column in columns):
            # Null in some records, so perhaps in all of a part.
            columns = [np.full(part.n_rows, None, object) if one is None else one for part, one in zip(parts, columns)]
        absent = sum(column is None for column in columns)
        if 0 < absent < len(columns):
            raise Problem("invalid", f"{name.rstrip('_')} must stand in every record or in none")
        made[name] = None if absent else np.concatenate(columns)
        for part in parts:
            setattr(part, name, None)
    return Columns(**made)


def refuse_many(n_rows: int, settings: Settings) -> None:
    """Refuse more rows than one body may have."""
    if n_rows > settings.max_rows:
        raise Problem("too-large", f"a body must have at most {settings.max_rows:,} rows; it has {n_rows:,} or more")


def words(values: list[Any] | None) -> Objects | None:
    """Texts as a column; None stays None."""
    if values is None:
        return None
    made = np.empty(len(values), object)
    made[:] = values
    return made
