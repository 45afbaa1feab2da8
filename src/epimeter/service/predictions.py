# SPDX-License-Identifier: Apache-2.0
"""Bodies of five formats into records: JSON rows, JSON columns, NDJSON, Arrow IPC stream, Parquet.

Each format has its own reader for speed, and all end in one function, so that one data set is one data set in every
format: same refusals, same digest, same metrics. Column names are fixed here; a name that is not known is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError, ReadError
from epimeter.readers.table import Table
from epimeter.service.arrow_guard import TooMuchError, refuse_bomb
from epimeter.service.bodies import PIECE, Body, invalid, refuse_repeated_keys
from epimeter.service.problems import Problem
from epimeter.service.schemas import COLUMNS, EvaluateRequest, Facts, Prediction, PredictionColumns
from epimeter.service.settings import Settings
from epimeter.standards.records import Records, records

JSON, NDJSON = "application/json", "application/x-ndjson"
ARROW, PARQUET = "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"
MEDIA_TYPES = (JSON, NDJSON, ARROW, PARQUET)
KEYS = tuple(f'"{name}"'.encode() for name in COLUMNS)
BATCH = 1 << 17
"""Rows that are packed at a time."""
NAMES = {"y_prob": "confidence", "y_true": "correct", "classes": "class"}

_request = msgspec.json.Decoder(EvaluateRequest)
_line = msgspec.json.Decoder(Prediction)
Objects = NDArray[np.object_]


@dataclass
class Columns:
    """Columns as they came: `correct` is 0, 1, or 2 where nobody knows; others None where they are absent."""

    confidence: NDArray[np.float64]
    correct: NDArray[np.uint8]
    timestamp: NDArray[np.datetime64] | None = None
    ground_truth_source: Objects | None = None
    class_: Objects | None = None
    unknown: NDArray[np.bool_] | None = None
    detected: NDArray[np.bool_] | None = None
    id: Objects | None = None
    at: str = "/predictions"
    """Where the rows stood, for pointers."""
    facts: Facts | None = field(default=None)

    @property
    def n_rows(self) -> int:
        return len(self.confidence)


def read(body: Body, kind: str, settings: Settings) -> Columns:
    """The columns in an unpacked body."""
    if kind == JSON:
        return _json(body.whole(), settings)
    if kind == NDJSON:
        return _ndjson(body, settings)
    try:
        return _arrow(body, settings) if kind == ARROW else _parquet(body, settings)
    except TooMuchError as fault:
        raise Problem("too-large", str(fault)) from None
    except ReadError as fault:
        raise Problem("invalid", str(fault), errors=[("", str(fault))]) from None


def to_records(columns: Columns, now: datetime) -> Records:
    """Doubt the columns once; rows without ground truth are counted and left out (C-13)."""
    known = columns.correct != 2
    unlabelled = int(len(known) - known.sum())
    if unlabelled == len(known):
        raise Problem("invalid", "at least one prediction must have ground truth; correct is null in all of them")
    keep: Any = slice(None) if not unlabelled else known
    places = np.flatnonzero(known) if unlabelled else None

    def taken(column: Any) -> Any:
        return None if column is None else column[keep]

    try:
        return records(
            columns.correct[keep],
            columns.confidence[keep],
            unknown=taken(columns.unknown),
            detected=taken(columns.detected),
            classes=taken(columns.class_),
            timestamp=taken(columns.timestamp),
            ground_truth_source=taken(columns.ground_truth_source),
            unlabelled=unlabelled,
            now=now,
        )
    except InputError as fault:
        raise _worded(fault, columns.at, places) from None


def to_table(columns: Columns, source: str) -> Table:
    """The labelled rows as a reader's table, for the functions that certify one."""
    keep = columns.correct != 2

    def taken(column: Any) -> Any:
        return None if column is None else column[keep]

    return Table(
        source=source,
        label=columns.correct[keep],
        confidence=columns.confidence[keep],
        unknown=taken(columns.unknown),
        detected=taken(columns.detected),
        timestamp=taken(columns.timestamp),
        ground_truth_source=taken(columns.ground_truth_source),
        class_of=taken(columns.class_),
        id=taken(columns.id),
        unlabelled=int(len(keep) - keep.sum()),
        rows=np.flatnonzero(keep),
    )


def _worded(fault: InputError, at: str, places: NDArray[np.intp] | None) -> Problem:
    """A refusal in the caller's words: his names, his record."""
    sentence = str(fault)
    for ours, theirs in NAMES.items():
        sentence = sentence.replace(ours, theirs)
    name = NAMES.get(fault.field or "", fault.field or "")
    row = fault.row if fault.row is None or places is None else int(places[fault.row])
    pointer = at + ("" if row is None else f"/{row}") + (f"/{name}" if name else "")
    return Problem("invalid", f"{pointer}: {sentence}", errors=[(pointer, sentence)])


