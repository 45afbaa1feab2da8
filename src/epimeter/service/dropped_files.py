# SPDX-License-Identifier: Apache-2.0
"""A file that somebody dropped on a page: which column plays which role, and its rows in the columns of the service.

The readers of the command read it, so that a file is refused here for the same reasons and in the same words. Runs in a child:
what a file unpacks to, and how long that takes, is its author's to decide.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from epimeter import readers
from epimeter.errors import EpimeterError, InputError, ReadError
from epimeter.forecasts import WORDING as FORECAST_WORDING
from epimeter.kinds import WORDING
from epimeter.readers.forecast import Choice
from epimeter.readers.forecast_columns import BESIDE as FORECAST_BESIDE
from epimeter.readers.forecast_columns import ROLES as FORECAST_ROLES
from epimeter.readers.forecast_columns import forecast_roles_of, states_forecast
from epimeter.readers.forecast_table import ForecastTable, read_forecasts
from epimeter.readers.table import Table
from epimeter.service.schemas import COLUMNS
from epimeter.sources.forecast_arrow import write_forecasts
from epimeter.sources.forecast_files import validated
from epimeter.standards.records import Records, records_of
from epimeter.store.moments import moment

FORMATS = {"csv": "csv", "tsv": "tsv", "txt": "csv", "parquet": "parquet", "pq": "parquet", "ndjson": "ndjson"}
FORMATS |= {"jsonl": "ndjson", "arrow": "arrow"}
FORECAST = ("confidence", "probability", "probabilities")
OUTCOME = ("correct", "label", "prediction")
BESIDE = ("timestamp", "id", "unknown", "detected", "class", "ground_truth_source")
STATED = (
    "mean",
    "std",
    "variance",
    "covariance",
    "quantiles",
    "members",
    "lower",
    "upper",
    "set",
    "rate",
    "dispersion",
)
"""What a column is only where forecasts of a number or of a set are stated."""
ROLES = (*FORECAST, *OUTCOME, *BESIDE, "truth", *STATED, "weight", "group")
"""What a column can be told to be."""
SEVERAL = ("probabilities", "truth", *STATED[:6])
"""Roles that several columns may play."""
ALIASES = {"y_prob": FORECAST, "y_true": (*OUTCOME, "truth"), "classes": ("class",), "sets": ("set",)}
CELLS = 3


def looked_at(
    file: BinaryIO,
    name: str,
    columns: Mapping[str, str],
    kind: str | None,
    *,
    assume_utc: bool,
    at: int,
    target: BinaryIO,
) -> dict[str, Any]:
    """What a file holds and how it is read; its rows are written as an Arrow stream where nothing is wrong with them."""
    with tempfile.TemporaryDirectory() as folder:
        # Under its own name, so that sentences about it name it.
        path = Path(folder) / plain_name(name)
        path.symlink_to(f"/proc/self/fd/{file.fileno()}")
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        form = _format(path)
        cells = readers.header(path, format=form)
        told: dict[str, Any] = {
            "kind": None,
            "n_rows": None,
            "unlabelled": 0,
            "notes": [],
            "refusal": None,
            "roles": {},
            "of_probabilities": True,
        }
        told |= {"meaning": "", "columns": [{"name": one, "cells": some[:CELLS]} for one, some in cells.items()]}
        said = {role: name for role, name in columns.items() if name}
        told["of_probabilities"] = not (_states(said) if said else states_forecast(list(cells)))
        try:
            if not told["of_probabilities"]:
                said = _forecast_roles(list(cells), said, kind, path.name, told)
                return told | _forecasts(read_forecasts(path, columns=said, format=form), target)
            columns = {("label" if role == "truth" else role): name for role, name in columns.items()}
            table = readers.read(path, columns=Choice(columns, kind=kind), format=form)
            told["roles"] = served(table, list(cells))
            given = records_of(table, now=moment(at), assume_utc=assume_utc)
            told |= {"kind": table.kind, "meaning": WORDING[table.kind].what, "n_rows": table.n_rows}
            told |= {"unlabelled": table.unlabelled, "notes": list(dict.fromkeys((*table.notes, *given.notes)))}
            _write(table, given, target)
        except EpimeterError as fault:
            told["refusal"] = _refusal(fault, told["roles"] or _turned(columns), list(cells))
    return told


def _states(said: Mapping[str, str]) -> bool:
    """Whether roles were chosen that only a forecast of a number or of a set has."""
    return any(role in STATED for role in said)


def _forecast_roles(
    names: list[str], said: dict[str, str], kind: str | None, source: str, told: dict[str, Any]
) -> dict[str, str]:
    """What is said of the columns of forecasts, less what their names say already; the roles are told."""
    if kind is not None:
        raise InputError(
            f"{kind} is a kind of probabilities; a forecast of a number or of a set is told by its columns. Choose as the "
            "columns say",
            field="kind",
        )
    if "label" in said:
        said["truth"] = ",".join(filter(None, (said.get("truth"), said.pop("label"))))
    for role in said:
        if role not in FORECAST_ROLES:
            raise InputError(
                f"{role} is no role of a forecast of a number or of a set; choose not used for {said[role]}", field=role
            )
    stated = {role: set(one.split(",")) for role, one in said.items() if role not in FORECAST_BESIDE}
    if stated and states_forecast(names) and stated == _by_name(names, source):
        # The numbers in the names say the order of a state's components, whatever that of the file is.
        said = {role: one for role, one in said.items() if role in FORECAST_BESIDE}
    if stated:
        said |= {role: "" for role in FORECAST_BESIDE if role not in said}  # found by its name, and not wanted
    found = forecast_roles_of(names, said, source).columns
    told["roles"] = {name: role for role, each in found.items() for name in each}
    return said


def _forecasts(table: ForecastTable, target: BinaryIO) -> dict[str, Any]:
    """What a file of forecasts holds; its rows go to `target` under the names that bodies have."""
    validated(table)
    write_forecasts(table, target)
    facts = {"kind": table.kind, "meaning": FORECAST_WORDING[table.kind]}
    return facts | {"n_rows": table.n_rows, "unlabelled": table.unlabelled}


def _by_name(names: list[str], source: str) -> dict[str, set[str]]:
    """The columns that state a forecast where nobody says which."""
    found = forecast_roles_of(names, {}, source).columns
    return {role: set(each) for role, each in found.items() if role not in FORECAST_BESIDE}


def plain_name(name: str) -> str:
    """The name of a file without folders, controls and quotes; what a browser says it is called is anybody's text."""
    last = re.sub(r"[\x00-\x1f\x7f\"'<>|*?:;%]", "_", name.replace("\\", "/").rpartition("/")[2]).strip()[-100:]
    return "file" if last.strip(". ") == "" else last


