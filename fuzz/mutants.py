# SPDX-License-Identifier: Apache-2.0
"""Mutants of sound Parquet files through every route that reads them, with counters.

    nice python fuzz/mutants.py --mutants 1000000

Footers, page headers and pages are damaged: single bytes, several bytes, varints that say too much, pieces left out, doubled or
taken from another file. Each mutant must end in rows or in one sentence. A child that dies, an exception that is no sentence and
a mutant that takes longer than ten seconds are named with the seed that makes it again, and the exit status is 1.
"""

import argparse
import collections
import io
import json
import mmap
import os
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from epimeter import scan
from epimeter.errors import EpimeterError
from epimeter.readers import read

BATCH, LIMIT = 2_000, 10
ROOM = 8 << 30
WRITERS = (
    {},
    {"data_page_version": "2.0"},
    {"compression": "none"},
    {"compression": "zstd", "use_dictionary": False},
    {"use_dictionary": False, "data_page_version": "2.0", "compression": "none"},
    {"compression": "gzip", "store_schema": False},
    {"column_encoding": {"confidence": "BYTE_STREAM_SPLIT", "correct": "RLE"}, "use_dictionary": False},
    {"column_encoding": {"model": "DELTA_BYTE_ARRAY", "number": "DELTA_BINARY_PACKED"}, "use_dictionary": ["confidence"]},
)  # fmt: skip


def sound_files() -> list[bytes]:
    """Small files by every kind of writer: two row groups, nulls, text, numbers."""
    rng, files = np.random.default_rng(0), []
    for options in WRITERS:
        n = 80
        p = rng.random(n)
        label = pa.array([None if i % 17 == 3 else bool(one) for i, one in enumerate(rng.random(n) < p)])
        columns = {"confidence": p, "correct": label, "model": pa.array(["a", "bb"] * (n // 2)), "number": np.arange(n)}
        made = io.BytesIO()
        pq.write_table(pa.table(columns), made, row_group_size=n // 2, **options)
        files.append(made.getvalue())
    return files


def mutant(files: list[bytes], seed: int) -> bytes:
    """The mutant of that number, always the same one."""
    rng = np.random.default_rng(seed)
    raw = bytearray(files[int(rng.integers(len(files)))])
    footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    first, end = (footer, len(raw)) if rng.random() < 0.6 else (4, footer)
    place = int(rng.integers(first, end))
    kind = int(rng.integers(6))
    if kind == 0:
        raw[place] = int(rng.integers(256))
    elif kind == 1:
        for at in rng.integers(first, end, int(rng.integers(2, 9))):
            raw[at] = int(rng.integers(256))
    elif kind == 2:  # a number that says too much: the most that five or ten bytes of a varint hold
        most = (b"\xff\xff\xff\xff\x0f", b"\xff" * 9 + b"\x01", b"\x80\x80\x80\x80\x08")[int(rng.integers(3))]
        raw[place : place + len(most)] = most
    elif kind == 3:
        del raw[place : place + int(rng.integers(1, 40))]
    elif kind == 4:
        piece = raw[place : place + int(rng.integers(1, 60))]
        raw[place:place] = piece
    else:
        other = files[int(rng.integers(len(files)))]
        start = int(rng.integers(len(other)))
        piece = other[start : start + int(rng.integers(1, 120))]
        raw[place : place + len(piece)] = piece
    if kind >= 2 and rng.random() < 0.7 and len(raw) > 12:
        # The length of the footer is made to fit again, so that what is inside is read.
        size = min(max(0, len(raw) - 8 - footer), len(raw) - 12)
        raw[-8:-4], raw[-4:] = size.to_bytes(4, "little"), b"PAR1"
    return bytes(raw)


def batch(files: list[bytes], path: Path, seeds: range, place: mmap.mmap) -> collections.Counter:
    """What became of some mutants, reckoned in this process; `place` says which one is under way."""
    counts: collections.Counter = collections.Counter()
    for seed in seeds:
        place[:8] = seed.to_bytes(8, "little")
        path.write_bytes(mutant(files, seed))
        signal.alarm(LIMIT)
        routes = (lambda: read(path), lambda: scan(path, ["ece"]), lambda: scan(path, ["ece"], by="model"))
        answers = 0
        for route in routes if seed % 4 == 0 else routes[seed % 2 : seed % 2 + 1]:
            try:
                route()
                answers += 1
            except EpimeterError as sentence:
                if not str(sentence).strip() or "\n" in str(sentence).strip():
                    counts["no sentence"] += 1
            except MemoryError:
                counts["memory"] += 1
            except Exception as fault:
                counts[f"{type(fault).__name__} at {seed}: {fault}"[:200]] += 1
        counts["read" if answers else "sentence"] += 1
    signal.alarm(0)
    return counts


def child(files: list[bytes], folder: Path, seeds: range, place: mmap.mmap) -> tuple[collections.Counter, int]:
    """A batch in a process of its own; its counts, and the status it ended with."""
    out = folder / "counts.json"
    out.unlink(missing_ok=True)
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
        out.write_text(json.dumps(batch(files, folder / "mutant.parquet", seeds, place)))
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    return collections.Counter(json.loads(out.read_text())) if status == 0 else collections.Counter(), status


def main() -> int:
    """Try them all and print the counters."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end earlier")
    given = parser.parse_args()
    files, counts, died, begun = sound_files(), collections.Counter(), [], time.monotonic()
    place = mmap.mmap(-1, 8)
    seed, end = given.first, given.first + given.mutants
    with tempfile.TemporaryDirectory() as folder:
        while seed < end and time.monotonic() - begun < 60 * given.minutes:
            seeds = range(seed, min(end, seed + BATCH))
            more, status = child(files, Path(folder), seeds, place)
            if status:
                worst = int.from_bytes(place[:8], "little")
                died.append((worst, status))
                if worst > seed:  # those before it are counted again, without it
                    more, _ = child(files, Path(folder), range(seed, worst), place)
                seeds = range(seed, worst + 1)
            counts += more
            seed = seeds.stop
            if seed // BATCH % 25 == 0:
                print(
                    f"{seed - given.first:,} mutants, {time.monotonic() - begun:,.0f} s: {dict(counts)}, died {died}",
                    flush=True,
                )
    print(f"{seed - given.first:,} mutants: {json.dumps(counts)}; died {died}")
    return int(bool(died) or any(name not in ("read", "sentence", "memory") for name in counts))


if __name__ == "__main__":
    sys.exit(main())
