"""Rows on disk: epimeter, DuckDB, polars, pandas and torchmetrics over the same Parquet files, in one run.

``python -m benchmarks.scale [--rows 1e8] [--folder /tmp/scale-data] [--rounds 3] [--write]``

The files (confidence float64, correct bool, model one of 1,000 words; ten of them, written by pyarrow) are made in the
folder, read once into the page cache, and deleted at the end if the folder was made here. Every contender runs in a
process of its own, so that its peak memory is its own; a time is the best of some rounds after one that warms up, the
rounds of all contenders following each other. CPU seconds are given too: on a machine with other work they vary less.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

from benchmarks import sections

FILES = 10
SLICES = 1000
ON_CELLS = ["ecce_mad", "ecce_r", "smece", "lkce"]
WIDTH = ["ece", "mce", "lp_ce", "esce", "ers_ece", "brier_score"]


def generate(folder: str, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = pa.array([f"model-{k:03}" for k in range(SLICES)])
    for number in range(FILES):
        rng = np.random.default_rng(number)
        p = rng.random(rows // FILES)
        model = pa.DictionaryArray.from_arrays(rng.integers(0, SLICES, len(p)).astype(np.int32), names)
        table = pa.table({"confidence": p, "correct": rng.random(len(p)) < p**1.1, "model": model})
        pq.write_table(table, os.path.join(folder, f"part{number}.parquet"))


def files(folder: str) -> list[str]:
    return sorted(glob.glob(os.path.join(folder, "part*.parquet")))


# The contenders: each gives one number, so that none can be idle.


def headlines(folder):
    from epimeter import scan

    return scan(files(folder))["ece"].value


def ten_times(folder):
    from epimeter import scan

    return scan(files(folder) * 10)["ece"].value


def width_and_cells(folder):
    from epimeter.scale.reports import reports
    from epimeter.scale.scan import summarised

    return reports(summarised(files(folder), WIDTH, cells=True))["ece"].value


def off_the_cells(folder):
    from epimeter import scan
    from epimeter.report.evaluation import HEADLINES

    return scan(files(folder), [*HEADLINES, *ON_CELLS])["ece"].value


def sliced(folder):
    from epimeter import scan

    found = scan(files(folder), by="model")
    assert len(found) == SLICES
    return found["model-000"]["ece"].value


def sliced_reports(folder):
    from epimeter import scan

    return sum(report["ece"].value for report in scan(files(folder), by="model").values()) / SLICES


def duckdb(folder):
    """The fastest of the ways to write it that we tried: DuckDB likes small integers as groups."""
    return _sql(folder, "cast(floor(confidence * 10) as utinyint)")


def duckdb_obvious(folder):
    return _sql(folder, "least(cast(floor(confidence * 10) as int), 9)")


def _sql(folder, of_row):
    import duckdb

    query = f"""
        select sum(abs(said - came)) / sum(n) from (
            select {of_row} as bin, count(*) as n, sum(confidence) as said, sum(correct::int) as came
            from read_parquet('{folder}/part*.parquet') group by bin)"""
    return duckdb.execute(query).fetchall()[0][0]


def duckdb_sliced(folder):
    import duckdb

    query = f"""
        select avg(ece) from (select model, sum(abs(said - came)) / sum(n) as ece from (
            select model, cast(floor(confidence * 10) as utinyint) as bin, count(*) as n,
                   sum(confidence) as said, sum(correct::int) as came
            from read_parquet('{folder}/part*.parquet') group by model, bin) group by model)"""
    return duckdb.execute(query).fetchall()[0][0]


def polars(folder):
    import polars as pl

    bins = (pl.col("confidence") * 10).floor().clip(0, 9).cast(pl.Int8).alias("bin")
    made = (
        pl.scan_parquet(f"{folder}/part*.parquet")
        .group_by(bins)
        .agg(pl.len().alias("n"), pl.col("confidence").sum().alias("said"), pl.col("correct").sum().alias("came"))
        .collect(engine="streaming")
    )
    return float((made["said"] - made["came"]).abs().sum() / made["n"].sum())


def pandas(folder):
    import pandas as pd
    from sklearn.calibration import calibration_curve

    rows = pd.concat(pd.read_parquet(f, columns=["confidence", "correct"]) for f in files(folder))
    seen, said = calibration_curve(rows["correct"], rows["confidence"], n_bins=10)
    share = np.bincount(np.minimum((rows["confidence"].to_numpy() * 10).astype(int), 9)) / len(rows)
    return float(np.sum(share * np.abs(seen - said)))


def torchmetrics(folder):
    import pyarrow.parquet as pq
    import torch
    from torchmetrics.classification import BinaryCalibrationError

    metric = BinaryCalibrationError(n_bins=10, validate_args=False)
    for path in files(folder):
        for batch in pq.ParquetFile(path).iter_batches(1 << 20, columns=["confidence", "correct"]):
            p = torch.from_numpy(batch.column(0).to_numpy())
            metric.update(p, torch.from_numpy(batch.column(1).to_numpy(zero_copy_only=False).astype(np.int64)))
    return float(metric.compute())


def decode_pages(folder):
    """Our decoder alone, in one thread a core as in a pass."""
    from epimeter.scale import parquet

    return _decoded(folder, parquet)


def decode_pyarrow(folder):
    """pyarrow's decoder alone, the same way."""
    from epimeter.scale import parquet

    parquet.pages_pay = lambda file: False
    return _decoded(folder, parquet)


def _decoded(folder, parquet):
    from concurrent.futures import ThreadPoolExecutor

    from epimeter.summaries import fast

    fast.load()
    opened = [parquet.opened(path, path) for path in files(folder)]
    jobs = list(parquet.jobs(opened, parquet.columns_of(opened, None, None, frozenset())))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return sum(pool.map(lambda job: sum(piece.n_rows for piece in job()), jobs)) / len(jobs)


