# SPDX-License-Identifier: Apache-2.0
"""Rows that are kept, for a job or for a certificate that may follow: packed columns and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, BinaryIO

import numpy as np

from epimeter.service.bodies import Body
from epimeter.service.columns import OPTIONAL, Columns, words

BATCH = 1 << 17
"""Rows that are packed at a time."""
PIECE = 1 << 14
"""Texts that are packed at a time."""
ROWS = b"rows"
"""Under this key the stream says how many rows it has."""


def packed(columns: Columns, folder: str) -> Body:
    """Columns as bytes to keep; on the disk when they are many."""
    made = Body(folder)
    pack(columns, made.file)
    made.file.seek(0)
    return made


def pack(columns: Columns, file: BinaryIO) -> None:
    """Columns into a file, an Arrow stream under zstd."""
    import pyarrow as pa
    from pyarrow import ipc

    arrays: dict[str, Any] = {"confidence": columns.confidence, "correct": columns.correct}
    for name in OPTIONAL:
        column = getattr(columns, name)
        if column is not None:
            arrays[name] = _texts(column) if column.dtype == object else column
    table = pa.table(arrays).replace_schema_metadata({ROWS: str(columns.n_rows)})
    options = ipc.IpcWriteOptions(compression="zstd")
    with ipc.new_stream(pa.PythonFile(file, "w"), table.schema, options=options) as stream:
        stream.write_table(table, max_chunksize=BATCH)


def _texts(column: Any) -> Any:
    """A column of texts for Arrow, in pieces: making one holds the interpreter, and requests would wait."""
    import pyarrow as pa

    pieces = range(0, len(column), PIECE)
    return pa.chunked_array([pa.array(column[at : at + PIECE].tolist(), pa.string()) for at in pieces])


def unpacked_columns(parts: Iterable[bytes]) -> Columns | None:
    """Columns that `packed` made, from their bytes part by part: they are held once. None when nothing was kept."""
    import pyarrow as pa
    from pyarrow import ipc

    source = _Parts(parts)
    if source.ended:
        return None
    made: dict[str, Any] = {}
    with ipc.open_stream(pa.PythonFile(source, "r")) as stream:
        n_rows = int(stream.schema.metadata[ROWS])
        at = 0
        for batch in stream:
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                text = pa.types.is_string(column.type)
                values: Any = words(column.to_pylist()) if text else column.to_numpy(zero_copy_only=False)
                if name not in made:
                    made[name] = np.empty(n_rows, values.dtype)
                made[name][at : at + len(values)] = values
            at += len(batch)
    return Columns(**made, at="/rows")


class _Parts:
    """Bytes that come in parts, read as a file is."""

    closed = False

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = iter(parts)
        self._part = memoryview(next(self._parts, b""))

    @property
    def ended(self) -> bool:
        return not self._part

    def read(self, size: int) -> bytes:
        taken = []
        while size and not self.ended:
            taken.append(self._part[:size])
            size -= len(taken[-1])
            self._part = self._part[len(taken[-1]) :] or memoryview(next(self._parts, b""))
        return b"".join(taken)
