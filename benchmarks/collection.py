# SPDX-License-Identifier: Apache-2.0
"""How many predictions and outcomes the service takes a second, by Arrow, while somebody reads.

    python -m benchmarks.collection [batches] [rows of a batch] [database URL]

Rows a second by the clock, and by the processor time of the server and its children: what one core would take alone.
"""

import sys
import threading
import time

import httpx
import numpy as np
import psutil
import pyarrow as pa

from benchmarks.pages import _spent
from benchmarks.service import ARROW, server


def table(batch, n, outcome):
    """A batch of predictions with ten slices over one day, or of their outcomes in another order."""
    rng = np.random.default_rng([batch, outcome])
    ids = np.array([f"{batch:x}-{k * 2654435761 % 2**32:08x}" for k in range(n)])
    if outcome:
        return pa.table({"id": rng.permutation(ids), "correct": rng.random(n) < 0.7})
    at = np.datetime64("now", "us") - rng.integers(0, 86_400 * 10**6, n).astype("timedelta64[us]")
    region = np.array([f"r{k}" for k in range(10)])[rng.integers(0, 10, n)]
    moments = pa.array(at.astype("datetime64[us]"), pa.timestamp("us", "UTC"))
    return pa.table({"id": ids, "confidence": rng.beta(4, 1.5, n), "time": moments, "region": region})


def body(batch, n, outcome):
    made = table(batch, n, outcome)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, made.schema) as stream:
        stream.write_table(made)
    return sink.getvalue().to_pybytes()


def main(batches=8, n=100_000, database=None):
    """Post all predictions, then all outcomes; print what each took."""
    settings = {} if database is None else {"database": database}
    with server(**settings) as (process, client):
        mine, key, done, reads = psutil.Process(process.pid), client.headers["x-api-key"], threading.Event(), []

        def reader():
            with httpx.Client(base_url=client.base_url, headers={"x-api-key": key}, timeout=120) as other:
                while not done.wait(0.05):
                    begun = time.perf_counter()
                    answer = other.get("/v1/systems/s/monitor")
                    assert answer.status_code in (200, 404), answer.text
                    reads.append(time.perf_counter() - begun)

        thread = threading.Thread(target=reader)
        thread.start()
        try:
            for what in ("predictions", "outcomes"):
                bodies = [body(batch, n, what == "outcomes") for batch in range(batches)]
                wall, cpu = time.perf_counter(), _spent(mine)
                for one in bodies:
                    answer = client.post(f"/v1/systems/s/{what}", content=one, headers={"Content-Type": ARROW})
                    assert answer.status_code == 200 and answer.json()["new"] == n, answer.text
                wall, cpu = time.perf_counter() - wall, _spent(mine) - cpu
                rows = n * batches
                print(f"{what}: {rows / wall:,.0f} rows a second; {rows / cpu:,.0f} by processor time", flush=True)
        finally:
            done.set()
            thread.join()
        print(
            f"{len(reads)} reads beside it, median {1e3 * np.median(reads):.0f} ms, longest {1e3 * max(reads):.0f} ms"
        )
        print(f"memory {sum(one.memory_info().rss for one in (mine, *mine.children(recursive=True))) >> 20} MiB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:4])
