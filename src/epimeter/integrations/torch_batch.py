# SPDX-License-Identifier: Apache-2.0
"""One batch of tensors into confidence and outcome, on the device it lies on and without waiting for that device."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from epimeter.checks import row_sum_tolerance
from epimeter.errors import InputError
from epimeter.kinds import Kind

CHUNK = 1 << 24
"""Numbers of a matrix that are widened to single precision at a time."""
IGNORED, UNSOUND, UNKNOWN = -1, -2, -3
"""In place of a row's number: it does not count; its forecast is none; its target is none."""
WIDE = (torch.float64, torch.float32)
FLOATS = (*WIDE, torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class TorchBatch:
    """Rows of one call.

    Attributes
    ----------
    kind
        What they state: `event`, `answer` or `classes`.
    prob
        One probability a row, or one a class; in single or double precision.
    outcome
        0 or 1, or the class.
    ignored, known, sound
        Whether the target says that the row does not count, whether it is one at all, and whether the forecast is one.
    logits
        Whether the forecast came as scores.
    """

    kind: Kind
    prob: Any
    outcome: Any
    ignored: Any
    known: Any
    sound: Any
    logits: bool

    def marked(self, number: Any) -> Any:
        """One whole number a row, the given one or, below zero, why the row has none."""
        found = torch.where(self.sound, number, UNSOUND)
        return torch.where(self.ignored, IGNORED, torch.where(self.known, found, UNKNOWN))


def read(logits: Any, probs: Any, targets: Any, kind: Kind | None, ignore_index: int | None) -> TorchBatch:
    """The batch, its shapes and devices doubted at once and its values by flags."""
    name, given = ("logits", logits) if probs is None else ("probs", probs)
    if (logits is None) == (probs is None) or targets is None:
        raise InputError("update takes logits or probs=, one of the two, and targets")
    for what, tensor in ((name, given), ("targets", targets)):
        if not isinstance(tensor, torch.Tensor):
            raise InputError(f"{what} must be a tensor; got {type(tensor).__name__}", field=what)
    if given.device != targets.device:
        raise InputError(
            f"{name} and targets must be on one device; got {given.device} and {targets.device}. "
            f"Move one: targets.to({name}.device)",
            field="targets",
        )
    if given.dtype not in FLOATS:
        raise InputError(f"{name} must be floating point; got {given.dtype}", field=name)
    matrix = given.ndim == targets.ndim + 1 and given.shape[:-1] == targets.shape
    if not matrix and given.shape != targets.shape:
        raise InputError(
            f"targets must have the shape of {name}, or that shape without its last dimension, the classes; got "
            f"{tuple(targets.shape)} beside {tuple(given.shape)}. Classes elsewhere? {name}.movedim(1, -1)",
            field="targets",
        )
    if matrix and (given.shape[-1] < 2 or kind == "event"):
        raise InputError(
            f"{name} of one column a class need two classes or more, and state no event; got {given.shape[-1]} columns"
            + ("" if kind is None else f" with kind={kind!r}"),
            field=name,
        )
    if not matrix and kind == "classes":
        raise InputError(
            f"kind='classes' needs one column a class; got {name} of shape {tuple(given.shape)}", field=name
        )
    if targets.is_complex() or (matrix and targets.is_floating_point()):
        raise InputError(f"targets must be whole numbers, the classes; got {targets.dtype}", field="targets")
    with torch.no_grad():
        flat, target = given.detach(), targets.detach().reshape(-1)
        ignored = torch.zeros_like(target, dtype=torch.bool) if ignore_index is None else target == ignore_index
        if not matrix:
            prob, sound = _numbers(flat.reshape(-1), probs is None)
            states: Kind = kind or "event"
            return TorchBatch(states, prob, target, ignored, (target == 0) | (target == 1), sound, probs is None)
        flat = flat.reshape(-1, flat.shape[-1])
        known = (target >= 0) & (target < flat.shape[1])
        if kind == "classes":
            prob, sound = _classes(flat, probs is None)
            return TorchBatch("classes", prob, target, ignored, known, sound, probs is None)
        prob, label, sound = _top_of_logits(flat) if probs is None else _top_of_probs(flat)
        return TorchBatch("answer", prob, label == target, ignored, known, sound, probs is None)


def _wide(values: Any) -> Any:
    return values if values.dtype in WIDE else values.float()


def _numbers(values: Any, scores: bool) -> tuple[Any, Any]:
    values = _wide(values)
    if scores:
        return torch.sigmoid(values), torch.isfinite(values)
    return values, (values >= 0) & (values <= 1)


def _parts(matrix: Any) -> Any:
    return matrix.split(max(1, CHUNK // matrix.shape[1]))


def _top_of_logits(logits: Any) -> tuple[Any, Any, Any]:
    kernel = _kernel() if logits.is_cuda and logits.dtype != torch.float64 and len(logits) else None
    if kernel is not None and logits.stride(1) == 1:
        prob, label = kernel.top_labels(logits)
    else:
        tops = [_top(_wide(part)) for part in _parts(logits)]
        prob, label = (torch.cat(columns) for columns in zip(*tops, strict=True))
    return prob, label, prob <= 1


def _top(scores: Any) -> tuple[Any, Any]:
    most, label = scores.max(dim=1)
    return 1 / (scores - most[:, None]).exp_().sum(dim=1), label


def _top_of_probs(probs: Any) -> tuple[Any, Any, Any]:
    tolerance = row_sum_tolerance(probs, probs.shape[1])
    tops = []
    for part in _parts(probs):
        most, label = _wide(part).max(dim=1)
        tops.append((most, label, (part.amin(dim=1) >= 0) & _sums_to_one(part, tolerance)))
    prob, label, sound = (torch.cat(columns) for columns in zip(*tops, strict=True))
    return prob, label, sound & (prob <= 1)


def _classes(values: Any, scores: bool) -> tuple[Any, Any]:
    if not scores:
        tolerance = row_sum_tolerance(values, values.shape[1])
        values = _wide(values)
        return values, (values.amin(dim=1) >= 0) & _sums_to_one(values, tolerance)
    # Softmax in double precision, rounded once: rows of many classes still sum to 1.
    wide = torch.float64 if values.dtype == torch.float64 else torch.float32
    parts = [torch.softmax(part.double(), dim=1).to(wide) for part in _parts(values)]
    prob = torch.cat(parts)
    return prob, torch.isfinite(prob).all(dim=1)


def _sums_to_one(probs: Any, tolerance: float) -> Any:
    return (probs.sum(dim=1, dtype=torch.float64) - 1).abs() <= tolerance


@cache
def _kernel() -> Any:
    """The kernel of one reading; None where there is no Triton, and plain operations do it in four."""
    try:
        return importlib.import_module("epimeter.integrations.torch_kernel")
    except ImportError:
        return None