def _json(raw: bytes, settings: Settings) -> Columns:
    try:
        found = _request.decode(raw)
    except msgspec.ValidationError as fault:
        raise invalid(fault) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        sentence = f"the body must be one JSON document in UTF-8; {fault}"
        raise Problem("invalid", sentence, errors=[("", sentence)]) from None
    rows, columns = found.predictions, found.columns
    if isinstance(rows, list) == isinstance(columns, PredictionColumns):
        raise Problem("invalid", "the body must have either predictions (rows) or columns; it has both or neither")
    if isinstance(rows, list):
        counts = {key: raw.count(key) for key in KEYS}
        made = _of_rows(rows, counts)
        expected = _stated(rows, counts)
        made.at = "/predictions"
    else:
        assert isinstance(columns, PredictionColumns)
        made, expected = _of_columns(columns), dict.fromkeys(KEYS[:2], 1)
    names = (b'"model_id"', b'"domain"', b'"predictions"', b'"columns"')
    refuse_repeated_keys(raw, expected | {name: min(1, raw.count(name)) for name in names}, settings.max_json)
    _refuse_many(made.n_rows, settings)
    made.facts = Facts(
        model_id=found.model_id,
        domain=found.domain,
        model_version=found.model_version,
        dataset_id=found.dataset_id,
        metrics=None if found.metrics is None else tuple(found.metrics),
        preregistration=found.preregistration,
    )
    return made


def _stated(rows: list[Prediction], counts: Mapping[bytes, int]) -> dict[bytes, int]:
    """How often each key may stand in the text: once a row where the row has it.

    A key with the value null stands there too, so a row without a value is asked only where the counts differ.
    """
    expected = {KEYS[0]: len(rows), KEYS[1]: len(rows)}
    for key, name in zip(KEYS[2:], COLUMNS[2:], strict=True):
        attribute = "class_" if name == "class" else name
        if counts[key]:
            expected[key] = sum(getattr(row, attribute) is not None for row in rows)
    return expected


def _of_rows(rows: list[Prediction], counts: Mapping[bytes, int]) -> Columns:
    """Rows into columns; a column that stands nowhere in the text is not looked for."""
    n = len(rows)
    if not n:
        raise Problem("invalid", "predictions must have at least one row; got none", errors=[("/predictions", "empty")])

    def has(name: str) -> bool:
        return counts[f'"{name}"'.encode()] > 0

    return Columns(
        confidence=np.fromiter((row.confidence for row in rows), np.float64, n),
        correct=_truth((row.correct for row in rows), n),
        timestamp=_times(_filled([row.timestamp for row in rows], "timestamp")) if has("timestamp") else None,
        ground_truth_source=_words([row.ground_truth_source for row in rows]) if has("ground_truth_source") else None,
        class_=_words(_filled([row.class_ for row in rows], "class")) if has("class") else None,
        unknown=_flags(_filled([row.unknown for row in rows], "unknown")) if has("unknown") else None,
        detected=_flags(_filled([row.detected for row in rows], "detected")) if has("detected") else None,
        id=_words(_filled([row.id for row in rows], "id")) if has("id") else None,
    )


def _of_columns(given: PredictionColumns) -> Columns:
    n = len(given.confidence)
    for name, attribute in zip(COLUMNS, PredictionColumns.__struct_fields__, strict=True):
        column = getattr(given, attribute)
        if column is not None and len(column) != n:
            sentence = f"columns must have one length; confidence has {n} entries and {name} {len(column)}"
            raise Problem("invalid", sentence, errors=[(f"/columns/{name}", sentence)])
    if not n:
        raise Problem("invalid", "columns must have at least one entry; got none", errors=[("/columns", "empty")])
    return Columns(
        confidence=np.array(given.confidence, np.float64),
        correct=_truth(given.correct, n),
        timestamp=_times(given.timestamp),
        ground_truth_source=_words(given.ground_truth_source),
        class_=_words(given.class_),
        unknown=_flags(given.unknown),
        detected=_flags(given.detected),
        id=_words(given.id),
        at="/columns",
    )


