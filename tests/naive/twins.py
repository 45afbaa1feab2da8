# SPDX-License-Identifier: Apache-2.0
"""Slow twins in numpy and plain Python of the loops of the C core."""

import math
from bisect import bisect_left

import numpy as np

CELLS, ROOM = 1 << 19, 256


def packed(prob, true):
    """Confidence and outcome in one integer that sorts by confidence, then outcome.

    The bits of a double in [0, 1] grow with it and leave the two highest bits free.
    """
    return ((prob + 0.0).view(np.int64) << 1) | true.astype(np.int64)  # + 0.0 turns -0.0 into 0.0


def best_bet(points, residual):
    """max sum r_i z_i over |z| <= 1, z 1-Lipschitz, by the two steps of `lipschitz`."""
    running, gap = np.cumsum(residual), np.diff(points)
    return backward(running, gap, *forward(running, gap))


def forward(running, gap):
    """Step 1, with the breakpoints in a sorted list."""
    where, jump = [0.0], [2.0]
    lows, highs = [], []
    for total, step in zip(running[:-1].tolist(), gap.tolist(), strict=True):
        place = bisect_left(where, -total)
        where.insert(place, -total)
        jump.insert(place, 2 * step)
        for end in (0, -1):
            left = step
            while left > 0:
                taken = min(left, jump[end])
                left -= taken
                jump[end] -= taken
                if jump[end] <= 0:
                    if len(where) == 1:  # rounding alone may empty the list; its total jump is 2
                        jump[0] = 2.0
                        break
                    del where[end], jump[end]
        lows.append(where[0])
        highs.append(where[-1])
    return lows, highs


def backward(running, gap, lows, highs):
    """Step 2."""
    later = -float(running[-1])
    cost = 0.0
    for total, step, low, high in zip(
        running[-2::-1].tolist(), gap[::-1].tolist(), reversed(lows), reversed(highs), strict=True
    ):
        here = min(max(later, low), high)
        cost += abs(later - here) + step * abs(here + total)
        later = here
    return cost + abs(later)


def decayed(points, values, width):
    """F_i = sum over j <= i of v_j exp(-(x_i - x_j)/h), for sorted points.

    The reach of the sum is doubled, log2 N times. Underflow of a factor is harmless.
    """
    reached, step = values.copy(), 1
    while step < len(points):
        factor = np.exp((points[:-step] - points[step:]) / width)
        reached[step:] += factor * reached[:-step]  # the right side is finished before the left is written
        step *= 2
    return reached


def laplace_form(points, values, width):
    """Sum over all i, j of v_i v_j exp(-|x_i - x_j|/h), for sorted points: sum_i v_i (2 F_i - v_i)."""
    return float(np.sum(values * (2 * decayed(points, values, width) - values)))


def block_sums(values, starts):
    """Running sums along the last axis that begin anew at each start, so that nothing cancels between blocks."""
    running = np.empty_like(values)
    ends = [*starts[1:].tolist(), values.shape[-1]]
    for start, end in zip(starts.tolist(), ends, strict=True):
        np.cumsum(values[..., start:end], axis=-1, out=running[..., start:end])
    return running


def cell_moments(true, prob, cells, shift):
    """Sums of (y - c) s^k, k = 0..3, by cell of [0, 1], s in [-1/2, 1/2] the place in the cell; shape (cells, 4).

    They are whole numbers of 2^-shift: the same bits for any order of the rows and any number of threads.
    """
    place = prob.astype(np.float64) * cells
    cell = np.minimum(place.astype(np.int64), cells - 1)
    part = (true - prob.astype(np.float64)) * 2.0**shift
    moments = np.zeros((cells, 4), np.int64)
    for power in range(4):
        np.add.at(moments[:, power], cell, part.astype(np.int64))
        part = part * (place - cell - 0.5)
    return moments


