# SPDX-License-Identifier: Apache-2.0
"""JSON and NDJSON: records, columns, and the data set of ERS 3.1.

A JSON file is a data set (dataset_id, created_at, domain, predictions), a list of records, or an object of
columns. NDJSON has one record a line. A key that occurs twice in one record is refused: parsers differ in
which they keep.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain, islice
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from epimeter.errors import ReadError
from epimeter.readers.block import Block, Blocks, Chooser, spread_rows
from epimeter.readers.files import BOM, Stream
from epimeter.readers.roles import Roles
from epimeter.readers.wording import shown

TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|\n', re.DOTALL)
FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def document(stream: Stream, chooser: Chooser) -> Blocks:
    """A whole JSON file as one block."""
    text = stream.read().removeprefix(BOM)
    found = parsed(text, stream.source)
    yield from_document(found, chooser, stream.source)


def parsed(text: bytes, source: str) -> Any:
    """JSON as Python values; faults and repeated keys are refused with their line."""
    try:
        found = msgspec.json.decode(text)
    except FAULTS as fault:
        raise _malformed(fault, text, source, 1) from None
    refuse_repeated_keys(text, found, source, 1)
    return found


def from_document(found: Any, chooser: Chooser, source: str) -> Block:
    """A parsed JSON document as a block."""
    if isinstance(found, list):
        return from_records(found, chooser, source, range(len(found)), "")
    if not isinstance(found, dict):
        raise ReadError(f"{source} must hold a list of records or an object of columns; it holds {shown(found)}")
    if isinstance(found.get("predictions"), list):
        records = found["predictions"]
        about = {key: value for key, value in found.items() if key != "predictions"}
        return from_records(records, chooser, source, range(len(records)), "predictions", about)
    if isinstance(found.get("epimeter"), str):  # the version that wrote it
        raise ReadError(f"{source} is a report that epimeter wrote; give the predictions that it is about")
    found = _by_index(found)
    columns = {key: value for key, value in found.items() if isinstance(value, list)}
    about = {key: value for key, value in found.items() if not isinstance(value, list)}
    if not columns:
        return from_records([found], chooser, source, range(1), "")
    return from_columns(columns, chooser, source, about)


def _by_index(found: dict[str, Any]) -> dict[str, Any]:
    """Columns as pandas writes them by default, one object a column with the index as keys, as lists."""
    objects = [value for value in found.values() if isinstance(value, dict)]
    if len(objects) < 2 or len(objects) < len(found):
        return found
    index = list(objects[0])
    if (
        not index
        or any(list(value) != index for value in objects)
        or not all(key.lstrip("-").isdecimal() for key in index)
    ):
        return found
    return {name: list(value.values()) for name, value in found.items()}


def from_columns(
    columns: Mapping[str, Any], chooser: Chooser, source: str, about: Mapping[str, Any] | None = None
) -> Block:
    """Columns of equal length by name; class names stand beside them, one a class."""
    about = about or {}
    class_names = about.get("class_names")
    rest = dict(columns)
    for key in ("class_names", "classes"):
        names = rest.get(key)
        if isinstance(names, list | np.ndarray) and all(isinstance(name, str) for name in names):
            class_names = tuple(rest.pop(key))
    lists = frozenset(name for name, values in rest.items() if _holds_lists(values))
    roles = chooser(list(rest), lists, lambda name: [rest[name][row] for row in spread_rows(len(rest[name]))])
    wanted = {name: rest[name] for name in roles.wanted}
    first, *others = wanted
    for name in others:
        if len(wanted[name]) != len(wanted[first]):
            raise ReadError(
                f"columns must have the same length; in {source} {shown(first)} has {len(wanted[first])} "
                f"entries and {shown(name)} {len(wanted[name])}",
                field=name,
            )
    n_rows = len(wanted[first])
    if not n_rows:
        raise ReadError(f"{source} has columns but no rows")
    return Block(
        source=source,
        roles=roles,
        columns=wanted,
        n_rows=n_rows,
        rows=range(n_rows),
        metadata=about,
        class_names=tuple(map(str, class_names)) if class_names is not None else None,
    )


def _holds_lists(values: Any) -> bool:
    if isinstance(values, np.ndarray) and values.dtype != object:
        return values.ndim > 1
    if type(values).__module__.startswith("pyarrow"):
        return "list" in str(values.type) or "tensor" in str(values.type)
    first = next((value for value in values if value is not None), None)
    return isinstance(first, list | tuple | np.ndarray)


def from_records(
    records: list[Any],
    chooser: Chooser,
    source: str,
    rows: range | NDArray[np.int64],
    within: str,
    about: Mapping[str, Any] | None = None,
    roles: Roles | None = None,
) -> Block:
    """Records as a block; `within` is the list's own name, for messages."""
    lines = within == "line"
    if not records:
        raise ReadError(f"{within or 'the list of records'} of {source} has no rows")
    if any(type(record) is not dict for record in records):
        row, wrong = next((i, record) for i, record in enumerate(records) if type(record) is not dict)
        where = f"line {int(rows[row])}" if lines else f"{within}[{row}]" if within else f"entry {row}"
        raise ReadError(f"every record must be a JSON object; {where} of {source} is {shown(wrong)}", row=row)
    records = _spread(records)
    names = list(dict.fromkeys(key for record in records for key in record))
    lists = frozenset(name for name in names if isinstance(_first(records, name), list))
    some = [records[row] for row in spread_rows(len(records))]
    found = chooser(names, lists, lambda name: [record.get(name) for record in some])
    if roles is not None and any(found.columns[role] != roles.columns.get(role) for role in found.columns):
        role = next(role for role in found.columns if found.columns[role] != roles.columns.get(role))
        raise ReadError(
            f"the columns must be the same in every record; from line {int(rows[0])} of {source} on the "
            f"column of {role} is {shown(found.columns[role][0])}. Name it with --column {role}=NAME",
            field=role,
        )
    roles = roles or found
    return Block(
        source=source,
        roles=roles,
        columns={name: [record.get(name) for record in records] for name in roles.wanted},
        n_rows=len(records),
        rows=rows,
        numbering="line" if lines else "row",
        metadata=about or {},
    )


