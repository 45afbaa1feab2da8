# SPDX-License-Identifier: Apache-2.0
"""How long an evaluation after both standards takes, against its own parts in the same run.

python -m benchmarks.standards
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from benchmarks.sections import machine, write
from epimeter.cli.standards import Given, evaluated, rendered
from epimeter.inference import bootstrap_interval
from epimeter.passport import passport, pdf
from epimeter.readers import read

CHOICES = {
    "standard": "both",
    "domain": "medical",
    "onto_domain": None,
    "unknown_threshold": 0.5,
    "ers_threshold": 0.7,
    "strategy": "equal_width",
    "weights": None,
    "weights_reason": "",
    "baseline": None,
    "new_baseline": "",
    "declare": None,
    "organization": "",
    "system": "benchmark",
    "model_version": "1",
    "taxonomy": "operational",
    "date": "2026-11-01",
    "assume_utc": False,
    "draws": 1000,
    "seed": 0,
}


def written(n: int, folder: str) -> str:
    rng = np.random.default_rng(0)
    prob = rng.beta(4, 1.5, n)
    unknown = rng.random(n) < 0.1
    correct = rng.random(n) < np.where(unknown, 0.4 * prob, prob)
    start = np.datetime64("2026-09-01T00:00:00", "us")
    times = start + (np.arange(n) * (8 * 86_400_000_000 // n)).astype("timedelta64[us]")
    table = pa.table(
        {
            "timestamp": pa.array(times, pa.timestamp("us", "UTC")),
            "confidence": prob,
            "correct": correct,
            "unknown": unknown,
        }
    )
    path = str(Path(folder) / f"{n}.parquet")
    parquet.write_table(table, path)
    return path


def best(act, times: int = 3) -> float:
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        act()
        taken.append(time.perf_counter() - begun)
    return min(taken)


def whole(path: str, interval: str) -> str:
    return rendered(evaluated(path, {}, None, Given(**CHOICES, interval=interval)), "html")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        small, large = written(100_000, folder), written(1_000_000, folder)
        table = read(small)

        def alone() -> None:
            bootstrap_interval(table.y_true, table.y_prob, metric="ece", metric_params={"bins": 10}, draws=1000)

        alone()
        whole(small, "bootstrap")
        replicates, full = best(alone), best(lambda: whole(small, "bootstrap"))

        def raw() -> None:
            found = parquet.read_table(large)
            np.argsort(found["confidence"].to_numpy())

        raw()
        whole(large, "asymptotic")
        yardstick, million = best(raw), best(lambda: whole(large, "asymptotic"))
        found = evaluated(small, {}, None, Given(**CHOICES, interval="asymptotic"))
        document = passport(json.loads(json.dumps(found.standards.to_dict() | {"report": found.report.to_dict()})))
        path = Path(folder) / "passport.json"
        path.write_text(json.dumps(document))
        code = (
            "import json,time; begun = time.perf_counter(); from epimeter.passport import pdf; "
            f"pdf(json.load(open({str(path)!r}))); print(time.perf_counter() - begun)"
        )
        cold = min(
            float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
            for _ in range(3)
        )
        pdf(document)
        warm = best(lambda: pdf(document))
    cells = (
        ("what", "time", "against", "times"),
        ("---", "---:", "---", "---:"),
        (
            "both standards, 10^5 rows of Parquet, 1,000 replicates, HTML page",
            f"{full:.2f} s",
            f"1,000 replicates of the ECE alone, {replicates:.2f} s",
            f"{full / replicates:.2f} (at most 2)",
        ),
        (
            "both standards, 10^6 rows of Parquet, asymptotic intervals, HTML page",
            f"{million:.2f} s",
            f"`read_table` and one `argsort`, {yardstick:.3f} s",
            f"{million / yardstick:.1f} (below 20)",
        ),
        ("passport PDF in a fresh process, imports included", f"{cold:.2f} s", "1 s", ""),
        ("passport PDF again", f"{warm:.3f} s", "0.3 s", ""),
    )
    rows = "\n".join(f"| {' | '.join(row)} |" for row in cells)
    body = f"""
`benchmarks/standards.py`, {machine()}, best of three.

{rows}

Equal bits are tests, not measurements: the metrics and intervals of one data set do not depend on the file format, the order of
the rows or the number of threads (`tests/standards/test_protocol.py`, `test_commands.py`), a passport's PDF not on the process.
"""
    write("Standards", body)
    print(body)


if __name__ == "__main__":
    main()
