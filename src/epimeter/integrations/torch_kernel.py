# SPDX-License-Identifier: Apache-2.0
"""The top label of every row of logits on a CUDA device, softmax and all, in one reading of the matrix.

Each lane of a program keeps the largest logit it has met, the sum of exponentials relative to it, and where it stood (online
softmax, Milakov and Gimelshein 2018); one exponential an element, since of the old and the new largest one is always itself.
A row begins wherever the one before it ends, so loads start at the last border of 16 bytes before it: then they are wide.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

BLOCK, WARPS = 4096, 8
LEAST = tl.constexpr(-3.4028234663852886e38)
LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def _met(most, total, place, x, column):  # type: ignore[no-untyped-def]
    above = x - most
    # NaN in a logit stays in the total; a masked class (-inf) adds nothing.
    part = tl.exp2(-tl.abs(above) * LOG2E)
    larger = above > 0
    total = tl.where(larger, total * part + 1.0, total + part)
    return tl.where(larger, x, most), total, tl.where(larger, column, place)


@triton.jit
def _top_labels(  # type: ignore[no-untyped-def]
    logits, confidence, label, stride, n_classes, ALIGN: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    begin = row * stride
    base = tl.multiple_of(begin // ALIGN * ALIGN, ALIGN)
    skip = (begin - base).to(tl.int32)
    end = skip + n_classes
    lane = tl.arange(0, BLOCK)
    most = tl.full([BLOCK], LEAST, tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    place = tl.zeros([BLOCK], tl.int32)
    for start in range(0, end // BLOCK * BLOCK, BLOCK):
        column = start + lane
        x = tl.load(logits + base + column).to(tl.float32)
        x = tl.where(column >= skip, x, float("-inf"))
        most, total, place = _met(most, total, place, x, column)
    column = end // BLOCK * BLOCK + lane
    inside = (column >= skip) & (column < end)
    x = tl.load(logits + base + column, mask=inside, other=float("-inf")).to(tl.float32)
    most, total, place = _met(most, total, place, x, column)
    top = tl.max(most, axis=0)
    whole = tl.sum(total * tl.exp2((most - top) * LOG2E), axis=0)
    first = tl.min(tl.where((most == top) & (total > 0), place, end), axis=0)
    tl.store(confidence + row, tl.where(top == float("inf"), float("nan"), 1.0 / whole))
    tl.store(label + row, (first - skip).to(tl.int64))


def top_labels(logits: Any) -> tuple[Any, Any]:
    """Confidence in the top label, and which it is (the first of equals), of every row of a matrix whose rows are contiguous."""
    n_rows, n_classes = logits.shape
    confidence = torch.empty(n_rows, dtype=torch.float32, device=logits.device)
    label = torch.empty(n_rows, dtype=torch.int64, device=logits.device)
    width = 16 // logits.element_size()
    align = width if logits.data_ptr() % 16 == 0 else 1
    block = min(BLOCK, max(256, triton.next_power_of_2(n_classes)))
    with torch.cuda.device(logits.device):
        _top_labels[(n_rows,)](
            logits, confidence, label, logits.stride(0), n_classes,
            ALIGN=align, BLOCK=block, num_warps=WARPS if block == BLOCK else 4,
        )  # fmt: skip
    return confidence, label
