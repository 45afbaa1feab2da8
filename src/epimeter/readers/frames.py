# SPDX-License-Identifier: Apache-2.0
"""Frames in memory: pandas, polars, Arrow, Hugging Face, numpy records, a mapping of columns, a list of records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from epimeter.errors import ReadError
from epimeter.readers.block import Block, Blocks, Chooser, spread_rows
from epimeter.readers.records import from_columns, from_records
from epimeter.readers.wording import brief, clean, listed


def kind(source: Any) -> str:
    """What the caller holds, in words; for messages and the report."""
    if isinstance(source, Mapping):
        return "the columns given"
    if isinstance(source, list):
        return "the records given"
    if isinstance(source, np.ndarray):
        return "the numpy array"
    return f"the {type(source).__module__.partition('.')[0]} {type(source).__name__}"


def blocks(source: Any, chooser: Chooser, size: int | None) -> Blocks:
    """The frame as blocks of `size` rows, or as one."""
    name = kind(source)
    if _is_dataset(source):
        made = _dataset(source, chooser, name)
    elif isinstance(source, Mapping):
        split = next((str(key) for key, values in source.items() if _is_dataset(values)), None)
        if split is not None:
            raise ReadError(
                f"one split must be chosen; {name} have {listed([*map(str, source)])}. Pass data[{split!r}]"
            )
        named = {str(key): column(values, str(key)) for key, values in source.items()}
        arrays = {key: values for key, values in named.items() if values is not None}
        about = {str(key): source[key] for key in source if named[str(key)] is None}
        made = from_columns(arrays, chooser, name, about)
    elif isinstance(source, list):
        made = from_records(source, chooser, name, range(len(source)), "")
    elif isinstance(source, np.ndarray):
        if source.dtype.names is None or source.ndim != 1:
            raise ReadError(
                f"a numpy array must have named columns; got shape {source.shape} of {source.dtype}. "
                "Pass {'confidence': …, 'correct': …}"
            )
        made = from_columns({key: source[key] for key in source.dtype.names}, chooser, name)
    elif hasattr(source, "iloc") and hasattr(source, "columns"):
        made = _pandas(source, chooser, name)
    elif hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
        made = _arrow(source, chooser, name)
    elif hasattr(source, "collect") and hasattr(source, "lazy"):
        raise ReadError(f"{name} must be collected first; pass frame.collect()")
    else:
        raise ReadError(
            f"a source must be a path, '-', or a frame (pandas, polars, Arrow, columns by name); got {name}"
        )
    if size is None or made.n_rows <= size:
        yield made
        return
    for start in range(0, made.n_rows, size):
        yield _sliced(made, start, min(start + size, made.n_rows))


def _sliced(block: Block, start: int, stop: int) -> Block:
    return Block(
        source=block.source,
        roles=block.roles,
        columns={name: values[start:stop] for name, values in block.columns.items()},
        n_rows=stop - start,
        rows=block.rows[start:stop],
        metadata=block.metadata,
        class_names=block.class_names,
    )


def _pandas(frame: Any, chooser: Chooser, source: str) -> Block:
    """A pandas frame; its index plays no part, rows go by position."""
    labels = [str(label) for label in frame.columns]
    places = {label: place for place, label in enumerate(labels)}
    lists = frozenset(
        label
        for place, label in enumerate(labels)
        if str(frame.dtypes.iloc[place]) == "object" and _first_is_list(frame.iloc[:, place])
    )
    some = list(spread_rows(len(frame)))
    roles = chooser(labels, lists, lambda name: frame.iloc[some, places[name]].tolist())
    if not len(frame):
        raise ReadError(f"{source} has columns but no rows")
    return Block(
        source=source,
        roles=roles,
        columns={name: column(frame.iloc[:, places[name]], name) for name in roles.wanted},
        n_rows=len(frame),
        rows=range(len(frame)),
    )


def _first_is_list(series: Any) -> bool:
    first = next((value for value in series.head(1000) if value is not None), None)
    return isinstance(first, list | tuple | np.ndarray)


def _is_dataset(source: Any) -> bool:
    """Whether it is a data set of Hugging Face; known by what it can do, so that the package is not needed."""
    return all(hasattr(source, name) for name in ("with_format", "column_names", "features"))


def _dataset(source: Any, chooser: Chooser, name: str) -> Block:
    """A Hugging Face data set; class labels go by the names that its features give them, where columns are called so."""
    if not hasattr(source, "__getitem__") or not hasattr(source, "__len__"):
        raise ReadError(f"{name} must be held in memory or on disk, not be a stream; load it without streaming=True")
    import pyarrow as pa

    table = pa.table(source.with_format("arrow")[:])
    called = {label: tuple(one.names) for label, one in source.features.items() if hasattr(one, "names")}
    plain = set(table.column_names)

    def by_name(label: str) -> Any:
        """A column of class labels as their names; -1 says that there is none."""
        numbers = table.column(label).combine_chunks().to_numpy(zero_copy_only=False)
        known = (numbers >= 0) & (numbers < len(called[label]))
        return pa.DictionaryArray.from_arrays(
            pa.array(np.where(known, numbers, 0).astype(np.int32), mask=~known), pa.array(called[label])
        )

    worded = {label: by_name(label) for label in called if label in plain and pa.types.is_integer(table[label].type)}
    block = _arrow(table, chooser, name, worded)
    label = block.roles.columns.get("label", ("",))[0]
    if (
        label in worded
        and block.roles.class_names is not None
        and set(worded[label].dictionary.to_pylist()) <= {*block.roles.class_names}
    ):
        return replace(block, columns={**block.columns, label: worded[label]})
    if label in called:
        return replace(block, class_names=called[label])
    return block


def _arrow(source: Any, chooser: Chooser, name: str, worded: Mapping[str, Any] | None = None) -> Block:
    """Anything that speaks the Arrow interface; `worded` are columns of class numbers as the names of the classes."""
    import pyarrow as pa

    from epimeter.readers.columnar import list_columns

    try:
        if isinstance(source, pa.Table):
            table = source
        elif isinstance(source, pa.RecordBatch):
            table = pa.Table.from_batches([source])
        elif hasattr(source, "to_arrow"):
            table = source.to_arrow()
        else:
            table = pa.table(source)
    except (pa.ArrowException, TypeError, ValueError) as fault:
        raise ReadError(f"{name} could not be read as an Arrow table ({brief(fault)})") from None
    some = pa.array(spread_rows(table.num_rows), pa.int64())
    roles = chooser(
        table.column_names,
        list_columns(table.schema),
        lambda one: (worded or {}).get(one, table.column(one)).take(some).to_pylist(),
    )
    if not table.num_rows:
        raise ReadError(f"{name} has columns but no rows")
    return Block(
        source=name,
        roles=roles,
        columns={wanted: table.column(wanted) for wanted in roles.wanted},
        n_rows=table.num_rows,
        rows=range(table.num_rows),
    )


def column(values: Any, name: str) -> Any:
    """One column as a numpy array, an Arrow array, or a list; None for a single value, which is no column."""
    if isinstance(values, np.ma.MaskedArray):
        return values.tolist()
    if isinstance(values, np.ndarray):
        return values if values.ndim else None
    if isinstance(values, list):
        return values
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        return None
    if isinstance(values, tuple | range):
        return list(values)
    if type(values).__module__.startswith("pyarrow"):
        return values
    if hasattr(values, "detach") and hasattr(values, "cpu"):
        values = values.detach().cpu()
        return (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
    if hasattr(values, "iloc"):
        return _series(values)
    if hasattr(values, "to_arrow"):
        return values.to_arrow()
    try:
        return list(values)
    except TypeError:
        raise ReadError(f"{clean(name)} must be a sequence; got {type(values).__name__}", field=name) from None


def _series(series: Any) -> Any:
    """A pandas column: plain numpy as it is, anything else by way of Arrow, mixed objects as a list."""
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "fiubM":
        return series.to_numpy()
    import pyarrow as pa

    try:
        return pa.Array.from_pandas(series)
    except (pa.ArrowException, TypeError, ValueError):
        return series.tolist()
