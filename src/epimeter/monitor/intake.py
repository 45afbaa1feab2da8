# SPDX-License-Identifier: Apache-2.0
"""Files into windows: rows by their times, summaries by their days.

Rows whose outcome is not known yet are counted with their confidence. Confidences on another scale are never read as
probabilities: they are counted apart, and the caution asks whether they are percentages.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError, ReadError
from epimeter.monitor.window import Arrivals, Place, Unit, day_in, named, of_groups, of_totals, starts
from epimeter.passes.plan import DIAGRAM
from epimeter.readers import Table, arrivals
from epimeter.readers.forecast import Choice
from epimeter.readers.wording import clean, shown
from epimeter.sources.paths import SourceFile, places
from epimeter.summaries import BinTotals
from epimeter.summaries.fixed import Fixed
from epimeter.summary_files import from_file
from epimeter.views import view

MOST_SLICES = 1000
"""Values that a slice column may have: each is watched, and shares the false alarms with the others."""
PERCENT = 0.1
"""Share of confidences above 1 from which another scale is meant and not a slip."""
DAY_KEYS = ("day", "date", "ds", "dt", "window")


@dataclass(frozen=True)
class IntakeOptions:
    """What the caller says of the files.

    Attributes
    ----------
    by
        Columns (or keys of folders) to slice by.
    system
        The column (or key of folders) that names the system; None when all rows are of one system.
    name
        The name of that one system.
    day
        The window of rows without times; None when times or the names of files say it.
    """

    unit: Unit = "day"
    by: tuple[str, ...] = ()
    system: str | None = None
    name: str = "system"
    columns: Choice = field(default_factory=Choice)
    format: str | None = None
    day: str | None = None


def arrived(sources: Sequence[str | os.PathLike[str]], ask: IntakeOptions) -> Arrivals:
    """The windows of files, patterns and folders, of rows or of summaries."""
    whole = Arrivals()
    values: dict[str, set[Any]] = {name: set() for name in ask.by}
    kinds: dict[str, str] = {}
    summaries, rows = _listed_files(sources)
    if summaries and rows:
        raise ReadError(
            f"a folder must hold rows or summaries, not both, or rows count twice; {rows[0].name} holds rows and "
            f"{summaries[0].name} is a summary",
            field="source",
        )
    for file in summaries:
        part = _summary(file, ask)
        kinds.setdefault(part.kind, file.name)
        _join(whole, part, file.name)
    for file in rows:
        part = Arrivals()
        for table in arrivals(file.path, columns=_columns(file, ask), format=ask.format):
            part.kind = table.kind
            kinds.setdefault(part.kind, file.name)
            _add(part, table, file, ask, values)
        _refuse_many(values, file.name)
        _join(whole, part, file.name)
    if len(kinds) > 1:
        (one, first), (other, second) = list(kinds.items())[:2]
        raise ReadError(
            f"all files must hold forecasts of one kind; {first} holds {one}, {second} {other}", field="source"
        )
    whole.kind = next(iter(kinds), whole.kind)
    return whole


def _listed_files(sources: Sequence[str | os.PathLike[str]]) -> tuple[list[SourceFile], list[SourceFile]]:
    """Summaries and files of rows among paths, patterns and folders."""
    summaries: list[SourceFile] = []
    rows: list[SourceFile] = []
    for source in sources:
        path = Path(source)
        if path.is_dir():
            inside = sorted(path.rglob("*.epi"))
            found = [
                SourceFile(str(file), clean(str(file.relative_to(path))), _folders(file.relative_to(path)))
                for file in inside
            ]
            summaries += found
            if not found or any(file.suffix != ".epi" and _known(file) for file in path.rglob("*") if file.is_file()):
                rows += places([source])
        else:
            for file in places([source]):
                (summaries if file.path.endswith(".epi") else rows).append(file)
    return summaries, rows


def _known(file: Path) -> bool:
    from epimeter.sources.paths import SUFFIXES

    return not file.name.startswith((".", "_")) and file.suffix.lower().lstrip(".") in SUFFIXES


def _folders(path: Path) -> dict[str, Any]:
    pairs = (part.partition("=") for part in path.parts[:-1])
    return {key: value for key, sign, value in pairs if sign and key}


def _columns(file: SourceFile, ask: IntakeOptions) -> Choice:
    """The caller's columns with those that slice, where they are not folders."""
    wanted = [name for name in (*ask.by, ask.system) if name is not None and name not in file.folders]
    columns = dict(ask.columns.columns)
    if wanted:
        columns["slice"] = ",".join(wanted)
    return replace(ask.columns, columns=columns)