def _ndjson(body: Body, settings: Settings) -> Columns:
    """Lines, block by block: the text of a block is gone when the next is read."""
    parts: list[Columns] = []
    total = 0
    for first, block in _blocks(body):
        try:
            rows = _line.decode_lines(block)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise _bad_line(block, first) from None
        if not rows:
            continue
        counts = {key: block.count(key) for key in KEYS}
        try:
            refuse_repeated_keys(block, _stated(rows, counts), 0)
        except Problem:
            _refuse_repeats_in_lines(block, first)
        total += len(rows)
        _refuse_many(total, settings)
        parts.append(_of_rows(rows, counts))
    if not parts:
        raise Problem("invalid", "the body must have at least one line; got none")
    made = joined(parts)
    made.at = "/lines"
    return made


def _blocks(body: Body) -> Iterator[tuple[int, bytes]]:
    """Whole lines, about a quarter of a mebibyte at a time, with the number of the first."""
    body.file.seek(0)
    rest, line = b"", 1
    while piece := body.file.read(PIECE):
        whole, mark, tail = (rest + piece).rpartition(b"\n")
        if mark:
            yield line, whole
            line += whole.count(b"\n") + 1
        rest = tail
        if len(rest) > 1 << 20:
            raise Problem("invalid", f"a line must have at most 1,048,576 bytes; line {line} has more")
    if rest.strip():
        yield line, rest


def _bad_line(block: bytes, first: int) -> Problem:
    for number, line in enumerate(block.split(b"\n"), first):
        if line.strip():
            try:
                _line.decode(line)
            except msgspec.ValidationError as fault:
                return invalid(fault, f"/lines/{number}")
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
                sentence = f"a line must be one JSON object; {fault}"
                return Problem("invalid", f"/lines/{number}: {sentence}", errors=[(f"/lines/{number}", sentence)])
    return Problem("invalid", "the body must have one JSON object a line")


def _refuse_repeats_in_lines(block: bytes, first: int) -> None:
    for number, line in enumerate(block.split(b"\n"), first):
        if line.strip():
            try:
                refuse_repeated_keys(line, {b"": -1}, 1 << 20)
            except Problem as fault:
                pointer = f"/lines/{number}"
                raise Problem("invalid", f"{pointer}: {fault.detail}", errors=[(pointer, fault.detail)]) from None


def _arrow(body: Body, settings: Settings) -> Columns:
    import pyarrow as pa
    from pyarrow import ipc

    with _ArrowFaults("an Arrow IPC stream"):
        raw = body.whole()
        refuse_bomb(
            ipc.MessageReader.open_stream(pa.py_buffer(raw)), rows=settings.max_rows, size=settings.max_unpacked
        )
        with ipc.open_stream(pa.py_buffer(raw)) as stream:
            table = stream.read_all()
        return _of_table(table, settings)


def _parquet(body: Body, settings: Settings) -> Columns:
    from pyarrow import parquet

    with _ArrowFaults("Parquet"):
        body.file.seek(0)
        with parquet.ParquetFile(body.file, page_checksum_verification=True) as file:
            facts = file.metadata
            size = sum(facts.row_group(i).total_byte_size for i in range(facts.num_row_groups))
            if facts.num_rows > settings.max_rows:
                raise TooMuchError(f"a body must have at most {settings.max_rows:,} rows; got {facts.num_rows:,}")
            if size > settings.max_unpacked:
                raise TooMuchError(f"a body must unpack to at most {settings.max_unpacked:,} bytes; got {size:,}")
            _refuse_names(file.schema_arrow.names)
            table = file.read()
        return _of_table(table, settings)


def _of_table(table: Any, settings: Settings) -> Columns:
    """An Arrow table as columns, through the readers that files go through."""
    from epimeter.readers import read as read_table

    _refuse_names(table.schema.names)
    _refuse_many(table.num_rows, settings)
    table.validate(full=True)
    found = read_table(table, columns={"confidence": "confidence", "label": "correct"})
    if found.zoneless is not None:
        raise ReadError(f"timestamp must have a time zone; {found.zoneless} has none", field="timestamp")
    n = table.num_rows
    whole = found.n_rows == n  # then nothing has to be copied
    known = None if whole else np.asarray(found.rows)

    def spread(column: Any, empty: Any) -> Any:
        if column is None or whole:
            return column
        made = np.full(n, empty, np.asarray(column).dtype)
        made[known] = column
        return made

    return Columns(
        confidence=spread(np.asarray(found.y_prob).astype(np.float64, copy=False), 0.0),
        correct=spread(np.asarray(found.label).astype(np.uint8, copy=False), 2),
        timestamp=spread(found.timestamp, np.datetime64("NaT", "us")),
        ground_truth_source=spread(found.ground_truth_source, None),
        class_=spread(found.class_of, None),
        unknown=spread(found.unknown, False),
        detected=spread(found.detected, False),
        id=None if found.id is None else spread(_words(_listed(found.id)), None),
        at="/rows",
    )


