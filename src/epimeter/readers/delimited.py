# SPDX-License-Identifier: Apache-2.0
"""CSV and its kin: text with one record a line, cells apart by a comma, semicolon, tab or bar.

pyarrow parses, but is told everything: the delimiter, the columns wanted and their types. So no type is
inferred (a column of 1.0 and 0.0, of ids above 2^53, of the name NA stays what it is) and unused columns
cost nothing. The text is cut into blocks here, at line ends outside quotes, so that every row knows its
line and memory stays bounded.
"""

from __future__ import annotations

import csv
import io
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import ReadError
from epimeter.readers.block import SAMPLED, Block, Blocks, Chooser
from epimeter.readers.cells import MISSING, number
from epimeter.readers.class_columns import Sample
from epimeter.readers.files import BOM, HEAD, Stream
from epimeter.readers.forecast import CONFIDENCE, EVENT, PREDICTED, RIGHT, TRUTH
from epimeter.readers.roles import FURTHER, Roles
from epimeter.readers.wording import brief, listed, shown

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
QUOTE, NEWLINE = ord('"'), ord("\n")
LONGEST_RECORD = 1 << 28
KNOWN = frozenset(
    (*CONFIDENCE, *EVENT, *RIGHT, *TRUTH, *PREDICTED, *(word for words in FURTHER.values() for word in words))
)


def blocks(stream: Stream, chooser: Chooser, size: int | None, delimiter: str | None = None) -> Blocks:
    """The rows in blocks of about `size` bytes, or all at once."""
    reader = _Lines(stream, size)
    header, line = reader.header()
    delimiter = delimiter or _delimiter(header)
    names = _cells(header, delimiter)
    _refuse_numbers(names, stream.source)
    roles = chooser(names, frozenset(), _sample(stream.head, names, delimiter))
    empty = True
    for text, first in reader.rest():
        starts = _row_lines(text, first, delimiter, stream.source)
        if not len(starts):
            continue
        empty = False
        columns = _parsed(text, names, roles, delimiter, stream.source, first)
        n_rows = len(next(iter(columns.values())))
        if n_rows != len(starts):
            raise _mixed_breaks(stream.source)
        yield Block(
            source=stream.source,
            roles=roles,
            columns=columns,
            n_rows=n_rows,
            rows=starts,
            numbering="line",
            text=True,
        )
    if empty:
        raise ReadError(f"{stream.source} has a header in line {line} but no rows")


class _Lines:
    """The text of a stream in pieces that end with a record, and the line each begins at."""

    def __init__(self, stream: Stream, size: int | None) -> None:
        self.stream = stream
        self.size = size
        self.line = 1
        self.left = b""
        self.old_mac = b"\r" in stream.head and b"\n" not in stream.head
        self.begun = False

    def read(self) -> bytes:
        """More text: line ends made one, the byte-order mark dropped, encoding checked by `rest`."""
        text = self.stream.read(-1 if self.size is None else self.size)
        if not self.begun:
            text, self.begun = text.removeprefix(BOM), True
        if self.old_mac:
            return text.replace(b"\r", b"\n")
        return text

    def header(self) -> tuple[str, int]:
        """The first line that is not blank, and its number."""
        while True:
            more = self.read()
            self.left += more
            while True:
                end = _record_end(self.left)
                if end < 0:
                    break
                found, self.left = self.left[: end + 1], self.left[end + 1 :]
                number_, self.line = self.line, self.line + found.count(b"\n")
                if found.strip():
                    return _decoded(found, number_, self.stream.source).rstrip("\r\n"), number_
            if not more or self.size is None:
                found, self.left = self.left, b""
                if found.count(b'"') % 2:
                    raise _unclosed(self.line, self.stream.source)
                return _decoded(found, self.line, self.stream.source).strip("\r\n"), self.line

    def rest(self) -> Any:
        """Pieces of whole records with the number of their first line."""
        while True:
            more = b"" if self.size is None and self.left else self.read()
            last = not more or self.size is None
            text = self.left + more
            if not text:
                return
            cut = len(text) if last else _last_end(text) + 1
            if not cut:
                if len(text) > LONGEST_RECORD:
                    raise ReadError(
                        f"a line must have less than {LONGEST_RECORD >> 20} MB; line {self.line} of "
                        f"{self.stream.source} has more. A quote that is never closed?"
                    )
                self.left = text
                continue
            piece, self.left = text[:cut], text[cut:]
            if b"\r" in piece:
                piece = piece.replace(b"\r\n", b"\n")
            _check_text(piece, self.line, self.stream.source)
            first, self.line = self.line, self.line + piece.count(b"\n")
            yield piece, first


