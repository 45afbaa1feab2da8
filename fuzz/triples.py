# SPDX-License-Identifier: Apache-2.0
"""The command's arithmetic of the ERS score and level against the page's, on random triples, with counters.

    python fuzz/triples.py --triples 1000000

The page's own lines are taken out of `verify.html` and run by node. Half of the triples lie within four units of the ninth decimal
of where the score turns to the next whole number, and a part at the limits of the levels: there the last digit decides.
"""

import argparse
import json
import re
import subprocess
import sys
from importlib.resources import files

import numpy as np

from epimeter.standards.ers import DOMAINS, LEVEL_NAMES, LEVELS, ers_level, ers_score

PART = 50_000
RUN = """
let text = "";
process.stdin.on("data", piece => (text += piece)).on("end", () => {
  const found = JSON.parse(text).map(([ece, recall, domain]) => {
    const ers = ersScore(ece, recall, domain);
    const met = LEVELS.filter(([, r, e, s]) => ece <= e + 1e-9 && recall >= r - 1e-9 && ers <= s + 1e-9);
    return [ers, met.length ? met[met.length - 1][0] : "NONE"];
  });
  process.stdout.write(JSON.stringify(found));
});
"""


def page_lines() -> str:
    """What the page reckons with, as it stands there."""
    page = files("epimeter.trust").joinpath("verify.html").read_text("utf-8")
    wanted = (
        r"const MODIFIER = .*?;\n",
        r"const LEVELS = .*?;\n",
        r"const units = .*?;\n",
        r"function ersScore.*?\n}\n",
    )
    return "".join(re.search(one, page, re.DOTALL).group() for one in wanted)


def triples(seed: int, count: int):
    """Random triples with nine decimals."""
    rng = np.random.default_rng(seed)
    domains = list(DOMAINS)
    for _ in range(count):
        ece, recall = int(rng.integers(0, 10**9 + 1)), int(rng.integers(0, 10**11 + 1))
        kind = rng.random()
        if kind < 0.5:
            recall += -((recall - 400 * ece) % (2 * 10**9)) + int(rng.integers(-4, 5))
        elif kind < 0.6:
            level = LEVELS[int(rng.integers(len(LEVELS)))]
            ece, recall = round(level.ece * 10**9), round(level.u_recall * 10**9)
            ece, recall = ece + int(rng.integers(-2, 3)), recall + int(rng.integers(-2, 3))
        recall = min(10**11, max(0, recall))
        yield [ece / 10**9, recall / 10**9, domains[int(rng.integers(len(domains)))]]


def main() -> int:
    """Compare them all; exit status 1 where one differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--triples", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    script, done, wrong = page_lines() + RUN, 0, []
    while done < given.triples:
        part = list(triples(given.seed + done, min(PART, given.triples - done)))
        answer = subprocess.run(
            ["node", "-e", script], input=json.dumps(part), capture_output=True, text=True, check=True
        )
        for triple, there in zip(part, json.loads(answer.stdout), strict=True):
            score = ers_score(*triple)
            here = [score, LEVEL_NAMES[ers_level(triple[0], triple[1], score)]]
            if here != there:
                wrong.append((triple, here, there))
        done += len(part)
        print(f"{done:,} triples, {len(wrong)} differ {wrong[:3]}", flush=True)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
