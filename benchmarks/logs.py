# SPDX-License-Identifier: Apache-2.0
"""How long a large evaluation log takes, and how much memory all processes together hold: `epimeter evaluate` as typed.

python -m benchmarks.logs                                     a million samples in each layout, about a gigabyte each
python -m benchmarks.logs --samples 1e5 --layout eval         one layout, smaller
python -m benchmarks.logs --folder DIR                        keep the logs there and take those that are there

Layouts: `eval` (inspect-ai's archive, deflated), `zstd` (the same under Zstandard), `json` (inspect-ai's document),
`generation` and `choice` (lm-eval samples). Every text is a chain of thought of its own that ends by stating a confidence.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

WORDS = (Path(__file__).resolve().parent.parent / "LICENSE").read_text("utf-8").split()
SUBJECTS = ("law", "physics", "history", "algebra")
LAYOUTS = ("eval", "zstd", "json", "generation", "choice")


def made_up(i: int) -> tuple[str, str, str, bool, random.Random]:
    """The question, the text, the letter given, whether it is right: of sample i."""
    rng = random.Random(i)
    percent = rng.randrange(40, 101)
    right = rng.random() * 100 < percent
    letter = rng.choice("ABCD")
    start = rng.randrange(len(WORDS) - 120)
    thought = " ".join(WORDS[start : start + rng.randrange(40, 110)])
    question = " ".join(WORDS[(start * 7) % (len(WORDS) - 40) :][:30])
    return question, f"{thought}\n\nANSWER: {letter}\nConfidence: {percent}%", letter, right, rng


def sample(i: int) -> dict[str, object]:
    """A sample as inspect-ai writes it."""
    question, text, letter, right, rng = made_up(i)
    message = {"id": f"{rng.getrandbits(64):x}", "content": text, "source": "generate", "role": "assistant"}
    return {
        "id": f"q{i:07}", "epoch": 1, "input": question, "choices": ["one", "two", "three", "four"],
        "target": letter if right else "ABCD"["ABCD".index(letter) - 1],
        "messages": [{"id": f"{rng.getrandbits(64):x}", "content": question, "source": "input", "role": "user"}, message],
        "output": {
            "model": "mockllm/model", "choices": [{"message": message, "stop_reason": "stop"}], "completion": text,
            "usage": {"input_tokens": 50, "output_tokens": 80, "total_tokens": 130}, "time": rng.random(),
        },
        "scores": {"choice": {"value": "C" if right else "I", "answer": letter, "explanation": text, "history": []}},
        "metadata": {"subject": SUBJECTS[i % 4]}, "store": {}, "events": [], "model_usage": {},
        "started_at": "2026-11-15T18:04:11.194562+00:00", "completed_at": "2026-11-15T18:04:13.105913+00:00",
        "total_time": 1.9, "working_time": rng.random(), "uuid": f"{rng.getrandbits(96):x}", "attachments": {},
    }  # fmt: skip


def generation(i: int) -> dict[str, object]:
    """A generated document as lm-eval writes it."""
    question, text, letter, right, rng = made_up(i)
    return {
        "doc_id": i, "doc": {"question": question, "answer": letter, "subject": SUBJECTS[i % 4]}, "target": letter,
        "arguments": {"gen_args_0": {"arg_0": f"{question}\nAnswer:", "arg_1": {"until": ["\n\n\n"], "do_sample": False}}},
        "resps": [[text]], "filtered_resps": [letter], "filter": "none", "metrics": ["exact_match"],
        "doc_hash": f"{rng.getrandbits(256):064x}", "prompt_hash": f"{rng.getrandbits(256):064x}",
        "target_hash": f"{rng.getrandbits(256):064x}", "exact_match": float(right),
    }  # fmt: skip


def choice(i: int) -> dict[str, object]:
    """A multiple-choice document as lm-eval writes it."""
    question, _, _, right, rng = made_up(i)
    options = [f" option {name} of {i}" for name in "ABCD"]
    pairs = [[str(-rng.expovariate(0.5)), "False"] for _ in options]
    best = max(range(4), key=lambda k: float(pairs[k][0]))
    target = best if right else (best + 1) % 4
    return {
        "doc_id": i, "doc": {"question": question, "choices": options, "answer": target, "subject": SUBJECTS[i % 4]},
        "target": str(target), "arguments": {f"gen_args_{k}": {"arg_0": question, "arg_1": options[k]} for k in range(4)},
        "resps": [[pair] for pair in pairs], "filtered_resps": pairs, "filter": "none", "metrics": ["acc"],
        "doc_hash": f"{rng.getrandbits(256):064x}", "prompt_hash": f"{rng.getrandbits(256):064x}",
        "target_hash": f"{rng.getrandbits(256):064x}", "acc": float(right),
    }  # fmt: skip


HEADER = {
    "version": 2, "status": "success",
    "eval": {"task": "made_up", "model": "mockllm/model", "run_id": "r", "eval_id": "e", "created": "2026-11-15T18:04:11Z"},
}  # fmt: skip


def archive(path: Path, samples: int, method: int) -> None:
    """An archive member by member: `zipfile` holds half a kilobyte a member and does not know Zstandard."""
    import pyarrow as pa

    count = 0
    with path.open("wb") as file, tempfile.TemporaryFile() as directory:

        def add(name: str, document: object) -> None:
            nonlocal count
            text, place, title = json.dumps(document).encode(), file.tell(), name.encode()
            if method == 8:
                press = zlib.compressobj(6, zlib.DEFLATED, -15)
                packed = press.compress(text) + press.flush()
            else:
                packed = pa.compress(text, codec="zstd", asbytes=True)
            facts = struct.pack("<4HIII2H", method, 0, 33, 0, 0, 0, 0, 0, 0)[:8]
            sizes = struct.pack("<III", zlib.crc32(text), len(packed), len(text))
            file.write(
                b"PK\x03\x04"
                + struct.pack("<2H", 63, 0)
                + facts[:6]
                + sizes
                + struct.pack("<2H", len(title), 0)
                + title
            )
            file.write(packed)
            wide = struct.pack("<2HQ", 1, 8, place)
            directory.write(b"PK\x01\x02" + struct.pack("<3H", 63, 63, 0) + facts[:6] + sizes)
            directory.write(struct.pack("<5H2I", len(title), len(wide), 0, 0, 0, 0, 0xFFFFFFFF) + title + wide)
            count += 1

        add("_journal/start.json", HEADER)
        for i in range(samples):
            add(f"samples/q{i:07}_epoch_1.json", sample(i))
        add("header.json", HEADER)
        start, length = file.tell(), directory.tell()
        directory.seek(0)
        while piece := directory.read(1 << 20):
            file.write(piece)
        file.write(b"PK\x06\x06" + struct.pack("<Q2H2I4Q", 44, 63, 63, 0, 0, count, count, length, start))
        file.write(b"PK\x06\x07" + struct.pack("<IQI", 0, start + length, 1))
        file.write(b"PK\x05\x06" + struct.pack("<4H2IH", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0))


def write(layout: str, path: Path, samples: int) -> None:
    """The log of one layout."""
    if layout in ("eval", "zstd"):
        archive(path, samples, 8 if layout == "eval" else 93)
        return
    with path.open("w", encoding="utf-8") as file:
        if layout == "json":
            file.write(json.dumps(HEADER)[:-1] + ', "samples": [')
            for i in range(samples):
                file.write(("," if i else "") + json.dumps(sample(i)))
            file.write("]}")
            return
        for i in range(samples):
            file.write(json.dumps(generation(i) if layout == "generation" else choice(i)) + "\n")


def family(root: int) -> list[int]:
    """A process and all that it started."""
    found = [root]
    for pid in found:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            found += map(int, task.read_text().split())
    return found


def held(root: int) -> tuple[int, int]:
    """Resident bytes of a process and all that it started: shared pages once (proportional), and once a process."""
    once = each = 0
    for pid in family(root):
        try:
            facts = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
        except OSError:
            continue
        once, each = once + int(facts["Pss"].split()[0]), each + int(facts["Rss"].split()[0])
    return once << 10, each << 10


def measured(command: list[str]) -> tuple[float, float, int, int]:
    """Seconds on the clock, of the processors, and the most bytes held."""
    before, start = os.times(), time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    once = each = 0
    while child.poll() is None:
        try:
            now = held(child.pid)
        except OSError:
            now = (0, 0)
        once, each = max(once, now[0]), max(each, now[1])
        time.sleep(0.1)
    took, after = time.perf_counter() - start, os.times()
    if child.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {child.returncode}")
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return took, spent, once, each


def main() -> None:
    """Make the logs and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=float, default=1e6)
    parser.add_argument("--layout", choices=LAYOUTS, action="append")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    samples = int(given.samples)
    print("| layout | log, MB | seconds | of the processors | MB, shared pages once | MB, once a process |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as passing:
        folder = given.folder or Path(passing)
        folder.mkdir(parents=True, exist_ok=True)
        for layout in given.layout or LAYOUTS:
            suffix = {"eval": "eval", "zstd": "eval", "json": "json"}.get(layout, "jsonl")
            path = folder / f"{layout}_{samples}.{suffix}"
            if not path.exists():
                write(layout, path, samples)
            took, spent, once, each = measured([sys.executable, "-m", "epimeter", "evaluate", str(path)])
            size = path.stat().st_size / 1e6
            print(
                f"| {layout} | {size:.0f} | {took:.1f} | {spent:.1f} | {once / 1e6:.0f} | {each / 1e6:.0f} |",
                flush=True,
            )
            if given.folder is None:
                path.unlink()


if __name__ == "__main__":
    main()