def _join(whole: Arrivals, part: Arrivals, name: str) -> None:
    """Add the windows of one file; the same predictions again replace the earlier ones if more of them are labelled."""
    repeated: dict[str, bool] = {}
    for place, window in part.windows.items():
        known = whole.windows.get(place)
        if place.slice == "" and known is not None and window.same_predictions(known):
            repeated[f"{place.system}\0{place.start}"] = window.n_labelled >= known.n_labelled
    for place, window in part.windows.items():
        newer = repeated.get(f"{place.system}\0{place.start}")
        if newer is None:
            whole.add(place, window)
        elif newer:
            whole.windows[place] = window
    if repeated:
        days = sorted(key.partition("\0")[2] for key in repeated)
        whole.cautions.append(
            f"{name} holds the same predictions as a file before it on {listed(days)}; they count once, with the outcomes of "
            "the file that has more of them"
        )
    whole.cautions += part.cautions


def _add(part: Arrivals, table: Table, file: SourceFile, ask: IntakeOptions, values: dict[str, set[Any]]) -> None:
    """Add the rows of a table to its windows."""
    prob, true, classes = _top(table)
    assert table.awaiting is not None
    sound, scale = _scale(prob, true, table)
    window = _windows(table, file, ask)
    systems, slices = _slices(table, file, ask, values)
    for name, column in (("", None), *slices):
        keys = [window.astype(object), systems] + ([] if column is None else [column])
        code, groups = _grouped(keys)
        made = of_groups(prob[sound], true[sound], table.awaiting[sound], code[sound], len(groups))
        off = np.bincount(code[~sound], minlength=len(groups))
        for number, (start, system, *value) in enumerate(groups):
            place = Place(str(system), f"{name}={value[0]}" if column is not None else "", str(start))
            part.add(
                place,
                made[number].having(classes=classes, off_scale=int(off[number]), scale=scale if off[number] else 0.0),
            )


def _top(table: Table) -> tuple[NDArray[np.float64], NDArray[Any], int]:
    """Confidence and outcome of each row, of the class that was given most for class probabilities; number of classes."""
    prob = np.asarray(table.y_prob)
    if prob.ndim == 1:
        return prob.astype(np.float64), table.label, 0
    known = table.take(~table.awaiting) if table.awaiting is not None else table
    if known.n_rows:
        view(known.label, known.y_prob, kind=known.kind)  # says which row is at fault
    return prob.max(axis=1).astype(np.float64), prob.argmax(axis=1) == table.label, prob.shape[1]


def _scale(prob: NDArray[np.float64], true: NDArray[Any], table: Table) -> tuple[NDArray[np.bool_], float]:
    """Which rows hold probabilities, and the greatest confidence; a slip is refused, another scale is counted apart."""
    sound = (prob >= 0) & (prob <= 1)
    if sound.all():
        return sound, 1.0
    above = (prob > 1) & (prob <= 100)
    wrong = ~sound & ~above
    if wrong.any() or above.mean() < PERCENT:
        bad = np.flatnonzero(wrong if wrong.any() else above)
        raise InputError(
            f"confidences must lie in [0, 1]; {len(bad):,} of {len(prob):,} do not, the first is {prob[bad[0]]:g} "
            f"({table.source}, {table.place(int(bad[0]))})",
            field="confidence",
            row=int(bad[0]),
            count=len(bad),
        )
    # Percentages below 1 look like probabilities: where the scale is another one, none of the rows is read.
    return np.zeros(len(prob), bool), float(prob.max())


def _windows(table: Table, file: SourceFile, ask: IntakeOptions) -> NDArray[Any]:
    """The window of each row, by its name."""
    if table.timestamp is not None:
        gone = np.isnat(table.timestamp)
        if gone.any():
            raise InputError(
                f"every row needs a time; {int(gone.sum()):,} of {table.n_rows:,} have none, the first is "
                f"{table.place(int(np.flatnonzero(gone)[0]))} of {table.source}",
                field="timestamp",
            )
        begin, code = np.unique(starts(table.timestamp, ask.unit), return_inverse=True)
        return np.array([named(start, ask.unit) for start in begin], object)[code]
    said = ask.day or _named_day(file, ask.unit)
    if said is None:
        raise ReadError(
            f"rows need a time, or a file the name of its {ask.unit}; {file.name} has no column of times and none in its "
            "name. Name the column with --column timestamp=NAME",
            field="timestamp",
        )
    return np.full(table.n_rows, said, object)