def merging(folder):
    from epimeter.scale.files import merged_files

    return merged_files(sorted(glob.glob(os.path.join(folder, "summaries", "*.epi")))).n_rows


CONTENDERS = {
    "duckdb": "DuckDB, SQL for the ECE alone, the fastest we found",
    "duckdb_obvious": "DuckDB, the same as one would write it",
    "polars": "polars, the ECE alone, streaming",
    "pandas": "pandas and scikit-learn, the ECE alone",
    "torchmetrics": "torchmetrics, the ECE alone",
    "width_and_cells": "epimeter, all equal-width errors, Brier score and the cells",
    "headlines": "epimeter, the default report (14 metrics)",
    "off_the_cells": "epimeter, the default report, KS, Kuiper, SmoothECE and LKCE off the cells",
    "sliced": "epimeter, the default report of 1,000 slices: the pass",
    "sliced_reports": "the same, all 1,000 reports made",
    "duckdb_sliced": "DuckDB, SQL for the ECE alone of 1,000 slices",
    "decode_pages": "epimeter's decoder alone",
    "decode_pyarrow": "pyarrow as decoder alone",
    "ten_times": "epimeter, the default report, the same files ten times (10^9 rows)",
    "merging": "merging 10,000 summaries",
}


def peak_memory() -> float:
    """The most memory this process has held, in MB; `ru_maxrss` would count what its parent held when it was forked."""
    if os.path.exists("/proc/self/status"):
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def serve(name: str, folder: str) -> None:
    """Run a contender once for every line of standard input; answer with its time, memory and value."""
    call = globals()[name]
    for _ in sys.stdin:
        begun, used = time.perf_counter(), time.process_time()
        try:
            value = call(folder)
        except ImportError:
            print(json.dumps(None), flush=True)
            return
        print(
            json.dumps(
                {
                    "wall": time.perf_counter() - begun,
                    "cpu": time.process_time() - used,
                    "memory": peak_memory(),
                    "value": value,
                }
            ),
            flush=True,
        )


def raced(names: list[str], folder: str, rounds: int) -> dict[str, dict[str, float]]:
    """The best time of each contender, rounds following each other."""
    running = {}
    for name in names:
        running[name] = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.scale", "--serve", name, "--folder", folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
    found: dict[str, dict[str, float]] = {}
    for turn in range(rounds + 1):
        for name in list(running):
            process = running[name]
            process.stdin.write("go\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline() or "null")
            if answer is None:
                print(f"{name} is not installed", file=sys.stderr)
                running.pop(name).kill()
                continue
            print(name, turn, answer, file=sys.stderr, flush=True)
            if turn == 0 and rounds > 0:
                continue
            old = found.get(name, answer)
            found[name] = answer | {"wall": min(old["wall"], answer["wall"]), "cpu": min(old["cpu"], answer["cpu"])}
    for process in running.values():
        process.stdin.close()
        process.wait()
    return found


def summaries(folder: str, number: int = 10_000) -> None:
    """Small summaries to merge: twenty different ones, copied."""
    from epimeter.scale.files import to_file
    from epimeter.scale.scan import summarised

    os.makedirs(os.path.join(folder, "summaries"), exist_ok=True)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p = rng.random(1000)
        rows = {"confidence": p, "correct": rng.random(1000) < p}
        to_file(summarised(rows), os.path.join(folder, "summaries", f"{seed:05}.epi"))
    for copy in range(20, number):
        shutil.copy(
            os.path.join(folder, "summaries", f"{copy % 20:05}.epi"),
            os.path.join(folder, "summaries", f"{copy:05}.epi"),
        )


def table(found: dict[str, dict[str, float]], rows: int) -> str:
    base = found.get("duckdb", {"wall": float("nan"), "cpu": float("nan")})
    lines = [
        f"`benchmarks/scale.py`, {sections.machine()}, {rows:,} rows of Parquet in {FILES} files in the page cache, best of "
        "several rounds. Other work ran on the machine, so the CPU seconds of all cores together say more than the clock.",
        "",
        "| what | clock | CPU | CPU against DuckDB | peak memory |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, title in CONTENDERS.items():
        if name in found:
            row = found[name]
            ratio = "" if name in ("merging", "ten_times") else f"{row['cpu'] / base['cpu']:.2f}"
            lines.append(f"| {title} | {row['wall']:.2f} s | {row['cpu']:.2f} s | {ratio} | {row['memory']:.0f} MB |")
    if "sliced" in found and "headlines" in found:
        share = found["sliced"]["cpu"] / found["headlines"]["cpu"]
        lines += ["", f"1,000 slices cost {share:.2f} times the pass without slices (at most 2)."]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=100_000_000)
    parser.add_argument("--folder")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="contenders, comma-separated")
    parser.add_argument("--serve", choices=CONTENDERS)
    parser.add_argument("--write", action="store_true", help="write the section of docs/benchmarks.md")
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.folder)
        return
    folder = given.folder or tempfile.mkdtemp(prefix="epimeter-scale-")
    try:
        os.makedirs(folder, exist_ok=True)
        if not files(folder):
            generate(folder, given.rows)
        if not os.path.exists(os.path.join(folder, "summaries")):
            summaries(folder)
        names = given.only.split(",") if given.only else list(CONTENDERS)
        long = [name for name in names if name in ("pandas", "torchmetrics", "ten_times")]
        found = raced([name for name in names if name not in long], folder, given.rounds)
        for name in long:  # large in memory or long: alone, once
            found |= raced([name], folder, 0)
        body = table(found, given.rows)
        print(body)
        if given.write:
            sections.write("Scale", body)
    finally:
        if given.folder is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