def _mixed_breaks(source: str) -> ReadError:
    return ReadError(f"{source} must break its lines in one way; one has a carriage return inside. Put it in quotes")


def _record_end(text: bytes) -> int:
    """The first line end outside quotes, or -1."""
    start, quotes = 0, 0
    while (end := text.find(b"\n", start)) >= 0:
        quotes += text.count(b'"', start, end)
        if quotes % 2 == 0:
            return end
        start = end + 1
    return -1


def _last_end(text: bytes) -> int:
    """The last line end outside quotes, or -1."""
    if b'"' not in text:
        return text.rfind(b"\n")
    octets = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(octets == QUOTE)
    ends = np.flatnonzero(octets == NEWLINE)
    outside = ends[np.searchsorted(quotes, ends) % 2 == 0]
    return int(outside[-1]) if len(outside) else -1


def _check_text(text: bytes, line: int, source: str) -> None:
    """UTF-8 without zero bytes."""
    if not text.isascii():
        _decoded(text, line, source)
    if b"\0" in text:
        at = line + text.count(b"\n", 0, text.index(b"\0"))
        raise ReadError(f"{source} must be text; line {at} has a zero byte")


def _decoded(text: bytes, line: int, source: str) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as fault:
        at = line + text.count(b"\n", 0, fault.start)
        raise ReadError(
            f"{source} must be UTF-8; line {at} has the byte 0x{text[fault.start]:02x}. Save it as UTF-8"
        ) from None


def _row_lines(text: bytes, first: int, delimiter: str, source: str) -> range | NDArray[np.int64]:
    """The line of every record; blank lines are none, quoted line ends make none."""
    whole = text.count(b"\n") + (not text.endswith(b"\n"))
    if b'"' not in text and b"\n\n" not in text and not text.startswith(b"\n"):
        return range(first, first + whole)
    octets = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(octets == QUOTE)
    _check_quotes(octets, quotes, delimiter, first, source)
    ends = np.flatnonzero(octets == NEWLINE)
    records = np.searchsorted(quotes, ends) % 2 == 0
    starts = np.concatenate([[0], ends[records] + 1])
    lines = first + np.concatenate([[0], np.flatnonzero(records) + 1])
    starts, lines = starts[starts < len(octets)], lines[: int((starts < len(octets)).sum())]
    return np.asarray(lines[octets[starts] != NEWLINE], np.int64)


def _check_quotes(octets: NDArray[np.uint8], quotes: NDArray[np.intp], delimiter: str, first: int, source: str) -> None:
    """A quote opens a cell at its beginning and closes it at its end; else it could be read two ways."""
    padded = np.concatenate([[NEWLINE], octets, [NEWLINE]]).astype(np.uint8)
    edges = np.array([ord(delimiter), NEWLINE, QUOTE], np.uint8)
    before, after = padded[quotes], padded[quotes + 2]
    wrong = np.where(np.arange(len(quotes)) % 2 == 0, ~np.isin(before, edges), ~np.isin(after, edges))
    if wrong.any():
        at = first + int(np.count_nonzero(octets[: quotes[int(np.flatnonzero(wrong)[0])]] == NEWLINE))
        raise ReadError(f'quotes must stand around whole cells; line {at} of {source} has one inside. Write "5"" pipe"')
    if len(quotes) % 2:
        raise _unclosed(first + int(np.count_nonzero(octets[: quotes[-1]] == NEWLINE)), source)


def _unclosed(line: int, source: str) -> ReadError:
    return ReadError(f"every quote must be closed; the one in line {line} of {source} is not. The file seems cut off")


def _cells(record: str, delimiter: str) -> list[str]:
    """The cells of one record."""
    if '"' not in record:
        return [cell.strip() for cell in record.split(delimiter)]
    try:
        return [cell.strip() for cell in next(csv.reader([record], delimiter=delimiter), [])]
    except csv.Error as fault:
        raise ReadError(f"the line of column names must be CSV ({brief(fault)})") from None


