# SPDX-License-Identifier: Apache-2.0
"""Random numbers made and used in one compiled loop: the same PCG64 stream as numpy's, never written to memory.

Four lanes run through the stream side by side, each taking every fourth number, so that one 128-bit multiplication
need not wait for the last. A test holds every number to numpy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
"""Of the linear congruence of PCG64 (O'Neill 2014), modulo 2^128."""
LANES = 4
_WORD = (1 << 64) - 1
_WIDE = 1 << 128
_STEP = 2.0**-53
_POWERS = [pow(MULTIPLIER, power, _WIDE) for power in range(LANES)]
_JUMP = pow(MULTIPLIER, LANES, _WIDE)


def lanes(seed: int, skip: int) -> NDArray[np.uint64]:
    """The states of the lanes after `skip` numbers, then the jump of a lane: a multiplier and an addend, in words."""
    start = np.random.PCG64(seed).advance(skip).state["state"]
    state, addend = start["state"], start["inc"]
    words = []
    for _ in range(LANES):
        state = (state * MULTIPLIER + addend) % _WIDE
        words += [state >> 64, state & _WORD]
    moved = sum(_POWERS) * addend % _WIDE
    return np.array([*words, _JUMP >> 64, _JUMP & _WORD, moved >> 64, moved & _WORD], np.uint64)


@intrinsic
def _jump(context, high, low, by_high, by_low, add_high, add_low):  # type: ignore[no-untyped-def]
    """state * multiplier + addend in 128 bits, as two words."""
    word = types.uint64

    def build(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        wide = ir.IntType(128)

        def joined(upper: Any, lower: Any) -> Any:
            shifted = builder.shl(builder.zext(upper, wide), ir.Constant(wide, 64))
            return builder.or_(shifted, builder.zext(lower, wide))

        state, factor, addend = (joined(*arguments[i : i + 2]) for i in (0, 2, 4))
        made = builder.add(builder.mul(state, factor), addend)
        upper = builder.trunc(builder.lshr(made, ir.Constant(wide, 64)), ir.IntType(64))
        return context.make_tuple(builder, signature.return_type, (upper, builder.trunc(made, ir.IntType(64))))

    return types.UniTuple(word, 2)(word, word, word, word, word, word), build


@njit(inline="always")
def _number(high, low):  # type: ignore[no-untyped-def]
    """53 random bits of a state: XSL-RR, then the upper bits, as numpy makes its doubles."""
    mixed, turn = high ^ low, high >> np.uint64(58)
    turned = (mixed >> turn) | (mixed << ((np.uint64(64) - turn) & np.uint64(63)))
    return turned >> np.uint64(11)


@njit(nogil=True, cache=True)
def draw_labels(start, bound, label):  # type: ignore[no-untyped-def]
    """1 where the random number is below the probability; `bound` is the probability in steps of 2^-53, rounded up."""
    h0, l0, h1, l1 = start[0], start[1], start[2], start[3]
    h2, l2, h3, l3 = start[4], start[5], start[6], start[7]
    mh, ml, ah, al = start[8], start[9], start[10], start[11]
    n = len(bound)
    whole = n // 4 * 4
    for i in range(0, whole, 4):
        label[i] = _number(h0, l0) < bound[i]
        label[i + 1] = _number(h1, l1) < bound[i + 1]
        label[i + 2] = _number(h2, l2) < bound[i + 2]
        label[i + 3] = _number(h3, l3) < bound[i + 3]
        h0, l0 = _jump(h0, l0, mh, ml, ah, al)
        h1, l1 = _jump(h1, l1, mh, ml, ah, al)
        h2, l2 = _jump(h2, l2, mh, ml, ah, al)
        h3, l3 = _jump(h3, l3, mh, ml, ah, al)
    if whole < n:
        label[whole] = _number(h0, l0) < bound[whole]
    if whole + 1 < n:
        label[whole + 1] = _number(h1, l1) < bound[whole + 1]
    if whole + 2 < n:
        label[whole + 2] = _number(h2, l2) < bound[whole + 2]


@njit(nogil=True, cache=True)
def count_rows(start, n, counts):  # type: ignore[no-untyped-def]
    """Count the n rows floor(u * n) that n random numbers draw."""
    h0, l0, h1, l1 = start[0], start[1], start[2], start[3]
    h2, l2, h3, l3 = start[4], start[5], start[6], start[7]
    mh, ml, ah, al = start[8], start[9], start[10], start[11]
    whole, size = n // 4 * 4, np.float64(n)
    for _ in range(0, whole, 4):
        counts[np.uint64(np.float64(_number(h0, l0)) * _STEP * size)] += 1
        counts[np.uint64(np.float64(_number(h1, l1)) * _STEP * size)] += 1
        counts[np.uint64(np.float64(_number(h2, l2)) * _STEP * size)] += 1
        counts[np.uint64(np.float64(_number(h3, l3)) * _STEP * size)] += 1
        h0, l0 = _jump(h0, l0, mh, ml, ah, al)
        h1, l1 = _jump(h1, l1, mh, ml, ah, al)
        h2, l2 = _jump(h2, l2, mh, ml, ah, al)
        h3, l3 = _jump(h3, l3, mh, ml, ah, al)
    if whole < n:
        counts[np.uint64(np.float64(_number(h0, l0)) * _STEP * size)] += 1
    if whole + 1 < n:
        counts[np.uint64(np.float64(_number(h1, l1)) * _STEP * size)] += 1
    if whole + 2 < n:
        counts[np.uint64(np.float64(_number(h2, l2)) * _STEP * size)] += 1


def bounds(prob: NDArray[Any]) -> NDArray[np.uint64]:
    """Probabilities in steps of 2^-53, rounded up: u < p exactly where the bits of u are below this."""
    return np.ceil(prob.astype(np.float64) * 2.0**53).astype(np.uint64)