def _listed(values: Any) -> list[Any]:
    listed: list[Any] = values.tolist() if isinstance(values, np.ndarray) else values.to_pylist()
    return [None if value is None else str(value) for value in listed]


def _refuse_names(names: list[str]) -> None:
    unknown = [name for name in names if name not in COLUMNS]
    if unknown or len(set(names)) < len(names) or not {"confidence", "correct"} <= set(names):
        what = f"{unknown[0]!r:.60} is none of them" if unknown else "one is missing or stands twice"
        raise ReadError(f"columns must be confidence, correct and any of {', '.join(COLUMNS[2:])}; {what}")


class _ArrowFaults:
    """What pyarrow raises, as one sentence."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, fault: BaseException | None, __: object) -> None:
        import pyarrow as pa

        if isinstance(fault, ReadError | Problem) or fault is None:
            return
        if isinstance(fault, OSError) and fault.errno is not None:
            return
        if isinstance(fault, pa.ArrowException | OSError | ValueError | TypeError | KeyError):
            raise ReadError(f"the body must be {self._what}; it cannot be read as such") from None


def joined(parts: list[Columns]) -> Columns:
    """Parts one after the other; a column that one has and another has not is refused."""
    if len(parts) == 1:
        return parts[0]
    made: dict[str, Any] = {}
    for name in ("confidence", "correct", "timestamp", "ground_truth_source", "class_", "unknown", "detected", "id"):
        columns = [getattr(part, name) for part in parts]
        absent = sum(column is None for column in columns)
        if 0 < absent < len(columns):
            raise Problem("invalid", f"{name.rstrip('_')} must stand in every record or in none")
        made[name] = None if absent else np.concatenate(columns)
        for part in parts:
            setattr(part, name, None)
    return Columns(**made)


def _truth(values: Iterable[bool | None], n: int) -> NDArray[np.uint8]:
    return np.fromiter((2 if value is None else value for value in values), np.uint8, n)


def _filled(values: list[Any], name: str) -> list[Any] | None:
    """The values of an optional column; None when all are null, refused when some are."""
    missing = [row for row, value in enumerate(values) if value is None]
    if len(missing) == len(values):
        return None
    if missing:
        pointer = f"/predictions/{missing[0]}/{name}"
        sentence = f"{name} must stand in every record or in none; record {missing[0]} has none"
        raise Problem("invalid", f"{pointer}: {sentence}", errors=[(pointer, sentence)])
    return values


def _times(values: list[datetime] | None) -> NDArray[np.datetime64] | None:
    if values is None:
        return None
    return np.fromiter((round(at.timestamp() * 1e6) for at in values), np.int64, len(values)).view("datetime64[us]")


def _words(values: list[Any] | None) -> Objects | None:
    if values is None:
        return None
    made = np.empty(len(values), object)
    made[:] = values
    return made


def _flags(values: list[bool] | None) -> NDArray[np.bool_] | None:
    return None if values is None else np.array(values, bool)


def _refuse_many(n_rows: int, settings: Settings) -> None:
    if n_rows > settings.max_rows:
        raise Problem("too-large", f"a body must have at most {settings.max_rows:,} rows; it has {n_rows:,} or more")


def packed(columns: Columns, folder: str) -> Body:
    """Columns as bytes to keep, an Arrow stream under zstd; on the disk when they are many."""
    import pyarrow as pa
    from pyarrow import ipc

    arrays: dict[str, Any] = {"confidence": columns.confidence, "correct": columns.correct}
    for name in ("timestamp", "ground_truth_source", "class_", "unknown", "detected", "id"):
        column = getattr(columns, name)
        if column is not None:
            arrays[name] = pa.array(column.tolist()) if column.dtype == object else column
    made = Body(folder)
    table = pa.table(arrays)
    options = ipc.IpcWriteOptions(compression="zstd")
    with ipc.new_stream(pa.PythonFile(made.file, "w"), table.schema, options=options) as stream:
        stream.write_table(table, max_chunksize=BATCH)
    made.file.seek(0)
    return made


def unpacked_columns(data: bytes) -> Columns:
    """Columns that `packed` made."""
    import pyarrow as pa
    from pyarrow import ipc

    table = ipc.open_stream(pa.py_buffer(data)).read_all()
    made: dict[str, Any] = {}
    for name in table.schema.names:
        column = table.column(name).combine_chunks()
        words = pa.types.is_string(column.type) or pa.types.is_null(column.type)
        made[name] = _words(column.to_pylist()) if words else column.to_numpy(zero_copy_only=False)
    return Columns(**made, at="/rows")


def today() -> datetime:
    """This moment, with its zone."""
    return datetime.now(UTC)
