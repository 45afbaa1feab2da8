# SPDX-License-Identifier: Apache-2.0
"""Tables of predictions and of outcomes, as they are collected: which columns they need, and what is refused.

Predictions: `id`; `confidence` (with `prediction`, the answer it is in, if truth will be told as a label), `probability`, that of
outcome 1, or class probabilities (`p_<class>` columns, or `probabilities`, a struct); `time`. Every further column slices.
Outcomes: `id`; `correct`, or `truth`, the label; `time`; `source`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from epimeter.errors import InputError
from epimeter.monitor.cell_values import WHOLE, bit, moments, no_words, numbers, texts
from epimeter.monitor.intake import MOST_SLICES

TIMES = ("time", "timestamp")
TRUTHS = ("truth", "label", "outcome", "y_true", "target")
SOURCES = ("source", "ground_truth_source")
ANSWERS = ("prediction", "answer")
EVENTS = ("probability", "prob", "proba", "p", "y_prob", "y_proba", "y_score", "p_1")
"""Columns that hold the probability of outcome 1, where there is no confidence and no other class."""
MOST_COLUMNS = 100
MOST_WATCHED = 3000
"""Columns that rows of one system may be sliced by, and values of all of them together: each is watched."""
PERCENT = 0.1
NUMBERED = re.compile(r"__index_level_\d+__|Unnamed: \d+|")
"""Columns that pandas writes beside those that were asked for, an index without a name: row numbers, nothing to slice by."""


@dataclass(frozen=True)
class Predictions:
    """Columns of predictions, one entry a row; `at` is microseconds since 1970, None where no time was said."""

    id: list[str]
    confidence: list[float]
    answer: list[str | None]
    at: list[int | None]
    slices: list[str]
    """Values by column as canonical JSON, the same text for the same slices."""
    kind: str
    classes: int = 0
    """Among how many classes the answer was chosen, the same in every row; 0 where that is not known."""


@dataclass(frozen=True)
class Outcomes:
    """Columns of outcomes: `right` is 1 or 0 where that was said, `truth` the label where one was."""

    id: list[str]
    right: list[int | None]
    truth: list[str | None]
    at: list[int | None]
    source: list[str | None]


def predictions(table: Any) -> Predictions:
    """An Arrow table as predictions."""
    names = _names(table)
    ids = _ids(table)
    answer_name, event = _one(names, ANSWERS, "the prediction"), _event(names)
    family = [] if event else _family(names)
    several, classes = bool(family) or "probabilities" in names, 0
    if ("confidence" in names) + several + (event is not None) > 1:
        raise InputError(
            "a row has a confidence, the probability of outcome 1 or class probabilities, not two of them",
            field="confidence",
        )
    if "confidence" in names:
        confidence, answers, kind = numbers(table, "confidence"), texts(table, answer_name), "answer"
    elif event is not None:
        # The answer is that of the forecast: outcome 1 with this probability.
        confidence, answers, kind = numbers(table, event), [None] * len(ids), "event"
    elif several:
        confidence, answers, classes = _top(table, family)
        kind = "classes"
    else:
        raise InputError(
            f"predictions need a column confidence, probability (of outcome 1) or p_<class> columns; got {_listed(names)}",
            field="confidence",
        )
    _refuse_scale(confidence)
    time_name = _one(names, TIMES, "the time")
    slices = _slices(table, slice_columns(names))
    return Predictions(ids, confidence.tolist(), answers, moments(table, time_name), slices, kind, classes)


def slice_columns(names: Sequence[str]) -> list[str]:
    """The columns of predictions that slice: those without a meaning of their own."""
    event = _event(names)
    said = {"confidence"} if "confidence" in names else {event} if event else {"probabilities", *_family(names)}
    said |= {"id", *filter(None, (_one(names, ANSWERS, "the prediction"), _one(names, TIMES, "the time")))}
    return sorted(name for name in set(names) - said if not NUMBERED.fullmatch(name))


def outcomes(table: Any) -> Outcomes:
    """An Arrow table as outcomes."""
    names = _names(table)
    ids = _ids(table)
    time_name, source_name = _one(names, TIMES, "the time"), _one(names, SOURCES, "the source")
    truth_name = _one(names, TRUTHS, "the truth")
    if ("correct" in names) == (truth_name is not None):
        raise InputError(f"outcomes need one column correct or truth; got {_listed(names)}", field="truth")
    right: list[int | None] = [None] * len(ids)
    truth: list[str | None] = [None] * len(ids)
    if truth_name is None:
        right = [bit(cell, row) for row, cell in enumerate(table.column("correct").to_pylist())]
    else:
        truth = texts(table, truth_name)
        gone = next((row for row, cell in enumerate(truth) if cell is None), None)
        if gone is not None:
            raise InputError(f"truth must be present in every row; row {gone:,} has none", field="truth", row=gone)
    return Outcomes(ids, right, truth, moments(table, time_name), texts(table, source_name))


def is_prediction(names: Sequence[str]) -> bool:
    """Whether a table with these columns holds predictions; outcomes have no confidence."""
    return "confidence" in names or "probabilities" in names or bool(_family(names)) or _event(names) is not None


def _family(names: Sequence[str]) -> list[str]:
    """Columns of class probabilities."""
    return sorted(name for name in names if name.startswith("p_"))


def _event(names: Sequence[str]) -> str | None:
    """The column with the probability of outcome 1; beside other classes `p_1` is one of them."""
    one = ("p_1",) if _family(names) == ["p_1"] else ()
    return _one(
        [name for name in names if not name.startswith("p_") or name in one], EVENTS, "the probability of outcome 1"
    )


def holds_both(names: Sequence[str]) -> bool:
    """Whether rows hold predictions and their outcomes."""
    return is_prediction(names) and ("correct" in names or any(name in names for name in TRUTHS))


def parted(table: Any) -> tuple[Any, Any]:
    """A table with predictions and outcomes as two; rows without an outcome have none yet."""
    known, sources = _known(table), [name for name in SOURCES if name in table.column_names]
    told = table.filter(table.column(known).is_valid()).select(["id", known, *sources])
    return table.drop_columns([known, *sources]), told


def labelled(table: Any, first: int) -> list[int]:
    """Which rows of a table with predictions and outcomes have one, counted from `first` on."""
    return [first + row for row, told in enumerate(table.column(_known(table)).is_valid().to_pylist()) if told]


def _known(table: Any) -> str:
    return "correct" if "correct" in table.column_names else next(n for n in TRUTHS if n in table.column_names)


def placed(refusal: InputError, row: int) -> InputError:
    """The refusal of a row that stands elsewhere in its file than in the table that was read of it."""
    words = str(refusal).replace(f"row {refusal.row:,}", f"row {row:,}", 1)
    return InputError(words, field=refusal.field, row=row, count=refusal.count)


def _names(table: Any) -> list[str]:
    names = list(table.column_names)
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise InputError(f"columns must have different names; {twice!r:.60} stands twice", field=twice)
    if "id" not in names:
        raise InputError(
            f"every row needs an id, by which truth finds it; the columns are {_listed(names)}", field="id"
        )
    return names


def _listed(names: Sequence[str]) -> str:
    return ", ".join(name[:40] for name in names[:12])


def _one(names: Sequence[str], words: Sequence[str], what: str) -> str | None:
    found = [name for name in words if name in names]
    if len(found) > 1:
        raise InputError(f"one column can say {what}; there are {' and '.join(found)}", field=found[1])
    return found[0] if found else None


def _ids(table: Any) -> list[str]:
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table.column("id")
    if pa.types.is_floating(column.type) and (pc.max(pc.abs(column)).as_py() or 0.0) >= WHOLE:
        raise InputError(
            "ids must be words or whole numbers; as floats those of 2^53 and more have lost digits, and two rows would be one. "
            "Write them as words",
            field="id",
        )
    ids = texts(table, "id")
    for row, cell in enumerate(ids):
        if not cell:
            raise InputError(f"every row needs an id; row {row:,} has none", field="id", row=row)
    return ids  # type: ignore[return-value]


def _refuse_scale(confidence: Any) -> None:
    wrong = ~((confidence >= 0) & (confidence <= 1))
    if not wrong.any():
        return
    first = int(np.flatnonzero(wrong)[0])
    above = (confidence > 1) & (confidence <= 100)
    hint = ". Percent? Divide by 100" if above.mean() >= PERCENT else ""
    raise InputError(
        f"confidences must lie in [0, 1]; {int(wrong.sum()):,} of {len(confidence):,} do not, the first is row {first:,} with "
        f"{confidence[first]:g}{hint}",
        field="confidence",
        row=first,
        count=int(wrong.sum()),
    )


def _top(table: Any, family: list[str]) -> tuple[Any, list[str | None], int]:
    """The greatest class probability of every row, the class (the first by name where several are greatest); how many there are."""
    answers: list[str | None]
    if family:
        matrix = np.stack([numbers(table, name) for name in family], axis=1)
        sums, best = matrix.sum(axis=1), matrix.argmax(axis=1)
        least, top = matrix.min(axis=1), matrix.max(axis=1)
        answers = [family[k].removeprefix("p_") for k in best.tolist()]
        sizes = {len(family)}
    else:
        # Row by row: rows may name a class or two each of very many, and a matrix would have a column for every one.
        rows = [_by_class(cell, row) for row, cell in enumerate(table.column("probabilities").to_pylist())]
        sums = np.array([sum(cell.values()) for cell in rows], np.float64)
        answers = [min(cell, key=lambda name: (-cell[name], name), default=None) for cell in rows]
        sizes = {len(cell) for cell in rows}
        least = np.array([min(cell.values(), default=0.0) for cell in rows], np.float64)
        top = np.array([max(cell.values(), default=0.0) for cell in rows], np.float64)
    wrong = np.flatnonzero(~(np.abs(sums - 1) < 1e-3))
    if len(wrong):
        raise InputError(
            f"class probabilities must sum to 1; those of row {int(wrong[0]):,} sum to {sums[wrong[0]]:g}"
            + (": percent? Divide them by 100" if abs(sums[wrong[0]] - 100) < 1 else ""),
            field="probabilities",
            row=int(wrong[0]),
        )
    below = np.flatnonzero(least < 0)
    if len(below):
        raise InputError(
            f"class probabilities must lie in [0, 1]; row {int(below[0]):,} has {least[below[0]]:g}",
            field="probabilities",
            row=int(below[0]),
        )
    return np.minimum(top, 1), answers, sizes.pop() if len(sizes) == 1 else 0


def _by_class(cell: Any, row: int) -> dict[str, float]:
    """The probabilities that one row states; an object comes as such or as pairs, each class once."""
    try:
        found = dict(cell)
        if len(found) == len(cell) and all(isinstance(name, str) for name in found):
            return {name: float(value) for name, value in found.items() if value is not None}
    except (TypeError, ValueError):
        pass
    raise InputError(
        f"probabilities must be an object with one number a class in every row; that of row {row:,} is not",
        field="probabilities",
        row=row,
    )


def refuse_columns(names: Collection[str]) -> None:
    """Refuse more slice columns than can be watched."""
    if len(names) > MOST_COLUMNS:
        raise InputError(
            f"the rows of a system are sliced by at most {MOST_COLUMNS} columns, every value of each is watched; "
            f"got {len(names):,}. Leave some out"
        )


def refuse_slices(table: Any) -> None:
    """Refuse a table whose slice columns cannot be watched: too many, of too many values, or of lists and objects."""
    import pyarrow as pa

    names = slice_columns(table.column_names)
    refuse_columns(names)
    for name in names:
        if pa.types.is_nested(table.column(name).type):
            raise no_words(table, name)
    refuse_many({name: len(table.column(name).unique()) for name in names})


def refuse_many(counts: Mapping[str, int]) -> None:
    """Refuse more slice columns, or values of them, than can be watched; `counts` has the values of each."""
    refuse_columns([column for column in counts if column])
    for column, count in counts.items():
        if count > MOST_SLICES:
            raise InputError(
                f"a slice column must have at most {MOST_SLICES:,} values, each is watched; {column!r:.60} has {count:,}. Send "
                "something coarser, or leave it out",
                field=column,
                count=count,
            )
    if (total := sum(counts.values())) > MOST_WATCHED:
        raise InputError(
            f"the slice columns of a system must have at most {MOST_WATCHED:,} values together, each is watched; "
            f"they have {total:,}. Leave some columns out"
        )


def _slices(table: Any, names: list[str]) -> list[str]:
    if not names:
        return ["{}"] * table.num_rows
    refuse_slices(table)
    columns = [texts(table, name) for name in names]
    known: dict[tuple[Any, ...], str] = {}
    made = []
    for cells in zip(*columns, strict=True):
        text = known.get(cells)
        if text is None:
            values = {name: cell for name, cell in zip(names, cells, strict=True) if cell is not None}
            text = known[cells] = json.dumps(values, sort_keys=True, ensure_ascii=False)
        made.append(text)
    return made
