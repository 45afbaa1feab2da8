"""The fast algorithms against their floor: a sort, a matrix product. ``python -m benchmarks.families [--write]``."""

from __future__ import annotations

import argparse
import resource

import numpy as np

from benchmarks import sections
from benchmarks.peers import best, load
from epimeter import metrics


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--write", action="store_true", help="write the section of docs/benchmarks.md")
    given = arguments.parse_args()
    rng = np.random.Generator(np.random.PCG64(0))
    lines = []

    def say(what: str, ours: float, floor: float, of: str, target: str) -> None:
        line = f"| {what} | {ours:.1f} | {floor:.1f} ({of}) | {ours / floor:.2f} | {target} |"
        lines.append(line)
        print(line, flush=True)

    p = rng.random(10**6)
    y = rng.random(10**6) < p
    sort = best(lambda: np.argsort(p))
    for name, target in (("lkce", "< 2"), ("mmce", "< 2"), ("smooth_ce", "< 10")):
        metric = getattr(metrics, name)
        say(f"{name}, exact, N = 1e6", best(lambda m=metric: m(y, p), 3), sort, "argsort", target)
    relplot = load("relplot", "smECE")
    for n, target in ((10**6, "< 1/8"), (10**7, "< 1/40")):
        p = rng.random(n) * 0.98 + 0.01
        y = rng.random(n) < p
        ours = best(lambda p=p, y=y: metrics.smece(y, p), 3)
        if relplot is not None:
            floor = best(lambda p=p, y=y: relplot(p, y.astype(np.int64)), 1)
            gap = abs(float(metrics.smece(y, p)) - float(relplot(p, y.astype(np.int64))))
            say(f"smece, N = {n:,} (differs by {gap:.1e})", ours, floor, "relplot", target)
    p = rng.random(10**7)
    y = rng.random(10**7) < p
    sort = best(lambda: np.argsort(p), 1)
    for name in ("ecce_mad", "ecce_r"):
        metric = getattr(metrics, name)
        say(f"{name} with p-value, N = 1e7", best(lambda m=metric: m(y, p), 3), sort, "argsort", "")
    k, n = 100, 20_000
    matrix = rng.dirichlet(np.ones(k), n)
    label = rng.integers(0, k, n)

    def product() -> None:
        for start in range(0, n, 1000):
            matrix[start : start + 1000] @ matrix.T

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    floor = best(product, 2)
    ours = best(lambda: metrics.skce_uq(label, matrix), 1)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    say(f"skce_uq, 20,000 x 100 (memory grew by {grown:.0f} MB)", ours, floor, "P P' in blocks", "< 10")
    if given.write:
        head = [
            f"Best warm call, {sections.machine()}.",
            "",
            "| what | ms | floor, ms | times the floor | target |",
            "|---|---:|---:|---:|---|",
        ]
        sections.write("Fast algorithms against their floor", "\n".join(head + lines))


if __name__ == "__main__":
    main()
