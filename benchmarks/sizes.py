# SPDX-License-Identifier: Apache-2.0
"""Is there a size at which a call becomes slower a row? 25 sizes from 10^4 to 10^8 rows, beside numpy.sum and scikit-learn.

python -m benchmarks.sizes                              all; writes its section into docs/benchmarks.md (some ten minutes, 16 GB)
python -m benchmarks.sizes --most 1e6 --no-page         up to a million rows, printed only
python -m benchmarks.sizes --most 1e5 --sizes 5 --no-page    a look whether it runs
"""

from __future__ import annotations

import argparse
import platform
import time
from pathlib import Path

import numpy as np

from epimeter import evaluate
from epimeter.metrics import ece

BEGIN, END = "<!-- sizes: begin -->", "<!-- sizes: end -->"
PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"


def best(call, budget=0.4, patience=4.0):
    """The least of several times, in seconds: three or more, fewer where that takes longer than the patience."""
    found, begun, rounds = float("inf"), time.perf_counter(), 0
    while True:
        start = time.perf_counter()
        call()
        found, rounds = min(found, time.perf_counter() - start), rounds + 1
        spent = time.perf_counter() - begun
        if spent > patience or (rounds >= 3 and spent > budget):
            return found


def rows(n, kind):
    rng = np.random.default_rng(0)
    p = rng.random(n)
    if kind == "exact 0 and 1":
        p = np.where(rng.random(n) < 0.05, np.round(p), p)
    y = rng.random(n) < p
    if kind == "float32":
        p = p.astype(np.float32)
    return y, p, rng.random(n) if kind == "weighted" else None


def scikit(y, p):
    from sklearn.calibration import calibration_curve
    from sklearn.metrics import brier_score_loss, log_loss

    calibration_curve(y, p, n_bins=10)
    brier_score_loss(y, p)
    log_loss(y, p)


def binned_ece():
    """relplot's error of ten bins, or None where it is not installed."""
    try:
        from relplot.metrics import binnedECE
    except ImportError:
        return None
    return binnedECE


def line(n, kind, peer, spent):
    y, p, weight = rows(n, kind)
    given = {} if weight is None else {"sample_weight": weight}
    one, report = best(lambda: ece(y, p, **given)), best(lambda: evaluate(y, p, **given))
    spent.setdefault(kind, []).append((n, one / n, report / n))
    cells = [
        f"{n:,}",
        kind,
        f"{one * 1e6:,.1f}",
        f"{one / n * 1e9:.2f}",
        f"{report * 1e3:,.2f}",
        f"{report / n * 1e9:.1f}",
    ]
    cells.append(f"{one / best(lambda: p.sum(), 0.1):.1f}")
    beside = kind == "float64" and n <= 10_000_000
    cells.append(f"{best(lambda: peer(p, y), 0.2) * 1e6:,.1f}" if peer and beside else "")
    cells.append(f"{best(lambda: scikit(y, p), 0.2) * 1e3:,.2f}" if 1_000 <= n <= 1_000_000 and beside else "")
    return "| " + " | ".join(cells) + " |"


def risen(kind, found):
    """How much more a row costs at most than at a smaller size, from 10^4 rows on."""
    words = []
    for place, name in ((1, "`ece`"), (2, "`evaluate`")):
        worst, at = 0.0, 0
        for k, row in enumerate(found[1:], start=1):
            ratio = row[place] / min(other[place] for other in found[:k])
            worst, at = max((worst, at), (ratio, row[0]))
        words.append(f"{name} {worst:.2f} times (at {at:,})")
    return (
        f"- {kind}: a row costs at most so many times what it costs at a smaller size: {', '.join(words)} (aim: 1.25)."
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=float, default=1e8, help="rows of the largest size")
    parser.add_argument("--sizes", type=int, default=25, help="how many sizes from 10^4 to 10^8")
    parser.add_argument("--no-page", action="store_true", help="print only")
    given = parser.parse_args()
    sizes = [int(round(10**power, -2)) for power in np.linspace(4, 8, given.sizes) if 10**power <= given.most * 1.001]
    peer = binned_ece()
    kinds = ("float64", "float32", "exact 0 and 1", "weighted")
    head = [
        BEGIN,
        "## Sizes",
        "",
        f"`benchmarks/sizes.py`, {platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}; best of several, validation included.",
        "",
        "| rows | columns | `ece` µs | ns a row | `evaluate` with intervals ms | ns a row | `ece` by `numpy.sum` | relplot µs | scikit-learn¹ ms |",
        "|---:|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    body, spent = [], {}
    for n in (100, 1_000, *sizes):
        for kind in kinds:
            body.append(line(n, kind, peer, spent))
            print(body[-1], flush=True)
    rises = [risen(kind, [three for three in found if three[0] >= 10_000]) for kind, found in spent.items()]
    print("\n".join(rises))
    tail = ["", *rises, "", "¹ `calibration_curve`, `brier_score_loss` and `log_loss`.", END]
    if given.no_page:
        return
    text = PAGE.read_text()
    section = "\n".join([*head, *body, *tail])
    if BEGIN in text:
        text = text[: text.index(BEGIN)] + section + text[text.index(END) + len(END) :]
    else:
        text = text.rstrip() + "\n\n" + section + "\n"
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
