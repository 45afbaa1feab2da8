# SPDX-License-Identifier: Apache-2.0
"""The top label of every row of logits on a CUDA device, softmax and all, in one reading of the matrix.

Each lane of a program keeps the largest logit it has met, the sum of exponentials relative to it, and the block it stood in (online
softmax, Milakov and Gimelshein 2018); it takes a group of logits at a time, so that what is summed so far is scaled once a group.
A row begins wherever the one before it ends, so loads start at the last border of 16 bytes before it: then they are wide.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

LANES, WARPS = 256, 4
"""Lanes of a program, each with GROUP logits at a time; measured on one H200, where it is the memory that is waited for."""
GROUP = 8
LEAST = tl.constexpr(-3.4028234663852886e38)
LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def _met(most, total, place, x, start):  # type: ignore[no-untyped-def]
    """Add the logits of all lanes, one row of `x` each; `place` is the start of the block that holds a lane's largest."""
    new = tl.maximum(most, tl.max(x, axis=1))
    # NaN in a logit stays in the total; a masked class (-inf) adds nothing.
    parts = tl.sum(tl.exp2((x - new[:, None]) * LOG2E), axis=1)
    total = total * tl.exp2((most - new) * LOG2E) + parts
    return new, total, tl.where(new > most, start, place)


@triton.jit
def _top_labels(  # type: ignore[no-untyped-def]
    logits, confidence, label, stride, n_classes, ALIGN: tl.constexpr, LANES: tl.constexpr, GROUP: tl.constexpr
):
    block: tl.constexpr = LANES * GROUP
    row = tl.program_id(0).to(tl.int64)
    begin = row * stride
    base = logits + tl.multiple_of(begin // ALIGN * ALIGN, ALIGN)
    skip = (begin % ALIGN).to(tl.int32)
    end = skip + n_classes
    lane, member = tl.arange(0, LANES), tl.arange(0, GROUP)
    inside = lane[:, None] * GROUP + member[None, :]
    most = tl.full([LANES], LEAST, tl.float32)
    total = tl.zeros([LANES], tl.float32)
    place = tl.zeros([LANES], tl.int32)
    if end >= block:  # what stands before the row belongs to the one above it
        x = tl.load(base + inside).to(tl.float32)
        most, total, place = _met(most, total, place, tl.where(inside >= skip, x, float("-inf")), 0)
    for start in range(block, end // block * block, block):
        x = tl.load(base + start + inside).to(tl.float32)
        most, total, place = _met(most, total, place, x, start)
    rest = end // block * block
    column = rest + inside
    x = tl.load(base + column, mask=(column >= skip) & (column < end), other=float("-inf")).to(tl.float32)
    most, total, place = _met(most, total, place, x, rest)
    top = tl.max(most, axis=0)
    whole = tl.sum(total * tl.exp2((most - top) * LOG2E), axis=0)
    # The first of equals is in the first group that holds the largest.
    group = tl.min(tl.where((most == top) & (total > 0), place + lane * GROUP, end), axis=0)
    column = group + member
    x = tl.load(base + column, mask=(column >= skip) & (column < end), other=float("nan")).to(tl.float32)
    first = tl.min(tl.where(x == top, column, end), axis=0)
    tl.store(confidence + row, tl.where(top == float("inf"), float("nan"), 1.0 / whole))
    tl.store(label + row, (first - skip).to(tl.int64))


def top_labels(logits: Any) -> tuple[Any, Any]:
    """Confidence in the top label, and which it is (the first of equals), of every row of a matrix whose rows are contiguous."""
    n_rows, n_classes = logits.shape
    confidence = torch.empty(n_rows, dtype=torch.float32, device=logits.device)
    label = torch.empty(n_rows, dtype=torch.int64, device=logits.device)
    align = 16 // logits.element_size() if logits.data_ptr() % 16 == 0 else 1
    lanes = min(LANES, max(32, triton.next_power_of_2(n_classes) // GROUP))
    with torch.cuda.device(logits.device):
        _top_labels[(n_rows,)](
            logits, confidence, label, logits.stride(0), n_classes,
            ALIGN=align, LANES=lanes, GROUP=GROUP, num_warps=min(WARPS, lanes // 32),
        )  # fmt: skip
    return confidence, label
