# SPDX-License-Identifier: Apache-2.0
"""The table: what a reader hands on, columns by the role they play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.kinds import Kind
from epimeter.readers.findings import NOTHING, Findings

Numbering = Literal["line", "row"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Labelled rows of a file or frame, columns by role; values as in the source, ranges not yet doubted.

    Attributes
    ----------
    source
        The file's name, `standard input`, or what kind of frame it was; for messages.
    kind
        What the forecast is: the probability of outcome 1 (event), the confidence in an answer that `label` says was right
        (answer), or one probability a class (classes).
    positive
        The label that is outcome 1, where the caller said one.
    label
        0 or 1 (uint8) beside a confidence, class number (int64) beside class probabilities.
    confidence, probabilities
        One number a row, or one column a class; one of the two is None.
    rank
        Where the confidence is a recalibration of a score without bounds: that score's rank, as a share. Metrics that look
        at order only read it.
    class_names
        Names of the classes in column order, where the source gives any.
    unknown, detected, timestamp, weight, group, features, id, ground_truth_source, category, class_of
        Further columns, None where the source has none. Times are datetime64[us] in UTC (a time without a
        zone is taken as UTC), `unknown` and `detected` are boolean, the text columns hold str or None; `id`
        may stay an Arrow array. `category` is the kind of unknown, `class_of` the class a record belongs to.
    silent_unknown, silent_detected
        The same flags of the rows without an outcome, which are no rows of this table: whether unknown inputs were
        detected can be asked of declined answers too.
    zoneless
        Where the first time without a zone stands, `line 2`; None when every time has one.
    roles
        Which source column served each role.
    unlabelled
        Rows left out because their outcome is missing (ERS 3.2, decision C-13).
    slices
        Words of the columns that the caller slices by, one column each; None where there are none.
    awaiting
        Rows whose outcome is not known yet, where they were asked for (`arrivals`); their label says nothing.
    rows, numbering
        Where row i stood: its line in a text file, from 1, else its row in the source, from 0.
    metadata
        What the source says of itself: dataset_id, created_at, domain and the like.
    confidence_source
        How a log's confidence came about: `choice_logprob`, `verbalised`, `judge` and so on.
    recalibrated_by
        The map, with its digest, that changed the predictions after the model made them.
    domains
        What a column `domain` says of the rows, each word once; empty where some row says none.
    notes
        Sentences a report should repeat: columns that were found and left out.
    findings
        What the cells say of how they were read: which words are labels, how numbers are written.
    """

    source: str
    kind: Kind
    positive: str | None = None
    label: NDArray[Any]
    confidence: NDArray[Any] | None = None
    probabilities: NDArray[Any] | None = None
    rank: NDArray[Any] | None = None
    class_names: tuple[str, ...] | None = None
    unknown: NDArray[np.bool_] | None = None
    timestamp: NDArray[np.datetime64] | None = None
    weight: NDArray[Any] | None = None
    group: NDArray[Any] | None = None
    features: NDArray[Any] | None = None
    id: Any = None
    ground_truth_source: NDArray[Any] | None = None
    detected: NDArray[np.bool_] | None = None
    silent_unknown: NDArray[np.bool_] | None = None
    silent_detected: NDArray[np.bool_] | None = None
    category: NDArray[Any] | None = None
    class_of: NDArray[Any] | None = None
    slices: NDArray[Any] | None = None
    awaiting: NDArray[np.bool_] | None = None
    zoneless: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    unlabelled: int = 0
    rows: Sequence[int] | NDArray[np.int64] = range(0)
    numbering: Numbering = "row"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    confidence_source: str | None = None
    recalibrated_by: str | None = None
    domains: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    findings: Findings = NOTHING

    @property
    def n_rows(self) -> int:
        """Rows with an outcome; `unlabelled` counts the others."""
        return len(self.label)

    @property
    def y_true(self) -> NDArray[Any]:
        """The outcomes, under the name the metrics use."""
        return self.label

    @property
    def y_prob(self) -> NDArray[Any]:
        """The confidence, or the class probabilities."""
        prob = self.confidence if self.probabilities is None else self.probabilities
        assert prob is not None  # every reader fills one of the two
        return prob

    @property
    def clusters(self) -> NDArray[Any] | None:
        """The groups, where one of them has several rows; such rows are not independent."""
        if self.group is None or len({str(label) for label in self.group}) == self.n_rows:
            return None
        return np.asarray([str(label) for label in self.group])

    @property
    def unit(self) -> Literal["question", "group"]:
        """What the groups are, by the name of their column."""
        return "question" if self.roles.get("group", "").lower().startswith("question") else "group"

    @property
    def evidence(self) -> str:
        """How much there is, in words: `1,000 rows`, `1,000 answers to 60 questions`."""
        clusters = self.clusters
        if clusters is None:
            return f"{self.n_rows:,} rows"
        units = len(np.unique(clusters))
        if self.unit == "question":
            return f"{self.n_rows:,} answers to {units:,} questions"
        return f"{self.n_rows:,} rows of {units:,} groups"

    @property
    def repeated_ids(self) -> dict[str, Any] | None:
        """How many rows have the id of an earlier one, and the first such id; None where all differ, or there are none.

        The answers of a log have the id of their question, several times where it was asked several times.
        """
        if self.id is None or self.confidence_source is not None:
            return None
        import pyarrow as pa
        from pyarrow import compute

        column = self.id if isinstance(self.id, pa.Array | pa.ChunkedArray) else pa.array(map(str, self.id))
        column = column.drop_null()
        count = len(column) - len(compute.unique(column))
        if not count:
            return None
        tally = compute.value_counts(column)
        first = tally.field("values").filter(compute.greater(tally.field("counts"), 1))[0].as_py()
        return {"count": count, "first": first}

    @property
    def remarks(self) -> tuple[str, ...]:
        """Every sentence on how the rows were read."""
        return (*self.notes, *self.findings.sentences)

    def described(self) -> dict[str, Any]:
        """Where the rows came from, for a report."""
        facts: dict[str, Any] = {"name": self.source, "columns": dict(self.roles)}
        if self.unlabelled:
            facts["unlabelled"] = self.unlabelled
        if self.remarks:
            facts["notes"] = list(self.remarks)
        facts |= self.findings.described()
        repeated = self.repeated_ids
        if repeated:
            facts["repeated_ids"] = repeated
        if self.recalibrated_by:
            facts["recalibrated_by"] = self.recalibrated_by
        if self.confidence_source:
            facts["confidence_source"] = self.confidence_source
        return facts

    def place(self, row: int) -> str:
        """Where row `row` of this table stood in its source, in words: `line 19`."""
        return f"{self.numbering} {int(self.rows[row])}"

    def take(self, keep: Any) -> Table:
        """The table of some rows: a slice, a boolean mask, or an array of indices."""
        picked = {name: taken(getattr(self, name), keep) for name in COLUMNS}
        return replace(self, rows=taken(self.rows, keep), **picked)


COLUMNS = (
    "label",
    "confidence",
    "probabilities",
    "rank",
    "unknown",
    "timestamp",
    "weight",
    "group",
    "features",
    "id",
    "ground_truth_source",
    "detected",
    "category",
    "class_of",
    "slices",
    "awaiting",
)
"""The fields of a table that hold one entry a row, `rows` aside."""
assert set(COLUMNS) < {f.name for f in fields(Table)}


def taken(column: Any, keep: Any) -> Any:
    """Some rows of a column, whatever holds it; None stays None."""
    if column is None:
        return None
    if isinstance(keep, slice):
        return column[keep]
    if isinstance(column, range):
        return np.asarray(column, np.int64)[keep]
    if isinstance(column, np.ndarray):
        return column[keep]
    chosen = np.flatnonzero(keep) if np.asarray(keep).dtype == bool else keep
    return column.take(chosen)
