"""What `benchmarks.scale` lets run: each contender reads the same Parquet files and gives one number."""

from __future__ import annotations

import glob
import os
import time

import numpy as np

FILES = 10
SLICES = 1000
ON_CELLS = ["ecce_mad", "ecce_r", "smece", "lkce"]
WIDTH = ["ece", "mce", "lp_ce", "esce", "ers_ece", "brier_score"]


def generate(folder: str, rows: int) -> None:
    """Ten files: confidence float64, correct bool, model one of 1,000 words."""
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


def headlines(folder):
    from epimeter import scan

    return scan(files(folder))["ece"].value


def ten_times(folder):
    from epimeter import scan

    return scan(files(folder) * 10)["ece"].value


def width_and_cells(folder):
    from epimeter.report.building import reports
    from epimeter.report.scan import summarised

    return reports(summarised(files(folder), WIDTH, cells=True))["ece"].value


def off_the_cells(folder):
    from epimeter import scan
    from epimeter.passes.selection import HEADLINES

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


def duckdb_sums(folder):
    """The two columns added up, without bins: what DuckDB needs to decode them."""
    import duckdb

    query = f"select sum(confidence) - sum(correct::int) from read_parquet('{folder}/part*.parquet')"
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
    from epimeter.sources import parquet

    return _decoded(folder, parquet)


def decode_pyarrow(folder):
    """pyarrow's decoder alone, the same way."""
    from epimeter.sources import parquet

    os.environ["EPIMETER_PARQUET_PAGES"] = "off"
    return _decoded(folder, parquet)


def _decoded(folder, parquet):
    from concurrent.futures import ThreadPoolExecutor

    opened = [parquet.opened(path, path) for path in files(folder)]
    jobs = list(parquet.jobs(opened, parquet.columns_of(opened, None, None, frozenset())))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return sum(pool.map(lambda job: sum(piece.n_rows for piece in job()), jobs)) / len(jobs)


def merging(folder):
    from epimeter.summary_files import merged_files

    return merged_files(sorted(glob.glob(os.path.join(folder, "summaries", "*.epi")))).n_rows


CONTENDERS = {
    "duckdb": "DuckDB, SQL for the ECE alone, the fastest we found",
    "duckdb_obvious": "DuckDB, the same as one would write it",
    "duckdb_sums": "DuckDB, both columns added up, no bins",
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


def parts(rows: int = 1 << 14, rounds: int = 3000) -> dict[str, float]:
    """Nanoseconds a row of each part of the default report, one core, rows in its cache: what each adds to the pass."""
    from epimeter.passes.plan import Plan
    from epimeter.summaries.row_totals import RowTotals

    rng = np.random.default_rng(0)
    p = rng.random(rows)
    y = (rng.random(rows) < p).astype(np.uint8)
    recipes = [r for r in Plan.of(None, {}, kind="event", weighted=False).streaming if r.loop is not None]
    found, before, some = {}, 0.0, set()
    for name, kinds in (
        ("checking the rows", ()),
        ("bins and moments", ("bins", "moments")),
        ("scores", ("scores",)),
        ("moments of the scores", ("powers",)),
    ):
        some |= set(kinds)
        totals = RowTotals([recipe for recipe in recipes if recipe.loop.kind in some])
        best = float("inf")
        for _ in range(rounds):
            begun = time.perf_counter()
            totals.add_all(y, p)
            best = min(best, time.perf_counter() - begun)
        found[name], before = (best - before) / rows * 1e9, best
    return found
