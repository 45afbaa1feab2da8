# SPDX-License-Identifier: Apache-2.0
"""JSON into columns: one document of rows or of columns, or a line a prediction.

A key twice in one object is refused: readers differ in which they keep.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from epimeter.readers.forecast_columns import states_forecast
from epimeter.service.bodies import PIECE, Body, invalid, refuse_repeated_keys
from epimeter.service.columns import CLUSTERS, OPTIONAL, Columns, joined, refuse_many, words
from epimeter.service.forecast_rows import ForecastRows, forecast_rows
from epimeter.service.problems import Problem
from epimeter.service.schemas import COLUMNS, EvaluateRequest, Facts, Prediction, PredictionColumns
from epimeter.service.schemas.predictions import Row
from epimeter.service.settings import MIB, Settings

LINE = MIB
"""Bytes of the longest line."""
MARK = ord('"')
TEXTS = ("id", "timestamp", "ground_truth_source", "class_", "category")
"""Optional fields whose values are strings."""

_request = msgspec.json.Decoder(EvaluateRequest)
_line = msgspec.json.Decoder(Prediction)
_forecast = msgspec.json.Decoder(Row)
_rows_begin = re.compile(rb'"predictions"\s*:\s*(?=\[)')
_columns_begin = re.compile(rb'"columns"\s*:\s*(?=\{)')


def from_document(raw: bytes, settings: Settings) -> Columns | ForecastRows:
    """The columns in one JSON document."""
    try:
        found = _request.decode(raw)
    except msgspec.ValidationError as fault:
        raise invalid(fault, EvaluateRequest) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        sentence = f"the body must be one JSON document in UTF-8; {fault}"
        raise Problem("invalid", sentence, errors=[("", sentence)]) from None
    rows, columns = found.predictions, found.columns
    if sum(one is not msgspec.UNSET for one in (rows, columns, found.forecasts)) != 1:
        raise Problem(
            "invalid", "the body must have one of predictions (rows), columns or forecasts; it has several or none"
        )
    if not isinstance(found.forecasts, msgspec.UnsetType):
        given = found.forecasts
        refuse_many(max(map(len, given.values()), default=0) if isinstance(given, dict) else len(given), settings)
        refuse_repeated_keys(raw, settings.max_json)
        return forecast_rows(found.forecasts, "/forecasts", facts=Facts.of(found))
    if isinstance(rows, list):
        refuse_many(len(rows), settings)
        inner, outer = _parted(raw, _rows_begin, b"]")
        made, single = _of_rows(rows, inner, "/predictions", 0)
    else:
        assert isinstance(columns, PredictionColumns)
        refuse_many(len(columns.confidence), settings)
        inner, outer = _parted(raw, _columns_begin, b"}")
        made, single = _of_columns(columns, inner)
    refuse_repeated_keys(outer if single else raw, settings.max_json)
    made.facts = Facts.of(found)
    return made


def _parted(raw: bytes, begin: re.Pattern[bytes], end: bytes) -> tuple[bytes, bytes]:
    """The predictions of a document, and the document without them, which is small."""
    found = begin.search(raw)
    if found is None:  # its key is written with escapes
        return b"", raw
    # Of rows the last bracket is the end; an object of columns without texts has no other brace.
    last = raw.rfind(end) if end == b"]" else raw.find(end, found.end())
    return raw[found.end() : last + 1], raw[: found.end()] + b"null" + raw[last + 1 :]


def from_lines(body: Body, settings: Settings) -> Columns | ForecastRows:
    """The columns in NDJSON, block by block: the text of a block is gone when the next is read."""
    parts: list[Columns] = []
    total = 0
    for block in _blocks(body):
        if not total and _begins_forecasts(block):
            return _forecasts_in_lines(body, settings)
        try:
            rows = _line.decode_lines(block)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise _bad_line(block, total + 1) from None
        if not rows:
            continue
        _refuse_other_lines(block, len(rows), total + 1)
        refuse_many(total + len(rows), settings)
        part, single = _of_rows(rows, block, "/lines", total + 1)
        if not single:
            _refuse_repeats_in_lines(block, total + 1)
        total += len(rows)
        parts.append(part)
    if not parts:
        raise Problem("invalid", "the body must have at least one line; got none")
    made = joined(parts)
    made.at, made.first = "/lines", 1
    return made


def _begins_forecasts(block: bytes) -> bool:
    """Whether the first line states a forecast of a number or of a set."""
    for _, line in _numbered(block, 1):
        try:
            return states_forecast(list(_forecast.decode(line)))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return False  # what is wrong with it is said where predictions are read
    return False


def _forecasts_in_lines(body: Body, settings: Settings) -> ForecastRows:
    rows: list[Any] = []
    for block in _blocks(body):
        at = len(rows) + 1
        try:
            some = _forecast.decode_lines(block)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise _bad_line(block, at, _forecast, Row) from None
        _refuse_other_lines(block, len(some), at, _forecast)
        refuse_many(len(rows) + len(some), settings)
        _refuse_repeats_in_lines(block, at)
        rows += some
    return forecast_rows(rows, "/lines", first=1)


def _of_rows(rows: list[Prediction], text: bytes, at: str, first: int) -> tuple[Columns, bool]:
    """Rows into columns, and whether it is certain that no row has a key twice.

    The columns of the first row are looked for. Their keys and texts have so many quotation marks; if the text has no more,
    no row has any other key, nor one twice. If it has, all columns are looked for.
    """
    if not rows:
        raise Problem("invalid", f"{at}: at least one prediction is needed; got none", errors=[(at, "empty")])
    given: dict[str, list[Any]] = {}
    single = False
    for names in ([name for name in OPTIONAL if getattr(rows[0], name) is not None], OPTIONAL):
        given = {name: [getattr(row, name) for row in rows] for name in names}
        single = _plain(text, 4 * len(rows) + sum(_marks(name, values) for name, values in given.items()))
        if single:
            break
    given = {name: values for name, values in given.items() if any(value is not None for value in values)}

    def whole(name: str) -> Any:
        values = given.get(name)
        return None if values is None else _filled(values, name.rstrip("_"), at, first)

    n = len(rows)
    return Columns(
        confidence=np.array([row.confidence for row in rows], np.float64),  # null is NaN
        correct=_truth((row.correct for row in rows), n),
        timestamp=_times(whole("timestamp")),
        ground_truth_source=words(given.get("ground_truth_source")),
        class_=words(whole("class_")),
        unknown=_flags(whole("unknown")),
        detected=_flags(whole("detected")),
        id=words(whole("id")),
        category=words(given.get("category")),
        question=_labels(given.get("question")),
        group=_labels(given.get("group")),
        at=at,
    ), single


def _marks(name: str, values: list[Any]) -> int:
    """Quotation marks of a field's keys and texts; a row without a value has none."""
    stated = sum(value is not None for value in values)
    return 2 * stated + _text_marks(name, values)


