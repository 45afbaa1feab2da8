"""epimeter and its peers on the same data, in one process: ``python -m benchmarks.peers [--rows 1e7] [--write]``;
``--only classes`` for matrices alone.

Peers that are not installed are named and left out. A time is the best of several warm calls; what a peer wants as input
(tensor, matrix) is made outside the clock.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import io
import time
import tracemalloc
import warnings

import numpy as np

from benchmarks import sections

warnings.simplefilter("ignore")
BINS = 15


def load(name: str, attribute: str):
    """A function of a peer, or None when the peer is not installed."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            found = importlib.import_module(name)
        for part in attribute.split("."):
            found = getattr(found, part)
        return found
    except Exception:
        return None


def best(call, repeats: int = 5) -> float:
    call()
    times = []
    for _ in range(repeats):
        gc.collect()
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return min(times) * 1e3


def peak(call) -> float:
    """Extra memory that numpy and Python allocate during a call, in MB."""
    call()
    tracemalloc.start()
    call()
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size / 1e6


def tensor(values):
    import torch

    return torch.from_numpy(np.ascontiguousarray(values))


def binary_tasks(y, p):
    from epimeter import evaluate, metrics

    flag, count = y.astype(bool), y.astype(np.int64)
    tasks = {
        "sum of the column (floor)": {"numpy": lambda: p.sum()},
        f"ece, {BINS} equal-width bins": {"epimeter": lambda: metrics.ece(flag, p, bins=BINS)},
        "ece, 10 equal-width bins": {"epimeter": lambda: metrics.ece(flag, p)},
        f"ece, {BINS} equal-mass bins": {"epimeter": lambda: metrics.ece(flag, p, bins=BINS, binning="mass")},
        "default report (one pass)": {"epimeter": lambda: evaluate(flag, p)},
        "brier_score": {"epimeter": lambda: metrics.brier_score(flag, p)},
        "nll": {"epimeter": lambda: metrics.nll(flag, p)},
        "debiased squared error (dpe)": {"epimeter": lambda: metrics.dpe(flag, p)},
        "smece": {"epimeter": lambda: metrics.smece(flag, p)},
        "lkce, exact": {"epimeter": lambda: metrics.lkce(flag, p)},
        "KS with p-value (ecce_mad)": {"epimeter": lambda: metrics.ecce_mad(flag, p)},
        "Kuiper with p-value (ecce_r)": {"epimeter": lambda: metrics.ecce_r(flag, p)},
    }
    width, mass = f"ece, {BINS} equal-width bins", f"ece, {BINS} equal-mass bins"
    if (f := load("relplot.metrics", "binnedECE")) is not None:
        tasks[width]["relplot"] = lambda: f(p, count, nbins=BINS)
    if (g := load("relplot", "smECE")) is not None:
        tasks["smece"]["relplot"] = lambda: g(p, count)
    if (h := load("torchmetrics.functional.classification", "binary_calibration_error")) is not None:
        tp, ty = tensor(p), tensor(count)
        tasks[width]["torchmetrics"] = lambda: h(tp, ty, n_bins=BINS)
    if (calib := load("calibstats", "ece")) is not None:
        tasks[width]["calibstats"] = lambda: calib(p, count, n_bins=BINS)
        ace, brier, nll = (load("calibstats", name) for name in ("ace", "brier_score", "nll"))
        tasks[mass]["calibstats"] = lambda: ace(p, count, n_bins=BINS)
        tasks["brier_score"]["calibstats"] = lambda: brier(p, count)
        tasks["nll"]["calibstats"] = lambda: nll(p, count)
    if (mc := load("mcgrad.metrics", "expected_calibration_error")) is not None:
        tasks[width]["mcgrad"] = lambda: mc(count, p, num_bins=BINS)
        ecce, value = load("mcgrad.metrics", "ecce_pvalue"), load("mcgrad.metrics", "ecce")
        tasks["Kuiper with p-value (ecce_r)"]["mcgrad (p-value)"] = lambda: ecce(count, p)
        tasks["Kuiper with p-value (ecce_r)"]["mcgrad (value only)"] = lambda: value(count, p)
    if (ks := load("probmetrics.metrics", "KolmogorovSmirnovCalibrationMetric")) is not None:
        matrix, labels, made = tensor(np.column_stack([1 - p, p])), tensor(count), ks()
        tasks["KS with p-value (ecce_mad)"]["probmetrics (value only)"] = lambda: made.compute_from_labels_probs(
            labels, matrix
        )
    if (nc := load("netcal.metrics", "ECE")) is not None:
        tasks[width]["netcal"] = lambda: nc(BINS).measure(p, count)
    if (un := load("calibration", "get_ece")) is not None and len(p) <= 10**6:
        tasks[width]["uncertainty-calibration"] = lambda: un(p, count, num_bins=BINS)
    if (cal := load("calzone.metrics", "calculate_ece_mce")) is not None and len(p) <= 10**6:
        reliability = load("calzone.utils", "reliability_diagram")
        two = np.column_stack([1 - p, p])
        tasks[width]["calzone"] = lambda: cal(*reliability(count, two, num_bins=BINS, class_to_plot=1)[:4])
    if (sk := load("sklearn.metrics", "brier_score_loss")) is not None:
        loss = load("sklearn.metrics", "log_loss")
        tasks["brier_score"]["scikit-learn"] = lambda: sk(count, p)
        tasks["nll"]["scikit-learn"] = lambda: loss(count, p)
        curve = load("sklearn.calibration", "calibration_curve")
        tasks[width]["scikit-learn (curve only)"] = lambda: curve(count, p, n_bins=BINS)
    return tasks


