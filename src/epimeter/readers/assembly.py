# SPDX-License-Identifier: Apache-2.0
"""Blocks into tables: cells are settled by role, rows without an outcome are left out and counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import ReadError
from epimeter.readers.block import Block
from epimeter.readers.cells import Mask, matrix, numbers
from epimeter.readers.findings import Findings, merged_findings
from epimeter.readers.labels import equal_cells, label_words, labels, positive_labels
from epimeter.readers.predictions import contradictions
from epimeter.readers.scores import turned
from epimeter.readers.table import COLUMNS, Table, taken
from epimeter.readers.wording import clean, shown
from epimeter.readers.words import first_without_zone, identities, times, words
from epimeter.readers.written import plainly_written

WORDS = {
    "group": "group",
    "ground_truth_source": "ground_truth_source",
    "category": "category",
    "class": "class_of",
}
"""Roles that hold words, and the field of the table that takes them."""


def tables(blocks: Iterator[Block]) -> Iterator[Table]:
    """The blocks one by one as tables; refused when no row of any of them is labelled."""
    labelled = unlabelled = ones = 0
    last: Block | None = None
    for block in blocks:
        made = table(block)
        labelled, unlabelled, last = labelled + made.n_rows, unlabelled + made.unlabelled, block
        ones += 0 if made.positive is None else int(np.count_nonzero(made.label))
        yield made
    if last is not None and labelled and last.roles.positive is not None and not ones:
        raise never_positive(last.roles.columns["label"][0], last.roles.positive, last.source)
    if last is None or labelled:
        return
    name = last.roles.columns["label"][0]
    raise ReadError(
        f"{clean(name)} must be known for at least one row; all {unlabelled} outcomes of {last.source} are missing",
        field=name,
        count=unlabelled,
    )


def never_positive(label: str, positive: str, source: str) -> ReadError:
    """The refusal where the label that should be outcome 1 occurs nowhere."""
    return ReadError(
        f"the label that is outcome 1 must occur; no row of {source} has {shown(positive)} in {clean(label)}",
        field="positive",
    )


def table(block: Block) -> Table:
    """The labelled rows of one block."""
    made, unlabelled = settled(block)
    if unlabelled is None:
        return made
    silent = {f"silent_{name}": taken(getattr(made, name), unlabelled) for name in ("unknown", "detected")}
    return replace(made.take(~unlabelled), **silent)


def settled(block: Block) -> tuple[Table, Mask]:
    """One block as a table of all its rows, and which of them have no outcome."""
    block, forms = plainly_written(block)
    roles = block.roles.columns
    columns: dict[str, Any] = {}
    findings = Findings(forms=forms)
    class_names = block.roles.class_names
    if "probabilities" in roles:
        prob, gone = matrix(block, roles["probabilities"])
        if class_names is None and block.class_names is not None and len(block.class_names) == prob.shape[1]:
            class_names = block.class_names
        if block.roles.logits:
            prob = turned(block, block.roles.served["probabilities"], prob)
        columns["probabilities"] = prob
        true, unlabelled = labels(block, roles["label"][0], prob.shape[1], class_names)
        if "prediction" in roles:
            findings = findings.merge(contradictions(block, roles["prediction"][0], prob, class_names, unlabelled))
    else:
        prob, gone = numbers(block, roles["confidence"][0])
        true, unlabelled, worded = _outcomes(block)
        findings = findings.merge(worded)
        if block.roles.logits:
            prob = turned(block, roles["confidence"][0], prob)
        columns["confidence"] = prob
    columns["label"] = true
    role = "confidence" if "confidence" in roles else "probabilities"
    _refuse_missing(block, block.roles.served[role], gone, unlabelled)
    if "weight" in roles:
        columns["weight"], gone = numbers(block, roles["weight"][0])
        _refuse_missing(block, roles["weight"][0], gone, unlabelled)
    for role in ("unknown", "detected"):
        if role in roles:
            flags, gone = labels(block, roles[role][0])
            _refuse_missing(block, roles[role][0], gone, unlabelled)
            columns[role] = flags.astype(bool)
    if "features" in roles:
        columns["features"], _ = matrix(block, roles["features"])
    for role, field in WORDS.items():
        if role in roles:
            columns[field] = words(block, roles[role][0])
    if "slice" in roles:
        columns["slices"] = np.stack([words(block, name).astype(object) for name in roles["slice"]], axis=1)
    if "id" in roles:
        columns["id"] = identities(block, roles["id"][0])
    if "recalibrated_by" in roles:
        marks = {str(word) for word in words(block, roles["recalibrated_by"][0]) if word}
        columns["recalibrated_by"] = ", ".join(sorted(marks)) or None
    if "domain" in roles:
        columns["domains"] = tuple(sorted({str(word or "") for word in words(block, roles["domain"][0]).tolist()}))
    columns["timestamp"], columns["zoneless"], notes = _timestamp(block)
    served = dict(block.roles.served)
    if notes:
        del served["timestamp"]
    made = Table(
        source=block.source,
        class_names=class_names,
        roles=served,
        unlabelled=0 if unlabelled is None else int(np.count_nonzero(unlabelled)),
        rows=block.rows,
        numbering=block.numbering,
        metadata=block.metadata,
        kind=block.roles.kind,
        positive=block.roles.positive,
        notes=(*block.notes, *block.roles.notes, *notes),
        findings=findings,
        **columns,
    )
    return made, unlabelled


def _outcomes(block: Block) -> tuple[NDArray[Any], Mask, Findings]:
    """Outcomes 0 and 1 beside one number a row, where they are missing, and which words they were."""
    roles = block.roles
    label = roles.columns["label"][0]
    if roles.compared:
        right, gone = equal_cells(block, roles.columns["prediction"][0], label)
        return right, gone, Findings()
    if roles.positive is not None:
        return positive_labels(block, label, roles.positive)
    true, gone = labels(block, label)
    return true, gone, label_words(block, label)


def _refuse_missing(block: Block, name: str, gone: Mask, unlabelled: Mask) -> None:
    """A missing value on a labelled row is never filled."""
    if gone is None:
        return
    bad: NDArray[np.bool_] = gone if unlabelled is None else gone & ~unlabelled
    if bad.any():
        raise block.fault(name, "must be present in every labelled row", bad, "has none")


def _timestamp(block: Block) -> tuple[NDArray[np.datetime64] | None, str | None, tuple[str, ...]]:
    """The times; a column that was only called like one and holds none is left out with a note."""
    if "timestamp" not in block.roles.columns:
        return None, None, ()
    name = block.roles.columns["timestamp"][0]
    found = times(block, name)
    if not isinstance(found, str):
        row = first_without_zone(block, name)
        return found, None if row is None else f"{block.numbering} {int(block.rows[row])}", ()
    if "timestamp" in block.roles.given:
        raise ReadError(found, field=name)
    return None, None, (f"{found}; the column was left out",)


def joined(parts: list[Table]) -> Table:
    """Tables of one source as one."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    columns = {name: _concatenated([getattr(part, name) for part in parts]) for name in COLUMNS}
    return replace(
        first,
        unlabelled=sum(part.unlabelled for part in parts),
        recalibrated_by=_marks(parts),
        domains=tuple(sorted({word for part in parts for word in part.domains})),
        zoneless=next((part.zoneless for part in parts if part.zoneless is not None), None),
        rows=np.concatenate([np.asarray(part.rows, np.int64) for part in parts]),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        findings=merged_findings(part.findings for part in parts),
        **_silent(parts),
        **columns,
    )


def _marks(parts: list[Table]) -> str | None:
    """Every map that changed predictions of a part."""
    marks = {mark for part in parts if part.recalibrated_by for mark in part.recalibrated_by.split(", ")}
    return ", ".join(sorted(marks)) or None


def _silent(parts: list[Table]) -> dict[str, Any]:
    """The flags of the rows without an outcome, of the parts that have such rows."""
    names = ("silent_unknown", "silent_detected")
    found = {name: [getattr(part, name) for part in parts if getattr(part, name) is not None] for name in names}
    return {name: np.concatenate(columns) if columns else None for name, columns in found.items()}


def _concatenated(columns: list[Any]) -> Any:
    if any(column is None for column in columns):
        return None
    if all(isinstance(column, np.ndarray) for column in columns):
        return np.concatenate(columns)
    return np.concatenate([np.asarray(column, object) for column in columns])
