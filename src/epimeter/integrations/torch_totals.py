# SPDX-License-Identifier: Apache-2.0
"""What a meter keeps on the device: whole numbers, added in any order.

A row with one confidence is one whole number, its *key*: the bits of the confidence, which as those of any number that is not
negative are ordered as the numbers are, and behind them the outcome. The totals are how often each key came. Nothing is rounded,
so every metric read off them has the bits that it has on the rows; single precision bounds them by the confidences there are.
Rows of one probability a class have no such key and are kept as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

ROOM = 1 << 22
"""Keys that may wait before they are counted."""
NONE = -1
"""The key of a row that does not count."""
_BITS = {torch.float32: torch.int32, torch.float64: torch.int64}


@dataclass
class KeyTotals:
    """How often each confidence came with each outcome."""

    precision: Any
    keys: Any
    counts: Any
    waiting: list[Any] = field(default_factory=list)

    @classmethod
    def empty(cls, precision: Any, device: Any) -> KeyTotals:
        none = torch.empty(0, dtype=_BITS[precision], device=device)
        return cls(precision, none, none.long())

    @property
    def device(self) -> Any:
        return self.keys.device

    def add(self, prob: Any, outcome: Any, counted: Any) -> None:
        """Further rows; those that are not `counted` leave no trace."""
        if prob.dtype == torch.float64:
            self._widen()
        bits = (prob.to(self.precision) + 0.0).view(_BITS[self.precision])  # + 0.0: minus zero is zero
        self.waiting.append(torch.where(counted, bits * 2 + (outcome == 1), NONE))
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
        self._absorb(new, torch.ones(len(new), dtype=torch.int64, device=new.device))
        self.waiting = []

    def _absorb(self, keys: Any, counts: Any) -> None:
        both, place = torch.unique(torch.cat([self.keys, keys]), return_inverse=True)
        sums = torch.zeros(len(both), dtype=torch.int64, device=both.device)
        sums.index_add_(0, place, torch.cat([self.counts, counts]))
        some = both != NONE
        self.keys, self.counts = both[some], sums[some]

    def merge(self, other: KeyTotals) -> None:
        """Add the totals of another."""
        theirs = other.copy(self.device)
        for one in (self, theirs):
            one.count()
            if torch.float64 in (self.precision, theirs.precision):
                one._widen()
        self._absorb(theirs.keys, theirs.counts)

    def copy(self, device: Any) -> KeyTotals:
        """The same on a device, sharing no memory."""
        return KeyTotals(
            self.precision,
            self.keys.to(device, copy=True),
            self.counts.to(device, copy=True),
            [keys.to(device, copy=True) for keys in self.waiting],
        )

    def tensors(self) -> dict[str, Any]:
        """The totals as two columns of whole numbers."""
        self.count()
        return {"keys": self.keys, "counts": self.counts}

    @classmethod
    def of(cls, tensors: dict[str, Any]) -> KeyTotals:
        """The totals from their columns."""
        keys = tensors["keys"]
        precision = next(wide for wide, bits in _BITS.items() if bits == keys.dtype)
        return cls(precision, keys, tensors["counts"])

    def columns(self) -> tuple[Any, Any]:
        """Confidence and outcome of every row, on the host, the least confident first."""
        self.count()
        keys, counts = self.keys.cpu().numpy(), self.counts.cpu().numpy()
        prob = (keys >> 1).view(np.float32 if self.precision == torch.float32 else np.float64)
        return np.repeat(prob, counts), np.repeat((keys & 1).astype(np.uint8), counts)


def _wider(keys: Any) -> Any:
    prob = (keys >> 1).view(torch.float32).double()
    return torch.where(keys == NONE, NONE, prob.view(torch.int64) * 2 + (keys & 1))


@dataclass
class ClassRows:
    """Rows with one probability a class, as they came."""

    prob: list[Any]
    outcome: list[Any]

    @classmethod
    def empty(cls, n_classes: int, precision: Any, device: Any) -> ClassRows:
        return cls(
            [torch.empty((0, n_classes), dtype=precision, device=device)],
            [torch.empty(0, dtype=torch.int64, device=device)],
        )

    @property
    def device(self) -> Any:
        return self.prob[0].device

    @property
    def n_classes(self) -> int:
        return int(self.prob[0].shape[1])

    def add(self, prob: Any, outcome: Any, counted: Any) -> None:
        self.prob.append(prob.clone())
        self.outcome.append(torch.where(counted, outcome.long(), NONE))

    def merge(self, other: ClassRows) -> None:
        self.prob += [part.to(self.device, copy=True) for part in other.prob]
        self.outcome += [part.to(self.device, copy=True) for part in other.outcome]

    def copy(self, device: Any) -> ClassRows:
        made = ClassRows.empty(self.n_classes, self.prob[0].dtype, device)
        made.merge(self)
        return made

    def tensors(self) -> dict[str, Any]:
        prob, outcome = torch.cat(self.prob), torch.cat(self.outcome)
        some = outcome != NONE
        self.prob, self.outcome = [prob[some]], [outcome[some]]
        return {"prob": self.prob[0], "outcome": self.outcome[0]}

    @classmethod
    def of(cls, tensors: dict[str, Any]) -> ClassRows:
        return cls([tensors["prob"]], [tensors["outcome"]])

    def columns(self) -> tuple[Any, Any]:
        made = self.tensors()
        return made["prob"].cpu().numpy(), made["outcome"].cpu().numpy()
