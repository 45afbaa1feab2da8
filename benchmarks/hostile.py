# SPDX-License-Identifier: Apache-2.0
"""How long honest calls take while others attack: a quiet part, then hostile and honest load together.

    python -m benchmarks.hostile --minutes 30

Honest: two tenants and an anonymous reader, one call after another: small evaluations, a certificate read back, health, pages. Hostile:
a tenant of the OPEN tier, and one whom its rate does not hold back, with the dearest metrics, bombs of Parquet, bodies that are no bodies, connections that send a byte now and
then, and floods of requests without a key. Each side is a process of its own, so that an attacker's interpreter does not hold up the
clock of the honest; all share the machine with the server. The exit status is 1 where honest p99 is five times its quiet value or
more, where an honest call fails, or where anybody gets an answer above 500 other than 503.
"""

import argparse
import collections
import io
import json
import multiprocessing
import socket
import sys
import threading
import time
from urllib.parse import urlsplit

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.service import ARROW, as_rows, data, server

PARQUET = "application/vnd.apache.parquet"
BOUND = 5.0


def arrow(n):
    confidence, correct = data(n)
    sink = io.BytesIO()
    table = pa.table({"confidence": confidence, "correct": correct})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def bomb():
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000, np.int32)), pa.array(["x" * (1 << 20)]))
    table = pa.table({"confidence": np.full(20_000, 0.5), "correct": np.ones(20_000, bool), "id": texts})
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", use_dictionary=["id"])
    return sink.getvalue()


class Load:
    """Threads that call until they are told to stop; what they saw."""

    def __init__(self, url):
        self.url, self.stop = url, threading.Event()
        self.times, self.answers = collections.defaultdict(list), collections.Counter()
        self.threads = []

    def begin(self, *callers):
        for caller in callers:
            thread = threading.Thread(target=self._again, args=(caller,), daemon=True)
            thread.start()
            self.threads.append(thread)

    def _again(self, caller):
        with httpx.Client(base_url=self.url, timeout=120) as client:
            while not self.stop.is_set():
                try:
                    caller(client)
                except (httpx.HTTPError, OSError) as fault:
                    self.answers[type(fault).__name__] += 1
                    self.stop.wait(0.05)

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join(130)


def honest(load, keys):
    """Callers who wait a little between calls, as people and programs do."""
    small = as_rows(*data(200))

    def call(client, method, path, key=None, **more):
        begun = time.perf_counter()
        headers = {"x-api-key": key} if key else {}
        answer = client.request(method, path, headers=headers | more.pop("headers", {}), **more)
        load.times[path].append(time.perf_counter() - begun)
        load.answers[answer.status_code] += 1
        load.stop.wait(0.15)

    def tenant(key):
        turn = iter(range(10**9))

        def caller(client):
            if next(turn) % 4:
                call(client, "POST", "/v1/evaluate", key, content=small, headers={"content-type": "application/json"})
            else:
                call(client, "GET", "/v1/evaluations", key)

        return caller

    def reader(client):
        for path in ("/healthz", "/readyz", "/log/checkpoint", "/registry"):
            call(client, "GET", path)

    return [*map(tenant, keys), reader]


def hostile(load, keys):
    """Callers who want the others to wait, under each of the keys."""
    return [caller for key in keys for caller in attacks(load, key)]


def attacks(load, key):
    """What one attacker sends, all of it at once."""
    rows, packed = arrow(100_000), bomb()
    host = urlsplit(load.url)

    def send(client, content, kind, **params):
        headers = {"x-api-key": key, "content-type": kind}
        answer = client.post("/v1/evaluate", content=content, params={"model_id": "h", **params}, headers=headers)
        load.answers[answer.status_code] += 1

    def dear(client):
        send(client, rows, ARROW, metrics="bkde,dkde,kccsd,skce_uq")
        send(client, rows, ARROW, metrics="bkde,dkde")
        send(client, rows[: 1 << 16], ARROW)

    def bombs(client):
        send(client, packed, PARQUET)

    def nonsense(client):
        for body in (
            b"[" * 100_000,
            b'{"predictions":' + b"[{}," * 10_000,
            b"\0" * 4096,
            b'{"model_id":"' + b"x" * 10**6,
        ):
            send(client, body, "application/json")

    def flood(client):
        load.answers[client.get("/v1/evaluations", headers={"x-api-key": "onto_live_" + "x" * 57}).status_code] += 1

    def slow(_):
        with socket.create_connection((host.hostname, host.port), timeout=60) as line:
            line.sendall(b"POST /v1/evaluate HTTP/1.1\r\nhost: h\r\ncontent-length: 100000\r\n\r\n")
            while not load.stop.wait(2):
                line.sendall(b"{")

    return [dear, dear, bombs, nonsense, flood, *[slow] * 20]


def side(callers, url, keys, minutes, out):
    """One side's load in this process; its times and answers go to the one who asked."""
    load = Load(url)
    load.begin(*callers(load, keys))
    time.sleep(60 * minutes)
    load.end()
    out.put((callers.__name__, dict(load.times), dict(load.answers)))


def percentiles(times):
    return {name: round(1000 * float(np.quantile(times, share)), 1) for name, share in (("p50", 0.5), ("p99", 0.99))}


def part(url, minutes, sides):
    """What both sides saw in some minutes: honest percentiles (all, and by path), calls and answers."""
    fresh = multiprocessing.get_context("spawn")
    out = fresh.Queue()
    ended = [fresh.Process(target=side, args=(callers, url, keys, minutes, out)) for callers, keys in sides]
    for process in ended:
        process.start()
    saw = {name: (times, answers) for name, times, answers in (out.get() for _ in ended)}
    for process in ended:
        process.join()
    times, answers = saw["honest"]
    every = [one for some in times.values() for one in some]
    return {
        "honest": percentiles(every),
        "by path": {path: percentiles(some) for path, some in times.items()},
        "calls": len(every),
        "answers": answers,
        "hostile": saw["hostile"][1] if "hostile" in saw else {},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=30.0, help="of hostile and honest load together")
    given = parser.parse_args()
    with server() as (_, admin):
        keys = []
        for name, tier in (("Honest", "CRITICAL"), ("Second", "CRITICAL"), ("Hostile", "OPEN"), ("Rich", "CRITICAL")):
            made = admin.post("/v1/organizations", json={"name": name, "tier": tier}).raise_for_status().json()
            wanted = {"name": "load", "scopes": ["evaluate", "evaluations:read"], "organization": made["id"]}
            keys.append(admin.post("/v1/auth/api-keys", json=wanted).raise_for_status().json()["key"])
        url, parts = str(admin.base_url), {}
        kind, foe = (honest, keys[:2]), (hostile, keys[2:])
        for name, minutes, sides in (
            ("quiet", max(0.5, given.minutes / 10), [kind]),
            ("attacked", given.minutes, [kind, foe]),
        ):
            parts[name] = part(url, minutes, sides)
            print(name, json.dumps({k: str(v) for k, v in parts[name].items()}), flush=True)
    times = parts["attacked"]["honest"]["p99"] / parts["quiet"]["honest"]["p99"]
    failed = [code for part in parts.values() for code in part["answers"] if not (isinstance(code, int) and code < 300)]
    broken = [
        code
        for part in parts.values()
        for code in part["hostile"]
        if isinstance(code, int) and code >= 500 and code != 503
    ]
    print(
        f"honest p99 under attack is {times:.1f} times its quiet value; bound {BOUND:g}; honest failures {failed}; faults {broken}"
    )
    return int(times >= BOUND or bool(failed) or bool(broken))


if __name__ == "__main__":
    sys.exit(main())
