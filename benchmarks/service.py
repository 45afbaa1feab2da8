# SPDX-License-Identifier: Apache-2.0
"""What the service costs beyond decoding and measuring, how long it stalls, what it holds in memory, what it bears.

python -m benchmarks.service cost      100,000 rows in each format against decoding and evaluate in one process
python -m benchmarks.service stall     longest pause of the event loop while 50 MB of NDJSON come in
python -m benchmarks.service memory    what a worker holds for a million rows, against their arrays
python -m benchmarks.service load      mixed calls of 200 clients for five minutes: errors, percentiles, memory
"""

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter

import httpx
import msgspec
import numpy as np
import psutil
import pyarrow as pa

from benchmarks import sections

ARROW, NDJSON, JSON = "application/vnd.apache.arrow.stream", "application/x-ndjson", "application/json"


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
            with httpx.Client(base_url=url, headers={"x-api-key": key}, timeout=120) as client:
                client.admin, client.data = admin, f"{folder}/data"
                for _ in range(400):
                    with contextlib.suppress(httpx.HTTPError):
                        if client.get("/readyz").status_code == 200:
                            break
                    time.sleep(0.05)
                yield process, client
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()


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


def timed(function):
    begun = time.perf_counter()
    function()
    return 1e3 * (time.perf_counter() - begun)