def _spread(records: list[Any]) -> list[Any]:
    """Records in which an object of numbers, as `probs: {"cat": 0.9, "dog": 0.1}`, is one column a key: `probs_cat`."""
    named = [name for name, value in records[0].items() if _is_object_of_numbers(value)]
    if not named:
        return records
    made = []
    for record in records:
        flat = {key: value for key, value in record.items() if key not in named or not isinstance(value, dict)}
        for name in named:
            if isinstance(record.get(name), dict):
                flat |= {f"{name}_{key}": value for key, value in record[name].items()}
        made.append(flat)
    return made


def _is_object_of_numbers(value: Any) -> bool:
    return isinstance(value, dict) and len(value) > 1 and all(type(one) in (int, float) for one in value.values())


def _first(records: list[Any], name: str) -> Any:
    return next((record[name] for record in islice(records, 1000) if record.get(name) is not None), None)


def lines(stream: Stream, chooser: Chooser, size: int | None) -> Blocks:
    """NDJSON in blocks of about `size` bytes, or all at once."""
    left, line, begun, roles, empty = b"", 1, False, None, True
    while True:
        more = stream.read(-1 if size is None else size)
        text = left + more
        if not begun:
            text, begun = text.removeprefix(BOM), True
        last = size is None or not more
        cut = len(text) if last else text.rfind(b"\n") + 1
        piece, left = text[:cut], text[cut:]
        if piece.strip():
            block = _block_of_lines(piece, line, chooser, stream.source, roles)
            roles, empty = block.roles, False
            yield block
        line += piece.count(b"\n")
        if last:
            break
    if empty:
        raise ReadError(f"{stream.source} has no records")