def _named_day(file: SourceFile, unit: Unit) -> str | None:
    """The window that folders or the name of a file say."""
    for key in DAY_KEYS:
        if key in file.folders and (said := day_in(str(file.folders[key]), unit)) is not None:
            return said
    return day_in(os.path.basename(file.path), unit)


def _slices(
    table: Table, file: SourceFile, ask: IntakeOptions, values: dict[str, set[Any]]
) -> tuple[NDArray[Any], list[tuple[str, NDArray[Any]]]]:
    """The system of each row, and the value of each slice column."""
    wanted = [name for name in (*ask.by, ask.system) if name is not None and name not in file.folders]

    def column(name: str) -> NDArray[Any]:
        if name in file.folders:
            return np.full(table.n_rows, file.folders[name], object)
        assert table.slices is not None
        return np.asarray(table.slices[:, wanted.index(name)])

    made = []
    for name in ask.by:
        cells = column(name)
        values[name].update(set(cells.tolist()))
        if len(values[name]) <= MOST_SLICES:
            made.append((name, cells))
    return np.full(table.n_rows, ask.name, object) if ask.system is None else column(ask.system), made


def _refuse_many(values: Mapping[str, set[Any]], source: str) -> None:
    """Refuse a column of ids, once all of its values in a file are counted."""
    for name, found in values.items():
        if len(found) > MOST_SLICES:
            raise InputError(
                f"a slice column must have at most {MOST_SLICES:,} values, each is watched; {shown(name)} has {len(found):,} "
                f"in {source}. Slice by something coarser",
                field=name,
                count=len(found),
            )


def _grouped(keys: Sequence[NDArray[Any]]) -> tuple[NDArray[np.int64], list[tuple[Any, ...]]]:
    """A number for each distinct combination of keys, and the combinations."""
    code = np.zeros(len(keys[0]), np.int64)
    levels: list[list[Any]] = []
    for key in keys:
        known: dict[Any, int] = {}
        part = np.fromiter((known.setdefault(cell, len(known)) for cell in key.tolist()), np.int64, len(key))
        levels.append(list(known))
        code = code * len(known) + part
    distinct, code = np.unique(code, return_inverse=True)
    groups = []
    for number in distinct.tolist():
        cells = []
        for level in reversed(levels):
            number, place = divmod(number, len(level))
            cells.append(level[place])
        groups.append(tuple(reversed(cells)))
    return code, groups


def _summary(file: SourceFile, ask: IntakeOptions) -> Arrivals:
    """The windows of one summary: its slices are days, or it is of the day that its name says."""
    ledger = from_file(file.path)
    if ledger.plan.weighted:
        raise ReadError(f"a monitor counts rows; {file.name} is a summary of weighted rows", field="weight")
    part = Arrivals(kind=ledger.plan.kind)
    by = ledger.plan.by
    days = {} if by is None else {value: day_in(str(value), ask.unit) for value in ledger.slices}
    dated = bool(days) and all(day is not None for day in days.values())
    said = ask.day or _named_day(file, ask.unit)
    if not dated and said is None:
        raise ReadError(
            f"a summary must be of one {ask.unit}, named in its file's name, or be made with --by a column of days; "
            f"{file.name} is neither",
            field="source",
        )
    system = ask.name if ask.system is None else str(file.folders.get(ask.system, ask.name))
    for value, share in ledger.slices.items():
        totals: Any = share.totals.get(DIAGRAM)
        if not isinstance(totals, BinTotals) or not isinstance(totals.prob, Fixed):
            raise ReadError(
                f"{file.name} has no totals in ten ranges of confidence; summarise its rows again", field="source"
            )
        window = of_totals(totals, ledger.n_classes if ledger.plan.matrix else 0)
        start = str(days[value] if dated else said)
        part.add(Place(system, "", start), window)
        if by is not None and not dated:
            part.add(Place(system, f"{by}={value}", start), window)
    for place in list(part.windows):
        if place.slice == "" and ledger.unlabelled and len({p.start for p in part.windows}) == 1:
            part.cautions.append(f"{file.name} says of {ledger.unlabelled:,} rows only that they had no outcome yet")
    return part


def listed(names: Iterable[str], most: int = 3) -> str:
    """Some names, and how many more."""
    some = list(names)
    head = ", ".join(some[:most])
    return head if len(some) <= most else f"{head} and {len(some) - most} more"