def class_tasks(n: int, k: int):
    from epimeter import metrics

    rng = np.random.Generator(np.random.PCG64(1))
    p = rng.dirichlet(np.full(k, 0.1), min(n, 1_000_000)).astype(np.float32)
    p = np.tile(p, (-(-n // len(p)), 1))[:n]
    p /= p.sum(axis=1, keepdims=True)
    y = rng.integers(0, k, n)
    top, each = f"top-label ece, {n:,} x {k:,}", f"class-wise ece, {n:,} x {k:,}"
    tasks = {
        top: {"epimeter": lambda: metrics.ece(y, p, bins=BINS)},
        each: {"epimeter": lambda: metrics.classwise_ece(y, p, bins=BINS)},
    }
    if (f := load("relplot.metrics", "binnedECE")) is not None:
        convert = load("relplot.metrics", "multiclass_logits_to_confidences")
        tasks[top]["relplot"] = lambda: f(*convert(p, y, probs=True), nbins=BINS)
    if (h := load("torchmetrics.functional.classification", "multiclass_calibration_error")) is not None:
        tp, ty = tensor(p), tensor(y)
        tasks[top]["torchmetrics"] = lambda: h(tp, ty, num_classes=k, n_bins=BINS)
    return tasks


def table(tasks, repeats: int) -> list[tuple[str, str, float, float, str]]:
    rows = []
    for task, contenders in tasks.items():
        ours = None
        for name, call in contenders.items():
            try:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                    took = best(call, repeats if name == "epimeter" else max(2, repeats // 2))
            except Exception as fault:
                print(f"{task:40} {name:26} failed: {type(fault).__name__}: {fault}"[:150])
                continue
            ours = took if name in ("epimeter", "numpy") else ours
            ratio = took / ours if ours else float("nan")
            memory = f"{peak(call):.1f}" if name == "epimeter" else ""
            rows.append((task, name, took, ratio, memory))
            print(f"{task:40} {name:26} {took:10.2f} ms  {ratio:7.1f} x  {memory}")
    return rows


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rows", type=float, default=1e7)
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--write", action="store_true", help="write the section of docs/benchmarks.md")
    arguments.add_argument("--only", choices=("events", "classes"), help="one kind of forecast")
    given = arguments.parse_args()
    if given.write and given.only:
        arguments.error("--write writes the whole section; leave --only out")
    n = int(given.rows)
    rng = np.random.Generator(np.random.PCG64(0))
    p = rng.random(n)
    y = rng.random(n) < p
    rows = table(binary_tasks(y, p), given.repeats) if given.only != "classes" else []
    ten = [(size, 10) for size in (10_000, 100_000, 1_000_000, 10_000_000) if size <= n]
    for size in (*ten, (100_000, 100), (50_000, 1000)) if given.only != "events" else ():
        rows += table(class_tasks(*size), given.repeats)
    if given.write:
        lines = [
            f"N = {n:,} float64 confidences and boolean outcomes unless said; {sections.machine()}. Best warm call, "
            "validation included for epimeter. `times` is the peer's time over ours; memory is what a call allocates.",
            "",
            "| task | contender | ms | times | extra MB |",
            "|---|---|---:|---:|---:|",
            *(f"| {task} | {name} | {took:.1f} | {ratio:.1f} | {memory} |" for task, name, took, ratio, memory in rows),
        ]
        sections.write("Peers, side by side", "\n".join(lines))


if __name__ == "__main__":
    main()
