# SPDX-License-Identifier: Apache-2.0
"""How often the change alarm is wrong, and how soon it is right: simulated streams, all at once.

    python -m benchmarks.monitoring [streams]

A stream is a system with confidences in ten ranges and a harmless error of its own in each. Without change the alarm is to come
at most once a year, whether one looks daily or hourly; with a shift of five points on day 40 of 60 it is to come within two
days of labels.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass

import numpy as np

from epimeter.inference.detectors import Reference, log_e_values, log_mean, log_weights, onward

SHARES = np.array([1, 2, 3, 4, 6, 10, 14, 18, 20, 22]) / 100
MIDDLES = np.arange(10) / 10 + 0.05


@dataclass(frozen=True)
class Setting:
    """One row of the table: so many rows a window, in slices, watched for so many windows after the reference."""

    name: str
    rows: int
    windows: int
    reference: int
    threshold: float
    tolerance: float = 0.01
    shift: float = 0.0
    starts: int = 0
    slices: int = 1
    shifted: int = 1
    """Slices that shift; with one slice it is the whole system."""


def drawn(setting: Setting, streams: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """First alarm of each stream (window after the reference, -1: none), and the number of its alarms with restarts."""
    rng = np.random.default_rng(seed)
    many = setting.slices
    own = rng.normal(0, 0.01, (streams, many, 10))
    share = np.concatenate([[1.0], np.full(many, 1.0)]) if many > 1 else np.ones(1)
    log_share = np.log(share / np.where(np.arange(len(share)) == 0, 2 if many > 1 else 1, 2 * many))

    def window(shift: float, times: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows = rng.poisson(SHARES * setting.rows * times / many, (streams, many, 10)).astype(float)
        chance = MIDDLES + own
        chance[:, : setting.shifted] += shift
        true = rng.binomial(rows.astype(int), np.clip(chance, 0, 1)).astype(float)
        parts = rows, true, rows * MIDDLES
        if many == 1:
            return parts
        rows, true, prob = (np.concatenate([part.sum(axis=1, keepdims=True), part], axis=1) for part in parts)
        return rows, true, prob

    doubt = 0.05 / (2 * many) if many > 1 else 0.05
    reference = Reference(*window(0.0, setting.reference), doubt)
    weights = log_weights(reference)
    log_sum = np.full(weights.shape, -np.inf)
    first, alarms = np.full(streams, -1), np.zeros(streams, int)
    for t in range(setting.windows):
        shift = setting.shift if t >= setting.starts else 0.0
        log_sum = onward(log_sum, log_e_values(*window(shift), reference, setting.tolerance))
        evidence = np.logaddexp.reduce(log_mean(log_sum, weights) + log_share, axis=-1)
        crossed = evidence >= math.log(setting.threshold)
        first[crossed & (first < 0)] = t
        alarms += crossed
        log_sum[crossed] = -np.inf
    return first, alarms


QUIET = (
    Setting("a year, daily looks, no change", 20_000, 365, 20, 365),
    Setting("a year, daily looks, no change, tolerance 0", 20_000, 365, 20, 365, tolerance=0.0),
    Setting("a year, daily looks, off by the whole tolerance", 20_000, 365, 20, 365, shift=0.01),
    Setting("a year, daily looks, ten slices, tolerance 0", 20_000, 365, 20, 365, tolerance=0.0, slices=10),
    Setting("a year, hourly looks, no change", 833, 8760, 480, 8760),
    Setting("a year, hourly looks, off by the whole tolerance", 833, 8760, 480, 8760, shift=0.01),
    Setting("a year, hourly looks, tolerance 0", 833, 8760, 480, 8760, tolerance=0.0),
)
SHIFTED = (
    Setting("5 points on day 40 of 60", 20_000, 40, 20, 365, shift=-0.05, starts=20),
    Setting("3 points", 20_000, 40, 20, 365, shift=-0.03, starts=20),
    Setting("5 points in all of ten slices", 20_000, 40, 20, 365, shift=-0.05, starts=20, slices=10, shifted=10),
    Setting("5 points in one of ten slices", 20_000, 40, 20, 365, shift=-0.05, starts=20, slices=10),
    Setting("10 points in one of ten slices", 20_000, 40, 20, 365, shift=-0.10, starts=20, slices=10),
    Setting("5 points at 1,000 rows a day", 1_000, 40, 20, 365, shift=-0.05, starts=20),
)


def main(streams: int) -> None:
    """Print both tables."""
    print(f"{streams:,} streams each\n")
    print(f"{'without change':52} {'false alarms a year':>20} {'streams with one':>17}  s")
    for number, setting in enumerate(QUIET):
        begin = time.perf_counter()
        first, alarms = drawn(setting, streams, 100 + number)
        print(
            f"{setting.name:52} {alarms.mean():20.4f} {(first >= 0).mean():17.4f}  {time.perf_counter() - begin:.0f}",
            flush=True,
        )
    print(f"\n{'with a change':52} {'on its first day':>17} {'within 2 days':>14} {'median day':>11} {'before':>7}")
    for number, setting in enumerate(SHIFTED):
        first, _ = drawn(setting, streams, 200 + number)
        delay = first - setting.starts + 1
        found = first >= setting.starts
        print(
            f"{setting.name:52} {(found & (delay <= 1)).mean():17.4f} {(found & (delay <= 2)).mean():14.4f} "
            f"{np.median(delay[found]) if found.any() else math.nan:11.0f} {((first >= 0) & ~found).mean():7.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
