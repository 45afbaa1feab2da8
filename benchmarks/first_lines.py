# SPDX-License-Identifier: Apache-2.0
"""What the first lines, the cautions and the intervals of a report cost, of `evaluate` at a million rows, in CPU time.

python -m benchmarks.first_lines            writes its section into docs/benchmarks.md
python -m benchmarks.first_lines --rows 1e5 --no-page
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.sections import machine, write
from epimeter import evaluate
from epimeter.report import building, certainty

PARTS = {
    "verdict": (building, ("_verdict",)),
    "suspicions and cautions": (building, ("_suspicions", "cautions", "biased", "infinite", "counted_rows")),
    "intervals": (certainty, ("_known",)),
}


def measured(true, prob, rounds=7):
    """The least CPU time of a report and of each of its parts within it, in milliseconds."""
    spent = dict.fromkeys(PARTS, 0.0)
    for part, (module, names) in PARTS.items():
        for name in names:
            setattr(module, name, _timed(getattr(module, name), part, spent))
    found = []
    for _ in range(rounds):
        spent.update(dict.fromkeys(PARTS, 0.0))
        start = time.process_time()
        evaluate(true, prob)
        found.append({"report": time.process_time() - start, **spent})
    return {part: 1e3 * min(one[part] for one in found) for part in ("report", *PARTS)}


def _timed(function, part, spent):
    def timed(*args, **options):
        start = time.process_time()
        try:
            return function(*args, **options)
        finally:
            spent[part] += time.process_time() - start

    return timed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--no-page", action="store_true")
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    prob = rng.beta(2, 3, int(asked.rows))
    cost = measured((rng.random(len(prob)) < prob).astype(np.uint8), prob)
    lines = [f"| {part} | {ms:.2f} | {ms / cost['report']:.1%} |" for part, ms in cost.items()]
    body = (
        f"`python -m benchmarks.first_lines`, {machine()}: CPU time of the default report of {len(prob):,} events, and of its "
        "parts within the same calls, the least of seven. Intervals can be left out (`--interval none`).\n\n"
        "| part | ms CPU | of the report |\n| --- | ---: | ---: |\n" + "\n".join(lines)
    )
    print(body)
    if not asked.no_page:
        write("First lines of a report", body)


if __name__ == "__main__":
    main()
