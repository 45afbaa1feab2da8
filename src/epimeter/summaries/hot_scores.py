# SPDX-License-Identifier: Apache-2.0
"""Sums of the commonest scores of a binary forecast, all from one compiled pass.

A score says with `in_hot_loop` which columns here are its twin; its sums over a large chunk are then read off the
pass instead of being computed column by column in numpy. The operations and their order are the same, so are the
integers; a test holds both to each other. The work goes in tiles that stay in the first-level cache, and an integer
is read off the bits of a sum with a large constant, so that every loop runs several rows at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from epimeter.summaries.fixed import BLOCK, Fixed, normalised
from epimeter.summaries.logarithm import LN2_HIGH, LN2_LOW, ROOT_HALF, TERMS

_TILE = 512
_WHOLE = 1.5 * 2.0**52
"""Added to a number below 2^51, it leaves the nearest whole number in the last bits of the sum."""
_STEP = 384.0
"""Added to a number of at most a half, it leaves its steps of 2^-44 in the last bits (see fixed)."""
_ONE = 2.0**44
_WHOLE_BITS = int(np.float64(_WHOLE).view(np.int64))
_STEP_BITS = int(np.float64(_STEP).view(np.int64))
_TERMS = np.array(TERMS)

PLAIN = ("square", "prob", "excess", "null_variance")
LOGARITHMIC = ("log_loss", "entropic", "entropic_variance", "spherical")
COUNTS = ("true", "said", "impossible", "halves", "none")
"""Columns of whole numbers: outcomes, rows with p > 0, certain and wrong, hits counted in halves, nothing."""


@njit(nogil=True, cache=True, inline="always", error_model="numpy")
def _add(column, n, t1, b1, t2, b2, t3, b3, sums, k):  # type: ignore[no-untyped-def]
    """Add a tile of numbers: whole units, steps of 2^-44, and what those leave in steps of 2^-88."""
    for i in range(n):
        t1[i] = column[i] + _WHOLE
        part = column[i] - (t1[i] - _WHOLE)
        t2[i] = part + _STEP
        t3[i] = (part - (t2[i] - _STEP)) * _ONE + _STEP
    units, steps, rest = np.int64(0), np.int64(0), np.int64(0)
    for i in range(n):
        units += b1[i] - _WHOLE_BITS
        steps += b2[i] - _STEP_BITS
        rest += b3[i] - _STEP_BITS
    sums[k, 0] += units
    sums[k, 1] += steps
    sums[k, 2] += rest


@njit(nogil=True, cache=True, inline="always", error_model="numpy")
def _log(x, xb, n, m, mb, out):  # type: ignore[no-untyped-def]
    """The logarithm of `logarithm.log` of a tile of normal numbers above 0."""
    for i in range(n):
        mb[i] = (xb[i] & 0xFFFFFFFFFFFFF) | (1022 << 52)
    for i in range(n):
        small = m[i] < ROOT_HALF
        mantissa = m[i] * 2.0 if small else m[i]
        power = np.float64((xb[i] >> 52) - 1022 - (1 if small else 0))
        f = mantissa - 1.0
        s = f / (2.0 + f)
        z = s * s
        series = _TERMS[10]
        series = series * z + _TERMS[9]
        series = series * z + _TERMS[8]
        series = series * z + _TERMS[7]
        series = series * z + _TERMS[6]
        series = series * z + _TERMS[5]
        series = series * z + _TERMS[4]
        series = series * z + _TERMS[3]
        series = series * z + _TERMS[2]
        series = series * z + _TERMS[1]
        series = series * z + _TERMS[0]
        out[i] = power * LN2_HIGH + (2.0 * s + (s * (z * series) + power * LN2_LOW))


@njit(nogil=True, cache=True, error_model="numpy")
def _plain(true, prob, sums, counts):  # type: ignore[no-untyped-def]
    p, y, c = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    t1, t2, t3 = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    b1, b2, b3 = t1.view(np.int64), t2.view(np.int64), t3.view(np.int64)
    for start in range(0, len(prob), _TILE):
        n = min(_TILE, len(prob) - start)
        tile_prob, tile_true = prob[start : start + n], true[start : start + n]
        for i in range(n):
            p[i] = np.float64(tile_prob[i])
            y[i] = np.float64(tile_true[i])
        outcomes, said, wrong, hits = 0, 0, 0, 0
        for i in range(n):
            one = tile_true[i] == 1
            outcomes += one
            said += p[i] > 0.0
            wrong += (p[i] == 0.0 and one) or (p[i] == 1.0 and not one)
            hits += 1 if p[i] == 0.5 else 2 * ((p[i] > 0.5) == one)
        counts[0] += outcomes
        counts[1] += said
        counts[2] += wrong
        counts[3] += hits
        for i in range(n):
            x = p[i] - y[i]
            c[i] = 2.0 * (x * x)
        _add(c, n, t1, b1, t2, b2, t3, b3, sums, 0)
        _add(p, n, t1, b1, t2, b2, t3, b3, sums, 1)
        for i in range(n):
            c[i] = (y[i] - p[i]) * (1.0 - 2.0 * p[i])
        _add(c, n, t1, b1, t2, b2, t3, b3, sums, 2)
        for i in range(n):
            slope = 1.0 - 2.0 * p[i]
            c[i] = slope * slope * p[i] * (1.0 - p[i])
        _add(c, n, t1, b1, t2, b2, t3, b3, sums, 3)


@njit(nogil=True, cache=True, error_model="numpy")
def _logarithmic(true, prob, sums):  # type: ignore[no-untyped-def]
    """False where a probability is 0, 1 or too small for the loop: the caller then takes the slow way."""
    p, q, c, picked = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    lp, lq, m = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    t1, t2, t3 = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    b1, b2, b3 = t1.view(np.int64), t2.view(np.int64), t3.view(np.int64)
    pb, qb, mb = p.view(np.int64), q.view(np.int64), m.view(np.int64)
    for start in range(0, len(prob), _TILE):
        n = min(_TILE, len(prob) - start)
        tile_prob, tile_true = prob[start : start + n], true[start : start + n]
        good = True
        for i in range(n):
            p[i] = np.float64(tile_prob[i])
            q[i] = 1.0 - p[i]
            good &= (p[i] > 1e-300) & (q[i] > 0.0)
        if not good:
            return False
        _log(p, pb, n, m, mb, lp)
        _log(q, qb, n, m, mb, lq)
        for i in range(n):
            c[i] = -(lp[i] if tile_true[i] == 1 else lq[i])
        _add(c, n, t1, b1, t2, b2, t3, b3, sums, 0)
        for i in range(n):
            c[i] = q[i] * lq[i] + p[i] * lp[i] + c[i]
        _add(c, n, t1, b1, t2, b2, t3, b3, sums, 1)
        for i in range(n):
            centre = (q[i] * -lq[i] + p[i] * -lp[i]) / (q[i] + p[i])
            left, right = -lq[i] - centre, -lp[i] - centre
            c[i] = q[i] * (left * left) + p[i] * (right * right)
        _add(c, n, t1, b1, t2, b2, t3, b3, sums, 2)
        for i in range(n):
            picked[i] = p[i] if tile_true[i] == 1 else q[i]
            c[i] = picked[i] / np.sqrt(q[i] * q[i] + p[i] * p[i])
        _add(c, n, t1, b1, t2, b2, t3, b3, sums, 3)
    return True


Columns = dict[str, tuple[Fixed, Fixed]]


def column_sums(view: Any, wanted: tuple[str, ...]) -> Columns | None:
    """Totals of the wanted columns, each in steps of 2^-44 and what they leave; None where the slow way must do it.

    The pass is remembered with the view, so that several scores of one chunk share it.
    """
    found: Columns = {}
    if any(name in PLAIN or name in COUNTS for name in wanted):
        found |= _remembered(view, "plain", _plain_sums)  # type: ignore[arg-type]
    if any(name in LOGARITHMIC for name in wanted):
        logarithms = _remembered(view, "logarithmic", _logarithmic_sums)
        if logarithms is None:
            return None
        found |= logarithms
    return found


def _remembered(view: Any, name: str, compute: Any) -> Columns | None:
    cache = view.__dict__
    key = f"hot_{name}"
    if key not in cache:
        cache[key] = compute(view.true, view.prob)
    return cache[key]  # type: ignore[no-any-return]


def _plain_sums(true: NDArray[Any], prob: NDArray[Any]) -> Columns:
    total, counts = _Totals(len(PLAIN)), np.zeros(4, np.int64)
    for start in range(0, len(prob), BLOCK):
        sums = np.zeros((len(PLAIN), 3), np.int64)
        _plain(true[start : start + BLOCK], prob[start : start + BLOCK], sums, counts)
        total.add(sums)
    outcomes, said, wrong, hits = (int(count) for count in counts)
    found = total.columns(PLAIN)
    for name, value in zip(COUNTS, (2 * outcomes, 2 * said, 2 * wrong, hits, 0), strict=True):
        found[name] = (normalised(value // 2, (value % 2) << 43), Fixed.zeros(()))
    return found


def _logarithmic_sums(true: NDArray[Any], prob: NDArray[Any]) -> Columns | None:
    total = _Totals(len(LOGARITHMIC))
    for start in range(0, len(prob), BLOCK):
        sums = np.zeros((len(LOGARITHMIC), 3), np.int64)
        if not _logarithmic(true[start : start + BLOCK], prob[start : start + BLOCK], sums):
            return None
        total.add(sums)
    return total.columns(LOGARITHMIC)


class _Totals:
    """Running totals of blocks."""

    def __init__(self, n: int) -> None:
        self.coarse, self.rest = Fixed.zeros(n), Fixed.zeros(n)

    def add(self, sums: NDArray[np.int64]) -> None:
        self.coarse = self.coarse + normalised(sums[:, 0], sums[:, 1])
        self.rest = self.rest + normalised(0 * sums[:, 2], sums[:, 2])

    def columns(self, names: tuple[str, ...]) -> Columns:
        return {name: (self.coarse[k], self.rest[k]) for k, name in enumerate(names)}
