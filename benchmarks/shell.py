"""The command from the shell against a Python script with the obvious DuckDB SQL, and its first run against its second.

python -m benchmarks.shell                      10^8 rows of Parquet, made in a temporary folder
python -m benchmarks.shell --rows 1e6 --rounds 1    a look whether it runs
python -m benchmarks.shell --write              writes its section into docs/benchmarks.md

Every run is a process of its own and its time the whole of it, imports included; best of the rounds, the two by turns. The first run is
one that finds nothing compiled by Python: its cache is an empty folder, as it is after an installation that compiles nothing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

from benchmarks import sections
from benchmarks.scale_contenders import files, generate

SCRIPT = """
import duckdb, sys
print(duckdb.sql(f'''
    SELECT sum(n * abs(y - p)) / sum(n) FROM (
        SELECT count(*) AS n, avg(correct::INT) AS y, avg(confidence) AS p
        FROM read_parquet({sys.argv[1:]!r}) GROUP BY least(floor(confidence * 10), 9))
''').fetchall()[0][0])
"""


def took(command: list[str], **environment: str) -> float:
    begun = time.perf_counter()
    subprocess.run(command, env={**os.environ, **environment}, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=100_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="write the section of docs/benchmarks.md")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="epimeter-shell-") as folder:
        generate(folder, given.rows)
        evaluate = [sys.executable, "-m", "epimeter", "evaluate", *files(folder)]
        script = [sys.executable, "-c", SCRIPT, *files(folder)]
        contenders = {"epimeter evaluate": evaluate, "a script with DuckDB": script}
        found = {name: float("inf") for name in contenders}
        for turn in range(given.rounds + 1):
            for name, command in contenders.items():
                one = took(command)
                found[name] = min(found[name], one) if turn else found[name]  # the first turn warms the page cache
        pairs = []
        for turn in range(given.rounds):
            cache = os.path.join(folder, f"compiled-{turn}")
            pairs.append([took(evaluate, PYTHONPYCACHEPREFIX=cache) for _ in range(2)])
        first, second = (min(column) for column in zip(*pairs, strict=True))
    ours, theirs = found.values()
    body = "\n".join(
        [
            f"`benchmarks/shell.py`, {sections.machine()}, {given.rows:,} rows of Parquet; whole processes, best of {given.rounds}.",
            "",
            "| what | s | times | aim |",
            "| --- | ---: | ---: | --- |",
            f"| `epimeter evaluate`, default report with intervals | {ours:.2f} | {ours / theirs:.2f} | at most 1 |",
            f"| a Python script with the obvious DuckDB SQL for the ECE | {theirs:.2f} | 1.00 | |",
            f"| `epimeter evaluate`, nothing compiled by Python yet | {first:.2f} | {first / second:.2f} | at most 1.1 |",
            f"| the same again | {second:.2f} | 1.00 | |",
        ]
    )
    print(body)
    if given.write:
        sections.write("From the shell", body)


if __name__ == "__main__":
    main()