def decoded_lines(text: bytes, line: int, source: str) -> tuple[list[Any], range | NDArray[np.int64]]:
    """The records of some lines, and the line of each."""
    try:
        records = msgspec.json.Decoder().decode_lines(text)
    except FAULTS:
        records = None
    pieces = text.split(b"\n")
    if records is None:
        for at, piece in enumerate(pieces):
            if not piece.strip():
                continue
            try:
                msgspec.json.decode(piece)
            except FAULTS as fault:
                cut = at == len(pieces) - 1 and "truncated" in str(fault)
                raise _malformed(fault, piece, source, line + at, cut) from None
        raise ReadError(f"{source} must have one JSON record a line")
    full = [line + at for at, piece in enumerate(pieces) if piece.strip()]
    if len(full) != len(records):  # a record over several lines is no NDJSON, though a decoder may swallow it
        raise ReadError(f"{source} must have one JSON record a line; it has {len(records)} on {len(full)} lines")
    refuse_repeated_keys(text, records, source, line)
    rows = range(line, line + len(full)) if len(full) == full[-1] - line + 1 else np.array(full, np.int64)
    return records, rows


def _block_of_lines(text: bytes, line: int, chooser: Chooser, source: str, roles: Roles | None) -> Block:
    records, rows = decoded_lines(text, line, source)
    return from_records(records, chooser, source, rows, "line", roles=roles)


def _malformed(fault: Exception, text: bytes, source: str, line: int, cut: bool = False) -> ReadError:
    """What is wrong with the JSON, and in which line."""
    if isinstance(fault, RecursionError):
        return ReadError(f"{source} must not nest so deep; its JSON has hundreds of levels")
    try:
        text.decode()
    except UnicodeDecodeError as wrong:
        at = line + text.count(b"\n", 0, wrong.start)
        return ReadError(
            f"{source} must be UTF-8; line {at} has the byte 0x{text[wrong.start]:02x}. Save it as UTF-8",
            row=at,
        )
    found = re.search(r"byte (\d+)", str(fault))
    at = line + (text.count(b"\n", 0, int(found[1])) if found else text.rstrip().count(b"\n"))
    if "truncated" in str(fault):
        return ReadError(f"{source} must be whole JSON; it ends in the middle, in line {at}. The file seems cut off")
    reason = str(fault).removeprefix("JSON is malformed: ").split(" (byte")[0]
    follows = text[int(found[1]) : int(found[1]) + 4] if found else b""
    if follows[:3] in (b"NaN", b"Inf") or follows == b"-Inf":
        reason = "NaN and Infinity are no JSON; write null"
    elif reason == "trailing characters" and text.startswith(b"{"):
        reason = "more follows the first object. One record a line? Use --format ndjson"
    return ReadError(f"{source} must be JSON; line {at} is not: {reason}")


def refuse_repeated_keys(text: bytes, found: Any, source: str, line: int) -> None:
    """A repeated key leaves one colon more in the text than keys and strings account for."""
    escaped = b"\\u003a" in text or b"\\u003A" in text
    if text.count(b":") == _colons(found) and not escaped:
        return
    keys: list[set[bytes] | None] = []
    token, at = b"", line
    for match in TOKEN.finditer(text):
        before, token = token, match[0]
        if token == b"\n":
            at, token = at + 1, before
        elif token == b"{":
            keys.append(set())
        elif token == b"[":
            keys.append(None)
        elif token in (b"}", b"]"):
            keys.pop()
        elif token == b":" and keys and keys[-1] is not None:
            key = msgspec.json.decode(before).encode() if b"\\" in before else before[1:-1]
            if key in keys[-1]:
                raise ReadError(
                    f"a record has a key once; line {at} of {source} has {shown(key.decode())} twice",
                    field=key.decode(),
                )
            keys[-1].add(key)


def _colons(found: Any) -> int:
    """Colons that JSON needs for a value: one a key, and those inside its strings; counted level by level."""
    total, level = 0, [found]
    while level:
        objects = [value for value in level if type(value) is dict]
        lists = [value for value in level if type(value) is list]
        total += "".join([value for value in level if type(value) is str]).count(":")
        total += sum(map(len, objects)) + "".join(chain.from_iterable(objects)).count(":")
        level = list(chain.from_iterable(lists)) + list(chain.from_iterable(map(dict.values, objects)))
    return total