def window_moments(levels, at, reach, low, high):
    """Sums over each window of w u^k (k to 4) and of w y u^k (k to 2), with u = (c_i - c)/h."""
    distance, outcome = np.empty((len(at), 5)), np.empty((len(at), 3))
    start = 0
    while start < len(at):
        width = int(high[start] - low[start]) + ROOM
        block = slice(start, start + max(1, min(ROOM, CELLS // width)))
        window = slice(int(low[block].min()), int(high[block].max()))
        far = reach[block, None]
        u = np.clip(levels.prob[window] - at[block, None], -far, far) / far  # beyond the window no weight is left
        w = np.maximum(1 - np.abs(u) ** 3, 0.0) ** 3
        columns = np.column_stack([levels.weight[window], levels.true[window]])
        for power in range(5):
            sums = w @ columns
            distance[block, power] = sums[:, 0]
            if power < 3:
                outcome[block, power] = sums[:, 1]
            w *= u
        start = block.stop
    return distance, outcome


def shifted_error(home, part, residual):
    """Integral over shifts r in [0, 1) of the sum over unit bins [j + r, j + 1 + r) of |residual in it|.

    Level i stands at home + part. While r grows past `part`, bin `home` loses it and the bin below gains it, so a bin's
    sum is constant between these events.
    """
    if not len(home):
        return 0.0
    bin_ = np.concatenate([home, home - 1])
    at = np.concatenate([part, part])
    change = np.concatenate([-residual, residual])
    leaves = np.concatenate([residual, np.zeros_like(residual)])
    order = np.lexsort((at, bin_))
    bin_, at, change, leaves = bin_[order], at[order], change[order], leaves[order]
    first = np.concatenate([[True], bin_[1:] != bin_[:-1]])
    starts = np.flatnonzero(first)
    run = np.cumsum(first) - 1
    begin = np.add.reduceat(leaves, starts)
    grown = np.cumsum(change)
    before = np.concatenate([[0.0], grown])[starts]
    sums = begin[run] + (grown - before[run])
    until = np.append(np.where(first[1:], 1.0, at[1:]), 1.0)
    return math.fsum(at[starts] * np.abs(begin)) + math.fsum((until - at) * np.abs(sums))


def cheapest_partition(prob, weight, residual, step=512):
    """Least sum over blocks of levels of |residual| + weight x width.

    cost(j) = min over l < j of cost(l) + |S_j - S_l| + (C_j - C_l)(u_j - u_{l+1}): the last block holds levels
    l+1..j. Candidates are tried from the narrowest block on.
    """
    mass, drift = np.append(0.0, np.cumsum(weight)), np.append(0.0, np.cumsum(residual))
    cost = np.zeros(len(prob) + 1)
    for j in range(1, len(prob) + 1):
        best, high = math.inf, j
        while high > 0:
            low = max(0, high - step)
            some = slice(low, high)
            width = (mass[j] - mass[some]) * (prob[j - 1] - prob[some])
            best = min(best, float((cost[some] + np.abs(drift[j] - drift[some]) + width).min()))
            # A block that begins before `low` could be cut there: it costs at least
            # cost(low) - |S_j - S_low| plus the width term of the block that begins one level earlier.
            if low > 0:
                wider = (mass[j] - mass[low - 1]) * (prob[j - 1] - prob[low - 1])
                if cost[low] - abs(drift[j] - drift[low]) + wider >= best:
                    break
            high = low
        cost[j] = best
    return float(cost[-1])


ROOT_HALF = 0.7071067811865476
LN2_HIGH = 0.6931471803691238
LN2_LOW = 1.9082149292705877e-10
TERMS = (
    0.6666666666666734,
    0.3999999999941664,
    0.2857142874202815,
    0.22222198605063118,
    0.18183562850431262,
    0.15314084877008638,
    0.14795632832766475,
)


def log(x):
    """The natural logarithm of numbers in [0, inf); -inf at 0."""
    mantissa, exponent = np.frexp(x)
    small = mantissa < ROOT_HALF
    mantissa = np.where(small, mantissa * 2.0, mantissa)
    power = (exponent - small).astype(np.float64)
    f = mantissa - 1.0
    s = f / (2.0 + f)
    z = s * s
    series = np.full_like(z, TERMS[-1])
    for term in TERMS[-2::-1]:
        series = series * z + term
    with np.errstate(invalid="ignore"):
        result = power * LN2_HIGH + (2.0 * s + (s * (z * series) + power * LN2_LOW))
    return np.where(x > 0, result, -np.inf)
