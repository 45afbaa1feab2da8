# SPDX-License-Identifier: Apache-2.0
"""What the public pages bear: readers beside the mixed calls of the API.

python -m benchmarks.pages                          200 readers for a minute, beside 50 clients of the API
python -m benchmarks.pages --readers 20 --seconds 5 --clients 0
python -m benchmarks.pages --certificates 100000 --entries 1000000 --readers 0    each page alone in a grown registry
"""

import argparse
import asyncio
import gzip
import json
import statistics
import time
from collections import Counter
from datetime import date, timedelta

import httpx
import numpy as np
import psutil

from benchmarks.full_registry import fill
from benchmarks.service import _mixed, as_rows, data, server

PAGES = (
    "/",
    "/registry",
    "/registry?q=absent",
    "/registry?q=zq",
    "/registry?q=scores",
    "/registry?organization=absent",
    "/registry?level=L3&domain=general",
    "/registry?status=REVOKED",
    "/registry?status=EXPIRED",
    f"/registry?due_by={date.today() + timedelta(1)}",
    "/registry?due_by=2099-12-31",
    "/registry.csv",
    "/registry.atom",
    "/registry.ics",
    "/log",
    "/log?q=absent",
    f"/log?q=sha-256:{'0' * 64}",
    "/log/entries/0",
    "/log/check?entry=0",
    "/docs",
    "/verify",
    "/mapping",
)


def furnished(client):
    """A certificate to look at; the addresses that readers go round."""
    confidence, correct = data(2000)
    days = np.linspace(0, 10 * 86_400, 2000).astype(int)
    begin = np.datetime64("now") - np.timedelta64(11, "D")
    rows = json.loads(as_rows(confidence, correct))["predictions"]
    for row, second in zip(rows, days.tolist(), strict=True):
        row["timestamp"] = f"{begin + np.timedelta64(second, 's')}Z"
    made = client.post("/v1/evaluate", json={"model_id": "m", "domain": "general", "predictions": rows}).json()
    issued = client.post("/v1/certificates", json={"evaluation_id": made["evaluation_id"]})
    issued.raise_for_status()
    return [*PAGES, f"/certificates/{issued.json()['certificate']['id']}"]


def alone(url, pages, process, times=21):
    """Each page asked for by one reader: milliseconds until the answer, milliseconds of the server, kilobytes."""
    print(f"{'page':60}     median    p90    CPU    kB  packed")
    with httpx.Client(base_url=url, headers={"accept": "text/html"}, timeout=60) as client:
        for page in pages:
            client.get(page).raise_for_status()
            taken, before = [], _spent(process)
            for _ in range(times):
                begun = time.perf_counter()
                answer = client.get(page)
                taken.append(1e3 * (time.perf_counter() - begun))
            spent, size = 1e3 * (_spent(process) - before) / times, len(answer.content)
            p90, packed = np.percentile(taken, 90), len(gzip.compress(answer.content))
            print(
                f"{page[:60]:60} {statistics.median(taken):7.1f} ms {p90:6.1f} {spent:6.1f} {size / 1e3:5.1f} {packed / 1e3:7.1f}"
            )


def _spent(process):
    return sum(sum(one.cpu_times()[:2]) for one in (process, *process.children(recursive=True)))


async def _read(url, pages, readers, seconds):
    times, faults = {page: [] for page in pages}, Counter()
    end = time.monotonic() + seconds
    limits = httpx.Limits(max_connections=readers, max_keepalive_connections=readers)
    async with httpx.AsyncClient(base_url=url, headers={"accept": "text/html"}, limits=limits, timeout=60) as client:

        async def reader(number):
            at = number
            while time.monotonic() < end:
                page = pages[at % len(pages)]
                begun = time.perf_counter()
                try:
                    answer = await client.get(page)
                    if answer.status_code != 200:
                        faults[f"{page} {answer.status_code}"] += 1
                except httpx.HTTPError as fault:
                    faults[f"{page} {type(fault).__name__}"] += 1
                times[page].append(time.perf_counter() - begun)
                at += 1

        await asyncio.gather(*(reader(number) for number in range(readers)))
    return times, faults


async def _both(url, pages, given, key, process):
    reading = asyncio.create_task(_read(url, pages, given.readers, given.seconds))
    if given.clients:
        await _mixed(url, [key], given.clients, given.seconds, process)
    return await reading


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=200)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--certificates", type=int, default=0, help="let the registry hold so many")
    parser.add_argument("--entries", type=int, default=0, help="let the log hold so many")
    given = parser.parse_args()
    with server(connections_per_address=1000) as (process, client):
        pages, key = furnished(client), client.headers["x-api-key"]
        if given.certificates or given.entries:
            taken = fill(client.data, given.certificates, given.entries)
            print(f"{given.certificates:,} certificates and {given.entries:,} entries made in {taken:.0f} s")
        alone(str(client.base_url), pages, psutil.Process(process.pid))
        if not given.readers:
            return
        times, faults = asyncio.run(_both(str(client.base_url), pages, given, key, psutil.Process(process.pid)))
    for page, all_ in times.items():
        p50, p99 = (np.percentile(all_, q) * 1e3 if all_ else float("nan") for q in (50, 99))
        print(f"{page[:40]:40} {len(all_):7,} p50 {p50:8.1f} ms  p99 {p99:8.1f} ms")
    print("faults:", dict(faults) or "none")


if __name__ == "__main__":
    main()
