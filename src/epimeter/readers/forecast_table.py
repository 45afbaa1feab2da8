# SPDX-License-Identifier: Apache-2.0
"""Forecasts of a number or of a set from a file or a frame: rows by role, ranges not yet doubted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import ReadError
from epimeter.readers.block import Block
from epimeter.readers.cells import matrix, numbers
from epimeter.readers.forecast_columns import ForecastRoles, forecast_roles_of, states_forecast
from epimeter.readers.roles import Roles
from epimeter.readers.table import Numbering, taken
from epimeter.readers.words import identities, words

SEPARATORS = (";", "|", ",")
"""What may stand between the labels of a set written as text; the first that occurs counts."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ForecastTable:
    """Labelled rows of a forecast.

    Attributes
    ----------
    kind
        normal, quantiles, ensemble, interval, set, state or count.
    true
        What came true.
    stated
        What was stated, under the names that `epimeter.forecasts.forecast` takes.
    slices
        Words, one column for each that the rows are to be sliced by.
    unlabelled
        Rows left out because their truth is missing.
    files
        Of several files: the name of each, how its rows are numbered, and how many there are.
    """

    source: str
    kind: str
    true: NDArray[Any]
    stated: Mapping[str, Any]
    weight: NDArray[Any] | None = None
    group: NDArray[Any] | None = None
    id: Any = None
    slices: NDArray[Any] | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    unlabelled: int = 0
    rows: Sequence[int] | NDArray[np.int64] = range(0)
    numbering: Numbering = "row"
    files: tuple[tuple[str, Numbering, int], ...] = ()

    @property
    def n_rows(self) -> int:
        return len(self.true)

    def place(self, row: int) -> str:
        """The file and place of a row, in words: `rows.csv, line 19`."""
        number, before = int(self.rows[row]), 0
        for name, numbering, count in self.files:
            before += count
            if row < before:
                return f"{name}, {numbering} {number}"
        return f"{self.source}, {self.numbering} {number}"

    def take(self, keep: NDArray[Any]) -> ForecastTable:
        """Some of the rows, chosen by a mask or by their numbers; `files` tells nothing of them any more."""
        return replace(
            self,
            true=self.true[keep],
            stated={
                name: values if name == "levels" else _chosen(values, keep) for name, values in self.stated.items()
            },
            **{name: taken(getattr(self, name), keep) for name in ("weight", "group", "id", "slices", "rows")},
            files=(),
        )

    def described(self) -> dict[str, Any]:
        """Where the rows came from, for a report."""
        facts: dict[str, Any] = {"name": self.source, "columns": dict(self.roles)}
        return facts | ({"unlabelled": self.unlabelled} if self.unlabelled else {})


def read_forecasts(
    source: Any, *, columns: Mapping[str, str] | None = None, format: str | None = None
) -> ForecastTable:
    """Read forecasts from a file, `-` for standard input, or a frame.

    Parameters
    ----------
    source
        CSV, JSON, NDJSON, Parquet, Arrow or npz, or a data frame.
    columns
        Role to column, where names do not say: truth, mean, std, variance, quantiles, members, lower, upper, set, rate, dispersion,
        weight, group.
    format
        As for `read`.
    """
    return joined_forecasts(list(forecast_batches(source, columns=columns, format=format, rows=None)))


def forecast_batches(
    source: Any, *, columns: Mapping[str, str] | None = None, format: str | None = None, rows: int | None = 1 << 16
) -> Iterator[ForecastTable]:
    """Read forecasts piece by piece, in bounded memory."""
    from epimeter.readers import _blocks

    found: list[ForecastRoles] = []
    some = labelled = 0
    for block in _blocks(source, None, format, rows, partial(_choose, found, dict(columns or {}))):
        made = _table(block, found[0])
        some, labelled = some + made.unlabelled + made.n_rows, labelled + made.n_rows
        yield made
    if some and not labelled:
        name = found[0].columns["truth"][0]
        raise ReadError(f"{name} must be known for at least one row; all {some} are missing", field=name, count=some)


def holds_forecasts(path: Any, format: str | None = None) -> bool:
    """Whether the columns of a file say, by their names, a forecast of a number or a set."""
    from epimeter.readers import _blocks

    class Seen(Exception):
        pass

    names_seen: list[Sequence[str]] = []

    def look(source: str, names: Any, lists: Any = frozenset(), sample: Any = None) -> Any:
        names_seen.append(list(names))
        raise Seen

    try:
        next(iter(_blocks(path, None, format, 1, look)), None)
    except Seen:
        return states_forecast(names_seen[0])
    return False


def _choose(
    found: list[ForecastRoles], said: Mapping[str, str], source: str, names: Any, lists: Any = (), sample: Any = None
) -> Roles:
    """The roles under the names that readers know: numbers as features, words as slices."""
    roles = forecast_roles_of(list(names), said, source)
    found[:] = [roles]
    worded = {"set", "group", "id", "slice"} | ({"truth"} if roles.kind == "set" else set())
    numeric = tuple(name for role, each in roles.columns.items() if role not in worded for name in each)
    text = tuple(dict.fromkeys(name for role, each in roles.columns.items() if role in worded for name in each))
    return Roles({role: each for role, each in (("features", numeric), ("slice", text)) if each}, kind="event")


