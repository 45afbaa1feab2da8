# SPDX-License-Identifier: Apache-2.0
"""Rows that are kept, for a job or for a certificate that may follow: packed columns and back."""

from __future__ import annotations

from typing import Any

from epimeter.service.bodies import Body
from epimeter.service.columns import Columns, words

BATCH = 1 << 17
"""Rows that are packed at a time."""
PIECE = 1 << 14
"""Texts that are packed at a time."""


def packed(columns: Columns, folder: str) -> Body:
    """Columns as bytes to keep, an Arrow stream under zstd; on the disk when they are many."""
    import pyarrow as pa
    from pyarrow import ipc

    arrays: dict[str, Any] = {"confidence": columns.confidence, "correct": columns.correct}
    for name in ("timestamp", "ground_truth_source", "class_", "unknown", "detected", "id"):
        column = getattr(columns, name)
        if column is not None:
            arrays[name] = _texts(column) if column.dtype == object else column
    made = Body(folder)
    table = pa.table(arrays)
    options = ipc.IpcWriteOptions(compression="zstd")
    with ipc.new_stream(pa.PythonFile(made.file, "w"), table.schema, options=options) as stream:
        stream.write_table(table, max_chunksize=BATCH)
    made.file.seek(0)
    return made


def _texts(column: Any) -> Any:
    """A column of texts for Arrow, in pieces: making one holds the interpreter, and requests would wait."""
    import pyarrow as pa

    pieces = range(0, len(column), PIECE)
    return pa.chunked_array([pa.array(column[at : at + PIECE].tolist(), pa.string()) for at in pieces])


def unpacked_columns(data: bytes) -> Columns:
    """Columns that `packed` made."""
    import pyarrow as pa
    from pyarrow import ipc

    table = ipc.open_stream(pa.py_buffer(data)).read_all()
    made: dict[str, Any] = {}
    for name in table.schema.names:
        column = table.column(name)
        if pa.types.is_string(column.type):
            made[name] = words([text for chunk in column.chunks for text in chunk.to_pylist()])
        else:
            made[name] = column.combine_chunks().to_numpy(zero_copy_only=False)
    return Columns(**made, at="/rows")
