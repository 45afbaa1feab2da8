# SPDX-License-Identifier: Apache-2.0
"""Columns into views: the only room that doubts the data.

A view is a set of validated, frozen columns. `view` makes one from whatever a caller holds (lists, numpy, pandas,
polars, Arrow, torch) and refuses everything that would have to be guessed. Behind this border the type is trusted.

Two kinds exist. `Binary` holds one probability a row, the probability that its outcome is 1. `Multiclass` holds one
probability a class. A metric says how it reads what was given:

- ``given``: a vector as a vector, a matrix as a matrix;
- ``event``: a matrix is reduced to its top label (largest probability, the first on ties; outcome: was it right);
- ``classes``: a vector p is read as the two columns 1 - p, p.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError

Reading = Literal["given", "event", "classes"]
Floats = NDArray[np.float64]

ROW_SUM_TOLERANCE = 1e-6
"""How far a row of class probabilities may miss 1 (catalogue, shared input rules)."""


@dataclass(frozen=True)
class View(ABC):
    """Validated rows: what came true, what was said, how much each row counts."""

    true: NDArray[Any]
    prob: NDArray[Any]
    weight: Floats | None = None
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        return len(self.prob)

    @property
    def total_weight(self) -> float:
        """Sum of the weights; the number of rows when there are none."""
        return float(self.n_rows) if self.weight is None else float(np.sum(self.weight))

    def read_as(self, reading: Reading) -> View:
        """This view as a metric wants to read it."""
        if reading == "event":
            return self.event
        return self.classes if reading == "classes" else self

    @property
    @abstractmethod
    def event(self) -> Binary:
        """One probability a row: a matrix is reduced to its top label."""

    @property
    @abstractmethod
    def classes(self) -> Multiclass:
        """One probability a class: a vector p becomes the columns 1 - p, p."""

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """Number of classes; 2 for a vector."""

    @property
    @abstractmethod
    def picked(self) -> Floats:
        """Probability given to what came true."""

    def take(self, rows: Any) -> View:
        """The view of some rows: a slice, or an array of indices."""
        return type(self)(
            self.true[rows],
            self.prob[rows],
            None if self.weight is None else self.weight[rows],
            {name: column[rows] for name, column in self.columns.items()},
        )

    def chunks(self, size: int) -> Iterator[View]:
        """The rows in slices of at most `size`, without copying them."""
        for start in range(0, self.n_rows, size):
            yield self.take(slice(start, start + size))


@dataclass(frozen=True)
class Binary(View):
    """One probability a row. `true` is 0 or 1 (uint8), `prob` lies in [0, 1] (float64 or float32)."""

    @property
    def n_classes(self) -> int:
        return 2

    @property
    def event(self) -> Binary:
        return self

    @cached_property
    def classes(self) -> Multiclass:
        prob = self.prob.astype(np.float64)
        return Multiclass(self.true.astype(np.intp), np.column_stack([1.0 - prob, prob]), self.weight, self.columns)

    @cached_property
    def picked(self) -> Floats:
        """Probability given to what came true."""
        prob = self.prob.astype(np.float64, copy=False)
        return np.where(self.true == 1, prob, 1.0 - prob)


@dataclass(frozen=True)
class Multiclass(View):
    """One probability a class. `true` is the class index (intp), `prob` has one row a sample (float64 or float32)."""

    @property
    def n_classes(self) -> int:
        return int(self.prob.shape[1])

    @cached_property
    def event(self) -> Binary:
        return Binary((self.guess == self.true).view(np.uint8), self.top, self.weight, self.columns)

    @property
    def classes(self) -> Multiclass:
        return self

    @cached_property
    def guess(self) -> NDArray[np.intp]:
        """The class of largest probability, the first on ties."""
        return np.asarray(self.prob.argmax(axis=1))

    @cached_property
    def top(self) -> NDArray[Any]:
        """The largest probability of each row."""
        return self.prob[np.arange(self.n_rows), self.guess]

    @cached_property
    def picked(self) -> Floats:
        """Probability given to the true class."""
        return np.asarray(self.prob[np.arange(self.n_rows), self.true], np.float64)


def view(
    y_true: Any, y_prob: Any, *, sample_weight: Any = None, probabilities: bool = True, **columns: Any
) -> Binary | Multiclass:
    """Doubt columns once and give them back as a view.

    Parameters
    ----------
    y_true
        Outcomes: 0/1 or booleans beside a vector, class indices 0..K-1 beside a matrix.
    y_prob
        Probability of outcome 1 (or confidence, beside "was it right"), or one column a class.
    sample_weight
        Non-negative weights, not all zero.
    probabilities
        False lets `y_prob` hold any finite number (margins).
    columns
        Further columns of the same length: `features` (numbers), `groups` (labels).
    """
    _refuse_different_indexes(y_true=y_true, y_prob=y_prob, sample_weight=sample_weight, **columns)
    prob = _numbers(y_prob, "y_prob")
    if prob.ndim == 2 and prob.shape[1] == 1:
        raise InputError(
            f"y_prob must be a vector or have one column per class; got shape {prob.shape}. "
            "A single column of probabilities? Pass y_prob[:, 0]",
            field="y_prob",
        )
    if prob.ndim not in (1, 2):
        raise InputError(f"y_prob must have one or two dimensions; got {prob.ndim}", field="y_prob")
    true = _labels(y_true)
    if len(true) != len(prob):
        raise InputError(f"y_true and y_prob must have the same length; got {len(true)} and {len(prob)}")
    if len(prob) == 0:
        raise InputError("y_true and y_prob must have at least one row; got none")
    scanned = _scan(prob) if probabilities and prob.ndim == 2 else None
    if probabilities and scanned is None:
        _check_probabilities(prob, "y_prob")
    elif not probabilities:
        _check_finite(prob, "y_prob")
    weight = None if sample_weight is None else weights(sample_weight, len(prob))
    extra = {name: _column(values, name, len(prob)) for name, values in columns.items() if values is not None}
    if prob.ndim == 1:
        _check_classes(true, 2)
        return Binary(_frozen(true.astype(np.uint8, copy=False)), _frozen(prob), weight, extra)
    if probabilities and scanned is None:
        _check_row_sums(prob)
    _check_classes(true, prob.shape[1])
    made = Multiclass(_frozen(true.astype(np.intp, copy=False)), _frozen(prob), weight, extra)
    if scanned is not None:
        made.__dict__["top"], made.__dict__["guess"] = scanned  # what the cached properties would compute
    return made


def _scan(prob: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]] | None:
    """Top labels of a large sound matrix from one compiled pass; None leaves the work to numpy."""
    loaded = "epimeter.matrix_scan" in sys.modules
    if prob.size < (1 << 16 if loaded else 1 << 21) or not prob.flags.c_contiguous:
        return None
    from epimeter.matrix_scan import scan

    return scan(prob, ROW_SUM_TOLERANCE)


def weights(values: Any, n_rows: int, name: str = "sample_weight") -> Floats:
    """Validated weights: finite, none negative, not all zero, one a row."""
    weight = _numbers(values, name).astype(np.float64)
    if weight.shape != (n_rows,):
        raise InputError(f"{name} must have one weight per row, {n_rows}; got shape {weight.shape}", field=name)
    _check_finite(weight, name)
    _refuse(weight < 0, weight, name, "must not be negative")
    if not weight.any():
        raise InputError(f"{name} must not be all zero", field=name)
    return _frozen(weight)


def _frozen(values: NDArray[Any]) -> NDArray[Any]:
    """The same memory, not to be written to through the view."""
    values = values.view()
    values.flags.writeable = False
    return values


def _array(values: Any, name: str) -> NDArray[Any]:
    """Whatever the caller holds, as a numpy array; no value is changed on the way."""
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
    if all(issubclass(kind, (bool, int, float, np.number, np.bool_)) for kind in kinds):
        return array.astype(np.float64) if not kinds <= {bool, np.bool_} else array.astype(bool)
    return array


def _numbers(values: Any, name: str) -> NDArray[Any]:
    """A numeric array in float64, or in float32 when that is what came (every float32 is a float64)."""
    array = _array(values, name)
    if array.dtype.kind not in "fiub":
        shown = repr(array.ravel()[0].item() if array.dtype.kind in "SU" else array.ravel()[0]) if array.size else ""
        raise InputError(f"{name} must be numbers; got {_kind(array)} such as {shown}", field=name)
    if array.dtype in (np.float64, np.float32):
        return array
    return array.astype(np.float64)


def _labels(values: Any) -> NDArray[Any]:
    """Labels as whole numbers; 1.0 and True are 1, nothing else is translated."""
    array = _array(values, "y_true")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(
            f"y_true must be a vector of labels; got shape {array.shape}. One-hot rows? Pass y_true.argmax(axis=1)",
            field="y_true",
        )
    if array.dtype.kind not in "fiub":
        shown = repr(array[0].item() if array.dtype.kind in "SU" else array[0]) if array.size else ""
        raise InputError(
            f"y_true must hold 0 and 1, booleans, or class numbers; got {_kind(array)} such as {shown}. "
            "Compare with the positive class first: y_true == 'yes'",
            field="y_true",
            row=0,
        )
    if array.dtype.kind == "f":
        _check_finite(array, "y_true")
        _refuse(array != np.floor(array), array, "y_true", "must hold whole numbers")
        _refuse(np.abs(array) > 2**53, array, "y_true", "must hold class numbers")
        return array.astype(np.int64)
    return array.view(np.uint8) if array.dtype == bool else array


def _column(values: Any, name: str, n_rows: int) -> NDArray[Any]:
    """A further column: numbers are checked to be finite, labels to be present."""
    array = _array(values, name)
    if array.ndim not in (1, 2) or len(array) != n_rows:
        raise InputError(f"{name} must have one entry per row, {n_rows}; got shape {array.shape}", field=name)
    if name == "features" and array.dtype.kind not in "fiub":
        raise InputError(f"features must be numbers; got {_kind(array)}", field=name)
    if array.dtype.kind == "f":
        _check_finite(array, name)
    return _frozen(array.astype(np.float64) if name == "features" else array)


def _check_probabilities(prob: NDArray[Any], name: str) -> None:
    flat = prob.ravel() if prob.flags.c_contiguous else prob
    step = 1 << 16  # both extremes of a block while it is in the cache; NaN propagates through either
    for start in range(0, len(flat), step):
        block = flat[start : start + step]
        if not (block.min() >= 0.0 and block.max() <= 1.0):
            break
    else:
        return
    _check_finite(prob, name)
    outside = (prob < 0) | (prob > 1)
    logits = bool((prob < -0.5).any() or (prob > 1.5).any())
    percent = prob.min() >= 0 and 2 < prob.max() <= 100
    remedy = "Percent? Divide by 100." if percent else "Logits? Apply softmax or sigmoid first." if logits else ""
    _refuse(outside, prob, name, "must lie in [0, 1]", remedy)


def _check_row_sums(prob: NDArray[Any]) -> None:
    sums = prob.sum(axis=1, dtype=np.float64)
    _refuse(
        np.abs(sums - 1) > ROW_SUM_TOLERANCE,
        sums,
        "y_prob",
        "rows must sum to 1 within 1e-6",
        shown="the sum of row",
    )


def _check_classes(true: NDArray[Any], n_classes: int) -> None:
    if true.min() >= 0 and true.max() < n_classes:
        return
    hold = "0 and 1" if n_classes == 2 else f"class numbers from 0 to {n_classes - 1}, one per column of y_prob"
    _refuse((true < 0) | (true >= n_classes), true, "y_true", f"must hold {hold}")


def _check_finite(values: NDArray[Any], name: str) -> None:
    finite = np.isfinite(values)
    if not finite.all():
        _refuse(~finite, values, name, "must be finite")


def _refuse(
    bad: NDArray[np.bool_], values: NDArray[Any], name: str, rule: str, remedy: str = "", shown: str = ""
) -> None:
    """Raise one sentence that names the first offending row, its value and how many there are."""
    if not bad.any():
        return
    place = tuple(int(i) for i in np.argwhere(bad)[0])
    count, at = int(bad.sum()), ", ".join(map(str, place))
    verb = "does" if count == 1 else "do"
    first = f"{shown} {at} is" if shown else f"{name}[{at}] ="
    raise InputError(
        f"{name} {rule}; {count} of {bad.size} {verb} not, the first: {first} {values[place]:.17g}"
        + (f". {remedy}" if remedy else ""),
        field=name,
        row=place[0],
        count=count,
    )


def _kind(array: NDArray[Any]) -> str:
    return {"U": "text", "S": "bytes", "O": "objects", "M": "dates", "c": "complex numbers"}.get(
        array.dtype.kind, str(array.dtype)
    )


def _refuse_different_indexes(**columns: Any) -> None:
    """Two pandas objects must agree in their index: aligning them and ignoring it are both guesses."""
    first: tuple[str, Any] | None = None
    for name, values in columns.items():
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
