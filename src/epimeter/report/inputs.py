# SPDX-License-Identifier: Apache-2.0
"""What a caller of `evaluate` holds, as columns: a file, a frame, arrays with labels of any sort, scores before softmax.

Rows whose outcome is not known are counted and left out, as the readers do with a file. Nothing else is changed without
being asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.checks import as_array, check_finite, numbers, refuse_different_indexes
from epimeter.errors import InputError, ReadError
from epimeter.readers import Choice, read
from epimeter.readers.forecast import score_note
from epimeter.readers.forecast_columns import states_forecast
from epimeter.readers.labels import plain_words, word_findings
from epimeter.readers.scores import are_probabilities, probabilities

SPOKEN = (
    (r"--column (\w+)=([^\s,.;)]+)", r"columns={'\1': '\2'}"),
    (r"--kind (event|answer|classes)", r"kind='\1'"),
    (r"--positive ('[^']*')", r"positive=\1"),
    (r"--positive ([-\w]+)", r"positive='\1'"),
    (r"--classes (\w+(?:,\w+)+)", r"classes='\1'.split(',')"),
    (r"--(kind|positive|classes)\b", r"\1="),
    (r"--logits", "logits=True"),
)
"""Options of the command, and how a call says the same."""


@dataclass(frozen=True)
class Inputs:
    """Columns for a view, and where they came from."""

    y_true: Any
    y_prob: Any
    kind: str | None
    sample_weight: Any = None
    features: Any = None
    groups: Any = None
    source: Mapping[str, Any] | None = None
    place: Callable[[int], str] | None = None


def is_source(value: Any) -> bool:
    """Whether a first argument alone is a file or a frame."""
    if isinstance(value, str | os.PathLike | Mapping):
        return True
    if isinstance(value, list):
        return bool(value) and all(isinstance(one, Mapping) for one in value)
    if isinstance(value, np.ndarray):
        return value.dtype.names is not None
    # Asked of the class: a lazy frame works out its columns where it is asked itself.
    return any(hasattr(type(value), name) for name in ("columns", "column_names", "__arrow_c_stream__"))


def _names(frame: Any) -> list[str]:
    """The columns of a frame, where it says them."""
    named = frame if isinstance(frame, Mapping) else getattr(frame, "columns", None)
    return [name for name in named if isinstance(name, str)] if isinstance(named, Iterable) else []


def from_source(source: Any, choice: Choice, given: Inputs) -> Inputs:
    """The columns of a file or a frame; what the caller gives beside it counts before what it holds."""
    try:
        table = read(source, columns=choice)
    except ReadError as refusal:
        spoken = in_python(str(refusal))
        if refusal.field == "confidence" and states_forecast(_names(source)):
            spoken += ". A forecast of a number or a set? Use evaluate_forecasts"
        if spoken == str(refusal):
            raise
        raise ReadError(spoken, field=refusal.field, row=refusal.row, count=refusal.count) from None
    return Inputs(
        table.y_true,
        table.y_prob,
        table.kind,
        table.weight if given.sample_weight is None else given.sample_weight,
        table.features if given.features is None else given.features,
        table.group if given.groups is None else given.groups,
        {**table.described(), **(given.source or {})},
        table.place,
    )


def in_python(sentence: str) -> str:
    """A refusal in the words of a call: the readers speak of the options of the command."""
    for option, spoken in SPOKEN:
        sentence = re.sub(option, spoken, sentence)
    return sentence


def from_columns(given: Inputs, positive: Any, classes: Iterable[Any] | None, logits: bool) -> Inputs:
    """Columns with labels as numbers, scores as probabilities, and without the rows that have no label."""
    notes: list[str] = []
    y_true, y_prob = given.y_true, given.y_prob
    missing = _missing(y_true)
    if missing is not None:
        refuse_different_indexes(
            y_true=y_true,
            y_prob=y_prob,
            sample_weight=given.sample_weight,
            features=given.features,
            groups=given.groups,
        )
        keep = ~missing
        if not keep.any():
            raise InputError(
                f"y_true must be known for at least one row; all {len(keep):,} are missing", field="y_true"
            )
        y_true = np.asarray(y_true, object)[keep]
        y_true = np.array(y_true.tolist())
        y_prob, *beside = (
            _selected_rows(column, keep, name)
            for column, name in (
                (y_prob, "y_prob"), (given.sample_weight, "sample_weight"), (given.features, "features"), (given.groups, "groups")
            )
        )  # fmt: skip
        facts = {**(given.source or {}), "unlabelled": int(missing.sum())}
        kept = np.flatnonzero(keep)
        given = replace(
            given,
            sample_weight=beside[0],
            features=beside[1],
            groups=beside[2],
            source=facts,
            place=lambda row: f"y_true[{kept[row]}]",
        )
    if positive is not None and classes is not None:
        raise InputError("positive is for one probability a row, classes for one a class; got both", field="positive")
    if positive is not None:
        y_true, note = _positive(y_true, positive)
        notes.append(note)
    if positive is None and classes is None and (said := _plain_words(y_true)) is not None:
        y_true, more = said
        notes.extend(more)
    if classes is not None:
        y_true = _classed(y_true, list(classes))
    if logits:
        y_prob = _probabilities(y_prob)
        notes.append(score_note("classes" if y_prob.ndim == 2 else "event"))
    if notes:
        given = replace(
            given, source={**(given.source or {}), "notes": [*(given.source or {}).get("notes", ()), *notes]}
        )
    return replace(given, y_true=y_true, y_prob=y_prob)


def _missing(y_true: Any) -> NDArray[np.bool_] | None:
    """Where an outcome is not known: None, NaN or a null of pandas, polars or Arrow; None when all are."""
    if hasattr(y_true, "isna"):
        gone = np.asarray(y_true.isna())
    elif hasattr(y_true, "is_null"):
        made = y_true.is_null()
        gone = np.asarray(
            made.to_numpy(zero_copy_only=False) if type(made).__module__.startswith("pyarrow") else made.to_numpy()
        )
    elif isinstance(y_true, np.ndarray):
        if y_true.dtype.kind == "f":
            gone = np.isnan(y_true)
        elif y_true.dtype == object:
            gone = np.array([value is None or value != value for value in y_true.ravel()], bool)
        else:
            return None
    elif isinstance(y_true, list | tuple):
        gone = np.array([value is None or (isinstance(value, float) and value != value) for value in y_true], bool)
    else:
        return None
    return gone if gone.ndim == 1 and gone.any() else None


def _selected_rows(column: Any, keep: NDArray[np.bool_], name: str) -> Any:
    if column is None:
        return None
    array = np.asarray(column, object) if isinstance(column, list | tuple) else as_array(column, name)
    if len(array) != len(keep):
        raise InputError(f"y_true and {name} must have the same length; got {len(keep)} and {len(array)}", field=name)
    return np.array(array[keep].tolist()) if array.dtype == object else array[keep]


def _plain_words(y_true: Any) -> tuple[NDArray[np.uint8], tuple[str, ...]] | None:
    """Outcomes 0 and 1 where all labels are plain words for them, as a file's are read, and a note; None for all others."""
    array = as_array(y_true, "y_true")
    if array.ndim != 1 or array.dtype.kind not in "UO":
        return None
    words = array.tolist()
    found = plain_words(words)
    return None if found is None else (found, word_findings(list(dict.fromkeys(words)), "y_true").sentences)


