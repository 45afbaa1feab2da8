# SPDX-License-Identifier: Apache-2.0
"""What a meter keeps on the device: whole numbers, added in any order.

A row with one confidence is one whole number, its *key*: the bits of the confidence, which as those of any number that is not
negative are ordered as the numbers are, and behind them the outcome. The totals are how often each key came. Nothing is rounded,
so every metric read off them has the bits that it has on the rows; single precision bounds them by the confidences there are.
Rows of one probability a class have no such key and are kept as they are. Rows that are not measured have a number below zero
that says why, so that nothing needs to be asked of the device while rows come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import torch

from epimeter.integrations.torch_batch import IGNORED, UNKNOWN, UNSOUND, TorchBatch

ROOM = 1 << 22
"""Keys that may wait before they are counted."""
_BITS = {torch.float32: torch.int32, torch.float64: torch.int64}


@dataclass
class Faults:
    """Rows that are not measured: how many for each reason, and the first of them."""

    counts: dict[int, int] = field(default_factory=lambda: dict.fromkeys((IGNORED, UNSOUND, UNKNOWN), 0))
    first: dict[int, int] = field(default_factory=dict)
    seen: int = 0
    """Rows looked at."""

    def look(self, marks: Any) -> None:
        """Note the rows of these marks, which follow on those seen."""
        below = (marks < 0).nonzero()[:, 0]
        for reason in self.counts:
            rows = below[marks[below] == reason]
            if len(rows):
                self.counts[reason] += len(rows)
                self.first.setdefault(reason, self.seen + int(rows[0]))
        self.seen += len(marks)

    def merge(self, other: Faults) -> Faults:
        """Those of both, the rows of the other following on these."""
        counts = {reason: count + other.counts[reason] for reason, count in self.counts.items()}
        after = {reason: self.seen + row for reason, row in other.first.items()}
        return Faults(counts, after | self.first, self.seen + other.seen)

    def plain(self) -> list[list[int]]:
        """Reason, number and first row of each, and the rows seen."""
        return [[reason, count, self.first.get(reason, -1)] for reason, count in self.counts.items()] + [[self.seen]]

    @classmethod
    def of(cls, plain: list[list[int]]) -> Faults:
        *reasons, (seen,) = plain
        first = {reason: row for reason, _, row in reasons if row >= 0}
        return cls({reason: count for reason, count, _ in reasons}, first, seen)


@dataclass
class KeyTotals:
    """How often each confidence came with each outcome."""

    precision: Any
    keys: Any
    counts: Any
    waiting: list[Any] = field(default_factory=list)
    faults: Faults = field(default_factory=Faults)

    @classmethod
    def empty(cls, batch: TorchBatch) -> KeyTotals:
        none = torch.empty(0, dtype=_BITS[batch.prob.dtype], device=batch.prob.device)
        return cls(batch.prob.dtype, none, none.long())

    @property
    def device(self) -> Any:
        return self.keys.device

    def add(self, batch: TorchBatch) -> None:
        """Further rows."""
        if batch.prob.dtype == torch.float64:
            self._widen()
        bits = (batch.prob.to(self.precision) + 0.0).view(_BITS[self.precision])  # + 0.0: minus zero is zero
        self.waiting.append(batch.marked(bits * 2 + (batch.outcome == 1)))
        if sum(map(len, self.waiting)) > max(ROOM, len(self.keys)):
            self.count()

    def _widen(self) -> None:
        """Keys of single precision as those of double."""
        if self.precision == torch.float64:
            return
        self.precision = torch.float64
        self.keys = _wider(self.keys)
        self.waiting = [_wider(keys) for keys in self.waiting]

    def count(self) -> None:
        """Put the keys that wait among the totals."""
        if not self.waiting:
            return
        new = torch.cat(self.waiting)
        self.faults.look(new)
        self._absorb(new[new >= 0], None)
        self.waiting = []

    def _absorb(self, keys: Any, counts: Any) -> None:
        if counts is None:
            counts = torch.ones(len(keys), dtype=torch.int64, device=keys.device)
        both, place = torch.unique(torch.cat([self.keys, keys]), return_inverse=True)
        sums = torch.zeros(len(both), dtype=torch.int64, device=both.device)
        self.keys, self.counts = both, sums.index_add_(0, place, torch.cat([self.counts, counts]))

    def merge(self, other: KeyTotals) -> None:
        """Add the totals of another."""
        theirs = other.copy(self.device)
        for one in (self, theirs):
            one.count()
            if torch.float64 in (self.precision, theirs.precision):
                one._widen()
        self._absorb(theirs.keys, theirs.counts)
        self.faults = self.faults.merge(theirs.faults)

    def copy(self, device: Any) -> KeyTotals:
        """The same on a device, sharing no memory."""
        copies = {name: column.to(device, copy=True) for name, column in self.tensors().items()}
        return type(self).of(self.faults, copies)

    def tensors(self) -> dict[str, Any]:
        """The totals as two columns of whole numbers."""
        self.count()
        return {"keys": self.keys, "counts": self.counts}

    @classmethod
    def of(cls, faults: Faults, tensors: Mapping[str, Any]) -> Self:
        """The totals from their columns."""
        keys = tensors["keys"]
        precision = next(wide for wide, bits in _BITS.items() if bits == keys.dtype)
        return cls(precision, keys, tensors["counts"], faults=Faults().merge(faults))

    def columns(self) -> tuple[Any, Any]:
        """Confidence and outcome of every row, on the host, the least confident first."""
        self.count()
        keys, counts = self.keys.cpu().numpy(), self.counts.cpu().numpy()
        prob = (keys >> 1).view(np.float32 if self.precision == torch.float32 else np.float64)
        return np.repeat(prob, counts), np.repeat((keys & 1).astype(np.uint8), counts)


def _wider(keys: Any) -> Any:
    prob = (keys >> 1).view(torch.float32).double()
    return torch.where(keys < 0, keys.long(), prob.view(torch.int64) * 2 + (keys & 1))


@dataclass
class ClassRows:
    """Rows with one probability a class, as they came."""

    prob: list[Any]
    outcome: list[Any]
    waiting: list[Any] = field(default_factory=list)
    """Batches whose rows have not been looked at."""
    faults: Faults = field(default_factory=Faults)

    @classmethod
    def empty(cls, batch: TorchBatch) -> ClassRows:
        return cls([batch.prob[:0]], [torch.empty(0, dtype=torch.int64, device=batch.prob.device)])

    @property
    def device(self) -> Any:
        return self.prob[0].device

    @property
    def n_classes(self) -> int:
        return int(self.prob[0].shape[1])

    def add(self, batch: TorchBatch) -> None:
        self.waiting.append((batch.prob.clone(), batch.marked(batch.outcome.long())))

    def count(self) -> None:
        """Leave out the rows that are not measured."""
        for prob, outcome in self.waiting:
            self.faults.look(outcome)
            some = outcome >= 0
            self.prob.append(prob[some])
            self.outcome.append(outcome[some])
        self.waiting = []

    def merge(self, other: ClassRows) -> None:
        self.count()
        theirs = other.copy(self.device)
        self.prob += theirs.prob
        self.outcome += theirs.outcome
        self.faults = self.faults.merge(theirs.faults)

    def copy(self, device: Any) -> ClassRows:
        copies = {name: column.to(device, copy=True) for name, column in self.tensors().items()}
        return type(self).of(self.faults, copies)

    def tensors(self) -> dict[str, Any]:
        self.count()
        self.prob, self.outcome = [torch.cat(self.prob)], [torch.cat(self.outcome)]
        return {"prob": self.prob[0], "outcome": self.outcome[0]}

    @classmethod
    def of(cls, faults: Faults, tensors: Mapping[str, Any]) -> Self:
        return cls([tensors["prob"]], [tensors["outcome"]], faults=Faults().merge(faults))

    def columns(self) -> tuple[Any, Any]:
        made = self.tensors()
        return made["prob"].cpu().numpy(), made["outcome"].cpu().numpy()
