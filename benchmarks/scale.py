"""Rows on disk: epimeter, DuckDB, polars, pandas and torchmetrics over the same Parquet files, in one run.

``python -m benchmarks.scale [--rows 1e8] [--folder /tmp/scale-data] [--rounds 3] [--write]``

The files (confidence float64, correct bool, model one of 1,000 words; ten of them, written by pyarrow) are made in the
folder, read once into the page cache, and deleted at the end if the folder was made here. Every contender runs in a
process of its own, so that its peak memory is its own; a time is the best of some rounds after one that warms up, the
rounds of all contenders following each other. CPU seconds are given too: on a machine with other work they vary less.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import scale_contenders, sections
from benchmarks.scale_contenders import CONTENDERS, FILES, files, generate

PAGE = Path(__file__).parent.parent / "docs" / "scale.md"
CORES, PER_CORE, PRICE = 64, 100e6, 0.05
"""Assumed, not measured: cores of a cluster, bytes a second that each of them gets, dollars a core-hour."""


def peak_memory() -> float:
    """The most memory this process has held, in MB; `ru_maxrss` would count what its parent held when it was forked."""
    if os.path.exists("/proc/self/status"):
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def serve(name: str, folder: str) -> None:
    """Run a contender once for every line of standard input; answer with its time, memory and value."""
    call = getattr(scale_contenders, name)
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
            line = process.stdout.readline()
            answer = json.loads(line or "null")
            if answer is None:
                print(f"{name} {'is not installed' if line else 'has failed'}", file=sys.stderr)
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
    from epimeter.report.scan import summarised
    from epimeter.summary_files import to_file

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
    """The figures as a table, and the ratios that are aimed at."""
    base = found.get("duckdb", {"wall": float("nan"), "cpu": float("nan")})
    lines = [
        f"`benchmarks/scale.py`, {sections.machine()}, {rows:,} rows of Parquet in {FILES} files in the page cache, best of "
        "several rounds. CPU seconds are those of all cores together; where other work runs beside, they say more than "
        "the clock.",
        "",
        "| what | clock | CPU | against DuckDB: clock | CPU | peak memory |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, title in CONTENDERS.items():
        if name in found:
            row = found[name]
            other = name in ("merging", "ten_times")
            ratios = [" " if other else f" {row[unit] / base[unit]:.2f} " for unit in ("wall", "cpu")]
            lines.append(
                f"| {title} | {row['wall']:.2f} s | {row['cpu']:.2f} s |{ratios[0]}|{ratios[1]}| {row['memory']:.0f} MB |"
            )
    lines.append("")
    if "headlines" in found:
        row = found["headlines"]
        lines.append(
            f"The default report takes {row['wall'] / base['wall']:.2f} of DuckDB's clock and {row['cpu'] / base['cpu']:.2f} "
            f"of its CPU (aim: at most 0.8), in {row['memory']:.0f} MB (aim: at most 250)."
        )
    if "ten_times" in found:
        lines.append(f"Ten times the rows take {found['ten_times']['memory']:.0f} MB (aim: below 400).")
    if "sliced" in found and "headlines" in found:
        share = found["sliced"]["cpu"] / found["headlines"]["cpu"]
        lines.append(f"1,000 slices cost {share:.2f} times the pass without slices (aim: at most 1.9).")
    if "sliced" in found and "sliced_reports" in found:
        made = found["sliced_reports"]["cpu"] - found["sliced"]["cpu"]
        lines.append(
            f"Their 1,000 reports take {made:.2f} s of CPU, the pass {found['sliced']['cpu']:.2f} s (aim: less)."
        )
    if "merging" in found:
        lines.append(f"Merging 10,000 summaries takes {found['merging']['wall']:.1f} s (aim: below 5).")
    return "\n".join(lines)


def octets(folder: str) -> float:
    """Bytes a row of the two columns that the default report reads."""
    import pyarrow.parquet as pq

    size = rows = 0
    for path in files(folder):
        about = pq.ParquetFile(path).metadata
        rows += about.num_rows
        for group in range(about.num_row_groups):
            chunks = [about.row_group(group).column(place) for place in range(about.num_columns)]
            size += sum(c.total_compressed_size for c in chunks if c.path_in_schema in ("confidence", "correct"))
    return size / rows


def derived(found: dict[str, dict[str, float]], rows: int, a_row: float) -> str:
    """What 10^12 rows cost, from the figures of the table and the assumptions."""
    times = 1e12 / rows
    work, size = found["headlines"]["cpu"] * times, a_row * 1e12
    reading = size / PER_CORE
    slowest = max(work, reading) / CORES
    merge = found["merging"]["wall"]
    return f"""### What 10^12 rows cost on a cluster

