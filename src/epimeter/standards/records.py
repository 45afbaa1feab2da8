# SPDX-License-Identifier: Apache-2.0
"""The records of an evaluation, doubted once: what the standards ask of times, flags and categories.

Every refusal is one sentence that names the field, the record and the requirement.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError
from epimeter.kinds import WORDING, Kind
from epimeter.readers.digest import WHOLE_SCHEME, dataset_digest
from epimeter.readers.predictions import contrary_sentence
from epimeter.readers.table import Table
from epimeter.views import Binary, View, view

Flags = NDArray[np.bool_]
SOURCES = ("human", "automated", "reference")
"""Where ground truth may come from (ERS-3.1-e)."""


@dataclass(frozen=True, kw_only=True)
class RecordPeriod:
    """First and last time of the records, in microseconds since 1970."""

    first: int
    last: int

    @property
    def start(self) -> str:
        """The first, to the second."""
        return f"{np.datetime64(self.first, 'us').astype('datetime64[s]')}Z"

    @property
    def end(self) -> str:
        """The last, to the second."""
        return f"{np.datetime64(self.last, 'us').astype('datetime64[s]')}Z"

    @property
    def days(self) -> float:
        """The time between them."""
        return (self.last - self.first) / 86_400_000_000


class RecordFacts(Protocol):
    """What is known of records whether one has them or only their sums."""

    @property
    def kind(self) -> Kind: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def unlabelled(self) -> int: ...
    @property
    def period(self) -> RecordPeriod | None: ...
    @property
    def sources(self) -> Mapping[str, int]: ...
    @property
    def classes(self) -> Any: ...
    @property
    def detected(self) -> Flags | None: ...
    @property
    def confidence_source(self) -> str | None: ...
    @property
    def recalibrated_by(self) -> str | None: ...
    @property
    def notes(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Records:
    """Labelled records of one system.

    Attributes
    ----------
    given
        The forecast as it came: answers, events or class probabilities.
    unknown, detected
        Whether a record's input was unknown, and whether the system's own mechanism flagged it.
    category
        Kind of unknown, a word a record.
    classes
        Class a record belongs to; None where records have none (C-11).
    period
        None without timestamps: the span cannot be shown (C-12).
    sources
        Records by the source of their ground truth.
    timestamp, ground_truth_source
        The columns behind `period` and `sources`.
    unlabelled
        Records without ground truth, left out of every metric (C-13).
    notes
        Sentences for the report.
    """

    given: View
    unknown: Flags | None = None
    detected: Flags | None = None
    category: NDArray[Any] | None = None
    classes: NDArray[Any] | None = None
    period: RecordPeriod | None = None
    sources: Mapping[str, int] = field(default_factory=dict)
    timestamp: NDArray[Any] | None = None
    ground_truth_source: NDArray[Any] | None = None
    unlabelled: int = 0
    confidence_source: str | None = None
    recalibrated_by: str | None = None
    repeated: str | None = None
    """An id that stands in two records: then no single record can be named."""
    contrary: str | None = None
    """A sentence where a column of predictions is not the likeliest class: then other answers were given than are judged."""
    notes: tuple[str, ...] = ()
    silent: tuple[Flags, Flags] | None = None
    """`unknown` and `detected` of the records without ground truth: U-Recall and false alarms need none."""
    groups: NDArray[Any] | None = None
    """What records belong together, as answers to one question do; None where every record stands for itself."""

    @property
    def answer(self) -> Binary:
        """Confidence in the answer and whether it was right; events and classes by their top label (C-48)."""
        return self.given.answer

    @property
    def clustered(self) -> View:
        """The forecast with what its records belong to, for a report whose intervals count what is independent."""
        if self.groups is None:
            return self.given
        return view(self.given.true, self.given.prob, kind=self.kind, groups=self.groups)

    @property
    def kind(self) -> Kind:
        """What the forecast was before it was read as answers."""
        return self.given.kind

    @property
    def n_rows(self) -> int:
        return self.given.n_rows

    @property
    def digest(self) -> str:
        """`epi-col-v1` digest of the columns that decide the metrics."""
        return dataset_digest(
            {
                "confidence": self.given.prob.astype(np.float64, copy=False),
                "label": self.given.true,
                "unknown": self.unknown,
                "detected": self.detected,
            }
        )

    @property
    def whole_digest(self) -> str:
        """`epi-col-v2` digest of every column that a verdict uses: the same digest, the same verdicts."""
        silent = (None, None) if self.silent is None else self.silent
        return dataset_digest(
            {
                "kind": _word(self.kind),
                "confidence": self.given.prob.astype(np.float64, copy=False),
                "label": self.given.true,
                "unknown": self.unknown,
                "detected": self.detected,
                "timestamp": self.timestamp,
                "class": None if self.classes is self.given.true else self.classes,
                "ground_truth_source": self.ground_truth_source,
                "category": self.category,
                "unlabelled_unknown": silent[0],
                "unlabelled_detected": silent[1],
                "group": None if self.groups is None else self.groups.astype(object),
                "repeated_id": _word(self.repeated),
                "contrary": _word(self.contrary),
                "recalibrated_by": _word(self.recalibrated_by),
            },
            scheme=WHOLE_SCHEME,
        )


def _word(fact: str | None) -> NDArray[np.object_] | None:
    """A fact about all records as a column of one word."""
    return None if fact is None else np.array([fact], object)


def records(
    correct: Any,
    confidence: Any,
    *,
    kind: Kind | None = None,
    unknown: Any = None,
    detected: Any = None,
    category: Any = None,
    classes: Any = None,
    timestamp: Any = None,
    ground_truth_source: Any = None,
    unlabelled: int = 0,
    confidence_source: str | None = None,
    recalibrated_by: str | None = None,
    repeated: str | None = None,
    contrary: str | None = None,
    now: datetime.datetime | None = None,
    place: Callable[[int], str] | None = None,
    notes: tuple[str, ...] = (),
    silent: tuple[Any, Any] | None = None,
    groups: Any = None,
) -> Records:
    """Columns into records.

    Parameters
    ----------
    correct, confidence
        Whether an answer was right beside the confidence in it; class numbers beside a matrix.
    kind
        ``event`` where the two columns are outcomes and the probability of outcome 1; they are then read as answers.
    unknown, detected, category, classes
        Further columns, see `Records`.
    timestamp
        Times in UTC: numpy datetime64, or datetimes with a zone.
    ground_truth_source
        human, automated or reference for each record; None where it is not known.
    now
        The moment of the evaluation, with a zone; a record after it is refused. None trusts the times.
    place
        Says where a row stood in its source, for refusals.
    silent, groups, contrary
        See `Records`.
    """
    given = view(correct, confidence, kind=kind or ("answer" if np.ndim(confidence) == 1 else None))
    where = place or (lambda row: f"record {row}")
    flags = {
        name: _flags(values, given.n_rows, name) for name, values in (("unknown", unknown), ("detected", detected))
    }
    words = {
        name: _column(values, given.n_rows, name) for name, values in (("category", category), ("classes", classes))
    }
    if words["classes"] is None and given.kind != "answer":
        words["classes"] = given.true  # the class of a record is its outcome
    times, period, remarks = _period(timestamp, given.n_rows, now, where)
    return Records(
        given=given,
        unknown=flags["unknown"],
        detected=flags["detected"],
        category=words["category"],
        classes=words["classes"],
        period=period,
        timestamp=times,
        ground_truth_source=_column(ground_truth_source, given.n_rows, "ground_truth_source"),
        sources=_sources(ground_truth_source, given.n_rows, where),
        unlabelled=unlabelled,
        confidence_source=confidence_source,
        recalibrated_by=recalibrated_by,
        repeated=repeated,
        contrary=contrary,
        notes=(*notes, *remarks),
        silent=silent,
        groups=_column(groups, given.n_rows, "groups"),
    )


def records_of(
    table: Table,
    *,
    now: datetime.datetime | None = None,
    assume_utc: bool = False,
    place: Callable[[int], str] | None = None,
) -> Records:
    """The records of a table that a reader made; times without a zone are refused unless they are said to be UTC.

    `place` says where a row stood; by default in the words of the table's source.
    """
    notes = table.remarks
    if table.timestamp is not None and table.zoneless is not None:
        if not assume_utc:
            raise InputError(
                f"timestamp must have a time zone, as 2026-11-15T06:00:00Z (ERS-3.1-d); {table.zoneless} of "
                f"{table.source} has none. Are they UTC? Say --assume-utc",
                field="timestamp",
            )
        notes = (*notes, f"times without a zone ({table.zoneless} is the first) were taken as UTC")
    if table.weight is not None:
        notes = (*notes, "sample weights were left aside: the standards count records")
    wording = WORDING[table.kind].as_answers
    if wording:
        notes = (*notes, wording)
    silent = None
    if table.detected is not None and table.silent_unknown is not None and table.silent_detected is not None:
        silent = (table.silent_unknown, table.silent_detected)
        flagged = f"{len(silent[0]):,} records without ground truth, {int(silent[1].sum()):,} of them flagged"
        notes = (*notes, f"{flagged}, count for U-Recall of ONTO 42001, which needs none")
    if table.clusters is not None:
        notes = (*notes, f"{table.evidence}: intervals count what is independent")
    return records(
        table.y_true,
        table.y_prob,
        kind=table.kind,
        unknown=table.unknown,
        detected=table.detected,
        category=table.category,
        classes=table.class_of,
        timestamp=table.timestamp,
        ground_truth_source=table.ground_truth_source,
        unlabelled=table.unlabelled,
        confidence_source=table.confidence_source,
        recalibrated_by=table.recalibrated_by,
        repeated=repeated_id(table.id),
        contrary=contrary_sentence(table.findings.described()["predictions"]) if table.findings.contrary else None,
        now=now,
        place=place or (lambda row: f"{table.place(row)} of {table.source}"),
        notes=notes,
        silent=silent,
        groups=table.clusters,
    )


def repeated_id(ids: Any) -> str | None:
    """An id that stands twice in a column of ids, if one does; records without one have none to repeat."""
    if ids is None:
        return None
    found: list[Any] = ids.tolist() if isinstance(ids, np.ndarray) else ids.to_pylist()
    found = [name for name in found if name is not None]
    if len(set(found)) == len(found):
        return None
    return str(next(name for name, times in Counter(found).items() if times > 1))


def _column(values: Any, n_rows: int, name: str) -> NDArray[Any] | None:
    if values is None:
        return None
    made = np.asarray(values)
    if made.shape != (n_rows,):
        raise InputError(f"{name} must have one entry a record, {n_rows}; got shape {made.shape}", field=name)
    return made


def _flags(values: Any, n_rows: int, name: str) -> Flags | None:
    made = _column(values, n_rows, name)
    if made is None:
        return None
    good = np.isin(made, [0, 1])
    if not good.all():
        row = int(np.flatnonzero(~good)[0])
        raise InputError(f"{name} must be 0 or 1; record {row} has {made[row]!r:.40}", field=name, row=row)
    return made.astype(bool)


def _period(
    timestamp: Any, n_rows: int, now: datetime.datetime | None, where: Callable[[int], str]
) -> tuple[NDArray[Any] | None, RecordPeriod | None, tuple[str, ...]]:
    """First to last record; missing times and times to come are refused, disorder is noted."""
    if timestamp is None:
        return None, None, ()
    times = _column(_utc(timestamp, where), n_rows, "timestamp")
    assert times is not None
    times = times.astype("datetime64[us]")
    gone = np.isnat(times)
    if gone.any():
        row = int(np.flatnonzero(gone)[0])
        raise InputError(
            f"timestamp must be present in every record (ERS-3.1-d); {where(row)} has none", field="timestamp", row=row
        )
    if now is not None:
        limit = np.datetime64(now.astimezone(datetime.UTC).replace(tzinfo=None), "us")
        late = times > limit
        if late.any():
            row = int(np.flatnonzero(late)[0])
            raise InputError(
                f"timestamp must not lie in the future (ERS-3.1-d); {where(row)} has {times[row]}Z and the evaluation "
                f"is at {limit}Z ({int(late.sum()):,} such records)",
                field="timestamp",
                row=row,
            )
    first, last = times.min(), times.max()
    back = np.diff(times) < np.timedelta64(0, "us")
    remarks: tuple[str, ...] = ()
    if back.any():
        row = int(np.flatnonzero(back)[0]) + 1
        remarks = (
            f"timestamps are not in order, the first step back is at {where(row)}; "
            "the span is from the earliest to the latest (ERS-3.1-d)",
        )
    return times, RecordPeriod(first=int(first.astype(np.int64)), last=int(last.astype(np.int64))), remarks


def _utc(timestamp: Any, where: Callable[[int], str]) -> Any:
    """Python moments as UTC; one without a zone is refused."""
    if isinstance(timestamp, np.ndarray) and timestamp.dtype.kind == "M":
        return timestamp
    made = []
    for row, moment in enumerate(timestamp):
        if isinstance(moment, str):
            try:
                moment = datetime.datetime.fromisoformat(moment)
            except ValueError:
                raise InputError(
                    f"timestamp must be an ISO 8601 time (ERS-3.1-e); {where(row)} has {moment!r:.40}",
                    field="timestamp",
                    row=row,
                ) from None
        if not isinstance(moment, datetime.datetime) or moment.tzinfo is None:
            raise InputError(
                f"timestamp must have a time zone, as 2026-11-15T06:00:00Z (ERS-3.1-d); {where(row)} has {moment}",
                field="timestamp",
                row=row,
            )
        made.append(np.datetime64(moment.astimezone(datetime.UTC).replace(tzinfo=None), "us"))
    return np.array(made, "datetime64[us]")


def _sources(values: Any, n_rows: int, where: Callable[[int], str]) -> dict[str, int]:
    """How many records have ground truth from where; `not stated` for the rest (ERS-3.2-b)."""
    made = _column(values, n_rows, "ground_truth_source")
    if made is None:
        return {"not stated": n_rows}
    found = Counter(made.tolist())
    missing = found.pop(None, 0)
    wrong = [name for name in found if name not in SOURCES]
    if wrong:
        row = made.tolist().index(wrong[0])
        raise InputError(
            f"ground_truth_source must be one of {', '.join(SOURCES)} (ERS-3.1-e); {where(row)} has {wrong[0]!r:.40}",
            field="ground_truth_source",
            row=row,
        )
    return {name: found[name] for name in SOURCES if name in found} | ({"not stated": missing} if missing else {})
