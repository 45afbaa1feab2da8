# SPDX-License-Identifier: Apache-2.0
"""Sums of the commonest scores of a binary forecast, all from one compiled pass.

A score says with `in_hot_loop` which columns here are its twin; its sums over a large chunk are then read off the
pass instead of being computed column by column in numpy. The operations and their order are the same, so are the
integers; a test holds both to each other. An integer is read off the bits of a sum with a large constant, so that every
loop runs several rows at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from epimeter.summaries.fixed import BLOCK, Fixed, normalised
from epimeter.summaries.fused import fused
from epimeter.summaries.logarithm import LN2_HIGH, LN2_LOW, ROOT_HALF, TERMS

_WHOLE = 1.5 * 2.0**52
"""Added to a number below 2^51, it leaves the nearest whole number in the last bits of the sum."""
_STEP = 384.0
"""Added to a number of at most a half, it leaves its steps of 2^-44 in the last bits (see fixed)."""
_ONE = 2.0**44
_WHOLE_BITS = int(np.float64(_WHOLE).view(np.int64))
_ROOT_BITS = int(np.float64(ROOT_HALF).view(np.int64))
_STEP_BITS = int(np.float64(_STEP).view(np.int64))
_T0, _T1, _T2, _T3, _T4, _T5, _T6 = TERMS

_NEAR_NOTHING, _NEAR_HALF, _NEAR_END = 2.0**-50, 2.0**-28, 2.0**-29
"""How near to 0, to a half and to an end a probability must be for a column to be tiny."""

PLAIN = ("square", "prob", "excess", "null_variance")
LOGARITHMIC = ("log_loss", "entropic", "entropic_variance", "spherical")
COUNTS = ("true", "said", "impossible", "halves", "none")
"""Columns of whole numbers: outcomes, rows with p > 0, certain and wrong, hits counted in halves, nothing."""


@njit(inline="always", error_model="numpy")
def _log(x):  # type: ignore[no-untyped-def]
    """The logarithm of `logarithm.log`, of a normal number above 0: the bits themselves say x = m 2^k, sqrt(1/2) <= m."""
    bits = np.float64(x).view(np.int64)
    k = (bits - _ROOT_BITS) >> 52
    f = np.int64(bits - (k << 52)).view(np.float64) - 1.0
    power = np.int64(k + _WHOLE_BITS).view(np.float64) - _WHOLE
    s = f / (2.0 + f)
    z = s * s
    series = _T6 * z + _T5
    series = series * z + _T4
    series = series * z + _T3
    series = series * z + _T2
    series = series * z + _T1
    series = series * z + _T0
    return power * LN2_HIGH + (2.0 * s + (s * (z * series) + power * LN2_LOW))


@njit(inline="always", error_model="numpy")
def _parts(x):  # type: ignore[no-untyped-def]
    """A number as bits that add up: whole units, steps of 2^-44, and what those leave in steps of 2^-88.

    The bits of the constants come along with every row and are taken off once, at the end (`_settle`).
    """
    whole = x + _WHOLE
    part = x - (whole - _WHOLE)
    step = part + _STEP
    rest = fused(part - (step - _STEP), _ONE, _STEP)
    return np.float64(whole).view(np.int64), np.float64(step).view(np.int64), np.float64(rest).view(np.int64)


@njit(inline="always")
def _settle(sums, k, n, units, steps, rest):  # type: ignore[no-untyped-def]
    sums[k, 0] += units - n * _WHOLE_BITS
    sums[k, 1] += steps - n * _STEP_BITS
    sums[k, 2] += rest - n * _STEP_BITS


@njit(nogil=True, cache=True, error_model="numpy")
def _plain(true, prob, sums, counts):  # type: ignore[no-untyped-def]
    n = len(prob)
    outcomes, said, wrong, hits = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for i in range(n):
        p = np.float64(prob[i])
        one = true[i] == 1
        outcomes += one
        said += p > 0.0
        wrong += (p == 0.0 and one) or (p == 1.0 and not one)
        hits += 1 if p == 0.5 else 2 * ((p > 0.5) == one)
    counts[0] += outcomes
    counts[1] += said
    counts[2] += wrong
    counts[3] += hits
    a1, a2, a3 = np.int64(0), np.int64(0), np.int64(0)
    b1, b2, b3 = np.int64(0), np.int64(0), np.int64(0)
    c1, c2, c3 = np.int64(0), np.int64(0), np.int64(0)
    d1, d2, d3 = np.int64(0), np.int64(0), np.int64(0)
    for i in range(n):
        p, y = np.float64(prob[i]), np.float64(true[i])
        x = p - y
        units, steps, rest = _parts(2.0 * (x * x))
        a1, a2, a3 = a1 + units, a2 + steps, a3 + rest
        units, steps, rest = _parts(p)
        b1, b2, b3 = b1 + units, b2 + steps, b3 + rest
        slope = 1.0 - 2.0 * p
        units, steps, rest = _parts((y - p) * slope)
        c1, c2, c3 = c1 + units, c2 + steps, c3 + rest
        units, steps, rest = _parts(slope * slope * p * (1.0 - p))
        d1, d2, d3 = d1 + units, d2 + steps, d3 + rest
    _settle(sums, 0, n, a1, a2, a3)
    _settle(sums, 1, n, b1, b2, b3)
    _settle(sums, 2, n, c1, c2, c3)
    _settle(sums, 3, n, d1, d2, d3)


@njit(nogil=True, cache=True, error_model="numpy")
def _logarithmic(true, prob, sums):  # type: ignore[no-untyped-def]
    """False, with nothing added, where a probability is 0, 1 or too small for the loop: the slow way must do it."""
    n = len(prob)
    good = np.int64(0)
    for i in range(n):
        p = np.float64(prob[i])
        good += (p > 1e-300) & (1.0 - p > 0.0)
    if good < n:
        return False
    logarithmic_rows(true, prob, sums)
    return True


@njit(nogil=True, cache=True, error_model="numpy")
def logarithmic_rows(true, prob, sums):  # type: ignore[no-untyped-def]
    """Sums of the logarithmic scores of rows above 1e-300 and below 1."""
    n = len(prob)
    a1, a2, a3 = np.int64(0), np.int64(0), np.int64(0)
    b1, b2, b3 = np.int64(0), np.int64(0), np.int64(0)
    c1, c2, c3 = np.int64(0), np.int64(0), np.int64(0)
    d1, d2, d3 = np.int64(0), np.int64(0), np.int64(0)
    for i in range(n):
        p = np.float64(prob[i])
        q = 1.0 - p
        lp, lq = _log(p), _log(q)
        one = true[i] == 1
        loss = -(lp if one else lq)
        units, steps, rest = _parts(loss)
        a1, a2, a3 = a1 + units, a2 + steps, a3 + rest
        units, steps, rest = _parts(q * lq + p * lp + loss)
        b1, b2, b3 = b1 + units, b2 + steps, b3 + rest
        centre = (q * -lq + p * -lp) / (q + p)
        left, right = -lq - centre, -lp - centre
        units, steps, rest = _parts(q * (left * left) + p * (right * right))
        c1, c2, c3 = c1 + units, c2 + steps, c3 + rest
        picked = p if one else q
        units, steps, rest = _parts(picked / np.sqrt(q * q + p * p))
        d1, d2, d3 = d1 + units, d2 + steps, d3 + rest
    _settle(sums, 0, n, a1, a2, a3)
    _settle(sums, 1, n, b1, b2, b3)
    _settle(sums, 2, n, c1, c2, c3)
    _settle(sums, 3, n, d1, d2, d3)


@njit(nogil=True, cache=True)
def _near_count(prob, ends):  # type: ignore[no-untyped-def]
    found = np.int64(0)
    for i in range(len(prob)):
        p = np.float64(prob[i])
        found += ((p < _NEAR_NOTHING) & (p > 0.0)) | ((abs(p - 0.5) < _NEAR_HALF) & (p != 0.5))
    if ends:
        for i in range(len(prob)):
            p = np.float64(prob[i])
            found += ((p < _NEAR_END) & (p > 0.0)) | ((1.0 - p < _NEAR_END) & (p < 1.0))
    return found


@njit(nogil=True, cache=True)
def _near_places(prob, ends, places):  # type: ignore[no-untyped-def]
    found = 0
    for i in range(len(prob)):
        p = np.float64(prob[i])
        near = ((p < _NEAR_NOTHING) & (p > 0.0)) | ((abs(p - 0.5) < _NEAR_HALF) & (p != 0.5))
        if near or (ends and (((p < _NEAR_END) & (p > 0.0)) | ((1.0 - p < _NEAR_END) & (p < 1.0)))):
            places[found] = i
            found += 1
    return found


def near_rows(prob: NDArray[Any], names: tuple[str, ...]) -> NDArray[np.int64]:
    """Rows that may add a tiny number (`fine.TINY`) to one of these columns; no other row does."""
    ends = "square" in names  # the others vanish no faster than p, and with the distance from a half
    most = _near_count(prob, ends)
    if not most:
        return np.zeros(0, np.int64)
    places = np.empty(most, np.int64)
    return places[: _near_places(prob, ends, places)]


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