Computed from the table above; nothing here was run at that size.

| | from | |
| --- | --- | ---: |
| work | CPU of the default report, times {times:,.0f} | {work:,.0f} core-seconds = {work / 3600:.1f} core-hours |
| data | {a_row:.2f} bytes a row in the files above | {size / 1e12:.1f} TB |
| computing on {CORES} cores | work / {CORES} | {work / CORES:,.0f} s |
| reading on {CORES} cores | data / ({CORES} × {PER_CORE / 1e6:.0f} MB/s, assumed) | {reading / CORES:,.0f} s |
| merging {1e4:,.0f} summaries, a file of 10^8 rows each | the table, in one process | {merge:.1f} s |
| time | the longer of computing and reading, then merging | {slowest + merge:,.0f} s = {(slowest + merge) / 60:.0f} min |
| money | {CORES} cores for that time at {PRICE:.2f} dollars a core-hour (assumed) | {CORES * (slowest + merge) / 3600 * PRICE:.2f} dollars |

Assumed: rows written as here (Snappy Parquet, two columns); cores as fast as this machine's and all busy to the end; {PER_CORE / 1e6:.0f} MB/s from the object
store for every core, reading beside computing; the price. Left out: starting machines and Python, requests to the store, traffic between regions. With
faster reading the work is the limit: {work / 3600 * PRICE:.2f} dollars. Memory does not grow: a worker takes what the default report takes above."""


def spent(found: dict[str, dict[str, float]], rows: int) -> str:
    """Where the time of the default report goes, in nanoseconds a row, beside DuckDB's."""
    a_row = {name: row["cpu"] / rows * 1e9 for name, row in found.items()}
    lines = [
        "### Where the time goes",
        "",
        "Nanoseconds of CPU a row. The loops were timed one by one on rows in the cache of a core, the rest is from the table.",
        "",
        "| part | ns a row |",
        "| --- | ---: |",
        f"| decoding, page cache to arrays | {a_row['decode_pages']:.1f} |",
    ]
    loops = scale_contenders.parts()
    lines += [f"| {name} | {time_:.1f} |" for name, time_ in loops.items()]
    both = a_row["decode_pages"] + sum(loops.values())
    lines += [
        f"| together | {both:.1f} |",
        f"| the default report as a whole | {a_row['headlines']:.1f} |",
        f"| DuckDB, both columns added up | {a_row['duckdb_sums']:.1f} |",
        f"| DuckDB, SQL for the ECE alone, the fastest | {a_row['duckdb']:.1f} |",
        f"| DuckDB, as one would write it | {a_row['duckdb_obvious']:.1f} |",
    ]
    return "\n".join(lines)


def write_page(body: str) -> None:
    """Put the figures where docs/scale.md has room for them."""
    text = PAGE.read_text()
    first = re.search(r"<!-- measured.*?-->\n", text)
    assert first is not None
    PAGE.write_text(text[: first.end()] + "\n" + body + "\n\n" + text[text.index("<!-- end -->") :])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=100_000_000)
    parser.add_argument("--folder")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="contenders, comma-separated")
    parser.add_argument("--serve", choices=CONTENDERS)
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md and docs/scale.md")
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
            page = [body, spent(found, given.rows), derived(found, given.rows, octets(folder))]
            write_page("\n\n".join(page))
    finally:
        if given.folder is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
