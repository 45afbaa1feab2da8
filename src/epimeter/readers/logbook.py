# SPDX-License-Identifier: Apache-2.0
"""What the readers of evaluation logs share: opening JSON that may hold NaN, and rows into a table."""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from epimeter.errors import ReadError
from epimeter.readers.assembly import joined, tables
from epimeter.readers.block import Block
from epimeter.readers.files import BOM, opened
from epimeter.readers.roles import Roles
from epimeter.readers.table import Numbering, Table
from epimeter.readers.wording import brief, counted, shown

Source = str | os.PathLike[str]
Missing = Literal["refuse", "leave out"]

STATED = re.compile(
    r"confiden(?:ce|t)\b[^\d\n]{0,30}?(\d+(?:\.\d+)?|\.\d+)\s*(%|percent\b|/\s*100\b|/\s*10\b|out of 100?\b)?",
    re.IGNORECASE,
)


@dataclass
class Rows:
    """Rows of a log as they are collected; None where an outcome or a confidence is missing."""

    source: str
    confidence: list[float | None] = field(default_factory=list)
    correct: list[Any] = field(default_factory=list)
    question: list[str] = field(default_factory=list)
    id: list[str] = field(default_factory=list)
    place: list[int] = field(default_factory=list)

    def add(self, confidence: float | None, correct: Any, question: Any, id: Any, place: int) -> None:
        """One answer to one question."""
        self.confidence.append(confidence)
        self.correct.append(correct)
        self.question.append(str(question))
        self.id.append(str(id))
        self.place.append(place)

    def table(
        self,
        *,
        confidence_source: str,
        roles: Mapping[str, str],
        missing: Missing = "refuse",
        numbering: Numbering = "row",
        metadata: Mapping[str, Any] | None = None,
        notes: tuple[str, ...] = (),
    ) -> Table:
        """The rows as a table; a labelled row without a confidence is refused, or left out and noted."""
        bare = [
            row
            for row, (said, right) in enumerate(zip(self.confidence, self.correct, strict=True))
            if said is None and right is not None
        ]
        if bare and missing == "refuse":
            raise ReadError(
                f"every answer must state a confidence; {counted(len(bare), len(self.id))} of {self.source} "
                f"{'does' if len(bare) == 1 else 'do'} not, the first is {shown(self.id[bare[0]])}. "
                'Pass missing="leave out" to measure the others',
                field="confidence",
                row=bare[0],
                count=len(bare),
            )
        gone = set(bare)
        kept = [row for row in range(len(self.id)) if row not in gone]
        if not kept:
            raise ReadError(f"{self.source} has no answer with a confidence")
        if bare:
            notes = (*notes, f"{counted(len(bare), len(self.id))} without a stated confidence were left out")
        names = {"confidence": "confidence", "label": "correct", "group": "question", "id": "id"}
        block = Block(
            source=self.source,
            roles=Roles({role: (name,) for role, name in names.items()}),
            columns={name: [getattr(self, name)[row] for row in kept] for name in names.values()},
            n_rows=len(kept),
            rows=np.array([self.place[row] for row in kept], np.int64),
            numbering=numbering,
            metadata=metadata or {},
        )
        made = joined(list(tables(iter([block]))))
        return replace(made, confidence_source=confidence_source, roles=roles, notes=notes)


def document(path: Source) -> tuple[Any, str]:
    """A JSON document and its name; NaN is read, since logs write it for «not scored»."""
    with opened(path) as stream:
        return parsed(stream.read(), stream.source), stream.source


def lines(path: Source) -> tuple[list[tuple[int, dict[str, Any]]], str]:
    """The records of a JSON-lines log with their lines, and the log's name."""
    with opened(path) as stream:
        text, source = stream.read().removeprefix(BOM), stream.source
    found = []
    for line, piece in enumerate(text.split(b"\n"), 1):
        if not piece.strip():
            continue
        record = parsed(piece, f"line {line} of {source}")
        if not isinstance(record, dict):
            raise ReadError(f"every line must be a JSON object; line {line} of {source} is {shown(record)}")
        found.append((line, record))
    if not found:
        raise ReadError(f"{source} is empty")
    return found, source


def parsed(text: bytes, source: str) -> Any:
    """JSON, NaN included; faults as one sentence."""
    try:
        return json.loads(text.removeprefix(BOM), object_pairs_hook=_once)
    except UnicodeDecodeError:
        raise ReadError(f"{source} must be UTF-8. Save it as UTF-8") from None
    except ValueError as fault:
        raise ReadError(f"{source} must be JSON ({brief(fault)}). Cut off?") from None
    except RecursionError:
        raise ReadError(f"{source} must not nest so deep") from None
    except KeyError as fault:
        raise ReadError(f"a record has a key once; {source} has {shown(fault.args[0])} twice") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        count = Counter(key for key, _ in pairs)
        raise KeyError(max(count, key=lambda key: count[key]))
    return made


def number(value: Any) -> float | None:
    """A number, also one written as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def softmax(values: list[float]) -> list[float] | None:
    """Shares of the exponentials; None when no value is finite."""
    top = max(values)
    if not math.isfinite(top) or any(math.isnan(value) for value in values):
        return None
    weights = [math.exp(value - top) for value in values]
    return [weight / math.fsum(weights) for weight in weights]


def stated(text: str) -> float | None:
    """The confidence stated last: 87%, 87/100, 0.87. A bare 1 could be 1% or 1, and is none."""
    found = None
    for match in STATED.finditer(text):
        value, unit = float(match[1]), (match[2] or "").lower().replace(" ", "")
        if unit in ("/10", "outof10"):
            value /= 10
        elif unit or value > 1:
            value /= 100
        elif "." not in match[1] and value == 1:
            continue
        if value <= 1:
            found = value
    return found
