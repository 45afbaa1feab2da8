# SPDX-License-Identifier: Apache-2.0
"""Speed of resampling against peers, and the level of every test.

python -m benchmarks.inference speed --peers PYTHON    PYTHON: an interpreter that has calibstats, scipy and relplot
python -m benchmarks.inference level                   every test on calibrated data; about ten minutes on two cores
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks import sections

ROWS, DRAWS, BINS = 100_000, 1000, 10

PEER = """
import json, resource, sys, time
import numpy as np
data = np.load(sys.argv[1])
p, y, draws, bins = data["p"], data["y"], int(sys.argv[3]), int(sys.argv[4])
if sys.argv[2] == "calibstats":
    import calibstats
    run = lambda n: calibstats.bootstrap_ci(p, y, lambda a, b: calibstats.ece(a, b, n_bins=bins), n_boot=n)
else:
    from relplot.metrics import binnedECE
    from scipy.stats import bootstrap
    statistic = lambda a, b: binnedECE(a, b, nbins=bins)
    run = lambda n: bootstrap((p, y), statistic, n_resamples=n, paired=True, vectorized=False, method="basic")
run(10)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begun = time.perf_counter()
run(draws)
seconds = time.perf_counter() - begun
print(json.dumps([seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024]))
"""


def data(n=ROWS, seed=1):
    rng = np.random.Generator(np.random.PCG64(seed))
    logit = 1.7 * rng.normal(size=n)
    p = 1 / (1 + np.exp(-logit))
    return (rng.random(n) < 1 / (1 + np.exp(-0.8 * logit - 0.1))).astype(np.int64), p


def once(run):
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def plain_loop(p, draws):
    """Consistency resampling as one writes it: a function for each metric, called on every set of labels."""

    def bin_gaps(y, p):
        bins = np.clip(np.digitize(p, np.linspace(0, 1, BINS + 1)) - 1, 0, BINS - 1)
        size = np.bincount(bins, minlength=BINS)
        gap = np.abs(np.bincount(bins, weights=y - p, minlength=BINS))
        return size, np.divide(gap, size, out=np.zeros(BINS), where=size > 0)

    def ece(y, p):
        size, gap = bin_gaps(y, p)
        return (size * gap).sum() / len(p)

    def mce(y, p):
        return bin_gaps(y, p)[1].max()

    def ecd(y, p):
        return np.mean(p * np.log(p) + (1 - p) * np.log1p(-p) - np.log(np.where(y == 1, p, 1 - p)))

    rng = np.random.default_rng(0)
    for _ in range(draws):
        y = (rng.random(len(p)) < p).astype(np.int64)
        ece(y, p), mce(y, p), ecd(y, p)


def tuned_loop(p, draws):
    """The same with everything that does not depend on the labels taken out of the loop."""
    bins = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    size, said = np.bincount(bins, minlength=BINS), np.bincount(bins, weights=p, minlength=BINS)
    base = p * np.log(p) + (1 - p) * np.log1p(-p)
    yes, no = -np.log(p), -np.log1p(-p)
    rng = np.random.default_rng(0)
    for _ in range(draws):
        y = rng.random(len(p)) < p
        gap = np.abs(np.bincount(bins, weights=y, minlength=BINS) - said)
        gap.sum() / len(p), np.divide(gap, size, out=np.zeros(BINS), where=size > 0).max()
        np.mean(base + np.where(y, yes, no))


def speed(peers):
    from epimeter.inference.bootstrap import bootstrapped
    from epimeter.inference.consistency import redrawn
    from epimeter.inference.scheme import scheme
    from epimeter.inference.statistic import Statistic
    from epimeter.views import view

    y, p = data()
    given, everything = view(y, p), scheme(ROWS, None, None)
    ece = [Statistic.of("ece", {"bins": BINS})]
    binned = [Statistic.of(name, None) for name in ("ece", "mce", "lp_ce", "esce")]  # those of a report
    three = [Statistic.of(name, None) for name in ("ece", "mce", "ecd")]
    few = view(y[:5000], p[:5000])  # loads the compiled loops
    bootstrapped([few], ece, scheme(5000, None, None), 1000, 0)
    redrawn(few, three, 1000, 0, False)
    tracemalloc.start()
    bootstrapped([given], ece, everything, 60, 0)
    memory = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    contenders = {
        "one": lambda: bootstrapped([given], ece, everything, DRAWS, 0),
        "many": lambda: bootstrapped([given], binned, everything, DRAWS, 0),
        "null": lambda: redrawn(given, three, DRAWS, 0, False),
        "a plain numpy loop": lambda: plain_loop(p, DRAWS // 5),
        "a numpy loop tuned by hand": lambda: tuned_loop(p, DRAWS // 5),
    }
    # One after another, three times over, so that whatever else the machine does meets all alike.
    rounds = [{name: once(run) for name, run in contenders.items()} for _ in range(3)]
    seconds = {name: min(r[name] for r in rounds) for name in contenders}
    one, many, null = seconds["one"], seconds["many"], seconds["null"]
    looped = {name: 5 * seconds[name] for name in contenders if "loop" in name}
    same = all(
        np.array_equal(
            bootstrapped([given], ece, everything, 50, 0, t), bootstrapped([given], ece, everything, 50, 0, 1)
        )
        and np.array_equal(redrawn(given, three, 50, 0, False, t), redrawn(given, three, 50, 0, False, 1))
        for t in (1, 2, 4)
    )
    lines = [
        f"`benchmarks/inference.py speed`, {sections.machine()}, N = {ROWS:,}, {DRAWS:,} replicates, best of three.",
        "",
        "| what | time | memory beyond the data | against | times faster |",
        "| --- | ---: | ---: | --- | ---: |",
    ]
    name = "bootstrap of ece"
    for peer, (took, used) in against(peers, y, p).items():
        lines.append(
            f"| {name} | {one:.2f} s | {memory:.1f} MB | {peer}, {took:.1f} s, {used:.0f} MB | {took / one:.1f} |"
        )
    lines.append(
        f"| all binned metrics of a report | {many:.2f} s | | ece alone, {one:.2f} s | {many / one:.2f} times as long |"
    )
    for loop, took in looped.items():
        lines.append(
            f"| null of ece, mce and ecd together | {null:.2f} s | | {loop}, {took:.1f} s | {took / null:.1f} |"
        )
    lines += [
        "",
        f"The data are {(y.nbytes + p.nbytes) / 2**20:.1f} MB. "
        f"1, 2 and 4 threads give {'the same bits' if same else 'DIFFERENT BITS'}.",
    ]
    sections.write("Resampling", "\n".join(lines))
    print("\n".join(lines))


def against(peers, y, p):
    """Seconds and megabytes of each peer."""
    if peers is None:
        return {}
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        np.savez(path, p=p, y=y)
        for peer in ("calibstats", "scipy + relplot"):
            done = subprocess.run(
                [peers, "-c", PEER, str(path), peer.split()[0], str(DRAWS), str(BINS)],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                print(peer, done.stderr[-300:], file=sys.stderr)
            else:
                found[peer] = tuple(json.loads(done.stdout))
    return found


# Level of the tests

SETS, SIZE, ALPHA = 2000, 1000, 0.05
BUDGET = 20.0
"""Seconds of one core for one test; slower ones get fewer data sets, and say so."""


def calibrated(seed, n=SIZE):
    rng = np.random.Generator(np.random.PCG64([seed, 77]))
    p = 1 / (1 + np.exp(-0.3 - 1.4 * rng.normal(size=n)))
    return (rng.random(n) < p).astype(np.int64), p


def tests():
    """Every test by name: a function of data that says whether it rejects at 5 %."""
    from epimeter import catalogue
    from epimeter.inference import (
        adaptive_bins_test,
        compare_samples,
        consistency_test,
        paired_permutation_test,
        safe_calibration_test,
        sequential_calibration_test,
        tolerance_test,
    )

    made = {}
    for name, metric in catalogue().items():
        if metric.reads is None or metric.card.family == "recalibration" or "groups" in metric.card.takes:
            continue
        for field in metric.returns:
            if field.endswith("p_value") or field == "p_value_overconfident":
                made[f"{name}.{field}"] = lambda y, p, m=metric, f=field: getattr(m(y, p), f) <= ALPHA
    made["hl.p_value, ddof=0"] = lambda y, p: catalogue()["hl"](y, p, ddof=0).p_value <= ALPHA
    for metric in ("ece", "mce", "ecd"):
        made[f"consistency_test of {metric}"] = lambda y, p, m=metric: (
            consistency_test(y, p, metric=m, draws=199, threads=1).reject
        )
    made["consistency_test of ecce_mad"] = lambda y, p: (
        consistency_test(y, p, metric="ecce_mad", draws=199, threads=1).reject
    )
    for kind in ("dpe", "ece", "mce"):
        for combine in ("bonferroni", "minp"):
            made[f"adaptive_bins_test of {kind}, {combine}"] = lambda y, p, k=kind, c=combine: (
                adaptive_bins_test(y, p, statistic=k, combine=c, draws=399, threads=1).reject
            )
    for method in ("cox_mixture", "bins", "average"):
        made[f"sequential_calibration_test, {method}"] = lambda y, p, m=method: (
            sequential_calibration_test(y, p, method=m).reject
        )
    made["safe_calibration_test"] = lambda y, p: safe_calibration_test(y, p, draws=199).reject
    made["tolerance_test of ece, tau 0"] = lambda y, p: tolerance_test(y, p, tau=0.0).reject
    made["tolerance_test of ecce_mad, tau 0"] = lambda y, p: tolerance_test(y, p, tau=0.0, metric="ecce_mad").reject
    for metric in ("brier_score", "ece"):
        # Two models that add the same kind of noise to the truth: exchangeable given the outcome.
        made[f"paired_permutation_test of {metric}"] = lambda y, p, m=metric: (
            paired_permutation_test(y, *noisy(p), metric=m, draws=199, threads=1).reject
        )
    made["compare_samples by brier_score"] = lambda y, p: (
        compare_samples((y[::2], p[::2]), (y[1::2], p[1::2]), metrics=("brier_score",), draws=199, threads=1)[0].reject
    )
    return made


def noisy(p):
    rng = np.random.Generator(np.random.PCG64(int(p[0] * 2**52)))
    return [np.clip(p + 0.1 * rng.normal(size=len(p)), 0.01, 0.99) for _ in range(2)]


def level_of(name):
    test = tests()[name]
    begun = time.process_time()
    rejected = count = undefined = 0
    for seed in range(SETS):
        if time.process_time() - begun > BUDGET and count >= 100:
            break
        try:
            rejected += int(bool(test(*calibrated(seed))))
            count += 1
        except ValueError:
            undefined += 1
            if undefined > 20:
                return name, None
    return name, (rejected, count, undefined)


def level(pattern):
    names = [name for name in tests() if pattern in name]
    with ProcessPoolExecutor(2) as pool:
        results = dict(pool.map(level_of, names))
    lines = [
        f"`benchmarks/inference.py level`: shares of calibrated data sets (N = {SIZE:,}) that each test rejects at 5 %; at most",
        f"{SETS:,} sets, fewer for slow tests. Below 3.5 % a test is called conservative; above 6.5 % it is too eager, and its",
        "p-values must not be trusted at this size. Two standard errors are 1 point with 2,000 sets.",
        "",
        "| test | rejected | sets | |",
        "| --- | ---: | ---: | --- |",
    ]
    for name, result in results.items():
        if result is None:
            continue
        rejected, count, _ = result
        share = rejected / count
        margin = 2 * np.sqrt(0.05 * 0.95 / count)
        word = (
            "" if 0.035 <= share <= 0.065
            else "conservative" if share < 0.035
            else "too eager" if share > 0.065 + margin / 2 or count >= 1000 else "few sets"
        )  # fmt: skip
        lines.append(f"| {name} | {100 * share:.1f} % | {count:,} | {word} |")
    print("\n".join(lines))
    if pattern:  # only some were run again: their lines replace the old ones
        fresh = {line.split("|")[1]: line for line in lines if line.count("|") == 5}
        page = sections.PAGE.read_text().splitlines()
        sections.PAGE.write_text("\n".join(fresh.get([*line.split("|"), "", ""][1], line) for line in page) + "\n")
    else:
        sections.write("Level of the tests", "\n".join(lines))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["speed", "level"])
    parser.add_argument("--peers", help="an interpreter that has calibstats, scipy and relplot")
    parser.add_argument("--only", default="", help="only the tests whose name holds this")
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds of one core for one test")
    given = parser.parse_args()
    BUDGET = given.budget
    speed(given.peers) if given.what == "speed" else level(given.only)