def _positive(y_true: Any, positive: Any) -> tuple[NDArray[np.uint8], str]:
    labels = as_array(y_true, "y_true")
    outcome = np.asarray(labels == positive).astype(np.uint8)
    if outcome.shape != labels.shape or not outcome.any():
        raise InputError(
            f"the label that is outcome 1 must occur; none of y_true is {positive!r:.40}", field="positive"
        )
    return outcome, f"outcome 1 is {positive!r:.40} in y_true, everything else is 0"


def _classed(y_true: Any, classes: list[Any]) -> NDArray[np.int64]:
    labels = as_array(y_true, "y_true")
    place = {label: number for number, label in enumerate(classes)}
    if len(place) < len(classes):
        raise InputError(f"classes must be different; got {classes!r:.60}", field="classes")
    found = [place.get(label, -1) for label in labels.tolist()]
    if -1 in found:
        row = found.index(-1)
        raise InputError(
            f"every label must be one of classes, {classes!r:.60}; y_true[{row}] is {labels.tolist()[row]!r:.40}",
            field="y_true",
            row=row,
        )
    return np.array(found, np.int64)


def _probabilities(y_prob: Any) -> NDArray[np.float64]:
    scores = numbers(y_prob, "y_prob")
    check_finite(scores, "y_prob")
    if are_probabilities(scores):
        raise InputError(
            "logits=True is for scores before softmax; y_prob holds probabilities already. Leave it out",
            field="logits",
        )
    return probabilities(scores)