def _text_marks(name: str, values: Iterable[Any]) -> int:
    """Quotation marks around the texts of a field; a question may be a number."""
    if name in CLUSTERS:
        return 2 * sum(isinstance(value, str) for value in values)
    return 2 * sum(value is not None for value in values) if name in TEXTS else 0


def _plain(text: bytes, marks: int) -> bool:
    """Whether a text has no escapes and exactly so many quotation marks."""
    return b"\\" not in text and np.count_nonzero(np.frombuffer(text, np.uint8) == MARK) == marks


def _of_columns(given: PredictionColumns, text: bytes) -> tuple[Columns, bool]:
    """Columns as they are kept, and whether it is certain that none stands twice."""
    n = len(given.confidence)
    marks = 0
    for name, attribute in zip(COLUMNS, PredictionColumns.__struct_fields__, strict=True):
        column = getattr(given, attribute)
        if column is None:
            continue
        if len(column) != n:
            sentence = f"columns must have one length; confidence has {n} entries and {name} {len(column)}"
            raise Problem("invalid", sentence, errors=[(f"/columns/{name}", sentence)])
        marks += 2 + _text_marks(attribute, column)
    if not n:
        raise Problem("invalid", "columns must have at least one entry; got none", errors=[("/columns", "empty")])
    # A free text may hold a brace, and then the text that was cut out is not the columns.
    free = (given.id, given.class_, given.category, given.question, given.group)
    single = all(column is None for column in free) and _plain(text, marks)
    return Columns(
        confidence=np.array(given.confidence, np.float64),
        correct=_truth(given.correct, n),
        timestamp=_times(given.timestamp),
        ground_truth_source=words(given.ground_truth_source),
        class_=words(given.class_),
        unknown=_flags(given.unknown),
        detected=_flags(given.detected),
        id=words(given.id),
        category=words(given.category),
        question=_labels(given.question),
        group=_labels(given.group),
        at="/columns",
    ), single


