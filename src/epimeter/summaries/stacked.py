# SPDX-License-Identifier: Apache-2.0
"""Many summaries of one recipe as a stack: their shape once, their numbers as rows.

Summaries of one recipe have one shape, so the shape of ten thousand files is read once and their numbers are rows of
two matrices, one of integers and one of doubles. `stacked` puts a shape over many rows at once; `collapsed` adds them
up: the integers of `merge`, in whatever order they come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import MergeError, ReadError
from epimeter.summaries.bins import BinTotals
from epimeter.summaries.cell_totals import CellTotals, agreed
from epimeter.summaries.fine import Fine
from epimeter.summaries.fixed import BLOCK, Fixed, normalised
from epimeter.summaries.means import Mean
from epimeter.summaries.paired import Paired
from epimeter.summaries.score_moments import ScoreMoments
from epimeter.summaries.sums import Sums
from epimeter.summaries.travel import _classes

Shape = list[Any]
INTEGER = 1 << 63


class Numbers:
    """The numbers of summaries, in the order their shapes name them."""

    def __init__(self) -> None:
        self.ints: list[NDArray[np.int64]] = []
        self.floats: list[NDArray[np.float64]] = []

    def shape_of(self, value: Any) -> Shape:
        """The shape of a value; its numbers are noted."""
        if is_dataclass(value) and not isinstance(value, type):
            parts = [[f.name, self.shape_of(getattr(value, f.name))] for f in fields(value) if f.init]
            return ["class", type(value).__name__, parts]
        if isinstance(value, np.ndarray | np.generic):
            array = np.asarray(value)
            kind = "ints" if array.dtype.kind in "iub" else "floats"
            if kind == "ints":
                self.ints.append(array.ravel().astype(np.int64))
            else:
                self.floats.append(array.ravel().astype(np.float64))
            return [kind, list(array.shape)]
        if isinstance(value, int):
            if abs(value) >= INTEGER:
                return ["huge", hex(value)]
            self.ints.append(np.array([value], np.int64))
            return ["int"]
        if isinstance(value, float):
            self.floats.append(np.array([value]))
            return ["float"]
        if value is None:
            return ["none"]
        raise TypeError(f"a summary cannot hold {type(value).__name__}")

    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """All integers and all doubles."""
        none: list[Any] = [np.zeros(0)]
        return (
            np.concatenate(self.ints or none).astype(np.int64),
            np.concatenate(self.floats or none).astype(np.float64),
        )


class Stack:
    """Rows of numbers, one a file, read off shape by shape."""

    def __init__(self, ints: NDArray[np.int64], floats: NDArray[np.float64]) -> None:
        self.ints, self.floats = ints, floats
        self.at, self.at_float = 0, 0
        self.known = _classes()

    def value(self, shape: Shape) -> Any:
        """The values of a shape: every number and array has one entry a file."""
        kind = shape[0]
        if kind == "class":
            made = self.known.get(shape[1])
            if made is None:
                raise ReadError(f"a summary holds a {shape[1]!r}, which this version of epimeter does not know")
            return made(**{name: self.value(part) for name, part in shape[2]})
        if kind in ("ints", "int"):
            size = shape[1] if kind == "ints" else []
            width = int(np.prod(size, dtype=np.int64))
            self.at += width
            return self.ints[:, self.at - width : self.at].reshape(-1, *size)
        if kind in ("floats", "float"):
            size = shape[1] if kind == "floats" else []
            width = int(np.prod(size, dtype=np.int64))
            self.at_float += width
            return self.floats[:, self.at_float - width : self.at_float].reshape(-1, *size)
        return int(shape[1], 16) if kind == "huge" else None


def collapsed(stack: Any, n: int, name: str = "") -> Any:
    """The summary of all files of a stack."""
    if stack is None or name == "edges":
        return None if stack is None else stack[0].copy()
    if name == "n_classes":
        if (stack != stack[0]).any():
            raise MergeError(f"cannot merge summaries over {stack.min()} and over {stack.max()} classes")
        return int(stack[0])
    if name == "only":
        return reduce(agreed, stack)
    if isinstance(stack, Fixed):
        made = Fixed.zeros(stack.units.shape[1:])
        for start in range(0, n, BLOCK):  # so many fractions can be added before a carry
            some = slice(start, start + BLOCK)
            made = made + normalised(stack.units[some].sum(axis=0), stack.steps[some].sum(axis=0))
        return made
    if isinstance(stack, Paired):
        return reduce(lambda left, right: left + right, (stack[number] for number in range(n)))
    if isinstance(stack, BinTotals | Mean | Sums | ScoreMoments | Fine | CellTotals):
        parts = {f.name: collapsed(getattr(stack, f.name), n, f.name) for f in fields(stack)}
        return type(stack)(**parts)
    if isinstance(stack, np.ndarray):
        total = stack.sum(axis=0) if stack.dtype.kind == "i" else np.sum(stack, axis=0)
        return total if stack.ndim > 1 else total.item()
    return stack * n  # a number too large for a row: the same in every file of one shape


def merged(summaries: Sequence[Any]) -> Any:
    """The summary of all."""
    if len(summaries) < 3 or not all(isinstance(s, BinTotals | Mean | Sums | ScoreMoments) for s in summaries):
        return reduce(lambda left, right: left.merge(right), summaries)
    lines = [Numbers() for _ in summaries]
    shapes = [line.shape_of(summary) for line, summary in zip(lines, summaries, strict=True)]
    if any(shape != shapes[0] for shape in shapes):
        return reduce(lambda left, right: left.merge(right), summaries)  # refuses, or adds what no row can hold
    rows = [line.rows() for line in lines]
    stack = Stack(np.stack([ints for ints, _ in rows]), np.stack([floats for _, floats in rows]))
    return collapsed(stack.value(shapes[0]), len(summaries))