def _delimiter(header: str) -> str:
    """The delimiter that makes most sense of the header: most names of roles, then most names."""

    def sense(delimiter: str) -> tuple[int, int]:
        cells = _cells(header, delimiter)
        return sum(cell.lower() in KNOWN for cell in cells), len(cells)

    return max((mark for mark in DELIMITERS if mark in header), key=sense, default=",")


def _sample(head: bytes, names: list[str], delimiter: str) -> Sample:
    """The cells of the first rows, from what was looked at to know the format; a row cut off there is left out."""

    def cells(name: str) -> list[Any]:
        text = head.removeprefix(BOM).decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
        whole = text if len(head) < HEAD else text.rpartition("\n")[0]
        rows = csv.reader(io.StringIO(whole.lstrip("\n"), newline="\n"), delimiter=delimiter)
        try:
            found = [row for row in islice(rows, 1, 1 + SAMPLED) if len(row) == len(names)]
        except csv.Error:
            return []
        return [row[names.index(name)] for row in found]

    return lru_cache(maxsize=None)(cells)


def _refuse_numbers(names: list[str], source: str) -> None:
    if all(isinstance(number(name), float) for name in names):
        raise ReadError(
            f"the first line must name the columns; {source} begins with {listed(names)}. "
            "Add a line such as confidence,correct"
        )


def _parsed(text: bytes, names: list[str], roles: Roles, delimiter: str, source: str, first: int) -> dict[str, Any]:
    """The wanted columns of one piece."""
    import pyarrow as pa

    numeric = {
        name for role in ("confidence", "probabilities", "weight", "features") for name in roles.columns.get(role, ())
    }
    few = {
        name for role in ("label", "unknown", "group", "ground_truth_source") for name in roles.columns.get(role, ())
    }
    types: dict[str, Any] = dict.fromkeys(roles.wanted, pa.string())
    types |= dict.fromkeys(numeric, pa.float64()) | dict.fromkeys(few, pa.dictionary(pa.int32(), pa.string()))
    try:
        return _arrow(text, names, types, delimiter)
    except pa.ArrowInvalid as fault:
        if "conversion error" in str(fault):  # some cell is no number: keep the text, `numbers` finds which
            types |= dict.fromkeys(numeric, pa.string())
            try:
                return _arrow(text, names, types, delimiter)
            except pa.ArrowInvalid:
                pass
        raise _uneven(text, names, delimiter, source, first, fault) from None


def _arrow(text: bytes, names: list[str], types: dict[str, Any], delimiter: str) -> dict[str, Any]:
    """What pyarrow makes of it; columns go by their number, so that names may repeat or be empty."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    numbered = {name: str(place) for place, name in enumerate(names)}  # a name that repeats is never wanted
    places = {name: numbered[name] for name in types}
    # A row must fit into one of the parser's blocks.
    width = 1 << 20 if len(names) < 1000 and len(text) > 1 << 20 and b'"' not in text else len(text) + 1
    found = arrow_csv.read_csv(
        pa.BufferReader(text),
        read_options=arrow_csv.ReadOptions(
            column_names=[str(i) for i in range(len(names))], block_size=min(width, 2**31 - 1)
        ),
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in text),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=list(places.values()),
            column_types={places[name]: kind for name, kind in types.items()},
            null_values=sorted(
                {spelling for word in MISSING for spelling in (word, word.upper(), word.title(), "NaN")}
            ),
            strings_can_be_null=False,
        ),
    )
    return {name: found.column(place) for name, place in places.items()}


def _uneven(text: bytes, names: list[str], delimiter: str, source: str, first: int, fault: Exception) -> ReadError:
    """Which line has more or fewer cells than the header; the last one, when short, was cut off."""
    cells = csv.reader(io.StringIO(text.decode(), newline="\n"), delimiter=delimiter)
    start = first
    try:
        for row in cells:
            line, start = start, first + cells.line_num
            if row and len(row) != len(names):
                last = not text.endswith(b"\n") and next(cells, None) is None and len(row) < len(names)
                return ReadError(
                    f"every line must have {len(names)} cells, as the header has; line {line} of {source} "
                    f"has {len(row)}" + (". The file seems cut off there" if last else ""),
                    row=line,
                )
    except csv.Error:
        if b"\r" in text:
            return _mixed_breaks(source)
    return ReadError(f"{source} could not be parsed with the delimiter {shown(delimiter)} ({brief(fault)})")