def _blocks(body: Body) -> Iterator[bytes]:
    """Whole lines, about a quarter of a mebibyte at a time."""
    body.file.seek(0)
    rest = b""
    while piece := body.file.read(PIECE):
        whole, mark, rest = (rest + piece).rpartition(b"\n")
        if mark:
            yield whole
        if len(rest) > LINE:
            raise Problem("invalid", f"a line must have at most {LINE:,} bytes; one has more")
    if rest.strip():
        yield rest


def _bad_line(block: bytes, first: int, decoder: Any = _line, kind: Any = Prediction) -> Problem:
    for number, line in _numbered(block, first):
        try:
            decoder.decode(line)
        except msgspec.ValidationError as fault:
            return invalid(fault, kind, f"/lines/{number}")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
            sentence = f"a line must be one JSON object; {fault}"
            return Problem("invalid", f"/lines/{number}: {sentence}", errors=[(f"/lines/{number}", sentence)])
    return Problem("invalid", "the body must have one JSON object a line")


def _refuse_other_lines(block: bytes, n_rows: int, first: int, decoder: Any = _line) -> None:
    """Refuse two objects on a line, and one over two: the decoder takes any white space for the end of a line."""
    begins = block.count(b"\n{") + block.startswith(b"{")
    if block.count(b"{") == begins == block.count(b"\n") + 1 == n_rows:
        return
    for number, line in _numbered(block, first):
        try:
            decoder.decode(line)
        except msgspec.MsgspecError:
            sentence = "a line must be one JSON object; this one is part of an object, or more than one"
            raise Problem("invalid", f"/lines/{number}: {sentence}", errors=[(f"/lines/{number}", sentence)]) from None


def _refuse_repeats_in_lines(block: bytes, first: int) -> None:
    for number, line in _numbered(block, first):
        try:
            refuse_repeated_keys(line, LINE)
        except Problem as fault:
            pointer = f"/lines/{number}"
            raise Problem("invalid", f"{pointer}: {fault.detail}", errors=[(pointer, fault.detail)]) from None


def _numbered(block: bytes, first: int) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers; empty ones are not counted."""
    return enumerate((line for line in block.split(b"\n") if line.strip()), first)


def _truth(values: Iterable[int | None], n: int) -> NDArray[np.uint8]:
    return np.fromiter((2 if value is None else value for value in values), np.uint8, n)


def _filled(values: list[Any], name: str, at: str, first: int) -> list[Any]:
    """The values of an optional column, refused when some are null."""
    missing = next((row for row, value in enumerate(values, first) if value is None), None)
    if missing is not None:
        pointer = f"{at}/{missing}/{name}"
        sentence = f"{name} must stand in every record or in none; record {missing} has none"
        raise Problem("invalid", f"{pointer}: {sentence}", errors=[(pointer, sentence)])
    return values


def _times(values: list[datetime] | None) -> NDArray[np.datetime64] | None:
    if values is None:
        return None
    return np.fromiter((round(at.timestamp() * 1e6) for at in values), np.int64, len(values)).view("datetime64[us]")


def _flags(values: Sequence[int] | None) -> NDArray[np.bool_] | None:
    return None if values is None else np.array(values, bool)


def _labels(values: Sequence[str | int | None] | None) -> Any:
    """Questions or groups as texts: 7 and "7" are one, as they are in a file."""
    return words(None if values is None else [None if value is None else str(value) for value in values])
