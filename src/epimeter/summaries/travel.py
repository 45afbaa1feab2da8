# SPDX-License-Identifier: Apache-2.0
"""Summaries as bytes and back: kilobytes that stand for billions of rows.

Layout: the magic ``EPI2``, the SHA-256 of what follows, then a MessagePack document of the summary. Only classes that
can be a part of a summary are ever made from bytes, and a damaged or foreign file is refused before anything is made.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from epimeter.errors import ReadError

MAGIC = b"EPI2"
EARLIER = b"EPI1"
_DIGEST = 32
_KINDS = {"i8": np.int64, "f8": np.float64, "f4": np.float32, "u1": np.uint8, "b1": np.bool_}


def to_bytes(summary: Any) -> bytes:
    """The summary as bytes; the same summary has the same bytes."""
    import msgspec

    body = msgspec.msgpack.encode(_packed(summary), order="deterministic")
    return MAGIC + hashlib.sha256(body).digest() + body


def from_bytes(data: bytes, name: str = "the summary") -> Any:
    """The summary back from bytes."""
    import msgspec

    if data[: len(MAGIC)] == EARLIER:
        raise ReadError(
            f"{name} was written by an earlier version of epimeter, whose sums were coarser; summarise again"
        )
    if data[: len(MAGIC)] != MAGIC:
        raise ReadError(f"{name} is not an epimeter summary: it does not begin with EPI2")
    digest, body = data[len(MAGIC) : len(MAGIC) + _DIGEST], data[len(MAGIC) + _DIGEST :]
    if hashlib.sha256(body).digest() != digest:
        raise ReadError(f"{name} is damaged: its checksum does not match")
    try:
        return _unpacked(msgspec.msgpack.decode(body), name)
    except (msgspec.DecodeError, TypeError, ValueError, KeyError) as fault:
        raise ReadError(f"{name} cannot be read as a summary of this version: {fault}") from None


def _packed(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = np.asarray(value)
        if value.dtype == object or value.dtype.kind not in "iufb":
            return {"list": [_packed(item) for item in value.ravel().tolist()], "shape": list(value.shape)}
        array = np.ascontiguousarray(value)
        if array.dtype.kind == "i":
            array = array.astype(np.int64)
        kind = array.dtype.str[1:] if array.dtype.str[1:] in _KINDS else "f8"
        return {"array": kind, "shape": list(value.shape), "data": array.astype(f"<{kind}").tobytes()}
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: _packed(getattr(value, f.name)) for f in fields(value) if f.init}
        return {"class": type(value).__name__, "parts": parts}
    if isinstance(value, tuple | list):
        return {"tuple": [_packed(item) for item in value]}
    if isinstance(value, dict):
        return {"map": {name: _packed(item) for name, item in value.items()}}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 63:
        return {"integer": hex(value)}
    return value


def _unpacked(value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        kind = value["array"]
        data: Any = np.frombuffer(value["data"], dtype=f"<{kind}").astype(_KINDS[kind], copy=True)
        return data.reshape(value["shape"])
    if "list" in value:
        return np.array([_unpacked(item, name) for item in value["list"]]).reshape(value["shape"])
    if "integer" in value:
        return int(value["integer"], 16)
    if "tuple" in value:
        return tuple(_unpacked(item, name) for item in value["tuple"])
    if "map" in value:
        return {key: _unpacked(item, name) for key, item in value["map"].items()}
    made = _classes().get(value["class"])
    if made is None:
        raise ReadError(f"{name} holds a {value['class']!r}, which this version of epimeter does not know")
    return made(**{key: _unpacked(item, name) for key, item in value["parts"].items()})


def _classes() -> dict[str, type]:
    """Every class that can be a part of a summary, by name; those of metrics are found below their base."""
    from epimeter import forecasts
    from epimeter.summaries import bins, cell_totals, exact, fine, fixed, means, paired, rows, score_moments, sums
    from epimeter.views import Binary, Multiclass

    known: dict[str, type] = {
        made.__name__: made
        for made in (
            fixed.Fixed,
            paired.Paired,
            means.Mean,
            sums.Sums,
            score_moments.ScoreMoments,
            fine.Fine,
            cell_totals.CellTotals,
            rows.KeptRows,
            Binary,
            Multiclass,
            exact.RowSums,
            exact.KeptForecast,
            forecasts.Normal,
            forecasts.Quantiles,
            forecasts.Ensemble,
            forecasts.Intervals,
            forecasts.Sets,
            forecasts.States,
        )
    }
    waiting: list[type] = [bins.BinTotals]
    while waiting:
        made = waiting.pop()
        known[made.__name__] = made
        waiting += made.__subclasses__()
    return known