def cost(given):
    """Time of a request against decoding plus evaluate on the same arrays."""
    from epimeter import evaluate
    from epimeter.service.schemas import EvaluateRequest

    confidence, correct = data(100_000)
    rows, arrow = as_rows(confidence, correct), as_arrow(confidence, correct)
    decoder = msgspec.json.Decoder(EvaluateRequest)

    def from_rows():
        found = decoder.decode(rows).predictions
        n = len(found)
        evaluate(np.fromiter((r.correct for r in found), bool, n), np.fromiter((r.confidence for r in found), float, n))

    def from_arrow():
        found = pa.ipc.open_stream(pa.py_buffer(arrow)).read_all()
        evaluate(found.column("correct").to_numpy(), found.column("confidence").to_numpy())

    lines = [
        "| body | size | decoding and `evaluate` | request | times | aim |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    with server() as (_, client):
        for name, body, kind, direct, aim in (
            ("JSON rows", rows, JSON, from_rows, 2),
            ("Arrow stream", arrow, ARROW, from_arrow, 1.5),
        ):
            query = {} if kind == JSON else {"model_id": "m"}

            def send(body=body, kind=kind, query=query):
                client.post(
                    "/v1/evaluate", content=body, params=query, headers={"content-type": kind}
                ).raise_for_status()

            direct(), send()
            # Turn by turn, so that both see the same machine.
            pairs = [(timed(direct), timed(send)) for _ in range(given.repeats)]
            here, there = (statistics.median(one) for one in zip(*pairs, strict=True))
            size = f"{len(body) / 1e6:.1f} MB"
            lines.append(f"| {name} | {size} | {here:.0f} ms | {there:.0f} ms | {there / here:.2f} | at most {aim} |")
    return (
        f"`benchmarks/service.py cost`, {sections.machine()}: 100,000 rows, answered at once, on SQLite, over HTTP, against "
        f"msgspec or pyarrow and `epimeter.evaluate` in one process with its loops compiled; medians of {given.repeats}, turn by turn."
        "\n\n" + "\n".join(lines)
    )


def idle(late, stop):
    """A process that does nothing: how late it wakes is the machine's doing."""
    while not stop.is_set():
        due = time.perf_counter() + 0.01
        time.sleep(0.01)
        late.value = max(late.value, time.perf_counter() - due)


def stall(given):
    """How late the event loop was at most while a large body came in, as the server itself measures it."""
    line = b'{"confidence":0.123456,"correct":true}\n'
    full = b'{"id":"record-%08d","timestamp":"2026-11-01T08:30:00Z","confidence":0.123456,"correct":true,"class":"a"}\n'
    bodies = {
        "confidence and correct": line * (50_000_000 // len(line)),
        "id, time and class too": b"".join(full % number for number in range(50_000_000 // len(full % 0))),
    }
    lines = ["| 50 MB of NDJSON | answered in | event loop late by | busy itself | an idle process late by | aim |"]
    lines += ["| --- | ---: | ---: | ---: | ---: | ---: |"]
    with server(workers=0) as (_, client):
        url = f"http://{client.admin}/metrics"

        def lag():
            text = httpx.get(url).text
            return [
                1e3 * float(re.search(rf"^epimeter_loop_lag_{name}seconds (\S+)", text, re.M)[1])
                for name in ("", "busy_")
            ]

        headers, query = {"content-type": NDJSON}, {"model_id": "m"}
        client.post("/v1/evaluate", content=line * 10, params=query, headers=headers)
        for name, body in bodies.items():
            rounds = []
            for _ in range(given.repeats):
                late, stop = multiprocessing.Value("d", 0.0), multiprocessing.Event()
                beside = multiprocessing.Process(target=idle, args=(late, stop))
                beside.start()
                time.sleep(0.5)
                lag()
                took = timed(
                    lambda body=body: client.post(
                        "/v1/evaluate", content=body, params=query, headers=headers
                    ).raise_for_status()
                )
                rounds.append((*lag(), took, 1e3 * late.value))
                stop.set()
                beside.join()
            worst, busy, took, machine = (max(one) for one in zip(*rounds, strict=True))
            lines.append(
                f"| {name} | {took / 1e3:.1f} s | {worst:.0f} ms | {busy:.0f} ms | {machine:.0f} ms | below 50 ms |"
            )
    return (
        f"`benchmarks/service.py stall`, {sections.machine()}: the longest pause of the event loop, by its own watch, while the body "
        f"comes in, is read and is kept, and how much of it the server used the processor itself; the worst of {given.repeats} rounds.\n\n"
        + "\n".join(lines)
    )


def memory(given):
    """What a process holds beyond its base while a million rows come in, and while they are measured."""
    n = 1_000_000
    confidence, correct = data(n)
    arrays = confidence.nbytes + correct.nbytes
    text = b"".join(
        b'{"confidence":%.6f,"correct":%s}\n' % (c, b"true" if y else b"false")
        for c, y in zip(confidence.tolist(), correct.tolist(), strict=True)
    )
    arrow, small = as_arrow(confidence, correct), as_arrow(confidence[:150_000], correct[:150_000])
    query = {"model_id": "m"}
    alone = evaluating(n)
    lines = ["| what | body | beyond its base | times the arrays | aim |", "| --- | ---: | ---: | ---: | ---: |"]
    for name, body, kind, workers, aim in (
        ("Arrow stream received, read, kept", arrow, ARROW, 0, "below 3"),
        ("NDJSON received, read, kept", text, NDJSON, 0, "below 3"),
        ("Arrow stream measured by a job", arrow, ARROW, 1, "below 3"),
    ):
        with server(workers=workers) as (process, client):
            for _ in range(3):  # warm: loops compiled, arenas made
                found = client.post("/v1/evaluate", content=small, params=query, headers={"content-type": ARROW}).json()
                if workers:
                    wait(client, found)
            with Peak(process.pid) as peak:
                found = client.post("/v1/evaluate", content=body, params=query, headers={"content-type": kind}).json()
                if workers:
                    wait(client, found)
            more = peak.most - peak.base
            sizes = f"{len(body) / 1e6:.0f} MB | {more / 1e6:.0f} MB"
            lines.append(f"| {name} | {sizes} | {more / arrays:.1f} | {aim} |")
    lines.append(
        f"| `epimeter.evaluate` alone, in a process of its own | | {alone / 1e6:.0f} MB | {alone / arrays:.1f} | |"
    )
    return (
        f"`benchmarks/service.py memory`, {sections.machine()}: resident memory of the server for {n:,} rows, whose arrays are "
        f"{arrays / 1e6:.0f} MB, beyond what it had after smaller requests.\n\n" + "\n".join(lines)
    )


class Peak:
    """The most memory a process had while this was open."""

    def __init__(self, pid):
        self._process, self._stop = psutil.Process(pid), threading.Event()
        self.base = self.most = self._process.memory_info().rss

    def _watch(self):
        while not self._stop.is_set():
            self.most = max(self.most, self._process.memory_info().rss)
            time.sleep(0.002)

    def __enter__(self):
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


def evaluating(n):
    """What evaluate itself takes beyond its arrays, warm as the server is."""
    code = (
        "import sys; from benchmarks.service import Peak, data; from epimeter import evaluate; import os\n"
        f"p, y = data({n}); [evaluate(y[:150_000], p[:150_000]) for _ in range(3)]\n"
        "with Peak(os.getpid()) as peak: evaluate(y, p)\n"
        "print(peak.most - peak.base)"
    )
    return int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def wait(client, found):
    while found["status"] == "queued":
        time.sleep(0.05)
        found = client.get(f"/v1/evaluations/{found['evaluation_id']}").json()


def load(given):
    """Mixed calls of many clients at once, from a process of its own."""
    with server() as (process, client):
        keys = []
        for number in range(20):
            made = client.post("/v1/organizations", json={"name": f"Tenant {number}", "tier": "CRITICAL"}).json()
            scopes = ["evaluate", "evaluations:read"]
            wanted = {"name": "x", "scopes": scopes, "organization": made["id"]}
            keys.append(client.post("/v1/auth/api-keys", json=wanted).json()["key"])
        times, codes, sizes = asyncio.run(
            _mixed(str(client.base_url), keys, given.clients, given.seconds, psutil.Process(process.pid))
        )
    lines = ["| calls | number | p50 | p99 | p99 / p50 | aim |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for kind, found in times.items():
        if found:
            low, high = np.percentile(found, [50, 99])
            figures = f"{1e3 * low:.1f} ms | {1e3 * high:.0f} ms | {high / low:.1f}"
            lines.append(f"| {kind} | {len(found):,} | {figures} | {'below 20' if kind.startswith('small') else ''} |")
    faults = {str(code): number for code, number in codes.items() if code not in (200, 202, 429)}
    # Warm after a third; then the middle of what is left against its end.
    third = max(1, len(sizes) // 3)
    early, late = statistics.median(sizes[third : 2 * third]), statistics.median(sizes[-third:])
    said = [
        f"{sum(codes.values()):,} calls, by status {', '.join(f'{code}: {number:,}' for code, number in codes.most_common())}; "
        f"errors besides 429: {faults or 'none'} (aim: none).",
        f"Memory of the server: {early:.0f} MB in the second third, {late:.0f} MB in the last (aim: flat), at most {max(sizes):.0f} MB.",
    ]
    return (
        f"`benchmarks/service.py load`, {sections.machine()}: {given.clients} clients of 20 organisations for {given.seconds:g} s from a "
        "second process, each with pauses of two seconds on average.\n\n" + "\n".join(lines) + "\n\n" + "\n".join(said)
    )


async def _mixed(url, keys, clients, seconds, process):
    confidence, correct = data(50)
    small, arrow = as_rows(confidence, correct), as_arrow(*data(5000))
    paths = ["/v1/usage", "/v1/evaluations?limit=5", "/v1/tiers"]
    times = {"small reads": [], "50 rows of JSON": [], "5,000 rows of Arrow": []}
    codes, sizes = Counter(), []
    end = time.monotonic() + seconds

    async def call(client, number, dice):
        if dice < 0.7:
            return "small reads", await client.get(paths[number % 3])
        if dice < 0.95:
            return "50 rows of JSON", await client.post("/v1/evaluate", content=small, headers={"content-type": JSON})
        options = {"params": {"model_id": "m"}, "headers": {"content-type": ARROW}}
        return "5,000 rows of Arrow", await client.post("/v1/evaluate", content=arrow, **options)

    async def one(number):
        headers = {"x-api-key": keys[number % len(keys)]}
        rng = np.random.default_rng(number)
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=120) as client:
            await asyncio.sleep(number * 0.02)
            while time.monotonic() < end:
                begun = time.perf_counter()
                try:
                    kind, answer = await call(client, number, rng.random())
                    times[kind].append(time.perf_counter() - begun)
                    codes[answer.status_code] += 1
                except httpx.HTTPError as fault:
                    codes[type(fault).__name__] += 1
                await asyncio.sleep(rng.exponential(2.0))

    async def watch():
        while time.monotonic() < end:
            sizes.append(process.memory_info().rss / 1e6)
            await asyncio.sleep(1)

    await asyncio.gather(watch(), *(one(number) for number in range(clients)))
    return times, codes, sizes


MEASURES = {"cost": cost, "stall": stall, "memory": memory, "load": load}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=MEASURES)
    parser.add_argument("--repeats", type=int, default=0, help="rounds; 15 for cost, 3 for stall")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--write", action="store_true", help="write the section of docs/benchmarks.md")
    given = parser.parse_args()
    given.repeats = given.repeats or {"cost": 15}.get(given.what, 3)
    body = MEASURES[given.what](given)
    print(body)
    if given.write:
        sections.write(f"Service: {given.what}", body)


if __name__ == "__main__":
    main()
