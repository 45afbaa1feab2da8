# SPDX-License-Identifier: Apache-2.0
"""Doubting columns: what a caller holds becomes an array, or one sentence says what is wrong with it.

Every refusal names the column, the first offending row, its value and how many there are. Nothing is changed on the way
but the container: no value is clipped, dropped or translated.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError

ROW_SUM_TOLERANCE = 1e-6
"""How far a row of class probabilities may miss 1 (catalogue, shared input rules)."""

_DOUBLES, _SINGLES, _BOOLEANS = np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.bool_)


def as_array(values: Any, name: str) -> NDArray[Any]:
    """Whatever the caller holds, as a numpy array; no value is changed on the way."""
    if type(values) is np.ndarray and values.dtype.kind != "O":
        return values
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        row = int(np.flatnonzero(np.ma.getmaskarray(values).reshape(len(values), -1).any(axis=1))[0])
        raise InputError(f"{name} must not have missing values; {name}[{row}] is masked", field=name, row=row)
    if hasattr(values, "detach") and hasattr(values, "cpu"):  # torch: off the graph, off the device
        values = values.detach().cpu()
        if str(values.dtype) == "torch.bfloat16":  # numpy has no such type; every bfloat16 is a float32
            values = values.float()
        values = values.numpy()
    elif hasattr(values, "to_numpy") and not isinstance(values, np.ndarray):  # pandas, polars, Arrow
        nulls = getattr(values, "null_count", 0)
        nulls = nulls() if callable(nulls) else nulls
        if hasattr(getattr(values, "dtype", None), "na_value"):  # pandas types that mark what is missing
            nulls = int(values.isna().sum())
        if isinstance(nulls, int) and nulls:
            raise InputError(f"{name} must not have missing values; {nulls} of {len(values)} are null", field=name)
        try:
            values = values.to_numpy(zero_copy_only=False)
        except TypeError:
            values = values.to_numpy()
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{name} must be a vector or a matrix; its rows have different lengths", field=name) from None
    if array.dtype == object and array.ndim == 0:
        raise InputError(f"{name} must be a vector or a matrix; got {values!r:.60}", field=name)
    if array.dtype == object and array.size:
        array = _settled(array, name)
    return array


def _settled(array: NDArray[Any], name: str) -> NDArray[Any]:
    """An object array as numbers or text, when all its entries are of one kind."""
    for row, value in enumerate(array.ravel()):
        missing = value is None or type(value).__name__ in ("NAType", "NaTType")
        if missing:
            row //= max(1, array.size // max(1, len(array)))
            raise InputError(f"{name} must not have missing values; {name}[{row}] is null", field=name, row=row)
    kinds = {type(value) for value in array.ravel()}
    if all(issubclass(kind, (bool, int, float, Decimal, np.number, np.bool_)) for kind in kinds):
        return array.astype(np.float64) if not kinds <= {bool, np.bool_} else array.astype(bool)
    return array


def numbers(values: Any, name: str) -> NDArray[Any]:
    """A numeric array in float64, or in float32 when that is what came (every float32 is a float64)."""
    array = as_array(values, name)
    if array.dtype is _DOUBLES or array.dtype is _SINGLES:
        return array
    if array.dtype.kind not in "fiub":
        shown = repr(array.ravel()[0].item() if array.dtype.kind in "SU" else array.ravel()[0]) if array.size else ""
        remedy = ". Percent? Divide the numbers by 100" if "%" in shown else ""
        if array.dtype.kind == "c":
            remedy = ". Complex data not supported: take their real part or their modulus"
        raise InputError(f"{name} must be numbers; got {_kind(array)} such as {shown}{remedy}", field=name)
    if array.dtype in (np.float64, np.float32):
        return array
    return array.astype(np.float64)


def labels(values: Any) -> NDArray[Any]:
    """Labels as whole numbers; 1.0 and True are 1, nothing else is translated."""
    array = as_array(values, "y_true")
    if array.dtype is _BOOLEANS and array.ndim == 1:
        return array.view(np.uint8)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(
            f"y_true must be a vector of labels; got shape {array.shape}{_rows_of_labels(array)}", field="y_true"
        )
    if array.dtype.kind not in "fiub":
        shown = repr(array[0].item() if array.dtype.kind in "SU" else array[0]) if array.size else ""
        raise InputError(
            f"y_true must hold 0 and 1, booleans, or class numbers; got {_kind(array)} such as {shown}. "
            "Compare with the positive class first, y_true == 'yes', or say positive= or classes= to evaluate",
            field="y_true",
            row=0,
        )
    if array.dtype.kind == "f":
        check_finite(array, "y_true")
        swapped = bool(((array >= 0) & (array <= 1)).all())
        remedy = "Probabilities? y_true comes first, y_prob second" if swapped else ""
        refuse(array != np.floor(array), array, "y_true", "must hold whole numbers", remedy)
        refuse(np.abs(array) > 2**53, array, "y_true", "must hold class numbers")
        return array.astype(np.int64)
    return array.view(np.uint8) if array.dtype == bool else array


def _rows_of_labels(array: NDArray[Any]) -> str:
    """What rows of several numbers may be, where one label a row is wanted."""
    if array.ndim != 2 or array.dtype.kind not in "fiub" or not array.size:
        return ""
    if not ((array == 0) | (array == 1)).all():
        return ". Probabilities? y_true comes first, y_prob second"
    if (array.sum(axis=1) == 1).all():
        return ". One-hot rows? Pass y_true.argmax(axis=1)"
    return ". Several labels a row? Measure each by itself: y_true[:, k] beside y_prob[:, k]"


def column(values: Any, name: str, n_rows: int) -> NDArray[Any]:
    """A further column: numbers are checked to be finite, labels to be present."""
    array = as_array(values, name)
    if array.ndim not in (1, 2) or len(array) != n_rows:
        raise InputError(f"{name} must have one entry per row, {n_rows}; got shape {array.shape}", field=name)
    if name == "features" and array.dtype.kind not in "fiub":
        raise InputError(f"features must be numbers; got {_kind(array)}", field=name)
    if array.dtype.kind == "f":
        check_finite(array, name)
    return array.astype(np.float64) if name == "features" else array


def check_probabilities(prob: NDArray[Any], name: str) -> None:
    """Refuse what is no probability; guess in words what it may be instead."""
    flat = prob.ravel() if prob.flags.c_contiguous else prob
    step = 1 << 16  # both extremes of a block while it is in the cache; NaN propagates through either
    for start in range(0, len(flat), step):
        block = flat[start : start + step]
        if not (block.min() >= 0.0 and block.max() <= 1.0):
            break
    else:
        return
    check_finite(prob, name)
    outside = (prob < 0) | (prob > 1)
    logits = bool((prob < -0.5).any() or (prob > 1.5).any())
    percent = prob.min() >= 0 and 2 < prob.max() <= 100
    remedy = (
        "Percent? Divide by 100."
        if percent
        else "Logits? Say --logits (logits=True), or apply softmax or sigmoid first."
        if logits
        else ""
    )
    if prob.min() < 0:
        remedy = f"Negative values in data. {remedy}".rstrip()
    refuse(outside, prob, name, "must lie in [0, 1]", remedy)


def row_sum_tolerance(values: Any, n_classes: int) -> float:
    """How far a row may miss 1: 1e-6, or what rounding to half precision can add up to where that is what came."""
    kind = getattr(values, "dtype", "")
    if kind == np.float32 or kind == np.float64:  # most are: the name of a type takes longer than a hundred rows
        return ROW_SUM_TOLERANCE
    name = str(kind)
    rounding = {"float16": 2.0**-11, "torch.float16": 2.0**-11, "torch.bfloat16": 2.0**-8}.get(name, 0.0)
    # Each probability is rounded by at most its own relative error, so their sum by at most the same; softmax adds as much again.
    return max(ROW_SUM_TOLERANCE, 2 * rounding + n_classes * rounding * 2.0**-13)


def check_row_sums(prob: NDArray[Any], tolerance: float = ROW_SUM_TOLERANCE) -> None:
    """Refuse rows that do not sum to 1."""
    sums = prob.sum(axis=1, dtype=np.float64)
    refuse(
        np.abs(sums - 1) > tolerance,
        sums,
        "y_prob",
        f"rows must sum to 1 within {tolerance:.2g}",
        shown="the sum of row",
    )


def check_classes(true: NDArray[Any], n_classes: int) -> None:
    """Refuse labels that are no class of the matrix, or neither 0 nor 1 beside a vector."""
    if true.min() >= 0 and true.max() < n_classes:
        return
    hold = "0 and 1" if n_classes == 2 else f"class numbers from 0 to {n_classes - 1}, one per column of y_prob"
    least, most = int(true.min()), int(true.max())
    remedy = ""
    if n_classes == 2 and least == -1 and most == 1:
        remedy = "Labels -1 and 1? Pass y_true == 1"
    elif least == 1 and most == n_classes:
        remedy = f"Labels 1 to {most}? Pass y_true - 1"
    refuse((true < 0) | (true >= n_classes), true, "y_true", f"must hold {hold}", remedy)


def check_finite(values: NDArray[Any], name: str) -> None:
    """Refuse NaN and infinities."""
    finite = np.isfinite(values)
    if not finite.all():
        refuse(~finite, values, name, "must be finite")


def refuse(
    bad: NDArray[np.bool_], values: NDArray[Any], name: str, rule: str, remedy: str = "", shown: str = ""
) -> None:
    """Raise one sentence that names the first offending row, its value and how many there are."""
    if not bad.any():
        return
    place = tuple(int(i) for i in np.argwhere(bad)[0])
    count, at = int(bad.sum()), ", ".join(map(str, place))
    verb = "does" if count == 1 else "do"
    first = f"{shown} {at} is" if shown else f"{name}[{at}] ="
    # The shortest text of the number, as it was most likely written; what is none under the name that it has everywhere else.
    value = str(values[place]).removesuffix(".0").replace("nan", "NaN")
    raise InputError(
        f"{name} {rule}; {count} of {bad.size} {verb} not, the first: {first} {value}"
        + (f". {remedy}" if remedy else ""),
        field=name,
        row=place[0],
        count=count,
    )


def _kind(array: NDArray[Any]) -> str:
    return {"U": "text", "S": "bytes", "O": "objects", "M": "dates", "c": "complex numbers"}.get(
        array.dtype.kind, str(array.dtype)
    )


def refuse_different_indexes(**columns: Any) -> None:
    """Two pandas objects must agree in their index: aligning them and ignoring it are both guesses."""
    first: tuple[str, Any] | None = None
    for name, values in columns.items():
        if type(values) is np.ndarray:
            continue
        index = getattr(values, "index", None)
        if index is None or callable(index) or not hasattr(values, "iloc"):
            continue
        if first is None:
            first = (name, index)
        elif len(index) == len(first[1]) and not index.equals(first[1]):
            raise InputError(
                f"{first[0]} and {name} must have the same pandas index; theirs differ. "
                "Align them first, or pass .to_numpy() to go by position",
                field=name,
            )