def _format(path: Path) -> str:
    suffixes = [one.lstrip(".").lower() for one in path.suffixes]
    if suffixes and suffixes[-1] in ("gz", "zst"):
        suffixes.pop()
    if not suffixes or suffixes[-1] not in FORMATS:
        raise ReadError(f"a file must be called .{', .'.join(FORMATS)}, with .gz or .zst behind it where it is packed")
    return FORMATS[suffixes[-1]]


def served(table: Table, names: list[str]) -> dict[str, str]:
    """The role of each column that has one, in the words by which a role is chosen."""
    words = {"answer": {"label": "correct"}, "event": {"confidence": "probability"}}.get(table.kind, {})
    if "prediction" in table.roles:
        words = {}
    made: dict[str, str] = {}
    for role, said in table.roles.items():
        first, _, last = said.partition(" … ")
        if first in names and last in names:
            made |= dict.fromkeys(names[names.index(first) : names.index(last) + 1], role)
        elif said in names:
            made[said] = words.get(role, role)
    return made


def _turned(columns: Mapping[str, str]) -> dict[str, str]:
    return {name: role for role, said in columns.items() for name in said.split(",") if name}


def _refusal(fault: EpimeterError, roles: Mapping[str, str], names: list[str]) -> dict[str, Any]:
    """A refusal, and the column that it speaks of where it speaks of one."""
    sentence = str(fault)
    role = fault.field if isinstance(fault, InputError) else None
    meant = ALIASES.get(role or "", (role,))
    column = next((name for name, one in roles.items() if one in meant), None)
    if column is None:
        named = [
            name for name in sorted(names, key=len, reverse=True) if re.search(rf"\b{re.escape(name)}\b", sentence)
        ]
        # A sentence that lists the columns of a file speaks of none of them.
        column = named[0] if named and (len(named) < len(names) or len(names) == 1) else None
    return {"detail": sentence, "column": column}


def _write(table: Table, given: Records, target: BinaryIO) -> None:
    """The rows in the columns of the service; those without an outcome go along, to be counted."""
    import pyarrow as pa
    from pyarrow import ipc

    answers, more = given.answer, table.unlabelled
    n = table.n_rows

    def longer(values: Any, kind: Any) -> Any:
        return pa.concat_arrays([pa.array(values, kind), pa.nulls(more, kind)])

    right = np.asarray(answers.true).astype(bool)
    made: dict[str, Any] = {
        "confidence": pa.array(np.concatenate([np.asarray(answers.prob, np.float64), np.zeros(more)])),
        "correct": longer(right, pa.bool_()),
    }
    if table.timestamp is not None:
        made["timestamp"] = longer(table.timestamp, pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    words = {"id": table.id, "ground_truth_source": table.ground_truth_source, "class": table.class_of}
    words |= {"category": table.category, table.unit: table.group}
    for name, values in words.items():
        if values is not None:
            listed = values.tolist() if isinstance(values, np.ndarray) else values.to_pylist()
            made[name] = longer([None if one is None else str(one) for one in listed], pa.string())
    flags = {"unknown": (table.unknown, table.silent_unknown), "detected": (table.detected, table.silent_detected)}
    for name, (known, silent) in flags.items():
        if known is not None:
            made[name] = pa.array(np.concatenate([known, np.zeros(more, bool) if silent is None else silent]))
    batch = pa.table({name: values for name, values in made.items() if name in COLUMNS})
    assert batch.num_rows == n + more
    with ipc.new_stream(target, batch.schema) as stream:
        stream.write_table(batch)
