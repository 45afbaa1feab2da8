# SPDX-License-Identifier: Apache-2.0
"""How often do intervals hold the truth? Four calibration curves, four sample sizes, many data sets each.

    python -m benchmarks.coverage                 a few minutes on two cores; writes docs/coverage.md
    python -m benchmarks.coverage --sets 2000     finer

Confidences are logistic normal (median 0.62, logit deviation 1.5); outcomes are drawn from a curve of the confidence.
The true value of a metric is that of the population: its bins cut at the population's quantiles where bins have equal
mass, its integrals taken over 400,000 confidences at equal quantiles.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from scipy.special import expit, logit, ndtri

LEVEL = 0.95
SIZES = (500, 1000, 3000, 10000)
CURVES = {
    "calibrated": lambda c: c,
    "slightly over-confident": lambda c: expit(0.85 * logit(c)),
    "clearly over-confident": lambda c: expit(0.6 * logit(c)),
    "wavy": lambda c: c + 0.2 * c * (1 - c) * np.sin(4 * np.pi * c),
}
POINTS = 400_000
HEADLINES = ("ece_db", "drmsce", "brier_score", "ecce_mad", "ecd")
FAST = (
    "ece_db",
    "drmsce",
    "brier_score",
    "ecd",
    "ece",
    "lp_ce",
    "mce",
    "l2_ece_ci",
    "esce",
    "nll",
    "success_rate",
    "eo_ratio",
)
WALKS = ("ecce_mad", "ecce_r")
DRAWN = ("ece: basic bootstrap with the test of calibration", "ece: basic bootstrap", "ece: percentile bootstrap")
DRAWN_SIZES = (500, 3000)


def confidences(quantile):
    return expit(0.5 + 1.5 * ndtri(quantile))


def truths(curve):
    """The population's value of every metric."""
    c = confidences((np.arange(POINTS) + 0.5) / POINTS)
    y = curve(c)

    def gaps(bin_, bins):
        size = np.bincount(bin_, minlength=bins)
        share = size / POINTS
        return share, np.abs(np.bincount(bin_, weights=y - c, minlength=bins)) / np.maximum(size, 1)

    wide = gaps(np.minimum((c * 10).astype(int), 9), 10)
    wide15 = gaps(np.minimum((c * 15).astype(int), 14), 15)
    heavy = gaps(np.arange(POINTS) * 15 // POINTS, 15)
    walk = np.cumsum(y - c) / POINTS
    likely = y * np.log(c) + (1 - y) * np.log1p(-c)
    return {
        "ece": wide[0] @ wide[1],
        "lp_ce": np.sqrt(wide[0] @ wide[1] ** 2),
        "mce": wide[1].max(),
        "l2_ece_ci": wide15[0] @ wide15[1] ** 2,
        "ece_db": heavy[0] @ heavy[1],
        "drmsce": np.sqrt(heavy[0] @ heavy[1] ** 2),
        "esce": (y - c).mean(),
        "brier_score": (y * (1 - c) ** 2 + (1 - y) * c**2).mean(),
        "nll": -likely.mean(),
        "ecd": (c * np.log(c) + (1 - c) * np.log1p(-c) - likely).mean(),
        "success_rate": np.where(c > 0.5, y, 1 - y).mean(),
        "eo_ratio": c.mean() / y.mean(),
        "ecce_mad": np.abs(walk).max(),
        "ecce_r": max(0.0, walk.max()) - min(0.0, walk.min()),
    }


def cell(job):
    """How often each interval missed below and above, for one curve and one size."""
    from epimeter import evaluate
    from epimeter.inference.bootstrap import bootstrapped, ends
    from epimeter.inference.consistency import redrawn
    from epimeter.inference.scheme import scheme
    from epimeter.inference.statistic import Statistic
    from epimeter.views import view

    name, n, sets, walk_sets, drawn_sets = job
    curve, truth = CURVES[name], truths(CURVES[name])
    rng = np.random.Generator(np.random.PCG64([list(CURVES).index(name), n]))
    missed: dict[str, list[float]] = {}

    def note(metric, true, low, high):
        row = missed.setdefault(metric, [0, 0, 0, 0.0])
        row[0] += true < low - 1e-12
        row[1] += true > high + 1e-12
        row[2] += 1
        row[3] += high - low

    for number in range(sets):
        p = confidences(rng.random(n))
        y = (rng.random(n) < curve(p)).astype(np.uint8)
        for made in evaluate(y, p, metrics=FAST + (WALKS if number < walk_sets else ()), level=LEVEL):
            note(made.metric, truth[made.metric], made.interval.low, made.interval.high)
        if number < drawn_sets and n in DRAWN_SIZES:
            given, ece = view(y, p), Statistic.of("ece", None)
            value = ece.of_view(given)
            drawn = bootstrapped([given], [ece], scheme(n, None, None), 399, number, 1)[:, 0, 0]
            null = redrawn(given, [ece], 199, number + 1, False, 1)[:, 0]
            low, high = ends(value, drawn, LEVEL, "basic")
            kept = (1 + (null >= value).sum()) / 200 > 1 - LEVEL
            note(DRAWN[0], truth["ece"], 0.0 if kept else max(low, 0.0), max(high, 0.0))
            note(DRAWN[1], truth["ece"], low, high)
            note(DRAWN[2], truth["ece"], *ends(value, drawn, LEVEL, "percentile"))
    return name, n, missed


def table(results, metrics, sizes):
    lines = [
        "| metric | curve | " + " | ".join(f"N = {n:,}" for n in sizes) + " |",
        "|---|---|" + "---|" * len(sizes),
    ]
    for metric in metrics:
        for name in CURVES:
            cells = []
            for n in sizes:
                low, high, count, width = results[name, n][metric]
                held, under, over = (100 * part / count for part in (count - low - high, low, high))
                cells.append(f"{held:.1f} ({under:.1f}, {over:.1f}); {width / count:.4f}")
            lines.append(f"| {metric} | {name} | " + " | ".join(cells) + " |")
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--walk-sets", type=int, default=400)
    parser.add_argument("--drawn-sets", type=int, default=200)
    parser.add_argument("--output", default=str(Path(__file__).parent.parent / "docs" / "coverage.md"))
    given = parser.parse_args()
    begun = time.time()
    jobs = [
        (name, n, given.sets, given.walk_sets, given.drawn_sets) for n in sorted(SIZES, reverse=True) for name in CURVES
    ]
    with ProcessPoolExecutor(2) as pool:
        results = {(name, n): missed for name, n, missed in pool.map(cell, jobs)}
    counts = given.sets, given.walk_sets, given.drawn_sets
    errors = "{:.1f} ({:.1f} and {:.1f})".format(*(100 * (0.95 * 0.05 / count) ** 0.5 for count in counts))
    lines = [TEXT.format(sets=counts[0], walk_sets=counts[1], drawn_sets=counts[2], errors=errors)]
    lines += ["## Headline metrics", "", *table(results, HEADLINES, SIZES), ""]
    lines += ["## Others", "", *table(results, [m for m in (*FAST, *WALKS) if m not in HEADLINES], SIZES), ""]
    lines += ["## Drawing rows again", "", DRAWN_TEXT, "", *table(results, DRAWN, DRAWN_SIZES), ""]
    Path(given.output).write_text("\n".join(lines), encoding="utf-8")
    inside = [
        1 - sum(results[name, n][metric][:2]) / results[name, n][metric][2]
        for metric in HEADLINES for n in SIZES for name in CURVES
    ]  # fmt: skip
    good, poor = sum(0.93 <= c <= 0.97 for c in inside), sum(c < 0.93 for c in inside)
    print(
        f"{time.time() - begun:.0f} s; headline cells between 93 and 97 %: {good} of {len(inside)}, below 93 %: {poor}"
    )
    print(f"least {min(inside):.3f}, greatest {max(inside):.3f}")


TEXT = """# How well the intervals cover

Written by `benchmarks/coverage.py`; nominal level 95 %, {sets} data sets a cell ({walk_sets} for the cumulative errors,
{drawn_sets} where rows are drawn again), so that a cell has a standard error of {errors} points. Each cell: percentage of
intervals that hold the population's value (in brackets: true value below the interval, above it); mean width.

Methods:

- **means** (brier_score, ecd, nll): Student's interval with Hall's transformation, which removes skewness; success_rate:
  Wilson; eo_ratio: delta method on the logarithmic scale. With groups the variance is that of group sums.
- **binned and cumulative errors** (ece, ece_db, lp_ce, mce, drmsce, dpe, ecce_mad, ecce_r): a test of "the error is theta"
  is inverted. The deviations seen are scaled to size theta, the noise of the sample is added, and theta stays where the
  size seen is neither too likely nor too unlikely. The interval is for the population's binned error, to which chance adds
  nothing; a plug-in value such as ece can therefore lie above its own interval, and a report then says so.
- **l2_ece_ci**: Sun et al. 2024, for the square of the error; at and near perfect calibration it covers more than it says.
- **everything else**: basic bootstrap; where perfect calibration would score 0, zero is added to the interval unless the
  Monte-Carlo test of perfect calibration rejects. At perfect calibration this holds its level for every metric; away from it
  the last table shows about 90 % where 95 % are nominal, and `note` on the interval says so.

Where the headline metrics leave 93 to 97 %: between perfect calibration and clear miscalibration, an error of one to three
standard errors. There drmsce covers up to 98 % and ece_db down to 91 %: which bins the error sits in is not known well enough. One cell of
ecce_mad (92 %) is within its standard error.

An interval asked for through a function (`ece(y, p, interval=True)`) or a report (`evaluate(y, p)`) is one of these; a
report looks at no more than 16,384 rows to know how much a score varies, and with more than 1,048,576 rows the functions do so too.
"""

DRAWN_TEXT = "The expected calibration error with ten equal bins, 399 replicates. Percentile intervals are not to be used for it."


if __name__ == "__main__":
    main()
