# SPDX-License-Identifier: Apache-2.0
"""What the service costs beyond decoding and measuring, how long it stalls, what it holds in memory, what it bears.

python benchmarks/service.py cost      100,000 rows in each format against decoding and evaluate in one process
python benchmarks/service.py stall     longest pause of the event loop while 50 MB of NDJSON come in
python benchmarks/service.py memory    what a worker holds for a million rows, against their arrays
python benchmarks/service.py load      mixed calls of many clients: errors, percentiles, memory
"""

import argparse
import asyncio
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import httpx
import msgspec
import numpy as np
import psutil
import pyarrow as pa

ARROW, NDJSON = "application/vnd.apache.arrow.stream", "application/x-ndjson"


@contextlib.contextmanager
def server(**settings):
    """A server process of its own, with an administrator's client."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {f"EPIMETER_{name.upper()}": str(value) for name, value in settings.items()}
        environment |= {"EPIMETER_DATA": f"{folder}/data", "EPIMETER_PORT": "0", "EPIMETER_ADMIN_PORT": "0"}
        environment |= {"EPIMETER_LOG_LEVEL": "warning", "EPIMETER_PUBLIC_PER_MINUTE": "1000000000"}
        process = subprocess.Popen(
            [sys.executable, "-m", "epimeter", "serve"],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            key = url = admin = ""
            for line in process.stdout:
                if found := re.search(r"onto_live_\w+", line):
                    key = found[0]
                if found := re.search(r"serves (\S+)  metrics http://(\S+)/metrics", line):
                    url, admin = found[1], found[2]
                    break
            client = httpx.Client(base_url=url, headers={"x-api-key": key}, timeout=120)
            client.admin = admin
            for _ in range(200):
                with contextlib.suppress(httpx.HTTPError):
                    if client.get("/readyz").status_code == 200:
                        break
                time.sleep(0.05)
            yield process, client
            client.close()
        finally:
            process.terminate()
            process.wait()


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.random(n), 6)
    return confidence, rng.random(n) < confidence


def as_rows(confidence, correct):
    rows = [{"confidence": c, "correct": y} for c, y in zip(confidence.tolist(), correct.tolist(), strict=True)]
    return json.dumps({"model_id": "m", "domain": "general", "predictions": rows}).encode()


def as_arrow(confidence, correct):
    table = pa.table({"confidence": confidence, "correct": correct})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def median(function, repeats):
    function()
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        function()
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1e3


def cost(repeats=9):
    """Time of a request against decoding plus evaluate on the same arrays."""
    from epimeter import evaluate
    from epimeter.service.schemas import EvaluateRequest
    from epimeter.summaries import fast

    confidence, correct = data(100_000)
    rows, arrow = as_rows(confidence, correct), as_arrow(confidence, correct)
    fast.load()  # the server has its loops compiled; so has whom it is compared with
    decoder = msgspec.json.Decoder(EvaluateRequest)

    def from_rows():
        found = decoder.decode(rows).predictions
        n = len(found)
        evaluate(np.fromiter((r.correct for r in found), bool, n), np.fromiter((r.confidence for r in found), float, n))

    def from_arrow():
        found = pa.ipc.open_stream(pa.py_buffer(arrow)).read_all()
        evaluate(found.column("correct").to_numpy(), found.column("confidence").to_numpy())

    with server() as (_, client):
        for name, body, kind, direct in (
            ("JSON rows", rows, "application/json", from_rows),
            ("Arrow", arrow, ARROW, from_arrow),
        ):
            query = {} if kind == "application/json" else {"model_id": "m"}

            def send(body=body, kind=kind, query=query):
                client.post(
                    "/v1/evaluate", content=body, params=query, headers={"content-type": kind}
                ).raise_for_status()

            # Turn by turn, so that both see the same machine.
            here, there = [], []
            direct(), send()
            for _ in range(repeats):
                here.append(median(direct, 1))
                there.append(median(send, 1))
            a, b = statistics.median(here), statistics.median(there)
            print(
                f"{name:10} {len(body) / 1e6:5.1f} MB  in process {a:7.1f} ms  request {b:7.1f} ms  ratio {b / a:.2f}"
            )


def stall():
    """How late the event loop was at most while a large body came in, as the server itself measures it."""
    line = b'{"confidence":0.123456,"correct":true}\n'
    body = line * (50_000_000 // len(line))
    with server(workers=0) as (_, client):
        url = f"http://{client.admin}/metrics"

        def lag():
            found = re.search(r"^epimeter_loop_lag_seconds (\S+)", httpx.get(url).text, re.M)
            return 1e3 * float(found[1])

        headers, query = {"content-type": NDJSON}, {"model_id": "m"}
        client.post("/v1/evaluate", content=line * 10, params=query, headers=headers)
        for _ in range(3):
            lag()
            time.sleep(2)
            quiet = lag()
            begun = time.perf_counter()
            answer = client.post("/v1/evaluate", content=body, params=query, headers=headers)
            took = time.perf_counter() - begun
            late = lag()
            print(
                f"50 MB of NDJSON: {answer.status_code} in {took:.2f} s, loop late by {late:.0f} ms (quiet: {quiet:.0f} ms)"
            )


def memory():
    """What a process holds beyond its base while a million rows come in, and while they are measured."""
    n = 1_000_000
    confidence, correct = data(n)
    arrays = confidence.nbytes + correct.nbytes
    lines = b"".join(
        b'{"confidence":%.6f,"correct":%s}\n' % (c, b"true" if y else b"false")
        for c, y in zip(confidence.tolist(), correct.tolist(), strict=True)
    )
    arrow, small = as_arrow(confidence, correct), as_arrow(confidence[:150_000], correct[:150_000])
    query = {"model_id": "m"}
    for name, body, kind, workers in (
        ("Arrow, received", arrow, ARROW, 0),
        ("NDJSON, received", lines, NDJSON, 0),
        ("Arrow, measured", arrow, ARROW, 1),
    ):
        with server(workers=workers) as (process, client):
            for _ in range(3):  # warm: loops compiled, arenas made
                found = client.post("/v1/evaluate", content=small, params=query, headers={"content-type": ARROW}).json()
                if workers:
                    wait(client, found)
            watched = psutil.Process(process.pid)
            base = watched.memory_info().rss
            peak, stop = [base], threading.Event()

            def watch(watched=watched, peak=peak, stop=stop):
                while not stop.is_set():
                    peak[0] = max(peak[0], watched.memory_info().rss)
                    time.sleep(0.002)

            thread = threading.Thread(target=watch)
            thread.start()
            found = client.post("/v1/evaluate", content=body, params=query, headers={"content-type": kind}).json()
            if workers:
                wait(client, found)
            stop.set()
            thread.join()
            more = peak[0] - base
            sizes = f"{len(body) / 1e6:5.1f} MB, arrays {arrays / 1e6:.0f} MB"
            print(f"{name:17} {sizes}: +{more / 1e6:.1f} MB, {more / arrays:.1f} times")


def wait(client, found):
    while found["status"] == "queued":
        time.sleep(0.05)
        found = client.get(f"/v1/evaluations/{found['evaluation_id']}").json()


def load(clients=200, seconds=300):
    """Mixed calls of many clients at once, from a process of its own."""
    with server() as (process, client):
        keys = []
        for number in range(20):
            made = client.post("/v1/organizations", json={"name": f"Tenant {number}", "tier": "CRITICAL"}).json()
            scopes = ["evaluate", "evaluations:read"]
            wanted = {"name": "x", "scopes": scopes, "organization": made["id"]}
            keys.append(client.post("/v1/auth/api-keys", json=wanted).json()["key"])
        asyncio.run(_mixed(str(client.base_url), keys, clients, seconds, psutil.Process(process.pid)))


async def _mixed(url, keys, clients, seconds, process):
    confidence, correct = data(50)
    small, arrow = as_rows(confidence, correct), as_arrow(*data(5000))
    times, codes, sizes = {"small": [], "evaluate": [], "arrow": []}, {}, []
    end = time.monotonic() + seconds

    async def one(number):
        headers = {"x-api-key": keys[number % len(keys)]}
        rng = np.random.default_rng(number)
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=120) as client:
            await asyncio.sleep(number * 0.02)
            while time.monotonic() < end:
                dice = rng.random()
                begun = time.perf_counter()
                try:
                    if dice < 0.7:
                        kind, answer = (
                            "small",
                            await client.get(["/v1/usage", "/v1/evaluations?limit=5", "/v1/tiers"][number % 3]),
                        )
                    elif dice < 0.95:
                        kind = "evaluate"
                        answer = await client.post(
                            "/v1/evaluate", content=small, headers={"content-type": "application/json"}
                        )
                    else:
                        kind = "arrow"
                        answer = await client.post(
                            "/v1/evaluate", content=arrow, params={"model_id": "m"}, headers={"content-type": ARROW}
                        )
                    code = answer.status_code
                except httpx.HTTPError as fault:
                    kind, code = "fault", type(fault).__name__
                times.setdefault(kind, []).append(time.perf_counter() - begun)
                codes[code] = codes.get(code, 0) + 1
                await asyncio.sleep(rng.exponential(2.0))

    async def watch():
        while time.monotonic() < end:
            sizes.append(process.memory_info().rss / 1e6)
            await asyncio.sleep(1)

    await asyncio.gather(watch(), *(one(number) for number in range(clients)))
    print(f"{clients} clients, {seconds:g} s: {sum(codes.values()):,} calls, by status {codes}")
    for kind, found in times.items():
        if found:
            low, high = np.percentile(found, [50, 99])
            print(
                f"  {kind:9} {len(found):6,} calls  p50 {1e3 * low:7.1f} ms  p99 {1e3 * high:7.1f} ms  ratio {high / low:.1f}"
            )
    third = max(1, len(sizes) // 3)
    early, late = statistics.mean(sizes[third : third + 5]), statistics.mean(sizes[-5:])
    print(f"  memory MB: after a third {early:.0f}, at the end {late:.0f}, peak {max(sizes):.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["cost", "stall", "memory", "load"])
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=300)
    given = parser.parse_args()
    if given.what == "load":
        load(given.clients, given.seconds)
    else:
        {"cost": cost, "stall": stall, "memory": memory}[given.what]()