def _table(block: Block, roles: ForecastRoles) -> ForecastTable:
    """The labelled rows of one block."""
    columns = roles.columns
    truth = columns["truth"][0]
    if roles.kind == "set":
        true = words(block, truth)
        missing = np.array([value is None or value == "" for value in true.tolist()])
        # Labels are compared as they are written, whatever type a format gave them.
        true = np.array([str(value) for value in true.tolist()], object)
        stated: dict[str, Any] = {"sets": _sets(block, columns["set"][0])}
    elif roles.kind == "state":
        true, gone = matrix(block, columns["truth"])
        missing = np.zeros(block.n_rows, bool) if gone is None else gone
        stated = {"mean": _present(block, columns["mean"], missing, wide=True)}
        for role in ("std", "variance"):
            if role in columns:
                stated[role] = _present(block, columns[role], missing, wide=True)
        if "covariance" in columns:
            stated["variance"] = _covariances(_present(block, columns["covariance"], missing, wide=True), true.shape[1])
    else:
        true, gone = numbers(block, truth)
        missing = np.zeros(block.n_rows, bool) if gone is None else gone
        stated = {}
        for role, name in (("quantiles", "quantiles"), ("members", "members")):
            if role in columns:
                stated[name] = _present(block, columns[role], missing, wide=True)
        for role in ("mean", "std", "variance", "lower", "upper", "rate", "dispersion"):
            if role in columns:
                stated[role] = _present(block, columns[role], missing)
    weight = _present(block, columns["weight"], missing) if "weight" in columns else None
    group = words(block, columns["group"][0]) if "group" in columns else None
    cut = [words(block, name).astype(object) for name in columns.get("slice", ())]
    keep = ~missing
    served = {role: each[0] if len(each) == 1 else f"{each[0]} … {each[-1]}" for role, each in columns.items()}
    return ForecastTable(
        source=block.source,
        kind=roles.kind,
        true=true[keep],
        stated={name: _chosen(values, keep) for name, values in stated.items()}
        | ({"levels": roles.levels} if roles.levels else {}),
        weight=None if weight is None else weight[keep],
        group=None if group is None else np.array([str(label) for label in group[keep].tolist()]),
        id=taken(identities(block, columns["id"][0]), keep) if "id" in columns else None,
        slices=np.stack(cut, axis=1)[keep] if cut else None,
        roles=served,
        unlabelled=int(missing.sum()),
        rows=taken(block.rows, keep),
        numbering=block.numbering,
    )


def _present(block: Block, names: tuple[str, ...], missing: NDArray[np.bool_], wide: bool = False) -> NDArray[Any]:
    values, gone = matrix(block, names) if wide else numbers(block, names[0])
    if gone is not None and (gone & ~missing).any():
        raise block.fault(names[0], "must be present in every row with a truth", gone & ~missing, "has none")
    return values


def _covariances(upper: NDArray[Any], d: int) -> NDArray[Any]:
    """The whole matrix of each row, from what stands on and above its diagonal."""
    made = np.empty((len(upper), d, d))
    for column, (i, j) in enumerate(zip(*np.triu_indices(d), strict=True)):
        made[:, i, j] = made[:, j, i] = upper[:, column]
    return made


def _chosen(values: Any, keep: NDArray[Any]) -> Any:
    """Some rows of what is stated: a column, a matrix or a list of sets."""
    if not isinstance(values, list):
        return taken(values, keep)
    return [values[row] for row in (np.flatnonzero(keep) if keep.dtype == bool else keep).tolist()]


def _sets(block: Block, name: str) -> list[frozenset[str]]:
    """Sets of labels: lists as a format holds them, JSON lists, or words with ; | or , between them."""
    raw = block.columns[name]
    cells = raw.to_pylist() if hasattr(raw, "to_pylist") else raw.tolist() if hasattr(raw, "tolist") else list(raw)
    made = []
    for row, cell in enumerate(cells):
        if cell is None:
            raise block.fault(
                name, "must be present in every row", row, "has none", "An empty set is written [] or an empty list"
            )
        if isinstance(cell, list | tuple | set | np.ndarray):
            made.append(frozenset(str(label) for label in cell))
            continue
        text = str(cell).strip()
        if text.startswith("["):
            try:
                made.append(frozenset(str(label) for label in json.loads(text)))
                continue
            except ValueError:
                raise block.fault(name, "must hold sets of labels", row, f"has {text[:40]!r}") from None
        text = text.removeprefix("{").removesuffix("}")
        mark = next((mark for mark in SEPARATORS if mark in text), ";")
        made.append(frozenset(label.strip() for label in text.split(mark) if label.strip()))
    return made


def joined_forecasts(parts: list[ForecastTable]) -> ForecastTable:
    """Tables with the same columns as one."""
    first = parts[0]
    if len(parts) == 1:
        return first

    def all_of(columns: list[Any]) -> Any:
        if any(column is None for column in columns):
            return None
        if isinstance(columns[0], list):
            return [value for column in columns for value in column]
        return np.concatenate([np.asarray(column) for column in columns])

    stated = {
        name: values if name == "levels" else all_of([part.stated[name] for part in parts])
        for name, values in first.stated.items()
    }
    return replace(
        first,
        true=np.concatenate([part.true for part in parts]),
        stated=stated,
        weight=all_of([part.weight for part in parts]),
        group=all_of([part.group for part in parts]),
        id=all_of([part.id for part in parts]),
        slices=all_of([part.slices for part in parts]),
        unlabelled=sum(part.unlabelled for part in parts),
        rows=np.concatenate([np.asarray(part.rows, np.int64) for part in parts]),
    )
